// Which maps and reductions run as one kernel.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tendon::schedule {

/// Maps and reductions over common outer axes (see LoopKernel), in order. A group of one map has
/// all its axes as outer ones.
struct Group {
  std::vector<ir::NodeId> nodes;
  ir::Shape outer;
};

struct Grouping {
  std::vector<Group> groups;
  std::vector<int> group_of;  // by node; -1: not in a group (other primitives, views)
};

/// `alias_of[v]` is the value that v is a view of in memory, or v itself.
Grouping group_loops(const ir::Graph& graph, const std::vector<ir::ValueId>& alias_of);

}  // namespace tendon::schedule
