// operators_page: writes docs/operators.md from the registry and the cases, or tells whether it is
// what it should be.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "archive/load.h"
#include "aten/schema.h"
#include "base/status_macros.h"
#include "suite.h"

namespace tendon::conformance {
namespace {

constexpr const char* kIntroduction =
    "# Operators\n"
    "\n"
    "Generated from the registry in `src/aten` by `make operators`; a test compares.\n"
    "\n"
    "- *Types*: those in which results are compared with PyTorch's, by the type of the first "
    "tensor.\n"
    "  An operator takes others, too, where PyTorch does.\n"
    "- A *view* shares its elements with the tensor it views: writes through it are seen.\n"
    "- In-place operators (`add_`) are their functional form, written back, and are not listed.\n"
    "- Random numbers follow from the seed of the method. Their distribution is PyTorch's, their "
    "bits\n"
    "  are not.\n"
    "- *Held back* are cases that are known not to give PyTorch's result, with the reason.\n"
    "\n";

/// What is said of an operator, all its overloads together.
struct Entry {
  std::set<std::string> overloads;
  std::set<DType> types;
  std::set<std::string> notes;
};
using Page = std::map<std::string, Entry>;

/// "aten.add" and "Tensor"; "_operator.mul" has no overload.
std::pair<std::string, std::string> split_target(std::string_view target) {
  const std::size_t first = target.find('.');
  const std::size_t last = target.rfind('.');
  if (first == last) return {std::string(target), ""};
  return {std::string(target.substr(0, last)), std::string(target.substr(last + 1))};
}

Page page_of_registry() {
  Page page;
  for (const std::string_view target : aten::operator_targets()) {
    const auto [name, overload] = split_target(target);
    Entry& entry = page[name];
    if (!overload.empty()) entry.overloads.insert(overload);
    if (aten::find_operator(target)->op->views != nullptr) entry.notes.insert("view");
  }
  return page;
}

std::optional<DType> type_of(const archive::Graph& graph, const archive::Argument& argument) {
  std::string name;
  if (const auto* tensor = std::get_if<archive::TensorArgument>(&argument)) {
    name = tensor->name;
  } else if (const auto* list = std::get_if<archive::TensorsArgument>(&argument)) {
    for (const auto& entry : list->names) {
      if (entry && name.empty()) name = *entry;
    }
  }
  const auto found = graph.tensors.find(name);
  return found == graph.tensors.end() ? std::nullopt : std::optional(found->second.dtype);
}

/// The type of the first tensor that a node reads, or else of the first that it makes.
std::optional<DType> type_of(const archive::Graph& graph, const archive::Node& node) {
  for (const archive::NamedArgument& input : node.inputs) {
    if (const auto type = type_of(graph, input.value)) return type;
  }
  for (const archive::Argument& output : node.outputs) {
    if (const auto type = type_of(graph, output)) return type;
  }
  return std::nullopt;
}

/// Adds what a case says of the operators in its graph. `reason`: why it is held back, or null.
void add_case(const archive::Graph& graph, const std::string* reason, Page& page) {
  for (const archive::Node& node : graph.nodes) {
    for (const archive::NamedArgument& input : node.inputs) {
      if (const auto* inner = std::get_if<archive::GraphArgument>(&input.value)) {
        add_case(*inner->graph, reason, page);
      }
    }
    const aten::RegistryEntry* found = aten::find_operator(node.target);
    if (found == nullptr) found = aten::find_in_place(node.target);
    if (found == nullptr) continue;
    Entry& entry = page[split_target(found->schema.target).first];
    // Of a case that is held back it is the graph's one operator that the reason is about.
    if (reason != nullptr && graph.nodes.size() == 1) entry.notes.insert("held back: " + *reason);
    if (reason != nullptr) continue;
    if (const auto type = type_of(graph, node)) entry.types.insert(*type);
  }
}

std::string joined(const auto& parts, const std::string& separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string text_of(const Page& page) {
  std::string text = kIntroduction;
  text += "| operator | overloads | types | notes |\n|---|---|---|---|\n";
  for (const auto& [name, entry] : page) {
    std::vector<std::string> types;
    for (const DType type : entry.types) types.emplace_back(dtype_name(type));
    text += fmt::format("| `{}` | {} | {} | {} |\n", name, joined(entry.overloads, ", "),
                        joined(types, " "), joined(entry.notes, "; "));
  }
  return text;
}

Result<std::string> make_page() {
  TENDON_ASSIGN_OR_RETURN(const HeldBack held_back, HeldBack::read(TENDON_HELD_BACK, "cpu"));
  Page page = page_of_registry();
  for (const char* archive : {"operators", "programs", "in_use", "further"}) {
    TENDON_ASSIGN_OR_RETURN(
        const std::vector<Case> cases,
        read_cases(std::string(TENDON_CONFORMANCE_DATA "/") + archive + ".zip"));
    for (const Case& test : cases) {
      TENDON_ASSIGN_OR_RETURN(const archive::Program program,
                              archive::read_program(*test.program, test.program, test.name));
      add_case(program.graph, held_back.reason(test.name), page);
    }
  }
  return text_of(page);
}

int run(const std::string& path, bool write) {
  const Result<std::string> page = make_page();
  if (!page.ok()) {
    fmt::print(stderr, "{}\n", page.status().to_string());
    return 2;
  }
  if (write) {
    std::ofstream(path) << *page;
    return 0;
  }
  std::ifstream file(path);
  std::ostringstream found;
  found << file.rdbuf();
  if (found.str() == *page) return 0;
  fmt::print("{} is not what the registry says; \"make operators\" writes it anew\n", path);
  return 1;
}

}  // namespace
}  // namespace tendon::conformance

int main(int argc, char** argv) {
  std::string path;
  bool write = false;
  CLI::App app("Writes or checks the page of operators");
  app.add_option("page", path, "docs/operators.md")->required();
  app.add_flag("--write", write, "write it; else compare");
  CLI11_PARSE(app, argc, argv);
  return tendon::conformance::run(path, write);
}
