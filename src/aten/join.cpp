// Tensors put together: cat, stack and their kin, products and grids of vectors.
#include <algorithm>

#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

DType common_type(const std::vector<Tensor>& tensors) {
  std::vector<Operand> operands;
  for (const Tensor& tensor : tensors) operands.emplace_back(tensor);
  return result_type(operands);
}

std::vector<Tensor> cast_all(Builder& b, std::vector<Tensor> tensors, DType dtype) {
  for (Tensor& tensor : tensors) tensor = cast(b, tensor, dtype);
  return tensors;
}

/// cat: types are promoted, and 1-d tensors without elements are ignored.
Tensor cat(Builder& b, const std::vector<Tensor>& tensors, std::int64_t dim) {
  if (tensors.empty()) throw InvalidProgram("torch.cat(): expected a non-empty list of Tensors");
  const DType dtype = common_type(tensors);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() == 0) {
      throw InvalidProgram("zero-dimensional tensor (at position " +
                           std::to_string(&tensor - tensors.data()) + ") cannot be concatenated");
    }
    if (tensor.rank() != 1 || !(tensor.size(0) == Size(0))) parts.push_back(tensor);
  }
  if (parts.empty()) return cast(b, tensors.front(), dtype);
  const Tensor& first = parts.front();
  const int axis = wrap_axis(dim, first.rank());
  for (const Tensor& part : parts) {
    if (part.rank() != first.rank()) {
      throw InvalidProgram("Tensors must have same number of dimensions: got " +
                           std::to_string(first.rank()) + " and " + std::to_string(part.rank()));
    }
    for (int k = 0; k < first.rank(); ++k) {
      if (k == axis) continue;
      require(b, ir::equal(part.size(k), first.size(k)),
              "Sizes of tensors must match except in dimension " + std::to_string(axis) +
                  ". Expected size " + first.size(k).to_string() + " but got size " +
                  part.size(k).to_string() + " for tensor number " +
                  std::to_string(&part - parts.data()) + " in the list.");
    }
  }
  return concatenate(b, cast_all(b, parts, dtype), axis);
}

Tensor stack(Builder& b, const std::vector<Tensor>& tensors, std::int64_t dim) {
  if (tensors.empty()) throw InvalidProgram("stack expects a non-empty TensorList");
  const int axis = wrap_axis(dim, tensors.front().rank() + 1);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() != tensors.front().rank()) {
      throw InvalidProgram("stack expects each tensor to be equal size, but got " +
                           shape_text(tensors.front().shape) + " at entry 0 and " +
                           shape_text(tensor.shape) + " at entry " +
                           std::to_string(&tensor - tensors.data()));
    }
    parts.push_back(unsqueeze(b, tensor, axis));
  }
  return cat(b, parts, axis);
}

/// Leading (or for rank 3, numpy's) axes of size 1 until the rank is reached.
Tensor at_least(Builder& b, const Tensor& x, int rank) {
  Shape shape = x.shape;
  if (x.rank() >= rank) return x;
  if (rank == 3 && x.rank() == 2) {
    shape.push_back(Size(1));
  } else if (rank == 3 && x.rank() == 1) {
    shape = {Size(1), shape[0], Size(1)};
  } else {
    shape.insert(shape.begin(), static_cast<std::size_t>(rank - x.rank()), Size(1));
  }
  return reshape(b, x, shape);
}

std::vector<Tensor> all_at_least(Builder& b, const std::vector<Tensor>& tensors, int rank) {
  std::vector<Tensor> results;
  for (const Tensor& tensor : tensors) results.push_back(at_least(b, tensor, rank));
  return results;
}

/// Every vector along its own axis of one grid.
std::vector<Tensor> grid(Builder& b, const std::vector<Tensor>& tensors) {
  Shape shape;
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() > 1) {
      throw InvalidProgram("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: " +
                           shape_text(tensor.shape));
    }
    shape.push_back(tensor.rank() == 0 ? Size(1) : tensor.size(0));
  }
  std::vector<Tensor> results;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    Shape own(shape.size(), Size(1));
    own[k] = shape[k];
    results.push_back(expand(b, reshape(b, tensors[k], own), shape));
  }
  return results;
}

/// n choose k for 0 <= k, n >= k - 1; saturates far above any tensor's size.
std::int64_t binomial(std::int64_t n, std::int64_t k) {
  if (n < k) return 0;
  double estimate = 1;
  std::int64_t result = 1;
  for (std::int64_t i = 1; i <= k; ++i) {
    estimate = estimate * static_cast<double>(n - k + i) / static_cast<double>(i);
    if (estimate > 1e15) return std::int64_t{1} << 50;
    result = result * (n - k + i) / i;
  }
  return result;
}

}  // namespace

OPERATOR(cat, "cat(Tensor[] tensors, int dim=0) -> Tensor",
         "concat(Tensor[] tensors, int dim=0) -> Tensor",
         "concatenate(Tensor[] tensors, int dim=0) -> Tensor") {
  return cat(b, arguments.tensors("tensors"), arguments.integer("dim"));
}
OPERATOR(stack, "stack(Tensor[] tensors, int dim=0) -> Tensor") {
  return stack(b, arguments.tensors("tensors"), arguments.integer("dim"));
}
OPERATOR(hstack, "hstack(Tensor[] tensors) -> Tensor") {
  const std::vector<Tensor> tensors = all_at_least(b, arguments.tensors("tensors"), 1);
  if (tensors.empty()) throw InvalidProgram("hstack expects a non-empty TensorList");
  return cat(b, tensors, tensors.front().rank() == 1 ? 0 : 1);
}
OPERATOR(vstack, "vstack(Tensor[] tensors) -> Tensor", "row_stack(Tensor[] tensors) -> Tensor") {
  return cat(b, all_at_least(b, arguments.tensors("tensors"), 2), 0);
}
OPERATOR(dstack, "dstack(Tensor[] tensors) -> Tensor") {
  return cat(b, all_at_least(b, arguments.tensors("tensors"), 3), 2);
}
OPERATOR(column_stack, "column_stack(Tensor[] tensors) -> Tensor") {
  std::vector<Tensor> columns;
  for (const Tensor& tensor : arguments.tensors("tensors")) {
    columns.push_back(tensor.rank() <= 1
                          ? reshape(b, tensor, {ir::element_count(tensor.shape), Size(1)})
                          : tensor);
  }
  return cat(b, columns, 1);
}

OPERATOR(block_diag, "block_diag(Tensor[] tensors) -> Tensor") {
  const std::vector<Tensor> tensors = arguments.tensors("tensors");
  if (tensors.empty()) throw InvalidProgram("torch.block_diag: Input tensors must not be empty");
  std::vector<Tensor> blocks;
  Size columns = 0;
  for (const Tensor& tensor : cast_all(b, tensors, common_type(tensors))) {
    if (tensor.rank() > 2) {
      throw InvalidProgram(
          "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input " +
          std::to_string(blocks.size()) + " has " + std::to_string(tensor.rank()) + " dimensions");
    }
    blocks.push_back(at_least(b, tensor, 2));
    columns = columns + blocks.back().size(1);
  }
  std::vector<Tensor> rows;
  Size before = 0;
  for (const Tensor& block : blocks) {
    const Size after = columns - before - block.size(1);
    rows.push_back(pad(b, block, {Size(0), before}, {Size(0), after}, std::int64_t{0}));
    before = before + block.size(1);
  }
  return concatenate(b, rows, 0);
}

OPERATOR(meshgrid, "meshgrid(Tensor[] tensors) -> Tensor[]",
         "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]") {
  std::vector<Tensor> tensors = arguments.tensors("tensors");
  if (tensors.empty()) {
    throw InvalidProgram("meshgrid expects a non-empty TensorList");
  }
  const std::string indexing = arguments.has("indexing") ? arguments.text("indexing") : "ij";
  if (indexing != "ij" && indexing != "xy") {
    throw InvalidProgram(
        "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: " + indexing);
  }
  if (indexing == "ij" || tensors.size() < 2) return grid(b, tensors);
  std::swap(tensors[0], tensors[1]);
  std::vector<Tensor> results = grid(b, tensors);
  std::swap(results[0], results[1]);
  return results;
}

OPERATOR(cartesian_prod, "cartesian_prod(Tensor[] tensors) -> Tensor") {
  const std::vector<Tensor> tensors = arguments.tensors("tensors");
  if (tensors.size() == 1) return tensors.front();
  std::vector<Tensor> columns;
  for (const Tensor& axis : grid(b, tensors)) columns.push_back(flatten(b, axis));
  return stack(b, columns, 1);
}

OPERATOR(combinations,
         "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const std::int64_t r = arguments.integer("r");
  if (self.rank() != 1)
    throw InvalidProgram("Expect a 1D vector, but got shape " + shape_text(self.shape));
  if (r < 0) throw InvalidProgram("Expect a non-negative number, but got " + std::to_string(r));
  if (r == 0) return full(b, {Size(0)}, std::int64_t{0}, self.dtype);
  if (r == 1) return reshape(b, self, {self.size(0), Size(1)});
  const std::int64_t n = require_constant(self.size(0), "the length of a vector to combine");
  // With replacement they are the combinations of n + r - 1, the k-th element less k.
  const bool repeats = arguments.boolean("with_replacement");
  const std::int64_t m = repeats ? n + r - 1 : n;
  const std::int64_t rows = m < r ? 0 : binomial(m, r);
  if (rows == 0) return full(b, {Size(0), Size(r)}, std::int64_t{0}, self.dtype);
  if (m * r > 4096) throw Unsupported("combinations of so many elements");
  return rearrange(b, self, {Size(rows), Size(r)}, [&](const Indices& index) {
    // The row's rank from the end, in the combinatorial number system: the largest c with
    // binomial(c, r) <= rank gives the first element, what is left of the rank the others.
    Expr rank = b.constant(DType::kInt64, rows - 1) - index[0];
    std::vector<Expr> elements;
    for (std::int64_t k = 0; k < r; ++k) {
      const std::int64_t s = r - k;
      Expr c = b.constant(DType::kInt64, s - 1), used = b.constant(DType::kInt64, 0);
      for (std::int64_t j = s; j < m; ++j) {
        const Expr reached = cast(DType::kInt64, b.constant(DType::kInt64, binomial(j, s)) <= rank);
        c = c + reached;
        used = used + reached * (binomial(j, s) - binomial(j - 1, s));
      }
      elements.push_back(b.constant(DType::kInt64, repeats ? m - 1 - k : m - 1) - c);
      rank = rank - used;
    }
    Expr position = elements.back();
    for (std::int64_t k = r - 1; k-- > 0;) {
      position = select(index[1] == k, elements[static_cast<std::size_t>(k)], position);
    }
    return Indices{position};
  });
}

OPERATOR(broadcast_tensors, "broadcast_tensors(Tensor[] tensors) -> Tensor[]") {
  const std::vector<Tensor> tensors = arguments.tensors("tensors");
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape);
  const Shape shape = broadcast_shapes(b, shapes);
  std::vector<Tensor> results;
  for (const Tensor& tensor : tensors) results.push_back(expand(b, tensor, shape));
  return results;
}

OPERATOR(chunk_cat, "_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor") {
  const std::vector<Tensor> tensors = arguments.tensors("tensors");
  const std::int64_t dim = arguments.integer("dim"), chunks = arguments.integer("num_chunks");
  if (tensors.empty()) throw InvalidProgram("_chunk_cat expects a non-empty input tensor list");
  if (chunks <= 0) throw InvalidProgram("_chunk_cat expects positive num_chunks");
  const int axis = wrap_axis(dim, tensors.front().rank());
  std::vector<Tensor> parts;
  for (const Tensor& tensor : cast_all(b, tensors, common_type(tensors))) {
    // Each tensor is padded to a multiple of the chunks, and every chunk flattened from `dim` on.
    const Size chunk = ir::ceil_div(tensor.size(axis), Size(chunks));
    Shape before(tensor.shape.size(), Size(0)), after = before;
    after[static_cast<std::size_t>(axis)] = chunk * Size(chunks) - tensor.size(axis);
    const Tensor padded = pad(b, tensor, before, after, std::int64_t{0});
    Shape shape(tensor.shape.begin(), tensor.shape.begin() + axis);
    Size rest = chunk;
    for (int k = axis + 1; k < tensor.rank(); ++k) rest = rest * tensor.size(k);
    shape.push_back(Size(chunks));
    shape.push_back(rest);
    parts.push_back(reshape(b, padded, shape));
  }
  return concatenate(b, parts, axis + 1);
}

}  // namespace tendon::aten
