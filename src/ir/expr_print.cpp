// The text form of expressions.
//
// Calls, but infix for int64 arithmetic: load(%3, i0, 2*i1 + 1). A larger expression that is used
// twice gets a name first: "t0 = exp(load(%1, i0)); multiply(t0, t0)".
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/expr_id_map.h"

namespace tendon::ir {

namespace {

enum Precedence { kComparison, kSum, kProduct, kAtom };

std::string number_text(DType dtype, std::int64_t payload) {
  if (dtype == DType::kBool) return payload != 0 ? "true" : "false";
  if (dtype == DType::kUInt64) return std::to_string(static_cast<std::uint64_t>(payload));
  if (!is_floating(dtype) && !is_complex(dtype)) return std::to_string(payload);
  const double value = std::bit_cast<double>(payload);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  // The shortest text that reads back as the same number.
  const auto end = dtype == DType::kFloat64
                       ? std::to_chars(buffer, buffer + sizeof buffer, value)
                       : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  return std::string(buffer, end.ptr);
}

class Printer {
 public:
  Printer(const ExprPool& pool, ExprId root) : pool_(pool) {
    const std::vector<ExprId> order = pool.topological(root);
    ExprIdMap uses;
    for (ExprId id : order) {
      for (ExprId argument : pool.arguments(id)) {
        uses.set(argument, uses.find(argument).value_or(0) + 1);
      }
    }
    // Sizes of trees without the named parts, so that the text is never much longer than the graph;
    // depths, so that printing never recurses far.
    constexpr std::int32_t kShort = 6;
    constexpr std::int32_t kDeep = 100;
    ExprIdMap tree_size;
    ExprIdMap depths;
    int names = 0;
    for (ExprId id : order) {
      std::int32_t size = 1;
      std::int32_t depth = 1;
      for (ExprId argument : pool.arguments(id)) {
        size += *tree_size.find(argument);
        depth = std::max(depth, 1 + *depths.find(argument));
      }
      const bool shared = uses.find(id).value_or(0) > 1 && size > kShort;
      if (id != root && (shared || depth > kDeep)) {
        const std::string name = "t" + std::to_string(names);
        prefix_ += name + " = " + print(id, kComparison) + "; ";
        names_.set(id, names++);
        size = depth = 1;
      }
      tree_size.set(id, size);
      depths.set(id, depth);
    }
  }

  std::string whole(ExprId root) { return prefix_ + print(root, kComparison); }

 private:
  static std::string parenthesized(std::string text, bool yes) {
    return yes ? "(" + text + ")" : text;
  }

  std::string list(ExprId id, std::string text) {
    for (ExprId argument : pool_.arguments(id)) {
      if (text.back() != '(') text += ", ";
      text += print(argument, kComparison);
    }
    return text + ")";
  }

  std::string infix(ExprId id, const char* sign, Precedence level, Precedence outer, bool swap) {
    const auto arguments = pool_.arguments(id);
    const ExprId left = arguments[swap ? 1 : 0];
    const ExprId right = arguments[swap ? 0 : 1];
    const auto tighter = static_cast<Precedence>(level + 1);
    std::string text = print(left, level == kComparison ? tighter : level);
    text += sign;
    text += print(right, tighter);
    return parenthesized(std::move(text), outer > level);
  }

  std::string print(ExprId id, Precedence outer) {
    if (const auto name = names_.find(id)) return "t" + std::to_string(*name);
    const ExprNode& node = pool_.node(id);
    const auto arguments = pool_.arguments(id);
    const bool is_index = !arguments.empty() && pool_.dtype(arguments[0]) == DType::kInt64;
    switch (node.op) {
      case Op::kConstant:
        return parenthesized(number_text(node.dtype, node.payload),
                             outer == kAtom && node.dtype == DType::kInt64 && node.payload < 0);
      case Op::kIndex:
        return "i" + std::to_string(node.payload);
      case Op::kSize: {
        std::string text = pool_.size_of(id).to_string();
        const bool is_sum = text.find(' ') != std::string::npos;
        return parenthesized(std::move(text), is_sum && outer > kSum);
      }
      case Op::kLoad:
      case Op::kMaskedLoad:
        return list(id, std::string(op_name(node.op)) + "(%" + std::to_string(node.payload));
      case Op::kAccumulator:
        return "accumulator";
      case Op::kCast:
        return list(id, std::string(dtype_name(node.dtype)) + "(");
      case Op::kBitcast:
        return list(id, "bitcast<" + std::string(dtype_name(node.dtype)) + ">(");
      case Op::kCheckIndex: {
        const IndexCheck& check = pool_.check_of(id);
        return "check_index(" + print(arguments[0], kComparison) + ", " + check.size.to_string() +
               (check.wrap ? ")" : ", no wrap)");
      }
      case Op::kNegate:
        if (!is_index) break;
        return parenthesized("-" + print(arguments[0], kAtom), outer > kSum);
      case Op::kAdd:
        if (is_index) return sum(id, outer);
        break;
      case Op::kSubtract:
        if (is_index) return infix(id, " - ", kSum, outer, false);
        break;
      case Op::kMultiply:
        // The coefficient first.
        if (is_index) return infix(id, "*", kProduct, outer, is_coefficient(arguments[1]));
        break;
      case Op::kFloorDivide:
        if (is_index) return infix(id, " // ", kProduct, outer, false);
        break;
      case Op::kRemainder:
        if (is_index) return infix(id, " % ", kProduct, outer, false);
        break;
      case Op::kLess:
        if (is_index) return infix(id, " < ", kComparison, outer, false);
        break;
      case Op::kLessEqual:
        if (is_index) return infix(id, " <= ", kComparison, outer, false);
        break;
      case Op::kEqual:
        if (is_index) return infix(id, " == ", kComparison, outer, false);
        break;
      case Op::kNotEqual:
        if (is_index) return infix(id, " != ", kComparison, outer, false);
        break;
      default:
        break;
    }
    return list(id, std::string(op_name(node.op)) + "(");
  }

  std::string sum(ExprId id, Precedence outer) {
    const auto arguments = pool_.arguments(id);
    const auto number = pool_.as_integer(arguments[1]);
    if (!number || *number >= 0) return infix(id, " + ", kSum, outer, false);
    return parenthesized(print(arguments[0], kSum) + " - " + std::to_string(*number).substr(1),
                         outer > kSum);
  }

  bool is_coefficient(ExprId id) const {
    return pool_.node(id).op == Op::kConstant || pool_.node(id).op == Op::kSize;
  }

  const ExprPool& pool_;
  ExprIdMap names_;
  std::string prefix_;
};

}  // namespace

std::string ExprPool::to_string(ExprId id) const {
  if (id == kNoExpr) return "none";
  return Printer(*this, id).whole(id);
}

}  // namespace tendon::ir
