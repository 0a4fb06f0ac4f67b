// Random expressions and random chains of views mean the same before and after simplification.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <unordered_map>

#include "ir/expr.h"
#include "ir/expr_fold.h"

namespace tendon::ir {
namespace {

struct SymbolValue {
  SymbolRef symbol;
  std::int64_t value;
};

/// Integer payloads of an expression's nodes at one point.
class Evaluator {
 public:
  Evaluator(const std::vector<SymbolValue>& symbols, std::vector<std::int64_t> indices)
      : symbols_(symbols), indices_(std::move(indices)) {}

  std::int64_t size(const Size& size) const {
    return size
        .evaluate([&](const Symbol& symbol) -> std::optional<std::int64_t> {
          for (const auto& [known, value] : symbols_) {
            if (known.get() == &symbol) return value;
          }
          return std::nullopt;
        })
        .value();
  }

  std::int64_t index(int axis) const { return indices_.at(static_cast<std::size_t>(axis)); }

  /// Any function of the value and the positions will do.
  static std::int64_t load(ValueId value, DType dtype, std::span<const std::int64_t> positions) {
    std::uint64_t hash = static_cast<std::uint64_t>(value) + 1;
    for (std::int64_t position : positions) {
      hash = (hash ^ static_cast<std::uint64_t>(position)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 31;
    }
    // Small numbers and extreme ones.
    const std::int64_t kChoices[] = {0,
                                     1,
                                     -1,
                                     7,
                                     -8,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min(),
                                     static_cast<std::int64_t>(hash)};
    return wrap_integer(dtype, kChoices[(hash >> 8) % 8]);
  }

  std::int64_t check(std::int64_t position, const IndexCheck& check) const {
    const std::int64_t extent = size(check.size);
    if (check.wrap && position < 0) position += extent;
    return position < 0 || position >= extent ? 0 : position;
  }

  std::int64_t evaluate(const ExprPool& pool, ExprId root) const {
    std::unordered_map<ExprId, std::int64_t> values;
    for (ExprId id : pool.topological(root)) {
      values[id] = node_value(pool, id, values);
    }
    return values[root];
  }

 private:
  std::int64_t node_value(const ExprPool& pool, ExprId id,
                          std::unordered_map<ExprId, std::int64_t>& values) const {
    const ExprNode& node = pool.node(id);
    std::vector<std::int64_t> a;
    for (ExprId argument : pool.arguments(id)) a.push_back(values[argument]);
    switch (node.op) {
      case Op::kConstant:
        return node.payload;
      case Op::kIndex:
        return index(static_cast<int>(node.payload));
      case Op::kSize:
        return size(pool.size_of(id));
      case Op::kLoad:
        return load(static_cast<ValueId>(node.payload), node.dtype, a);
      case Op::kMaskedLoad:
        return a[0] == 0
                   ? 0
                   : load(static_cast<ValueId>(node.payload), node.dtype, std::span(a).subspan(1));
      case Op::kCast:
        return fold_cast(pool.dtype(pool.arguments(id)[0]), node.dtype, a[0]).value();
      case Op::kSelect:
        return a[0] != 0 ? a[1] : a[2];
      case Op::kCheckIndex:
        return check(a[0], pool.check_of(id));
      default: {
        const DType dtype = pool.dtype(pool.arguments(id)[0]);
        return a.size() == 1 ? fold_unary(node.op, dtype, a[0]).value()
                             : fold_binary(node.op, dtype, a[0], a[1]).value();
      }
    }
  }

  const std::vector<SymbolValue>& symbols_;
  std::vector<std::int64_t> indices_;
};

void for_each_point(const std::vector<std::int64_t>& extents,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::vector<std::int64_t> point(extents.size(), 0);
  for (std::int64_t extent : extents) {
    if (extent == 0) return;
  }
  while (true) {
    visit(point);
    std::size_t axis = extents.size();
    while (axis > 0 && ++point[axis - 1] == extents[axis - 1]) point[--axis] = 0;
    if (axis == 0) return;
  }
}

/// An expression as written: the oracle evaluates it without the pool.
struct Written {
  DType dtype = DType::kInt64;
  ExprId id = kNoExpr;
  std::function<std::int64_t(const Evaluator&)> value;
  std::string text;
};

class RandomExpressions : public ::testing::TestWithParam<int> {
 protected:
  std::int64_t pick(std::int64_t count) {
    return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random_);
  }

  void choose_extents() {
    symbols_.clear();
    sizes_.clear();
    numbers_.clear();
    const bool open = pick(2) == 0;  // symbols without an upper bound
    big_numbers_ = !open;
    for (int i = 0; i < 2; ++i) {
      auto symbol = std::make_shared<const Symbol>(
          Symbol{"s" + std::to_string(i), 1, open ? kUnbounded : 6, false, {}});
      symbols_.push_back({symbol, 1 + pick(6)});
    }
    const Size s0 = Size::symbol(symbols_[0].symbol);
    const Size s1 = Size::symbol(symbols_[1].symbol);
    const Size choices[] = {Size(1 + pick(7)), s0, s1, s0 + Size(1), s0 * Size(2)};
    for (int axis = 0; axis < 3; ++axis) sizes_.push_back(choices[pick(5)]);
    const Evaluator at({symbols_}, {});
    for (const Size& size : sizes_) numbers_.push_back(at.size(size));
    pool_.set_extents(sizes_);
  }

  Size random_size() {
    const Size s0 = Size::symbol(symbols_[0].symbol);
    const Size s1 = Size::symbol(symbols_[1].symbol);
    const Size choices[] = {s0, s1, s0 * s1, s0 * Size(2), s1 + Size(1), Size(1 + pick(12))};
    return choices[pick(6)];
  }

  Written constant(DType dtype, std::int64_t value) {
    const std::int64_t payload = wrap_integer(dtype, value);
    return {dtype, pool_.constant(dtype, value), [payload](const Evaluator&) { return payload; },
            std::to_string(payload)};
  }

  Written written_size(const Size& size) {
    return {DType::kInt64, pool_.size(size), [size](const Evaluator& at) { return at.size(size); },
            "(" + size.to_string() + ")"};
  }

  std::int64_t random_number() {
    if (!big_numbers_ || pick(4) != 0) return pick(16) - 4;
    const std::int64_t kBig[] = {std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max(), 1000003, -(1LL << 40)};
    return kBig[pick(5)];
  }

  Written leaf(DType dtype) {
    if (dtype == DType::kInt64) {
      switch (pick(6)) {
        case 0:
        case 1:
        case 2: {
          const int axis = static_cast<int>(pick(3));
          return {dtype, pool_.index(axis), [axis](const Evaluator& at) { return at.index(axis); },
                  "i" + std::to_string(axis)};
        }
        case 3: {
          return written_size(random_size());
        }
        case 4:
          return constant(dtype, random_number());
        default:
          break;
      }
    } else if (pick(3) == 0) {
      return constant(dtype, random_number());
    }
    const auto value = static_cast<ValueId>(pick(3));
    if (pick(3) == 0) {
      return {dtype, pool_.load(value, dtype, {}),
              [value, dtype](const Evaluator&) { return Evaluator::load(value, dtype, {}); },
              std::string(dtype_name(dtype)) + "%" + std::to_string(value)};
    }
    const int axis = static_cast<int>(pick(3));
    const ExprId positions[] = {pool_.index(axis)};
    return {dtype, pool_.load(value, dtype, positions),
            [value, dtype, axis](const Evaluator& at) {
              const std::int64_t position[] = {at.index(axis)};
              return Evaluator::load(value, dtype, position);
            },
            std::string(dtype_name(dtype)) + "%" + std::to_string(value) + "[i" +
                std::to_string(axis) + "]"};
  }

  Written binary(Op op, Written a, Written b, DType result) {
    const DType dtype = a.dtype;
    const ExprId id = pool_.binary(op, a.id, b.id);
    return {result, id,
            [op, dtype, a, b](const Evaluator& at) {
              return fold_binary(op, dtype, a.value(at), b.value(at)).value();
            },
            std::string(op_name(op)) + "(" + a.text + ", " + b.text + ")"};
  }

  Written unary(Op op, Written a) {
    const DType dtype = a.dtype;
    return {
        dtype, pool_.unary(op, a.id),
        [op, dtype, a](const Evaluator& at) { return fold_unary(op, dtype, a.value(at)).value(); },
        std::string(op_name(op)) + "(" + a.text + ")"};
  }

  DType random_type() {
    const DType kTypes[] = {DType::kInt64, DType::kInt64, DType::kInt64, DType::kBool,
                            DType::kInt32, DType::kUInt8, DType::kInt8,  DType::kUInt64};
    return kTypes[pick(8)];
  }

  Written expression(DType dtype, int depth) {
    if (depth == 0) return leaf(dtype);
    const auto inner = [&](DType type) {
      return expression(type, depth - 1 - pick(2) * (depth > 1));
    };
    const std::int64_t choice = pick(20);
    if (choice == 0) return leaf(dtype);
    if (choice == 1) {
      const Written c = inner(DType::kBool);
      const Written a = inner(dtype);
      const Written b = inner(dtype);
      return {
          dtype, pool_.select(c.id, a.id, b.id),
          [c, a, b](const Evaluator& at) { return c.value(at) != 0 ? a.value(at) : b.value(at); },
          "select(" + c.text + ", " + a.text + ", " + b.text + ")"};
    }
    if (choice == 2) {
      const Written a = inner(random_type());
      return {dtype, pool_.cast(dtype, a.id),
              [a, dtype](const Evaluator& at) {
                return fold_cast(a.dtype, dtype, a.value(at)).value();
              },
              std::string(dtype_name(dtype)) + "(" + a.text + ")"};
    }
    if (choice == 3) {
      const Written mask = inner(DType::kBool);
      const Written position = inner(DType::kInt64);
      const ExprId positions[] = {position.id};
      return {dtype, pool_.masked_load(5, dtype, mask.id, positions),
              [mask, position, dtype](const Evaluator& at) {
                const std::int64_t at_position[] = {position.value(at)};
                return mask.value(at) != 0 ? Evaluator::load(5, dtype, at_position) : 0;
              },
              "masked_load(" + mask.text + ", " + position.text + ")"};
    }
    if (dtype == DType::kBool) {
      if (choice < 8) {
        const Op kOps[] = {Op::kAnd, Op::kOr, Op::kXor, Op::kEqual, Op::kNotEqual, Op::kLess};
        const Written a = inner(dtype);
        return binary(kOps[pick(6)], a, inner(dtype), DType::kBool);
      }
      if (choice < 10) return unary(Op::kLogicalNot, inner(dtype));
      const Op kOps[] = {Op::kLess, Op::kLessEqual, Op::kEqual, Op::kNotEqual};
      const DType type = random_type();
      const Written a = inner(type);
      return binary(kOps[pick(4)], a, inner(type), DType::kBool);
    }
    if (choice == 4) return unary(pick(2) == 0 ? Op::kNegate : Op::kAbs, inner(dtype));
    if (choice == 5) return unary(pick(2) == 0 ? Op::kSign : Op::kBitNot, inner(dtype));
    if (choice < 14 && dtype == DType::kInt64) {
      // What positions are made of.
      const Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kFloorDivide, Op::kRemainder};
      const Op op = kOps[pick(5)];
      const Written a = inner(dtype);
      if (op == Op::kAdd || op == Op::kSubtract) return binary(op, a, inner(dtype), dtype);
      return binary(op, a, written_size(random_size()), dtype);
    }
    if (choice == 14 && dtype == DType::kInt64) {
      const Written a = inner(dtype);
      const IndexCheck check{random_size(), pick(2) == 0};
      return {dtype, pool_.check_index(a.id, check),
              [a, check](const Evaluator& at) { return at.check(a.value(at), check); },
              "check_index(" + a.text + ", " + check.size.to_string() + ")"};
    }
    const Op kOps[] = {Op::kAdd,         Op::kSubtract,  Op::kMultiply, Op::kFloorDivide,
                       Op::kTruncDivide, Op::kRemainder, Op::kFmod,     Op::kMinimum,
                       Op::kMaximum,     Op::kAnd,       Op::kOr,       Op::kXor,
                       Op::kShiftLeft,   Op::kShiftRight};
    const Op op = kOps[pick(14)];
    const Written a = inner(dtype);
    return binary(op, a, inner(dtype), dtype);
  }

  std::mt19937_64 random_{static_cast<std::uint64_t>(GetParam())};
  bool big_numbers_ = false;
  std::vector<SymbolValue> symbols_;
  std::vector<Size> sizes_;
  std::vector<std::int64_t> numbers_;
  ExprPool pool_;
};

TEST_P(RandomExpressions, KeepTheirValuesAndBounds) {
  for (int round = 0; round < 400; ++round) {
    choose_extents();
    const Written written = expression(random_type(), 2 + static_cast<int>(pick(4)));
    SCOPED_TRACE(written.text + "\n" + pool_.to_string(written.id));
    const bool bounded = !is_floating(written.dtype) && written.dtype != DType::kUInt64;
    const Bounds bounds = bounded ? pool_.bounds(written.id) : Bounds{};
    // A rebuilt copy is the same, and stays so.
    const ExprId again = pool_.rewrite(pool_, written.id, nullptr);
    bool failed = false;
    for_each_point(numbers_, [&](const std::vector<std::int64_t>& point) {
      if (failed) return;
      const Evaluator at(symbols_, point);
      const std::int64_t expected = written.value(at);
      failed = at.evaluate(pool_, written.id) != expected || at.evaluate(pool_, again) != expected;
      if (bounded && bounds.finite()) {
        failed = failed || expected < bounds.lower || expected > bounds.upper;
      }
      EXPECT_FALSE(failed) << "seed " << GetParam() << " round " << round << "\n"
                           << written.text << "\n"
                           << pool_.to_string(written.id) << "\nagain " << pool_.to_string(again)
                           << "\nextents " << to_string(sizes_) << " = "
                           << ::testing::PrintToString(numbers_) << "\nat "
                           << ::testing::PrintToString(point) << "\nexpected " << expected
                           << " got " << at.evaluate(pool_, written.id) << " bounds "
                           << bounds.lower << " " << bounds.upper;
    });
    ASSERT_FALSE(failed);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomExpressions, ::testing::Range(0, 8));

// --- views ---------------------------------------------------------------------------------------

/// A chain of views of one tensor, applied from the tensor outwards; read at a position of the last
/// one, it gives positions in the tensor by plain arithmetic on numbers and by expressions.
class RandomViews : public ::testing::TestWithParam<int> {
 protected:
  using Numbers = std::vector<std::int64_t>;
  struct View {
    std::string name;
    Shape shape;
    std::function<Numbers(const Numbers&)> numbers;
    std::function<std::vector<ExprId>(const std::vector<ExprId>&)> expressions;
  };

  std::int64_t pick(std::int64_t count) {
    return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random_);
  }
  std::int64_t value(const Size& size) const { return Evaluator(symbols_, {}).size(size); }
  Numbers values(const Shape& shape) const {
    Numbers result;
    for (const Size& size : shape) result.push_back(value(size));
    return result;
  }
  ExprId number(const Size& size) { return pool_.size(size); }

  View reshape(const Shape& from, const Shape& to) {
    const auto numbers = [this, from, to](const Numbers& at) {
      std::int64_t flat = 0;
      for (std::size_t i = 0; i < to.size(); ++i) flat = flat * value(to[i]) + at[i];
      Numbers result(from.size());
      for (std::size_t i = from.size(); i-- > 0;) {
        result[i] = flat % value(from[i]);
        flat /= value(from[i]);
      }
      return result;
    };
    const auto expressions = [this, from, to](const std::vector<ExprId>& at) {
      ExprId flat = number(0);
      const Shape strides = contiguous_strides(to);
      for (std::size_t i = 0; i < to.size(); ++i) {
        flat = pool_.binary(Op::kAdd, flat, pool_.binary(Op::kMultiply, at[i], number(strides[i])));
      }
      const Shape steps = contiguous_strides(from);
      std::vector<ExprId> result;
      for (std::size_t i = 0; i < from.size(); ++i) {
        const ExprId digit = pool_.binary(Op::kFloorDivide, flat, number(steps[i]));
        result.push_back(pool_.binary(Op::kRemainder, digit, number(from[i])));
      }
      return result;
    };
    return {"reshape", to, numbers, expressions};
  }

  View split(const Shape& from) {
    Shape to = from;
    for (std::size_t tries = 0; tries < 8; ++tries) {
      const auto axis = static_cast<std::size_t>(pick(static_cast<std::int64_t>(from.size())));
      for (const Size& factor : factors_) {
        const auto rest = divide_exactly(from[axis], factor);
        if (!rest || *rest == Size(1) || pick(3) == 0) continue;
        const bool first = pick(2) == 0;
        to[axis] = first ? factor : *rest;
        to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis) + 1, first ? *rest : factor);
        return reshape(from, to);
      }
    }
    return reshape(from, to);
  }

  View merge(const Shape& from) {
    Shape to = from;
    if (from.size() > 1) {
      const auto axis = static_cast<std::size_t>(pick(static_cast<std::int64_t>(from.size()) - 1));
      to[axis] = to[axis] * to[axis + 1];
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    }
    return reshape(from, to);
  }

  View permute(const Shape& from) {
    std::vector<std::size_t> order(from.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    Shape to;
    for (std::size_t i : order) to.push_back(from[i]);
    const auto apply = [order](const auto& at) {
      auto result = at;
      for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = at[i];
      return result;
    };
    return {"permute", to, apply, apply};
  }

  /// position = start + step * i, with a smaller axis.
  View slice(const Shape& from) {
    const auto axis = static_cast<std::size_t>(pick(static_cast<std::int64_t>(from.size())));
    Shape to = from;
    Size start(0);
    std::int64_t step = 1;
    switch (pick(3)) {
      case 0:  // backwards
        start = from[axis] - Size(1);
        step = -1;
        break;
      case 1:
        if (!provably_less(Size(2), from[axis]).value_or(false)) break;
        start = Size(1);
        to[axis] = from[axis] - Size(1);
        break;
      default:
        step = 2;
        to[axis] = ceil_div(from[axis], Size(2));
        break;
    }
    const auto numbers = [this, axis, start, step](Numbers at) {
      at[axis] = value(start) + step * at[axis];
      return at;
    };
    const auto expressions = [this, axis, start, step](std::vector<ExprId> at) {
      at[axis] = pool_.binary(Op::kAdd, number(start),
                              pool_.binary(Op::kMultiply, number(step), at[axis]));
      return at;
    };
    return {"slice", to, numbers, expressions};
  }

  View expand(const Shape& from) {
    const auto axis = static_cast<std::size_t>(pick(static_cast<std::int64_t>(from.size()) + 1));
    Shape to = from;
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), Size(3));
    const auto apply = [axis](auto at) {
      at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
      return at;
    };
    return {"expand", to, apply, apply};
  }

  View roll(const Shape& from) {
    const auto axis = static_cast<std::size_t>(pick(static_cast<std::int64_t>(from.size())));
    const Size size = from[axis];
    const std::int64_t shift = 1 + pick(2);
    const auto numbers = [this, axis, size, shift](Numbers at) {
      const std::int64_t extent = value(size);
      at[axis] = ((at[axis] - shift) % extent + extent) % extent;
      return at;
    };
    const auto expressions = [this, axis, size, shift](std::vector<ExprId> at) {
      at[axis] = pool_.binary(Op::kRemainder, pool_.binary(Op::kSubtract, at[axis], number(shift)),
                              number(size));
      return at;
    };
    return {"roll", from, numbers, expressions};
  }

  View any(const Shape& from) {
    switch (pick(8)) {
      case 0:
      case 1:
        return split(from);
      case 2:
      case 3:
        return merge(from);
      case 4:
      case 5:
        return permute(from);
      case 6:
        return pick(2) == 0 ? slice(from) : expand(from);
      default:
        return pick(3) == 0 ? roll(from) : slice(from);
    }
  }

  void choose_tensor() {
    symbols_.clear();
    std::vector<Size> choices{Size(3), Size(4), Size(5), Size(6), Size(12)};
    factors_ = {Size(2), Size(3), Size(4), Size(6)};
    if (pick(2) == 0) {
      for (int i = 0; i < 2; ++i) {
        symbols_.push_back({std::make_shared<const Symbol>(
                                Symbol{"s" + std::to_string(i), 3, kUnbounded, false, {}}),
                            5});
        const Size s = Size::symbol(symbols_.back().symbol);
        factors_.push_back(s);
        choices.push_back(s);
        choices.push_back(s * Size(3));
      }
    }
    shape_.clear();
    for (int axis = 0; axis < 3; ++axis) {
      shape_.push_back(
          choices[static_cast<std::size_t>(pick(static_cast<std::int64_t>(choices.size())))]);
    }
  }

  static std::int64_t element_count(const Numbers& extents) {
    std::int64_t count = 1;
    for (std::int64_t extent : extents) count *= extent;
    return count;
  }

  static bool is_affine(const std::vector<Numbers>& points, const std::vector<Numbers>& results) {
    // The value at 0 and one step along each axis decide the rest.
    const std::size_t rank = points[0].size();
    std::map<Numbers, Numbers> known;
    for (std::size_t i = 0; i < points.size(); ++i) known[points[i]] = results[i];
    const Numbers& base = results[0];
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t k = 0; k < base.size(); ++k) {
        std::int64_t expected = base[k];
        for (std::size_t axis = 0; axis < rank; ++axis) {
          Numbers unit(rank, 0);
          unit[axis] = 1;
          const auto step = known.find(unit);
          if (step == known.end()) continue;
          expected += points[i][axis] * (step->second[k] - base[k]);
        }
        if (expected != results[i][k]) return false;
      }
    }
    return true;
  }

  std::mt19937_64 random_{static_cast<std::uint64_t>(GetParam())};
  std::vector<SymbolValue> symbols_;
  std::vector<Size> factors_;
  Shape shape_;
  ExprPool pool_;
};

TEST_P(RandomViews, KeepPositionsAndLoseDivisions) {
  int affine_chains = 0;
  for (int round = 0; round < 150; ++round) {
    choose_tensor();
    std::vector<View> views;
    std::string names;
    Shape shape = shape_;
    const std::int64_t length = 2 + pick(5);
    for (std::int64_t i = 0; i < length; ++i) {
      views.push_back(any(shape));
      shape = views.back().shape;
      names += views.back().name + " " + to_string(shape) + "; ";
    }
    pool_.set_extents(shape);
    std::vector<ExprId> positions;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      positions.push_back(pool_.index(static_cast<int>(axis)));
    }
    for (std::size_t i = views.size(); i-- > 0;) positions = views[i].expressions(positions);

    std::string text;
    for (ExprId id : positions) text += pool_.to_string(id) + ", ";
    SCOPED_TRACE(to_string(shape_) + ": " + names + "\n" + text);

    // Sizes that happen to be equal, or axes of two, can make any function linear.
    bool affine = true;
    const std::pair<std::int64_t, std::int64_t> kValues[] = {{5, 7}, {7, 4}};
    for (const auto& [first, second] : kValues) {
      if (!symbols_.empty()) {
        symbols_[0].value = first;
        symbols_[1].value = second;
      }
      std::vector<Numbers> points;
      std::vector<Numbers> results;
      const Numbers extents = values(shape);
      if (element_count(extents) > 20'000) {
        affine = false;
        continue;
      }
      for_each_point(extents, [&](const Numbers& point) {
        Numbers at = point;
        for (std::size_t i = views.size(); i-- > 0;) at = views[i].numbers(at);
        points.push_back(point);
        results.push_back(at);
      });
      for (std::size_t i = 0; i < points.size(); i += 1 + points.size() / 200) {
        const Evaluator at(symbols_, points[i]);
        for (std::size_t k = 0; k < positions.size(); ++k) {
          ASSERT_EQ(at.evaluate(pool_, positions[k]), results[i][k]);
        }
      }
      affine =
          affine && std::ranges::find(extents, 2) == extents.end() && is_affine(points, results);
    }
    if (!affine) continue;
    ++affine_chains;
    for (ExprId root : positions) {
      for (ExprId id : pool_.topological(root)) {
        ASSERT_NE(pool_.node(id).op, Op::kFloorDivide);
        ASSERT_NE(pool_.node(id).op, Op::kRemainder);
      }
    }
  }
  EXPECT_GT(affine_chains, 5);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomViews, ::testing::Range(0, 8));

}  // namespace
}  // namespace tendon::ir
