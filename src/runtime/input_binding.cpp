#include "runtime/input_binding.h"

#include <string>
#include <unordered_map>

namespace tendon::runtime {

namespace {

bool reaches(Device device, const TensorView& view) {
  return view.device == Device::kCpu || view.device == device;
}

class InputBinder {
 public:
  InputBinder(const aten::LoweredProgram& program, Device device)
      : program_(program), device_(device) {}

  Status check(std::span<const TensorView> inputs) {
    if (inputs.size() != program_.inputs.size()) {
      return invalid("the program takes " + std::to_string(program_.inputs.size()) +
                     " tensor inputs, not " + std::to_string(inputs.size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (Status status = check_tensor(i, inputs[i]); !status.ok()) return status;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (Status status = check_expressions(i, inputs[i]); !status.ok()) return status;
    }
    for (const aten::Requirement& requirement : program_.requirements) {
      const auto holds = requirement.condition.evaluate(
          [this](const ir::Symbol& symbol) { return value_of(symbol); });
      if (holds && *holds == 0) {
        return invalid("the inputs break what the program was exported with: " + requirement.text);
      }
    }
    return {};
  }

  void define(SymbolTable& symbols) const {
    for (const auto& [symbol, value] : values_) symbols.define(*symbol, value);
  }

 private:
  static Status invalid(std::string message) {
    return Status(StatusCode::kInvalidArgument, std::move(message));
  }
  std::string name_of(std::size_t i) const {
    return "input " + std::to_string(i) + " ('" + program_.inputs[i].name + "')";
  }
  std::optional<std::int64_t> value_of(const ir::Symbol& symbol) const {
    const auto it = values_.find(&symbol);
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }

  Status check_tensor(std::size_t i, const TensorView& view) {
    const aten::UserInput& expected = program_.inputs[i];
    if (view.dtype != expected.dtype) {
      return invalid(name_of(i) + " is " + std::string(dtype_name(view.dtype)) + ", expected " +
                     std::string(dtype_name(expected.dtype)));
    }
    if (!reaches(device_, view)) return invalid(name_of(i) + " is not in CPU memory");
    if (view.sizes.size() != expected.shape.size()) {
      return invalid(name_of(i) + " has rank " + std::to_string(view.sizes.size()) + ", expected " +
                     ir::to_string(expected.shape));
    }
    if (view.strides.size() != view.sizes.size()) {
      return invalid(name_of(i) + " has " + std::to_string(view.strides.size()) +
                     " strides, expected one for each of its " + std::to_string(view.sizes.size()) +
                     " axes");
    }
    if (view.data == nullptr && view.elements() != 0) return invalid(name_of(i) + " has no data");
    for (std::size_t axis = 0; axis < view.sizes.size(); ++axis) {
      const std::int64_t size = view.sizes[axis];
      const ir::Size& declared = expected.shape[axis];
      const std::string where = name_of(i) + ", axis " + std::to_string(axis);
      if (size < 0) return invalid(where + ": size " + std::to_string(size));
      if (const auto constant = declared.as_constant()) {
        if (size != *constant) {
          return invalid(where + ": size " + std::to_string(size) + ", expected " +
                         std::to_string(*constant));
        }
        continue;
      }
      const ir::Bounds bounds = declared.bounds();
      if (size < bounds.lower || size > bounds.upper) {
        return invalid(
            where + ": size " + std::to_string(size) + ", expected " + declared.to_string() +
            " in [" + std::to_string(bounds.lower) + ", " +
            (bounds.upper == ir::kUnbounded ? "unbounded" : std::to_string(bounds.upper)) + "]");
      }
      if (const ir::SymbolRef symbol = declared.as_symbol()) {
        const auto [it, fresh] = values_.try_emplace(symbol.get(), size);
        if (!fresh && it->second != size) {
          return invalid(where + ": size " + std::to_string(size) + ", but " + symbol->name +
                         " is " + std::to_string(it->second) + " elsewhere in the inputs");
        }
      }
    }
    return {};
  }

  /// Axes that are expressions of symbols: solved for a lone unknown symbol, else compared.
  Status check_expressions(std::size_t i, const TensorView& view) {
    const aten::UserInput& expected = program_.inputs[i];
    for (std::size_t axis = 0; axis < view.sizes.size(); ++axis) {
      const ir::Size& declared = expected.shape[axis];
      if (declared.is_constant() || declared.as_symbol() != nullptr) continue;
      if (Status status = solve(declared, view.sizes[axis]); !status.ok()) {
        return status.with_context(name_of(i) + ", axis " + std::to_string(axis));
      }
      const auto value =
          declared.evaluate([this](const ir::Symbol& symbol) { return value_of(symbol); });
      if (!value || *value != view.sizes[axis]) {
        return invalid(name_of(i) + ", axis " + std::to_string(axis) + ": size " +
                       std::to_string(view.sizes[axis]) + ", expected " + declared.to_string() +
                       (value ? " = " + std::to_string(*value) : std::string()));
      }
    }
    return {};
  }

  /// Exported sizes such as 2*s0 + 1 are linear in one symbol.
  Status solve(const ir::Size& declared, std::int64_t size) {
    ir::SymbolRef unknown;
    int unknowns = 0;
    declared.for_each_symbol([&](const ir::SymbolRef& symbol) {
      if (value_of(*symbol)) return;
      unknown = symbol;
      ++unknowns;
    });
    if (unknowns != 1) return {};
    const auto at = [&](std::int64_t x) {
      return declared.evaluate([&](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
        return &symbol == unknown.get() ? std::optional(x) : value_of(symbol);
      });
    };
    const auto zero = at(0);
    const auto one = at(1);
    if (!zero || !one || *one == *zero) return {};
    const std::int64_t slope = *one - *zero;
    if ((size - *zero) % slope != 0) {
      return invalid("size " + std::to_string(size) + " is not of the form " +
                     declared.to_string());
    }
    values_.emplace(unknown.get(), (size - *zero) / slope);
    return {};
  }

  const aten::LoweredProgram& program_;
  const Device device_;
  std::unordered_map<const ir::Symbol*, std::int64_t> values_;
};

}  // namespace

Status bind_inputs(const aten::LoweredProgram& program, Device device,
                   std::span<const TensorView> inputs, SymbolTable& symbols) {
  InputBinder binder(program, device);
  if (Status status = binder.check(inputs); !status.ok()) return status;
  binder.define(symbols);
  return {};
}

bool InputKey::matches(const aten::LoweredProgram& program, Device device,
                       std::span<const TensorView> inputs) const {
  if (!is_set_ || inputs.size() != sizes_.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].sizes != sizes_[i] || inputs[i].dtype != program.inputs[i].dtype ||
        !reaches(device, inputs[i]) || inputs[i].strides.size() != sizes_[i].size() ||
        (inputs[i].data == nullptr && inputs[i].elements() != 0)) {
      return false;
    }
  }
  return true;
}

void InputKey::set(std::span<const TensorView> inputs) {
  sizes_.clear();
  for (const TensorView& input : inputs) sizes_.push_back(input.sizes);
  is_set_ = true;
}

}  // namespace tendon::runtime
