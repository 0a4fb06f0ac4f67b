// Random graphs of maps, views and reductions against the plain evaluator.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "backends/cpu/test_graph_runner.h"
#include "backends/cpu/test_graphs.h"
#include "ir/evaluate.h"
#include "tensor/compare.h"

namespace tendon::backends::cpu {
namespace {

using ir::ExprId;
using ir::Op;
using ir::ReduceOp;
using ir::Shape;
using ir::Size;
using ir::ValueId;

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  void build() {
    const int inputs = pick(1, 3);
    for (int i = 0; i < inputs; ++i) add_input(pick(0, 3) == 0 ? DType::kInt64 : DType::kFloat32);
    const int nodes = pick(1, 7);
    for (int i = 0; i < nodes; ++i) add_node();
    // The last value, and some others.
    give(values_.back());
    for (std::size_t i = 0; i + 1 < values_.size(); ++i) {
      if (pick(0, 5) == 0) give(values_[i]);
    }
  }

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < g.graph.inputs.size(); ++i) {
      const ir::Value& value = g.graph.value(g.graph.inputs[i]);
      result.push_back(random_tensor(value.dtype, sizes_[i], i + 1));
    }
    return result;
  }

  /// Rounding to a half type makes a unit of a half type of a unit of float32.
  double tolerance() const { return rounds_ ? 2e-2 : 2e-5; }

  TestGraph g;

 private:
  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  template <typename T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(pick(0, static_cast<int>(choices.size()) - 1))];
  }

  /// An output, often with its axes in another order in memory.
  void give(ValueId value) {
    std::vector<int> order(shape_of(value).size());
    std::iota(order.begin(), order.end(), 0);
    if (pick(0, 1) == 0) std::shuffle(order.begin(), order.end(), random_);
    g.output(value, std::move(order));
  }

  void add_input(DType dtype) {
    Sizes sizes;
    Shape shape;
    const int rank = pick(0, 4);
    std::int64_t total = 1;
    for (int k = 0; k < rank; ++k) {
      std::int64_t size = one_of<std::int64_t>({1, 2, 3, 4, 5, 8, 13, 17, 40, 64, 100, 300});
      if (total * size > 20000) size = 2;
      total *= size;
      sizes.push_back(size);
      if (pick(0, 3) == 0) {
        auto symbol = std::make_shared<ir::Symbol>();
        symbol->name = fmt::format("s{}", symbols_++);
        symbol->lower = 1;
        symbol->upper = 1000;
        shape.push_back(Size::symbol(symbol));
        hints_.emplace_back(symbol, size);
      } else {
        shape.push_back(size);
      }
    }
    values_.push_back(g.input(dtype, shape));
    sizes_.push_back(sizes);
  }

  ValueId any() { return one_of(values_); }
  const Shape& shape_of(ValueId value) const { return g.graph.value(value).shape; }
  DType dtype_of(ValueId value) const { return g.graph.value(value).dtype; }
  std::int64_t number(const Size& size) const {
    return *size.evaluate([&](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
      for (const auto& [known, value] : hints_) {
        if (known.get() == &symbol) return value;
      }
      return std::nullopt;
    });
  }
  std::int64_t elements(const Shape& shape) const {
    std::int64_t total = 1;
    for (const Size& size : shape) total *= number(size);
    return total;
  }

  /// Broadcasts `value` to `shape` if it can: the same axis or size 1.
  bool broadcasts(ValueId value, const Shape& shape) const {
    const Shape& own = shape_of(value);
    if (own.size() > shape.size()) return false;
    for (std::size_t k = 0; k < own.size(); ++k) {
      const Size& size = own[own.size() - 1 - k];
      if (!(size == Size(1)) && !(size == shape[shape.size() - 1 - k])) return false;
    }
    return true;
  }
  ExprId load_broadcast(ValueId value, const Positions& at) {
    const Shape& own = shape_of(value);
    Positions positions;
    for (std::size_t k = 0; k < own.size(); ++k) {
      positions.push_back(own[k] == Size(1) ? g.integer(0) : at[at.size() - own.size() + k]);
    }
    return g.load(value, positions);
  }
  ExprId as(DType dtype, ExprId x) { return g.graph.pool.cast(dtype, x); }

  ExprId elementwise(ExprId x) {
    ir::ExprPool& pool = g.graph.pool;
    if (pool.dtype(x) == DType::kInt64) {
      switch (pick(0, 3)) {
        case 0:
          return pool.binary(Op::kFloorDivide, x, g.integer(3));
        case 1:
          return pool.binary(Op::kRemainder, x, g.integer(5));
        case 2:
          return pool.unary(Op::kAbs, x);
        default:
          return pool.binary(Op::kMultiply, x, g.integer(2));
      }
    }
    switch (pick(0, 6)) {
      case 0:
        return pool.unary(Op::kTanh, x);
      case 1:
        return pool.unary(Op::kSigmoid, x);
      case 2:
        return pool.unary(Op::kAbs, x);
      case 3:
        return pool.unary(Op::kNegate, x);
      case 4:
        return pool.unary(Op::kErf, x);
      case 5:
        rounds_ = true;
        return as(DType::kFloat32, as(pick(0, 1) == 0 ? DType::kFloat16 : DType::kBFloat16, x));
      default:
        return pool.binary(Op::kMaximum, x, g.number(DType::kFloat32, 0.1));
    }
  }

  void add_node() {
    switch (pick(0, 11)) {
      case 0:
      case 1:
        return add_elementwise();
      case 2:
        return add_permute();
      case 3:
        return add_expand();
      case 4:
        return add_slice();
      case 5:
        return add_reshape();
      case 6:
        return add_pad();
      case 7:
        return add_concatenation();
      case 8:
        return add_gather();
      case 9:
        return add_softmax();
      default:
        return add_reduction();
    }
  }

  void add_elementwise() {
    const ValueId a = any();
    const ValueId b = any();
    values_.push_back(g.map(shape_of(a), [&](const Positions& at) {
      ExprId x = g.load(a, at);
      if (broadcasts(b, shape_of(a))) {
        const DType dtype = g.graph.pool.dtype(x);
        x = g.graph.pool.binary(one_of<Op>({Op::kAdd, Op::kSubtract, Op::kMinimum}), x,
                                as(dtype, load_broadcast(b, at)));
      }
      return elementwise(x);
    }));
  }

  void add_permute() {
    const ValueId a = any();
    std::vector<std::size_t> order(shape_of(a).size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), random_);
    Shape shape;
    for (std::size_t k : order) shape.push_back(shape_of(a)[k]);
    values_.push_back(g.map(shape, [&](const Positions& at) {
      Positions positions(at.size());
      for (std::size_t k = 0; k < order.size(); ++k) positions[order[k]] = at[k];
      const ExprId x = g.load(a, positions);
      return pick(0, 1) == 0 ? x : elementwise(x);
    }));
  }

  void add_expand() {
    const ValueId a = any();
    Shape shape = shape_of(a);
    if (shape.size() > 4 || elements(shape) > 20000) return;
    const auto where = static_cast<std::size_t>(pick(0, static_cast<int>(shape.size())));
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(where), Size(pick(1, 4)));
    values_.push_back(g.map(shape, [&](const Positions& at) {
      Positions positions = at;
      positions.erase(positions.begin() + static_cast<std::ptrdiff_t>(where));
      const ExprId x = g.load(a, positions);
      return pick(0, 1) == 0 ? x : elementwise(x);
    }));
  }

  void add_slice() {
    const ValueId a = any();
    Shape shape = shape_of(a);
    std::vector<std::int64_t> start(shape.size(), 0), step(shape.size(), 1);
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (!shape[k].is_constant() || shape[k].constant() < 3 || pick(0, 1) == 0) continue;
      start[k] = pick(0, 1);
      step[k] = pick(1, 2);
      shape[k] = (shape[k].constant() - start[k] + step[k] - 1) / step[k];
      if (pick(0, 3) == 0) {  // backwards
        start[k] += (shape[k].constant() - 1) * step[k];
        step[k] = -step[k];
      }
    }
    values_.push_back(g.map(shape, [&](const Positions& at) {
      ir::ExprPool& pool = g.graph.pool;
      Positions positions;
      for (std::size_t k = 0; k < at.size(); ++k) {
        positions.push_back(pool.binary(
            Op::kAdd, pool.binary(Op::kMultiply, at[k], g.integer(step[k])), g.integer(start[k])));
      }
      const ExprId x = g.load(a, positions);
      return pick(0, 1) == 0 ? x : elementwise(x);
    }));
  }

  /// Flattens, or splits a constant size.
  void add_reshape() {
    const ValueId a = any();
    const Shape from = shape_of(a);
    Shape shape;
    if (pick(0, 1) == 0) {
      shape = {ir::element_count(from)};
    } else {
      for (const Size& size : from) {
        if (size.is_constant() && size.constant() % 4 == 0) {
          shape.push_back(4);
          shape.push_back(size.constant() / 4);
        } else {
          shape.push_back(size);
        }
      }
    }
    if (shape.size() > 6) return;
    values_.push_back(g.map(shape, [&](const Positions& at) {
      ir::ExprPool& pool = g.graph.pool;
      const Shape strides = ir::contiguous_strides(shape);
      ExprId flat = g.integer(0);
      for (std::size_t k = 0; k < at.size(); ++k) {
        flat =
            pool.binary(Op::kAdd, flat, pool.binary(Op::kMultiply, at[k], pool.size(strides[k])));
      }
      Positions positions(from.size());
      for (std::size_t k = from.size(); k-- > 0;) {
        positions[k] = k == 0 ? flat : pool.binary(Op::kRemainder, flat, pool.size(from[k]));
        flat = pool.binary(Op::kFloorDivide, flat, pool.size(from[k]));
      }
      const ExprId x = g.load(a, positions);
      return pick(0, 1) == 0 ? x : elementwise(x);
    }));
  }

  void add_pad() {
    const ValueId a = any();
    const Shape from = shape_of(a);
    Shape shape;
    std::vector<std::int64_t> before(from.size());
    if (elements(from) > 20000) return;
    for (std::size_t k = 0; k < from.size(); ++k) {
      before[k] = pick(0, 2);
      shape.push_back(from[k] + Size(before[k] + pick(0, 2)));
    }
    values_.push_back(g.map(shape, [&](const Positions& at) {
      ir::ExprPool& pool = g.graph.pool;
      ExprId mask = pool.constant(DType::kBool, std::int64_t{1});
      Positions positions;
      for (std::size_t k = 0; k < at.size(); ++k) {
        const ExprId p = pool.binary(Op::kSubtract, at[k], g.integer(before[k]));
        positions.push_back(p);
        mask = pool.binary(Op::kAnd, mask, pool.binary(Op::kLessEqual, g.integer(0), p));
        mask = pool.binary(Op::kAnd, mask, pool.binary(Op::kLess, p, pool.size(from[k])));
      }
      const ExprId x = pool.masked_load(a, dtype_of(a), mask, positions);
      return pick(0, 1) == 0 ? x : elementwise(x);
    }));
  }

  void add_concatenation() {
    const ValueId a = any();
    const ValueId b = any();
    const Shape& from = shape_of(a);
    if (from.empty() || !(from == shape_of(b)) || dtype_of(a) != dtype_of(b)) return;
    if (elements(from) > 20000) return;
    const auto axis = static_cast<std::size_t>(pick(0, static_cast<int>(from.size()) - 1));
    Shape shape = from;
    const Size first = from[axis];
    shape[axis] = shape[axis] * Size(2);
    values_.push_back(g.map(shape, [&](const Positions& at) {
      ir::ExprPool& pool = g.graph.pool;
      const ExprId in_first = pool.binary(Op::kLess, at[axis], pool.size(first));
      Positions shifted = at;
      shifted[axis] = pool.binary(Op::kSubtract, at[axis], pool.size(first));
      const ExprId x = pool.select(
          in_first, pool.masked_load(a, dtype_of(a), in_first, at),
          pool.masked_load(b, dtype_of(b), pool.unary(Op::kLogicalNot, in_first), shifted));
      return pick(0, 1) == 0 ? x : elementwise(x);
    }));
  }

  void add_gather() {
    const ValueId a = any();
    const ValueId indices = any();
    const Shape& from = shape_of(a);
    if (from.empty() || dtype_of(indices) != DType::kInt64) return;
    const auto axis = static_cast<std::size_t>(pick(0, static_cast<int>(from.size()) - 1));
    // out[j..., rest...] = a[..., indices[j...] mod size, ...]
    Shape shape = shape_of(indices);
    const std::size_t lead = shape.size();
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (k != axis) shape.push_back(from[k]);
    }
    if (elements(shape) > 50000 || shape.size() > 6) return;
    values_.push_back(g.map(shape, [&](const Positions& at) {
      ir::ExprPool& pool = g.graph.pool;
      const Positions index_at(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(lead));
      ExprId position =
          pool.binary(Op::kRemainder, g.load(indices, index_at), pool.size(from[axis]));
      position = pool.check_index(position, ir::IndexCheck{from[axis], true, "bad"});
      Positions positions(at.begin() + static_cast<std::ptrdiff_t>(lead), at.end());
      positions.insert(positions.begin() + static_cast<std::ptrdiff_t>(axis), position);
      const ExprId x = g.load(a, positions);
      return pick(0, 1) == 0 ? x : elementwise(x);
    }));
  }

  /// Splits the axes of `a` into kept and reduced ones; `kept_first` gives [kept, reduced] order.
  void add_reduction() {
    const ValueId a = any();
    const Shape from = shape_of(a);
    std::vector<std::size_t> kept, reduced;
    for (std::size_t k = 0; k < from.size(); ++k) (pick(0, 1) == 0 ? kept : reduced).push_back(k);
    Shape shape, inner;
    for (std::size_t k : kept) shape.push_back(from[k]);
    for (std::size_t k : reduced) inner.push_back(from[k]);
    const bool floating = is_floating(dtype_of(a));
    std::vector<ReduceOp> ops = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kArgMin,
                                 ReduceOp::kArgMax};
    if (floating) ops.push_back(ReduceOp::kMoments);
    const auto results = g.reduce(one_of(ops), shape, inner, [&](const Positions& at) {
      Positions positions(from.size());
      for (std::size_t k = 0; k < kept.size(); ++k) positions[kept[k]] = at[k];
      for (std::size_t k = 0; k < reduced.size(); ++k) positions[reduced[k]] = at[kept.size() + k];
      const ExprId x = g.load(a, positions);
      return pick(0, 1) == 0 ? x : elementwise(x);
    });
    for (ValueId value : results) values_.push_back(value);
  }

  /// Over the last axis, as one kernel of four nodes.
  void add_softmax() {
    const ValueId a = any();
    const Shape from = shape_of(a);
    if (from.empty() || dtype_of(a) != DType::kFloat32) return;
    const Shape outer(from.begin(), from.end() - 1);
    const Shape inner = {from.back()};
    ir::ExprPool& pool = g.graph.pool;
    const auto drop = [](Positions at) {
      at.pop_back();
      return at;
    };
    const ValueId largest = g.reduce(ReduceOp::kMax, outer, inner,
                                     [&](const Positions& at) { return g.load(a, at); })[0];
    const ValueId power = g.map(from, [&](const Positions& at) {
      return pool.unary(Op::kExp,
                        pool.binary(Op::kSubtract, g.load(a, at), g.load(largest, drop(at))));
    });
    const ValueId sum = g.reduce(ReduceOp::kSum, outer, inner,
                                 [&](const Positions& at) { return g.load(power, at); })[0];
    values_.push_back(g.map(from, [&](const Positions& at) {
      return pool.binary(Op::kDivide, g.load(power, at), g.load(sum, drop(at)));
    }));
  }

  std::mt19937 random_;
  std::vector<ValueId> values_;
  std::vector<Sizes> sizes_;
  std::vector<std::pair<ir::SymbolRef, std::int64_t>> hints_;
  int symbols_ = 0;
  bool rounds_ = false;
};

class RandomGraphs : public testing::TestWithParam<unsigned> {};

void check_seed(unsigned seed) {
  RandomGraph random(seed);
  random.build();
  ASSERT_EQ(ir::verify(random.g.graph), std::nullopt);
  const std::vector<Tensor> inputs = random.tensors();
  std::vector<TensorView> views;
  for (const Tensor& tensor : inputs) views.push_back(tensor.view());
  const auto expected = ir::evaluate(random.g.graph, views);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  std::vector<Tensor> first;
  for (int threads : {1, 2, 3}) {
    auto runner = GraphRunner::make(random.g.graph, threads);
    ASSERT_TRUE(runner.ok()) << runner.status().to_string() << random.g.graph.to_string();
    auto got = (*runner)->run(inputs);
    ASSERT_TRUE(got.ok()) << got.status().to_string() << random.g.graph.to_string();
    for (std::size_t i = 0; i < got->size(); ++i) {
      const auto comparison = tensor::compare((*got)[i].view(), expected->tensors[i].view(),
                                              {random.tolerance(), random.tolerance()});
      ASSERT_TRUE(comparison.ok()) << comparison.status().to_string();
      ASSERT_TRUE(comparison->ok())
          << "output " << i << ": " << comparison->mismatches << " of " << comparison->elements
          << " differ, first " << comparison->got << " for " << comparison->expected << "\n"
          << random.g.graph.to_string() << (*runner)->plan().to_string();
      if (threads > 1) {
        // The same bits for any number of threads.
        const TensorView& a = (*got)[i].view();
        ASSERT_EQ(std::memcmp(a.data, first[i].view().data, a.bytes()), 0)
            << "output " << i << " depends on the number of threads\n"
            << random.g.graph.to_string();
      }
    }
    if (threads == 1) first = *got;
  }
}

TEST_P(RandomGraphs, MatchThePlainEvaluator) {
  for (unsigned seed = GetParam() * 50; seed < GetParam() * 50 + 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    check_seed(seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(0u, 20u));

}  // namespace
}  // namespace tendon::backends::cpu
