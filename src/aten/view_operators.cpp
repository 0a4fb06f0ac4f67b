// Views that keep every element: reshapes, permutations, axes of size 1, other names.
#include <algorithm>
#include <numeric>
#include <utility>

#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

using ViewFunction = View (*)(Builder&, const Arguments&);

Tensor copy_of(ViewFunction view, Builder& b, const Arguments& arguments) {
  return b.read_view(arguments.tensor("self"), view(b, arguments));
}

/// reshape_view to a shape that may hold one -1.
View reshaped(Builder& b, const Tensor& self, const Shape& shape) {
  const Size count = ir::element_count(self.shape);
  const Shape to = infer_size(shape, count);
  View view = reshape_view(self.shape, to);
  require(b, ir::equal(ir::element_count(to), count),
          "shape '" + shape_text(shape) + "' is invalid for input of size " + count.to_string());
  return view;
}

std::vector<int> identity(int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

View transposed(const Tensor& self, std::int64_t axis0, std::int64_t axis1) {
  std::vector<int> axes = identity(self.rank());
  const int first = wrap_axis(axis0, self.rank()), second = wrap_axis(axis1, self.rank());
  if (!axes.empty()) {
    std::swap(axes[static_cast<std::size_t>(first)], axes[static_cast<std::size_t>(second)]);
  }
  return permute_view(self.shape, axes);
}

/// The axes named `sources` go to `destinations`; the others keep their order.
View moved(const Tensor& self, const std::vector<std::int64_t>& sources,
           const std::vector<std::int64_t>& destinations) {
  if (sources.size() != destinations.size()) {
    throw InvalidProgram(
        "movedim: Invalid source or destination dims: source and destination must have the same "
        "number of elements");
  }
  const int rank = self.rank();
  std::vector<int> axes(static_cast<std::size_t>(rank), -1);
  std::vector<bool> used(static_cast<std::size_t>(rank));
  for (std::size_t k = 0; k < sources.size() && rank > 0; ++k) {
    const auto source = static_cast<std::size_t>(wrap_axis(sources[k], rank));
    const auto destination = static_cast<std::size_t>(wrap_axis(destinations[k], rank));
    if (used[source] || axes[destination] >= 0) throw InvalidProgram("movedim: repeated dim");
    axes[destination] = static_cast<int>(source);
    used[source] = true;
  }
  std::size_t next = 0;
  for (int& axis : axes) {
    if (axis >= 0) continue;
    while (used[next]) ++next;
    axis = static_cast<int>(next++);
  }
  return permute_view(self.shape, axes);
}

/// Those of `axes` that are known to have size 1 (PyTorch ignores the others).
View squeezed(const Tensor& self, const std::vector<int>& axes) {
  std::vector<int> ones;
  for (const int axis : axes) {
    if (self.rank() > 0 && ir::provably_equal(self.size(axis), Size(1)).value_or(false)) {
      ones.push_back(axis);
    }
  }
  return squeeze_view(self.shape, ones);
}

View merged(const Tensor& self, int first, int last) {
  Shape shape(self.shape.begin(), self.shape.begin() + first);
  shape.push_back(ir::element_count(
      std::span(self.shape)
          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1))));
  shape.insert(shape.end(), self.shape.begin() + last + 1, self.shape.end());
  return reshape_view(self.shape, shape);
}

std::vector<int> reversed_axes(int rank) {
  std::vector<int> axes = identity(rank);
  std::reverse(axes.begin(), axes.end());
  return axes;
}

Tensor conjugate_transpose(Builder& b, const Tensor& self) {
  const Tensor x = self.rank() < 2 ? self : b.read_view(self, transposed(self, -2, -1));
  if (!x.complex()) return x;
  const Tensor pairs = as_pairs(x);
  return from_pairs(
      b.map(pairs.shape,
            [&](const Indices& index) {
              const Expr part = b.load(pairs, index);
              return pairs.dtype == DType::kFloat16
                         ? cast(pairs.dtype, select(index.back() == 1, -cast(DType::kFloat32, part),
                                                    cast(DType::kFloat32, part)))
                         : select(index.back() == 1, -part, part);
            }),
      x.dtype);
}

}  // namespace

// ---- Reshapes.
VIEW_OPERATOR(view, "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
              "_unsafe_view(Tensor self, SymInt[] size) -> Tensor") {
  return reshaped(b, arguments.tensor("self"), arguments.sizes("size"));
}
OPERATOR(view_copy, "view_copy(Tensor self, SymInt[] size) -> Tensor",
         "_reshape_copy(Tensor self, SymInt[] size) -> Tensor") {
  return copy_of(view_view, b, arguments);
}
VIEW_OPERATOR(reshape, "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)") {
  return reshaped(b, arguments.tensor("self"), arguments.sizes("shape"));
}
VIEW_OPERATOR(reshape_alias,
              "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)") {
  return reshaped(b, arguments.tensor("self"), arguments.sizes("size"));
}
OPERATOR(reshape_alias_copy,
         "_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor") {
  return copy_of(view_reshape_alias, b, arguments);
}
VIEW_OPERATOR(view_as, "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
              "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)") {
  return reshaped(b, arguments.tensor("self"), arguments.tensor("other").shape);
}
VIEW_OPERATOR(flatten,
              "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  const int first = wrap_axis(arguments.integer("start_dim"), self.rank());
  const int last = wrap_axis(arguments.integer("end_dim"), self.rank());
  if (first > last)
    throw InvalidProgram("flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.rank() == 0) return unsqueeze_view(self.shape, 0);
  return merged(self, first, last);
}
VIEW_OPERATOR(ravel, "ravel(Tensor(a) self) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  return reshape_view(self.shape, {ir::element_count(self.shape)});
}
VIEW_OPERATOR(unflatten, "unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  const Shape sizes = infer_size(arguments.sizes("sizes"), self.size(axis));
  if (sizes.empty()) throw InvalidProgram("unflatten: sizes must be non-empty");
  require(b, ir::equal(ir::element_count(sizes), self.size(axis)),
          "unflatten: Provided sizes " + shape_text(sizes) +
              " don't multiply up to the size of dim " + std::to_string(axis) + " (" +
              self.size(axis).to_string() + ") in the input tensor");
  Shape shape(self.shape.begin(), self.shape.begin() + axis);
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.insert(shape.end(), self.shape.begin() + axis + 1, self.shape.end());
  return reshape_view(self.shape, shape);
}
VIEW_OPERATOR(view_dtype, "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  const DType dtype = arguments.dtype("dtype").value_or(self.dtype);
  if (dtype_size(dtype) != dtype_size(self.dtype) || is_complex(dtype) != self.complex()) {
    throw Unsupported("viewing " + std::string(dtype_name(self.dtype)) + " as " +
                      std::string(dtype_name(dtype)) + ", whose elements have another size");
  }
  View view = alias_view(self.shape);
  if (dtype != self.dtype) view.dtype = dtype;
  return view;
}
OPERATOR(view_dtype_copy, "view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor") {
  return copy_of(view_view_dtype, b, arguments);
}

// ---- Permutations.
VIEW_OPERATOR(permute, "permute(Tensor(a) self, int[] dims) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  const std::vector<std::int64_t> dims = arguments.integers("dims");
  if (static_cast<int>(dims.size()) != self.rank()) {
    throw InvalidProgram(
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
        "of the desired ordering of dimensions i.e. input.dim() = " +
        std::to_string(self.rank()) +
        " is not equal to len(dims) = " + std::to_string(dims.size()));
  }
  std::vector<int> axes;
  for (const std::int64_t dim : dims) {
    const int axis = wrap_axis(dim, self.rank());
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      throw InvalidProgram("permute(): duplicate dims are not allowed.");
    }
    axes.push_back(axis);
  }
  return permute_view(self.shape, axes);
}
OPERATOR(permute_copy, "permute_copy(Tensor self, int[] dims) -> Tensor") {
  return copy_of(view_permute, b, arguments);
}
VIEW_OPERATOR(transpose, "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
              "swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)") {
  return transposed(arguments.tensor("self"), arguments.integer("dim0"), arguments.integer("dim1"));
}
OPERATOR(transpose_copy, "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor") {
  return copy_of(view_transpose, b, arguments);
}
VIEW_OPERATOR(swapaxes, "swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)") {
  return transposed(arguments.tensor("self"), arguments.integer("axis0"),
                    arguments.integer("axis1"));
}
VIEW_OPERATOR(t, "t(Tensor(a) self) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() > 2) {
    throw InvalidProgram("t() expects a tensor with <= 2 dimensions, but self is " +
                         std::to_string(self.rank()) + "D");
  }
  return permute_view(self.shape, reversed_axes(self.rank()));
}
OPERATOR(t_copy, "t_copy(Tensor self) -> Tensor") { return copy_of(view_t, b, arguments); }
VIEW_OPERATOR(numpy_T, "numpy_T(Tensor(a) self) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  return permute_view(self.shape, reversed_axes(self.rank()));
}
VIEW_OPERATOR(mT, "mT(Tensor(a) self) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() < 2) {
    throw InvalidProgram("tensor.mT is only supported on matrices or batches of matrices. Got " +
                         std::to_string(self.rank()) + "-D tensor.");
  }
  return transposed(self, -2, -1);
}
// Complex tensors come out conjugated, which is no view here: writes through these are not seen.
OPERATOR(mH, "mH(Tensor(a) self) -> Tensor(a)", "matrix_H(Tensor(a) self) -> Tensor(a)",
         "adjoint(Tensor(a) self) -> Tensor(a)") {
  return conjugate_transpose(b, arguments.tensor("self"));
}
VIEW_OPERATOR(movedim,
              "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
              "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
              "moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
              "moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)") {
  return moved(arguments.tensor("self"), arguments.integers("source"),
               arguments.integers("destination"));
}

// ---- Axes of size 1.
VIEW_OPERATOR(squeeze, "squeeze(Tensor(a) self) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  return squeezed(self, identity(self.rank()));
}
OPERATOR(squeeze_copy, "squeeze_copy(Tensor self) -> Tensor") {
  return copy_of(view_squeeze, b, arguments);
}
VIEW_OPERATOR(squeeze_dim, "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
              "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  std::vector<int> axes;
  for (const std::int64_t dim : arguments.integers("dim")) {
    axes.push_back(wrap_axis(dim, self.rank()));
  }
  return squeezed(self, axes);
}
OPERATOR(squeeze_dim_copy, "squeeze_copy.dim(Tensor self, int dim) -> Tensor",
         "squeeze_copy.dims(Tensor self, int[] dim) -> Tensor") {
  return copy_of(view_squeeze_dim, b, arguments);
}
VIEW_OPERATOR(unsqueeze, "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  return unsqueeze_view(self.shape, wrap_axis(arguments.integer("dim"), self.rank() + 1));
}
OPERATOR(unsqueeze_copy, "unsqueeze_copy(Tensor self, int dim) -> Tensor") {
  return copy_of(view_unsqueeze, b, arguments);
}

namespace {

View at_least(const Tensor& self, int rank) {
  if (self.rank() >= rank) return alias_view(self.shape);
  Shape shape = self.shape;
  if (rank == 3 && self.rank() == 2) {
    shape.push_back(Size(1));
  } else if (rank == 3 && self.rank() == 1) {
    shape = {Size(1), shape[0], Size(1)};
  } else {
    shape.insert(shape.begin(), static_cast<std::size_t>(rank - self.rank()), Size(1));
  }
  return reshape_view(self.shape, shape);
}

std::vector<Tensor> all_at_least(Builder& b, const Arguments& arguments, int rank) {
  std::vector<Tensor> results;
  for (const Tensor& tensor : arguments.tensors("tensors")) {
    results.push_back(tensor.rank() >= rank ? tensor : b.read_view(tensor, at_least(tensor, rank)));
  }
  return results;
}

}  // namespace

VIEW_OPERATOR(atleast_1d, "atleast_1d(Tensor self) -> Tensor") {
  return at_least(arguments.tensor("self"), 1);
}
VIEW_OPERATOR(atleast_2d, "atleast_2d(Tensor self) -> Tensor") {
  return at_least(arguments.tensor("self"), 2);
}
VIEW_OPERATOR(atleast_3d, "atleast_3d(Tensor self) -> Tensor") {
  return at_least(arguments.tensor("self"), 3);
}
OPERATOR(atleast_1d_sequence, "atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]") {
  return all_at_least(b, arguments, 1);
}
OPERATOR(atleast_2d_sequence, "atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]") {
  return all_at_least(b, arguments, 2);
}
OPERATOR(atleast_3d_sequence, "atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]") {
  return all_at_least(b, arguments, 3);
}

// ---- Other names for the same tensor.
VIEW_OPERATOR(alias, "alias(Tensor(a) self) -> Tensor(a)", "detach(Tensor(a) self) -> Tensor(a)",
              "detach_(Tensor(a!) self) -> Tensor(a!)") {
  return alias_view(arguments.tensor("self").shape);
}
OPERATOR(alias_copy, "alias_copy(Tensor self) -> Tensor") { return arguments.tensor("self"); }

}  // namespace tendon::aten
