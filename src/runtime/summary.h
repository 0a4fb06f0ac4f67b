// What loading a program came to, for people and machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tendon::runtime {

struct ProgramSummary {
  std::int64_t exported_nodes = 0;
  std::int64_t tensor_nodes = 0;      // after lowering
  std::int64_t optimized_nodes = 0;   // after the passes
  std::int64_t kernels = 0;           // steps of a run
  std::int64_t constant_kernels = 0;  // steps that fold constants, once
  std::int64_t products = 0;          // of the kernels: products, convolutions, attentions
  /// Floating-point operations of those a call, at upper bounds; empty where there is none.
  std::optional<std::int64_t> product_operations;
  std::optional<std::int64_t> arena_bytes;  // at upper bounds; empty where there is none
  std::int64_t weight_bytes = 0;
  std::int64_t folded_bytes = 0;
  std::vector<std::pair<std::string, double>> phases;  // milliseconds
};

}  // namespace tendon::runtime
