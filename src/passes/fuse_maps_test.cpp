// Maps written into their readers, before and after.
#include "ir/dependencies.h"
#include "ir/evaluate_test_graph.h"
#include "passes/pass.h"

namespace tendon::passes {
namespace {

using namespace ir;  // NOLINT(google-build-using-namespace): the vocabulary of this folder

class FuseMaps : public EvaluateTest {
 protected:
  ExprId at(ValueId value, std::initializer_list<ExprId> positions) {
    return pool.load(value, DType::kFloat32, std::vector<ExprId>(positions));
  }
  ExprId index(int axis) { return pool.index(axis); }
  ExprId shifted(int axis, std::int64_t by) {
    return pool.binary(Op::kAdd, index(axis), integer(by));
  }
  /// Row i of [rows, 2 * half] as a rotation turns it: two parts of `half` columns, put together
  /// between `before` columns of zeros and as many behind.
  ValueId rotated(ValueId x, ValueId cosine, ValueId sine, std::int64_t half, std::int64_t before) {
    const Size rows = graph.value(x).shape[0];
    const auto part = [&](Op op, std::int64_t first, std::int64_t second) {
      pool.set_extents(Shape{rows, half});
      return add(Map{pool.binary(op,
                                 pool.binary(Op::kMultiply, at(x, {index(0), shifted(1, first)}),
                                             at(cosine, {index(0), index(1)})),
                                 pool.binary(Op::kMultiply, at(x, {index(0), shifted(1, second)}),
                                             at(sine, {index(0), index(1)})))},
                 {}, DType::kFloat32, {rows, half});
    };
    const ValueId left = part(Op::kSubtract, 0, half), right = part(Op::kAdd, half, 0);
    const Shape shape{rows, 2 * half + 2 * before};
    pool.set_extents(shape);
    const auto masked = [&](ValueId value, std::int64_t begin) {
      const ExprId mask =
          pool.binary(Op::kAnd, pool.binary(Op::kLessEqual, integer(begin), index(1)),
                      pool.binary(Op::kLess, index(1), integer(begin + half)));
      return pool.masked_load(value, DType::kFloat32, mask,
                              std::vector<ExprId>{index(0), shifted(1, -begin)});
    };
    const ExprId left_part = masked(left, before), right_part = masked(right, before + half);
    return add(Map{pool.select(pool.binary(Op::kLess, index(1), integer(before + half)), left_part,
                               right_part)},
               {}, DType::kFloat32, shape);
  }
  void fuse() {
    fuse_maps(graph);
    graph = compacted(graph);
    ASSERT_EQ(verify(graph), std::nullopt);
  }
};

TEST_F(FuseMaps, PartsOfAWholeAreComputedWhereTheyArePutTogether) {
  const ValueId x = input(DType::kFloat32, {2, 4}), cosine = input(DType::kFloat32, {2, 2}),
                sine = input(DType::kFloat32, {2, 2});
  returns({rotated(x, cosine, sine, 2, 0)});
  const std::vector<Tensor> inputs = [] {
    std::vector<Tensor> tensors;
    tensors.push_back(floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}));
    tensors.push_back(floats({2, 2}, {0, 1, 2, 3}));
    tensors.push_back(floats({2, 2}, {1, 0, -1, 2}));
    return tensors;
  }();
  const std::vector<float> expected = {-3, 2, 1, 4, 17, 2, 9, 36};
  EXPECT_EQ(elements<float>(run(inputs).at(0)), expected);
  fuse();
  EXPECT_EQ(graph.to_string(),
            "%0: float32[2, 4] = input 0\n"
            "%1: float32[2, 2] = input 1\n"
            "%2: float32[2, 2] = input 2\n"
            "%3: float32[2, 4] = map select(i1 < 2, "
            "subtract(multiply(masked_load(%0, i1 < 2, i0, i1), masked_load(%1, i1 < 2, i0, i1)), "
            "multiply(masked_load(%0, i1 < 2, i0, i1 + 2), masked_load(%2, i1 < 2, i0, i1))), "
            "add(multiply(masked_load(%0, 1 < i1, i0, i1), masked_load(%1, 1 < i1, i0, i1 - 2)), "
            "multiply(masked_load(%0, 1 < i1, i0, i1 - 2), masked_load(%2, 1 < i1, i0, i1 - 2))))\n"
            "output 0 <- %3\n");
  EXPECT_EQ(elements<float>(run(inputs).at(0)), expected);
}

TEST_F(FuseMaps, APartThatIsLittleOfTheWholeIsComputedByItself) {
  const ValueId x = input(DType::kFloat32, {2, 4}), cosine = input(DType::kFloat32, {2, 2}),
                sine = input(DType::kFloat32, {2, 2});
  returns({rotated(x, cosine, sine, 2, 3)});  // parts of two columns in ten
  const std::size_t before = graph.nodes.size();
  fuse();
  EXPECT_EQ(graph.nodes.size(), before);
}

}  // namespace
}  // namespace tendon::passes
