// For tests and benchmarks: plans a graph of maps, reductions and other primitives (no control
// flow), runs it on this backend, and keeps everything needed to run it again.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/compile_step.h"
#include "base/status_macros.h"
#include "schedule/schedule.h"
#include "tendon/tensor.h"

namespace tendon::backends::cpu {

class TestBindings final : public Bindings {
 public:
  Result<std::int64_t> evaluate(const ir::Size& size) const override {
    if (size.is_constant()) return size.constant();
    const auto value = size.evaluate([&](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
      const auto found = values_.find(&symbol);
      if (found == values_.end()) return std::nullopt;
      return found->second;
    });
    if (!value) return Status(StatusCode::kFailedPrecondition, "unknown " + size.to_string());
    return *value;
  }
  void define(const ir::Symbol& symbol, std::int64_t value) override { values_[&symbol] = value; }

 private:
  std::map<const ir::Symbol*, std::int64_t> values_;
};

class TestErrors final : public ErrorRecord {
 public:
  void report(StatusCode code, std::string message) override {
    const std::lock_guard lock(mutex_);
    if (first_.ok()) first_ = Status(code, std::move(message));
  }
  Status first_;

 private:
  std::mutex mutex_;
};

/// The constants of a test, and what is made of them.
class TestShared final : public SharedState {
 public:
  explicit TestShared(std::vector<Tensor> constants) : constants_(std::move(constants)) {}
  Tensor constant(int index) const override { return constants_[static_cast<std::size_t>(index)]; }
  void release(int index) override { constants_[static_cast<std::size_t>(index)] = Tensor(); }
  Result<std::shared_ptr<void>> packed(
      const std::string& key, const std::function<Result<std::shared_ptr<void>>()>& make) override {
    auto& entry = packed_[key];
    if (entry == nullptr) {
      TENDON_ASSIGN_OR_RETURN(entry, make());
    }
    return entry;
  }

 private:
  std::vector<Tensor> constants_;
  std::map<std::string, std::shared_ptr<void>> packed_;
};

class GraphRunner {
 public:
  static Result<std::unique_ptr<GraphRunner>> make(ir::Graph graph, int threads,
                                                   std::vector<Tensor> constants = {}) {
    auto runner = std::make_unique<GraphRunner>();
    schedule::separate_outputs(graph);
    std::vector<ir::Shape> strides;
    for (const Tensor& constant : constants) {
      strides.emplace_back(constant.strides().begin(), constant.strides().end());
    }
    runner->constants_ = std::move(constants);
    runner->shared_ = std::make_unique<TestShared>(runner->constants_);
    TENDON_ASSIGN_OR_RETURN(
        runner->plan_,
        schedule::make_plan(std::make_shared<const ir::Graph>(std::move(graph)), strides));
    CompileContext context{runner->plan_.get(), runner->shared_.get(), threads};
    for (const schedule::Step& step : runner->plan_->steps) {
      TENDON_ASSIGN_OR_RETURN(auto made, compile_step(context, step));
      runner->steps_.push_back(std::move(made));
    }
    return runner;
  }

  const schedule::Plan& plan() const { return *plan_; }

  /// Evaluates sizes from the inputs' shapes and makes memory. Buffers are poisoned and padded to
  /// their exact size, so that a sanitizer sees every access outside.
  Status bind(std::vector<Tensor> inputs) {
    inputs_ = std::move(inputs);
    bindings_ = TestBindings();
    const ir::Graph& graph = *plan_->graph;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const ir::Shape& shape = graph.value(graph.inputs[i]).shape;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        if (const auto symbol = shape[k].as_symbol()) {
          bindings_.define(*symbol, inputs_[i].sizes()[k]);
        }
      }
    }
    buffers_.assign(plan_->buffers.size(), nullptr);
    memory_.clear();
    for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
      const schedule::Buffer& buffer = plan_->buffers[i];
      const auto index = static_cast<std::size_t>(buffer.index);
      if (buffer.kind == schedule::Buffer::Kind::kInput) {
        buffers_[i] = inputs_[index].as<std::byte>();
      } else if (buffer.kind == schedule::Buffer::Kind::kConstant) {
        buffers_[i] = constants_[index].as<std::byte>();
      } else {
        std::size_t bytes = dtype_size(buffer.dtype);
        for (const ir::Size& extent : buffer.shape) {
          const auto known = bindings_.evaluate(extent);
          bytes *= static_cast<std::size_t>(known.ok() ? *known : extent.bounds().upper);
        }
        memory_.emplace_back(static_cast<std::byte*>(std::malloc(bytes)), std::free);
        std::memset(memory_.back().get(), 0xc5, bytes);
        buffers_[i] = memory_.back().get();
      }
    }
    needs_late_bind_.assign(steps_.size(), false);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      // Sizes from data are known only when their step has run.
      needs_late_bind_[i] = !steps_[i]->bind(bindings_).ok();
      if (!needs_late_bind_[i]) reserve(steps_[i]->scratch_bytes());
    }
    return Status();
  }

  Status run() {
    errors_.first_ = Status();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (needs_late_bind_[i]) {
        TENDON_RETURN_IF_ERROR(steps_[i]->bind(bindings_));
        reserve(steps_[i]->scratch_bytes());
      }
      Frame frame{buffers_, &bindings_, &errors_, scratch()};
      TENDON_RETURN_IF_ERROR(steps_[i]->run(frame));
    }
    return errors_.first_;
  }

  /// Row-major copies of the outputs.
  Result<std::vector<Tensor>> outputs() const {
    std::vector<Tensor> result;
    for (const ir::GraphOutput& output : plan_->graph->outputs) {
      const schedule::Storage& storage = plan_->storage[static_cast<std::size_t>(output.value)];
      TensorView view;
      view.dtype = plan_->graph->value(output.value).dtype;
      const ir::Shape& shape = plan_->graph->value(output.value).shape;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        TENDON_ASSIGN_OR_RETURN(const std::int64_t size, bindings_.evaluate(shape[k]));
        TENDON_ASSIGN_OR_RETURN(const std::int64_t stride, bindings_.evaluate(storage.strides[k]));
        view.sizes.push_back(size);
        view.strides.push_back(stride);
      }
      TENDON_ASSIGN_OR_RETURN(const std::int64_t offset, bindings_.evaluate(storage.offset));
      view.data = buffers_[static_cast<std::size_t>(storage.buffer)] +
                  offset * static_cast<std::int64_t>(dtype_size(view.dtype));
      TENDON_ASSIGN_OR_RETURN(Tensor copy, Tensor(view, nullptr).contiguous_copy());
      result.push_back(std::move(copy));
    }
    return result;
  }

  Result<std::vector<Tensor>> run(std::vector<Tensor> inputs) {
    TENDON_RETURN_IF_ERROR(bind(std::move(inputs)));
    TENDON_RETURN_IF_ERROR(run());
    return outputs();
  }

 private:
  void reserve(std::size_t bytes) {
    if (scratch_.size() < bytes + 64) scratch_.resize(bytes + 64);
  }
  std::byte* scratch() {
    const auto address = reinterpret_cast<std::uintptr_t>(scratch_.data());
    return scratch_.data() + (64 - address % 64) % 64;
  }

  std::shared_ptr<const schedule::Plan> plan_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<bool> needs_late_bind_;
  std::vector<Tensor> constants_, inputs_;
  std::unique_ptr<TestShared> shared_;
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> memory_;
  std::vector<std::byte*> buffers_;
  std::vector<std::byte> scratch_;
  TestBindings bindings_;
  TestErrors errors_;
};

}  // namespace tendon::backends::cpu
