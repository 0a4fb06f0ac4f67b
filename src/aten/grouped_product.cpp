// Products of mixtures of experts: each group of rows (or columns, or inner positions) meets a
// matrix of its own.
#include "aten/index_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// bool [groups, length]: whether a position lies before the group's end, and in no group before
/// it. Ends do not fall.
Tensor membership(Builder& b, const Tensor& ends, const Size& length) {
  return b.map({ends.size(0), length}, [&](const Indices& at) {
    const Expr end = cast(DType::kInt64, b.load(ends, {at[0]}));
    const Expr first = at[0] == 0;
    const Expr before = maximum(at[0] - 1, like(at[0], 0));
    const Expr start = cast(DType::kInt64, b.load(ends, {before}));
    return at[1] < end && (first || at[1] >= start);
  });
}

/// x where `kept`, 0 elsewhere, also where x is NaN.
Tensor only(Builder& b, const Tensor& x, const Tensor& kept) {
  return elementwise(
      b, {x, cast(b, kept, x.dtype)}, x.dtype, x.dtype,
      [](const std::vector<Expr>& e) { return select(e[1] != 0, e[0], like(e[0], 0)); });
}

/// rows [s, k] by matrices [g, k, n]: every row with its group's matrix, zeros behind the last
/// group.
Tensor rows_by_group(Builder& b, const Tensor& rows, const Tensor& matrices, const Tensor& ends) {
  const Tensor all = matmul(b, unsqueeze(b, rows, 0), matrices);
  const Tensor kept = unsqueeze(b, membership(b, ends, rows.size(0)), 2);
  return sum(b, only(b, all, kept), {0}, false, rows.dtype);
}

void check_groups(Builder& b, const Tensor& matrices, const Tensor& ends) {
  require(b, ir::equal(matrices.size(0), ends.size(0)),
          "as many groups as matrices expected, got " + ends.size(0).to_string() + " and " +
              matrices.size(0).to_string());
}

Tensor grouped_product(Builder& b, const Tensor& x, const Tensor& y,
                       const std::optional<Tensor>& ends) {
  if (x.rank() == 3 && y.rank() == 3) return matmul(b, x, y);
  if (!ends) throw InvalidProgram("Must provide offsets (offs) if one of the matrices is 2d");
  if (x.rank() == 2 && y.rank() == 3) {
    check_groups(b, y, *ends);
    return rows_by_group(b, x, y, *ends);
  }
  if (x.rank() == 3 && y.rank() == 2) {
    check_groups(b, x, *ends);
    const Tensor product = rows_by_group(b, transpose(b, y, 0, 1), transpose(b, x, 1, 2), *ends);
    return transpose(b, product, 0, 1);
  }
  // The groups are of inner positions: a product for each.
  const Tensor kept = unsqueeze(b, membership(b, *ends, x.size(1)), 1);
  return matmul(b, only(b, unsqueeze(b, x, 0), kept),
                only(b, unsqueeze(b, y, 0), transpose(b, kept, 1, 2)));
}

}  // namespace

OPERATOR(grouped_mm_fallback,
         "transformers.grouped_mm_fallback.default(Tensor input, Tensor weight, Tensor offs) -> "
         "Tensor") {
  return grouped_product(b, arguments.tensor("input"), arguments.tensor("weight"),
                         arguments.tensor("offs"));
}

OPERATOR(grouped_mm,
         "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? "
         "out_dtype=None) -> Tensor") {
  if (arguments.has("bias")) throw InvalidProgram("Bias not supported yet");
  const Tensor result = grouped_product(b, arguments.tensor("self"), arguments.tensor("mat2"),
                                        arguments.optional_tensor("offs"));
  return cast(b, result, arguments.dtype("out_dtype").value_or(result.dtype));
}

}  // namespace tendon::aten
