#include <algorithm>
#include <chrono>

#include "ir/dependencies.h"
#include "passes/pass.h"

namespace tendon::passes {

const std::vector<Pass>& pipeline() {
  // Scales must meet their convolution before anything else is fused into it; epilogues come before
  // maps, which would hand a bias to each of several readers, and again after them, for what maps
  // have put together. Then the scores of attention, masked and scaled, are a product's epilogue.
  static const std::vector<Pass> passes = {
      {"fold_scale_into_weights", fold_scale_into_weights},
      {"fuse_epilogues", fuse_epilogues},
      {"fuse_maps", fuse_maps},
      {"fuse_epilogues_again", fuse_epilogues},
      {"fuse_attention", fuse_attention},
  };
  return passes;
}

Status run_pipeline(ir::Graph& graph, const PipelineOptions& options) {
  graph = ir::compacted(graph);
  for (const Pass& pass : pipeline()) {
    if (std::find(options.skip.begin(), options.skip.end(), pass.name) != options.skip.end()) {
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    pass.run(graph);
    graph = ir::compacted(graph);
    if (const auto wrong = ir::verify(graph)) {
      return Status(StatusCode::kInternal, "after pass " + std::string(pass.name) + ": " + *wrong);
    }
    if (options.observe) {
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      options.observe(pass.name, graph, took.count());
    }
  }
  return {};
}

}  // namespace tendon::passes
