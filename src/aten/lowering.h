// The walk over exported nodes, shared by the program's graph and its sub-graphs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aten/environment.h"
#include "aten/schema.h"

namespace tendon::aten {

/// What could not be lowered, gathered over the whole program.
struct Problems {
  struct Missing {
    int count = 0;
    std::string first_use;
  };
  std::map<std::string, Missing> missing;  // by target
  std::vector<std::string> unsupported;    // "aten.foo.default (node foo_3): why"
  bool empty() const { return missing.empty() && unsupported.empty(); }
  std::string to_string() const;
};

/// torch.autocast's rules for the nodes of a region: which operators take half precision.
struct Autocast {
  bool enabled = false;
  DType dtype = DType::kBFloat16;
};

/// Lowers nodes one after another into a builder's graph.
class Lowering {
 public:
  Lowering(Builder& builder, Environment& environment, Problems& problems)
      : b(builder), environment(environment), problems(problems) {}

  void lower_nodes(const archive::Graph& graph);
  /// A sub-graph on its own: operands become its inputs. Outputs are in the graph's order.
  std::shared_ptr<const ir::Graph> lower_subgraph(const archive::Graph& graph,
                                                  const std::vector<Arguments::Value>& operands);

  /// An exported argument as a lowering sees it.
  Arguments::Value convert(const archive::Argument& argument, std::string_view type);

  Builder& b;
  Environment& environment;
  Problems& problems;
  Autocast autocast;

 private:
  void lower_node(const archive::Graph& graph, const archive::Node& node);
  void lower_operator(const archive::Graph& graph, const archive::Node& node,
                      const RegistryEntry& entry, bool in_place);
  /// Control flow and regions (control_flow.cpp); false if the target is not one.
  bool lower_higher_order(const archive::Graph& graph, const archive::Node& node);
  void lower_region(const archive::Graph& outer, const archive::Node& node,
                    std::size_t graph_argument);
  void lower_cond(const archive::Node& node);
  void lower_while(const archive::Node& node);
  void lower_scan(const archive::Node& node, bool map);
  Arguments bind(const archive::Graph& graph, const archive::Node& node, const Schema& schema);
  void define_outputs(const archive::Graph& graph, const archive::Node& node,
                      const Outputs& outputs);
  void define_output(const archive::Graph& graph, const archive::Argument& argument,
                     const Output& output, bool unlike_export);
  std::vector<Arguments::Value> operand_list(const archive::Argument& argument);
  bool reads_poisoned(const archive::Node& node) const;
  void poison_outputs(const archive::Node& node);
};

/// The names an argument mentions (tensors and symbols).
std::vector<std::string> names_in(const archive::Argument& argument);

}  // namespace tendon::aten
