// conformance_test: runs the cases, prints what failed and a table by operator, and last a line
// "N passed, N failed, N skipped". Exit code 0 if nothing failed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>
#include <thread>

#include "suite.h"
#include "verdict.h"

namespace tendon::conformance {
namespace {

struct Options {
  std::vector<std::string> archives = {"operators", "programs", "in_use", "further"};
  std::vector<std::string> files;  // a program and its calls, instead of the archives
  std::string filter = "*";
  std::string engine = "oracle";
  int threads = 0;
  int slowest = 0;
  bool list_missing = false;
  bool run_held_back = false;
  bool verbose = false;
  bool announce = false;
};

using Kind = Verdict::Kind;

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const Engine& engine : kEngines) names.emplace_back(engine.name);
  return names;
}

/// Of a name that the command line has checked.
const Engine& engine_called(const std::string& name) {
  return *std::find_if(kEngines.begin(), kEngines.end(),
                       [&](const Engine& engine) { return engine.name == name; });
}

std::vector<Verdict> run_all(const std::vector<Case>& cases, const HeldBack& held_back,
                             const Options& options) {
  std::vector<Verdict> verdicts(cases.size());
  std::atomic<std::size_t> next = 0;
  const Engine& engine = engine_called(options.engine);
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      const std::string* reason = held_back.reason(cases[i].name);
      const bool random = reason != nullptr && reason->starts_with("random");
      if (reason != nullptr && !random && !options.run_held_back) {
        verdicts[i] = {Kind::kSkipped, *reason};
        continue;
      }
      if (options.announce) fmt::print(stderr, "{}\n", cases[i].name);
      const auto start = std::chrono::steady_clock::now();
      verdicts[i] =
          run_case(cases[i], engine.open, {.values = !random, .strides = engine.keeps_strides});
      verdicts[i].seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  };
  int count = options.threads;
  if (count <= 0) count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (int i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return verdicts;
}

void print_failures(const std::vector<Case>& cases, const std::vector<Verdict>& verdicts) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (verdicts[i].kind == Kind::kFailed || verdicts[i].kind == Kind::kMissing) {
      fmt::print("FAILED {}: {}\n", cases[i].name, verdicts[i].detail);
    }
  }
}

/// The reasons for which programs could not be lowered, most frequent first.
void print_missing(const std::vector<Case>& cases, const std::vector<Verdict>& verdicts) {
  std::map<std::string, std::pair<int, std::string>> reasons;  // count, first case
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (verdicts[i].kind != Kind::kMissing) continue;
    std::istringstream lines(verdicts[i].detail);
    for (std::string line; std::getline(lines, line);) {
      // Problems are indented, one a line, and name the operator first: "  aten.pad.default (1
      // use".
      if (!line.starts_with("  ")) continue;
      line = line.substr(2, line.find(" (") - 2);
      auto& [count, first] = reasons[line];
      if (count++ == 0) first = cases[i].name;
    }
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [line, entry] : reasons) {
    sorted.emplace_back(entry.first, line + "   (" + entry.second + ")");
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [count, line] : sorted) fmt::print("{:6} {}\n", count, line);
}

/// One line for each operator with a case that did not pass; all operators if `verbose`.
void print_table(const std::vector<Case>& cases, const std::vector<Verdict>& verdicts,
                 bool verbose) {
  std::map<std::string, std::map<Kind, int>> table;
  for (std::size_t i = 0; i < cases.size(); ++i) ++table[cases[i].subject()][verdicts[i].kind];
  std::size_t clean = 0;
  fmt::print("\n{:44} {:>6} {:>6} {:>7} {:>7}\n", "operator", "passed", "failed", "missing",
             "skipped");
  for (auto& [subject, counts] : table) {
    const bool is_clean =
        counts[Kind::kFailed] + counts[Kind::kMissing] + counts[Kind::kSkipped] == 0;
    clean += is_clean ? 1 : 0;
    if (is_clean && !verbose) continue;
    fmt::print("{:44} {:6} {:6} {:7} {:7}\n", subject, counts[Kind::kPassed], counts[Kind::kFailed],
               counts[Kind::kMissing], counts[Kind::kSkipped]);
  }
  fmt::print("{} of {} pass whole\n", clean, table.size());
}

void print_slowest(const std::vector<Case>& cases, const std::vector<Verdict>& verdicts,
                   int count) {
  std::vector<std::size_t> order(cases.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return verdicts[a].seconds > verdicts[b].seconds;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(count, 0))));
  for (std::size_t i : order) fmt::print("{:9.3f} s  {}\n", verdicts[i].seconds, cases[i].name);
}

int run(const Options& options) {
  const auto held_back = HeldBack::read(TENDON_HELD_BACK, options.engine);
  if (!held_back.ok()) {
    fmt::print(stderr, "{}\n", held_back.status().to_string());
    return 2;
  }
  std::vector<Case> cases;
  if (!options.files.empty()) {
    auto test = case_of_files(options.files);
    if (!test.ok()) {
      fmt::print(stderr, "{}\n", test.status().to_string());
      return 2;
    }
    cases.push_back(std::move(*test));
  }
  for (const std::string& archive : options.archives) {
    if (!options.files.empty()) break;
    auto some = read_cases(std::string(TENDON_CONFORMANCE_DATA "/") + archive + ".zip");
    if (!some.ok()) {
      fmt::print(stderr, "{}\n", some.status().to_string());
      return 2;
    }
    for (Case& test : *some) {
      if (matches(options.filter, test.name)) cases.push_back(std::move(test));
    }
  }
  if (cases.empty()) {
    fmt::print(stderr, "no case matches \"{}\"\n", options.filter);
    return 2;
  }
  const std::vector<Verdict> verdicts = run_all(cases, *held_back, options);
  if (options.list_missing) {
    print_missing(cases, verdicts);
  } else {
    print_failures(cases, verdicts);
  }
  if (options.run_held_back) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::string* reason = held_back->reason(cases[i].name);
      if (verdicts[i].kind == Kind::kPassed && reason != nullptr &&
          !reason->starts_with("random")) {
        fmt::print("passes, but is held back: {}\n", cases[i].name);
      }
    }
  }
  print_table(cases, verdicts, options.verbose);
  print_slowest(cases, verdicts, options.slowest);
  std::map<Kind, int> counts;
  for (const Verdict& verdict : verdicts) ++counts[verdict.kind];
  const int failed = counts[Kind::kFailed] + counts[Kind::kMissing];
  fmt::print("{} passed, {} failed, {} skipped\n", counts[Kind::kPassed], failed,
             counts[Kind::kSkipped]);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tendon::conformance

int main(int argc, char** argv) {
  tendon::conformance::Options options;
  CLI::App app("Runs programs with known results");
  app.add_option("files", options.files, "PROGRAM.pt2 CALL.safetensors...: run this instead");
  app.add_option("--filter", options.filter, "only cases whose name matches (* and ?)");
  app.add_option("--engine", options.engine, "what runs them")
      ->check(CLI::IsMember(tendon::conformance::engine_names()));
  app.add_option("--archive", options.archives, "operators, programs, in_use, further");
  app.add_option("--threads", options.threads, "cases at once; 0: one a processor");
  app.add_option("--slowest", options.slowest, "print the N slowest cases");
  app.add_flag("--list-missing", options.list_missing,
               "print what is not implemented, not failures");
  app.add_flag("--run-held-back", options.run_held_back, "run the held back cases too");
  app.add_flag("--verbose", options.verbose, "a line for every operator");
  app.add_flag("--announce", options.announce, "print each case before it runs");
  CLI11_PARSE(app, argc, argv);
  return tendon::conformance::run(options);
}
