#include "backends/cuda/kernel_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tendon::backends::cuda {

namespace {

using ir::ExprId;
using ir::Op;

/// Buffers and arguments that one kernel may take.
constexpr std::size_t kMaxParameters = 480;

std::string number_text(DType dtype, const ir::ExprNode& node) {
  if (is_floating(dtype)) {
    const auto value = std::bit_cast<double>(node.payload);
    if (dtype == DType::kFloat64) {
      if (std::isfinite(value)) return fmt::format("double({:a})", value);
      return fmt::format("__longlong_as_double({:#x}ll)", std::bit_cast<std::uint64_t>(value));
    }
    const auto single = static_cast<float>(value);
    if (std::isfinite(single)) return fmt::format("float({:a})", static_cast<double>(single));
    return fmt::format("__int_as_float({:#x})", std::bit_cast<std::uint32_t>(single));
  }
  if (dtype == DType::kBool) return node.payload != 0 ? "true" : "false";
  return fmt::format("static_cast<{}>({})", memory_type(dtype),
                     ir::Size(node.payload).to_source({}));
}

bool is_leaf(Op op) {
  return op == Op::kConstant || op == Op::kIndex || op == Op::kSize || op == Op::kAccumulator;
}

const char* infix(Op op, DType dtype) {
  if (op == Op::kLess) return "<";
  if (op == Op::kLessEqual) return "<=";
  if (op == Op::kEqual) return "==";
  if (op == Op::kNotEqual) return "!=";
  if (!is_floating(dtype)) return nullptr;
  if (op == Op::kAdd) return "+";
  if (op == Op::kSubtract) return "-";
  if (op == Op::kMultiply) return "*";
  if (op == Op::kDivide) return "/";
  return nullptr;
}

/// `text` of the arithmetic type, rounded to a half type.
std::string rounded(DType dtype, const std::string& text) {
  return fmt::format("static_cast<float>({}({}))", memory_type(dtype), text);
}

}  // namespace

std::string memory_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kUInt8:
      return "unsigned char";
    case DType::kInt8:
      return "signed char";
    case DType::kInt16:
      return "short";
    case DType::kInt32:
      return "int";
    case DType::kInt64:
      return "long long";
    case DType::kUInt16:
      return "unsigned short";
    case DType::kUInt32:
      return "unsigned int";
    case DType::kUInt64:
      return "unsigned long long";
    case DType::kFloat16:
      return "Float16";
    case DType::kBFloat16:
      return "BFloat16";
    case DType::kFloat64:
      return "double";
    default:
      return "float";
  }
}

std::string arithmetic_type_name(DType dtype) {
  return is_half(dtype) ? "float" : memory_type(dtype);
}

Status Kernel::launch(const Launch& launch, const Grid& grid,
                      std::span<const std::int64_t> arguments) const {
  if (grid.blocks <= 0) return {};
  if (arguments.size() != arguments_)
    return Status(StatusCode::kInternal, "a kernel was launched with other arguments");
  std::array<const void*, kMaxParameters + 3> parameters;
  std::size_t count = 0;
  for (const schedule::BufferId id : buffers_)
    parameters[count++] = &launch.buffers[static_cast<std::size_t>(id)];
  parameters[count++] = &launch.symbols;
  parameters[count++] = &launch.errors;
  parameters[count++] = &launch.scratch;
  for (const std::int64_t& argument : arguments) parameters[count++] = &argument;
  return library_->launch(id_, launch.stream, grid.blocks, grid.threads, grid.shared_bytes,
                          const_cast<void**>(parameters.data()));
}

std::string KernelWriter::fresh_name(const std::string& prefix) {
  return prefix + std::to_string(names_++);
}

std::string KernelWriter::size(const ir::Size& size) {
  return size.to_source([this](const ir::Symbol& symbol) {
    return fmt::format("symbols[{}]", context_.symbols->number_of(symbol));
  });
}

std::string KernelWriter::buffer(ir::ValueId value) {
  const schedule::BufferId id = context_.plan->storage[static_cast<std::size_t>(value)].buffer;
  const auto found = std::find(buffers_.begin(), buffers_.end(), id);
  if (found != buffers_.end()) return fmt::format("b{}", found - buffers_.begin());
  buffers_.push_back(id);
  buffer_types_.push_back(memory_type(context_.plan->graph->value(value).dtype));
  return fmt::format("b{}", buffers_.size() - 1);
}

std::string KernelWriter::argument(const std::string& name) {
  arguments_.push_back(name);
  return name;
}

int KernelWriter::check(StatusCode code, const std::string& message) {
  return context_.checks->add({code, message, context_.origin});
}

std::string KernelWriter::position_sum(ir::ValueId value, std::span<const std::string> positions) {
  const schedule::Storage& storage = context_.plan->storage[static_cast<std::size_t>(value)];
  std::string text;
  const auto append = [&](const std::string& term) { text += (text.empty() ? "" : " + ") + term; };
  if (storage.offset != ir::Size(0)) append(size(storage.offset));
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const ir::Size& stride = storage.strides[k];
    if (stride == ir::Size(0)) continue;
    append(stride == ir::Size(1) ? positions[k]
                                 : fmt::format("{} * {}", positions[k], size(stride)));
  }
  return text.empty() ? "0" : text;
}

std::string KernelWriter::element(ir::ValueId value, std::span<const std::string> positions) {
  return fmt::format("{}[{}]", buffer(value), position_sum(value, positions));
}

std::string KernelWriter::load(ir::ValueId value, std::span<const std::string> positions) {
  const std::string text = element(value, positions);
  return is_half(context_.plan->graph->value(value).dtype)
             ? fmt::format("static_cast<float>({})", text)
             : text;
}

std::string KernelWriter::store(ir::ValueId value, std::span<const std::string> positions,
                                const std::string& text) {
  const DType dtype = context_.plan->graph->value(value).dtype;
  return fmt::format("{} = {};\n", element(value, positions),
                     is_half(dtype) ? fmt::format("{}({})", memory_type(dtype), text) : text);
}

std::string KernelWriter::split(const std::string& linear, const ir::Shape& shape,
                                const std::string& prefix, std::vector<std::string>& names) {
  // 32-bit division is many times faster than 64-bit division.
  const std::int64_t upper = ir::element_count(shape).bounds().upper;
  const bool narrow = upper < (std::int64_t{1} << 31);
  const std::string type = narrow ? "unsigned" : "unsigned long long";
  const std::string rest = fresh_name("rest");
  std::vector<std::string> own(shape.size());
  for (std::size_t k = 0; k < shape.size(); ++k) own[k] = fresh_name(prefix);
  std::string text;
  if (shape.size() == 1) {
    text = fmt::format("const long long {} = {};\n", own[0], linear);
  } else if (!shape.empty()) {
    text = fmt::format("{} {} = static_cast<{}>({});\n", type, rest, type, linear);
    for (std::size_t k = shape.size(); k-- > 0;) {
      if (shape[k] == ir::Size(1)) {
        text += fmt::format("constexpr long long {} = 0;\n", own[k]);
      } else if (k == 0) {
        text += fmt::format("const long long {} = {};\n", own[k], rest);
      } else {
        const std::string extent = fmt::format("static_cast<{}>({})", type, size(shape[k]));
        text += fmt::format("const long long {} = {} % {};\n{} /= {};\n", own[k], rest, extent,
                            rest, extent);
      }
    }
  }
  names.insert(names.end(), own.begin(), own.end());
  return text;
}

std::string KernelWriter::node(ExprId id, Scope& scope) {
  const ir::ExprPool& pool = context_.plan->graph->pool;
  const ir::ExprNode& node = pool.node(id);
  std::vector<std::string> arguments;
  for (const ExprId argument : pool.arguments(id)) arguments.push_back(scope.written.at(argument));
  const auto argument_dtype = [&] { return pool.dtype(pool.arguments(id)[0]); };
  const auto load_at = [&](std::span<const std::string> positions) {
    const auto value = static_cast<ir::ValueId>(node.payload);
    const auto local = scope.locals.find(value);
    return local != scope.locals.end() ? local->second(positions) : load(value, positions);
  };
  switch (node.op) {
    case Op::kConstant:
      return number_text(node.dtype, node);
    case Op::kIndex:
      return scope.indices.at(static_cast<std::size_t>(node.payload));
    case Op::kSize:
      return size(pool.size_of(id));
    case Op::kAccumulator:
      return scope.accumulator;
    case Op::kLoad:
      return load_at(arguments);
    case Op::kMaskedLoad:
      return fmt::format("{} ? {} : {}(0)", arguments[0], load_at(std::span(arguments).subspan(1)),
                         fmt::format("static_cast<{}>", arithmetic_type_name(node.dtype)));
    case Op::kCast:
      if (is_half(node.dtype)) {
        return fmt::format("static_cast<float>(scalar_cast<{}>({}))", memory_type(node.dtype),
                           arguments[0]);
      }
      return fmt::format("scalar_cast<{}>({})", memory_type(node.dtype), arguments[0]);
    case Op::kBitcast: {
      const std::string from =
          is_half(argument_dtype())
              ? fmt::format("{}({})", memory_type(argument_dtype()), arguments[0])
              : arguments[0];
      const std::string cast = fmt::format("std::bit_cast<{}>({})", memory_type(node.dtype), from);
      return is_half(node.dtype) ? fmt::format("static_cast<float>({})", cast) : cast;
    }
    case Op::kIsNan:
      return fmt::format("({0} != {0})", arguments[0]);
    case Op::kSelect:
      return fmt::format("{} ? {} : {}", arguments[0], arguments[1], arguments[2]);
    case Op::kCheckIndex: {
      const ir::IndexCheck& index = pool.check_of(id);
      return fmt::format("check_index({}, {}, {}, {}, errors)", arguments[0], size(index.size),
                         index.wrap, check(StatusCode::kOutOfRange, index.message));
    }
    case Op::kPhilox:
      return fmt::format("philox_bits({}, {}, {})", arguments[0], arguments[1], arguments[2]);
    default:
      break;
  }
  if (const char* sign = infix(node.op, argument_dtype()))
    return fmt::format("{} {} {}", arguments[0], sign, arguments[1]);
  const std::string text =
      fmt::format("scalar_{}<Op({}) /* {} */>({}{}{})", arguments.size() == 1 ? "unary" : "binary",
                  static_cast<int>(node.op), ir::op_name(node.op), arguments[0],
                  arguments.size() == 1 ? "" : ", ", arguments.size() == 1 ? "" : arguments[1]);
  return is_half(node.dtype) ? rounded(node.dtype, text) : text;
}

std::string KernelWriter::expression(ExprId root, Scope& scope, std::string& statements) {
  const ir::ExprPool& pool = context_.plan->graph->pool;
  for (const ExprId id : pool.topological(root)) {
    if (scope.written.contains(id)) continue;
    const ir::ExprNode& expression_node = pool.node(id);
    std::string text = node(id, scope);
    if (!is_leaf(expression_node.op)) {
      const std::string name = fresh_name("v");
      statements += fmt::format("const {} {} = {};\n", arithmetic_type_name(expression_node.dtype),
                                name, text);
      text = name;
    }
    scope.written.emplace(id, text);
  }
  return scope.written.at(root);
}

Result<Kernel> KernelWriter::finish(const std::string& body, int launch_bounds) {
  if (buffers_.size() + arguments_.size() > kMaxParameters) {
    return Status(StatusCode::kUnimplemented,
                  fmt::format("a kernel works on {} buffers, more than the {} that it can",
                              buffers_.size(), kMaxParameters));
  }
  std::string text = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) KERNEL(\n    ",
                                 launch_bounds);
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    text += fmt::format("{}* b{}, ", buffer_types_[i], i);
  text += "const long long* symbols, ErrorTable* errors, char* scratch";
  for (const std::string& argument : arguments_) text += ", long long " + argument;
  text += ") {\n" + body + "}\n";
  return Kernel(context_.library, context_.library->add(std::move(text)), buffers_,
                arguments_.size());
}

}  // namespace tendon::backends::cuda
