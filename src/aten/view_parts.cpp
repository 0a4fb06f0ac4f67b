// Views that repeat elements or leave some out: expand, select, slice, diagonal, unfold,
// as_strided; and the operators that write such a part (*_scatter) or copy it (*_copy).
#include <algorithm>
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

/// `self` with the view's elements replaced by `src`.
Tensor scattered(ViewFunction view, const char* name, Builder& b, const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  const Tensor& src = arguments.tensor("src");
  const View part = view(b, arguments);
  if (src.shape.size() != part.shape.size()) {
    throw InvalidProgram(
        std::string(name) + ": expected src to have a size equal to the slice of " +
        "self. src size = " + shape_text(src.shape) + ", slice size = " + shape_text(part.shape));
  }
  for (std::size_t k = 0; k < src.shape.size(); ++k) {
    require(b, ir::equal(src.shape[k], part.shape[k]),
            std::string(name) + ": expected src to have a size equal to the slice of self. " +
                "src size = " + shape_text(src.shape) + ", slice size = " + shape_text(part.shape));
  }
  return b.write_view(self, part, src);
}

View expanded(Builder& b, const Tensor& self, const Shape& size) {
  if (size.size() < self.shape.size()) {
    throw InvalidProgram("expand(" + shape_text(self.shape) + ", size=" + shape_text(size) +
                         "): the number of sizes provided (" + std::to_string(size.size()) +
                         ") must be greater or equal to the number of dimensions in the tensor (" +
                         std::to_string(self.rank()) + ")");
  }
  const std::size_t added = size.size() - self.shape.size();
  Shape to = size;
  for (std::size_t k = 0; k < self.shape.size(); ++k) {
    Size& target = to[added + k];
    const Size& source = self.shape[k];
    if (target == Size(-1)) target = source;
    if (target == source || source == Size(1)) continue;
    require(b, ir::equal(target, source),
            "The expanded size of the tensor (" + target.to_string() +
                ") must match the existing size (" + source.to_string() +
                ") at non-singleton dimension " + std::to_string(added + k) + ".  Target sizes: " +
                shape_text(size) + ".  Tensor sizes: " + shape_text(self.shape));
    target = source;
  }
  return expand_view(self.shape, to);
}

View diagonal_view(const Tensor& self, std::int64_t offset, int axis1, int axis2) {
  if (axis1 == axis2) {
    throw InvalidProgram("diagonal dimensions cannot be identical " + std::to_string(axis1) + ", " +
                         std::to_string(axis2));
  }
  const std::int64_t first = offset < 0 ? -offset : 0, second = offset > 0 ? offset : 0;
  const Size length =
      ir::max(ir::min(self.size(axis1) - Size(first), self.size(axis2) - Size(second)), Size(0));
  const auto a1 = static_cast<std::size_t>(axis1), a2 = static_cast<std::size_t>(axis2);
  const std::size_t rank = self.shape.size();
  View view;
  for (std::size_t k = 0; k < rank; ++k) {
    if (k != a1 && k != a2) view.shape.push_back(self.shape[k]);
  }
  view.shape.push_back(length);
  view.forward = [=](Builder&, const Indices& index) {
    Indices result;
    std::size_t next = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      result.push_back(k == a1   ? index.back() + first
                       : k == a2 ? index.back() + second
                                 : index[next++]);
    }
    return result;
  };
  view.inverse = [=](Builder&, const Indices& index) {
    Indices result;
    for (std::size_t k = 0; k < rank; ++k) {
      if (k != a1 && k != a2) result.push_back(index[k]);
    }
    result.push_back(index[a1] - first);
    return View::Preimage{index[a2] - index[a1] == offset, std::move(result)};
  };
  return view;
}

View windows_view(const Tensor& self, std::int64_t dimension, std::int64_t size,
                  std::int64_t step) {
  if (step <= 0) throw InvalidProgram("step is " + std::to_string(step) + " but must be > 0");
  if (size < 0) throw InvalidProgram("size is " + std::to_string(size) + " but must be >= 0");
  View view;
  if (self.rank() == 0) {
    wrap_axis(dimension, 0);
    if (size > 1) {
      throw InvalidProgram("maximum size for tensor at dimension 0 is 1 but size is " +
                           std::to_string(size));
    }
    view.shape = {Size(size)};
    view.forward = [](Builder&, const Indices&) { return Indices(); };
    view.inverse = [](Builder& b, const Indices&) {
      return View::Preimage{b.truth(true), {b.constant(DType::kInt64, 0)}};
    };
    return view;
  }
  const auto axis = static_cast<std::size_t>(wrap_axis(dimension, self.rank()));
  const Size extent = self.shape[axis];
  if (ir::provably_less(extent, Size(size)).value_or(false)) {
    throw InvalidProgram("maximum size for tensor at dimension " + std::to_string(axis) + " is " +
                         extent.to_string() + " but size is " + std::to_string(size));
  }
  const Size windows = ir::floor_div(extent - Size(size), Size(step)) + Size(1);
  view.shape = self.shape;
  view.shape[axis] = windows;
  view.shape.push_back(Size(size));
  view.forward = [=](Builder&, const Indices& index) {
    Indices result(index.begin(), index.end() - 1);
    result[axis] = index[axis] * step + index.back();
    return result;
  };
  if (step >= size) {  // no element is in two windows
    view.inverse = [=](Builder& b, const Indices& index) {
      Indices result = index;
      const Expr stride = b.constant(DType::kInt64, step);
      const Expr within = remainder(index[axis], stride);
      result[axis] = floor_divide(index[axis], stride);
      result.push_back(within);
      Condition inside;
      inside.add(within < size);
      inside.add(result[axis] < b.size(windows));
      return View::Preimage{inside.expr(b), std::move(result)};
    };
  }
  return view;
}

/// Strides are those of a row-major `self`: what export gives for a tensor that is laid out in
/// another way cannot be told apart here.
View strided_view(const Tensor& self, const Shape& size, const Shape& stride, const Size& offset) {
  View view;
  view.shape = size;
  const Shape base = self.shape;
  view.forward = [=](Builder& b, const Indices& index) {
    Expr flat = b.size(offset);
    for (std::size_t k = 0; k < index.size(); ++k) flat = flat + index[k] * b.size(stride[k]);
    return unflatten_index(b, flat, base);
  };
  // Every element has one place if each stride reaches beyond all that faster axes cover.
  std::vector<std::size_t> order;  // slowest first
  for (std::size_t k = 0; k < size.size(); ++k) {
    if (size[k] == Size(1)) continue;
    if (!size[k].is_constant() || !stride[k].is_constant()) return view;
    order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t c) {
    return stride[a].constant() > stride[c].constant();
  });
  std::int64_t covered = 0;  // largest offset that the faster axes reach
  for (std::size_t n = order.size(); n-- > 0;) {
    const std::size_t k = order[n];
    if (stride[k].constant() <= covered) return view;
    covered += stride[k].constant() * (size[k].constant() - 1);
  }
  view.inverse = [=](Builder& b, const Indices& index) {
    Expr rest = flatten_index(b, index, base) - b.size(offset);
    Indices result(size.size(), b.constant(DType::kInt64, 0));
    Condition inside;
    inside.add(rest >= 0);
    for (const std::size_t k : order) {
      const Expr step = b.size(stride[k]);
      result[k] = floor_divide(rest, step);
      inside.add(result[k] < b.size(size[k]));
      rest = remainder(rest, step);
    }
    inside.add(rest == 0);
    return View::Preimage{inside.expr(b), std::move(result)};
  };
  return view;
}

}  // namespace

// ---- Expand.
VIEW_OPERATOR(expand, "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
              "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)") {
  return expanded(b, arguments.tensor("self"), arguments.sizes("size"));
}
OPERATOR(expand_copy, "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor") {
  return copy_of(view_expand, b, arguments);
}
VIEW_OPERATOR(expand_as, "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)") {
  return expanded(b, arguments.tensor("self"), arguments.tensor("other").shape);
}

// ---- Select and slice.
VIEW_OPERATOR(select, "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() == 0) {
    throw InvalidProgram("select() cannot be applied to a 0-dim tensor.");
  }
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  const Size index = arguments.size("index");
  const Size& size = self.size(axis);
  const Size position = wrap_position(index, size);
  require(b, ir::logical_and(ir::less_equal(Size(0), position), ir::less(position, size)),
          "select(): index " + index.to_string() + " out of range for tensor of size " +
              shape_text(self.shape) + " at dimension " + std::to_string(axis));
  return select_view(self.shape, axis, position);
}
OPERATOR(select_copy, "select_copy.int(Tensor self, int dim, SymInt index) -> Tensor") {
  return copy_of(view_select, b, arguments);
}
OPERATOR(select_scatter,
         "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor") {
  return scattered(view_select, "select_scatter", b, arguments);
}
VIEW_OPERATOR(slice,
              "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
              "SymInt step=1) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() == 0) throw InvalidProgram("slice() cannot be applied to a 0-dim tensor.");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  const std::int64_t step = require_constant(arguments.size("step"), "the step of a slice");
  if (step <= 0) throw InvalidProgram("slice step must be positive");
  const SliceRange range = clamp_slice(arguments.optional_size("start"),
                                       arguments.optional_size("end"), step, self.size(axis));
  return slice_view(self.shape, axis, range.start, range.length, step);
}
OPERATOR(slice_copy,
         "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, "
         "SymInt step=1) -> Tensor") {
  return copy_of(view_slice, b, arguments);
}
OPERATOR(slice_scatter,
         "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
         "SymInt step=1) -> Tensor") {
  return scattered(view_slice, "slice_scatter", b, arguments);
}

namespace {

View narrowed(Builder& b, const Tensor& self, std::int64_t dim, const Size& start,
              const Size& length) {
  if (self.rank() == 0) throw InvalidProgram("narrow() cannot be applied to a 0-dim tensor.");
  const int axis = wrap_axis(dim, self.rank());
  const Size& size = self.size(axis);
  require(b, ir::less_equal(Size(0), length), "narrow(): length must be non-negative.");
  const Size first = wrap_position(start, size);
  require(b, ir::logical_and(ir::less_equal(Size(0), first), ir::less_equal(first + length, size)),
          "start (" + start.to_string() + ") + length (" + length.to_string() +
              ") exceeds dimension size (" + size.to_string() + ").");
  return slice_view(self.shape, axis, first, length, 1);
}

}  // namespace

VIEW_OPERATOR(narrow, "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)") {
  return narrowed(b, arguments.tensor("self"), arguments.integer("dim"), arguments.size("start"),
                  arguments.size("length"));
}
VIEW_OPERATOR(narrow_tensor,
              "narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)") {
  return narrowed(b, arguments.tensor("self"), arguments.integer("dim"),
                  b.item(arguments.tensor("start"), std::nullopt), arguments.size("length"));
}
OPERATOR(narrow_copy, "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor") {
  return copy_of(view_narrow, b, arguments);
}

// ---- Diagonal.
VIEW_OPERATOR(diagonal,
              "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("self");
  return diagonal_view(self, arguments.integer("offset"),
                       wrap_axis(arguments.integer("dim1"), self.rank()),
                       wrap_axis(arguments.integer("dim2"), self.rank()));
}
OPERATOR(linalg_diagonal,
         "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)") {
  const Tensor& self = arguments.tensor("A");
  return b.read_view(self, diagonal_view(self, arguments.integer("offset"),
                                         wrap_axis(arguments.integer("dim1"), self.rank()),
                                         wrap_axis(arguments.integer("dim2"), self.rank())));
}
OPERATOR(diagonal_copy,
         "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor") {
  return copy_of(view_diagonal, b, arguments);
}
OPERATOR(diagonal_scatter,
         "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> "
         "Tensor") {
  return scattered(view_diagonal, "diagonal_scatter", b, arguments);
}

// ---- Windows along an axis.
VIEW_OPERATOR(unfold, "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)") {
  return windows_view(arguments.tensor("self"), arguments.integer("dimension"),
                      arguments.integer("size"), arguments.integer("step"));
}
OPERATOR(unfold_copy, "unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor") {
  return copy_of(view_unfold, b, arguments);
}

// ---- Strides by hand.
VIEW_OPERATOR(as_strided,
              "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
              "storage_offset=None) -> Tensor(a)") {
  const Shape size = arguments.sizes("size"), stride = arguments.sizes("stride");
  if (size.size() != stride.size()) {
    throw InvalidProgram("mismatch in length of strides and shape");
  }
  return strided_view(arguments.tensor("self"), size, stride,
                      arguments.optional_size("storage_offset").value_or(Size(0)));
}
OPERATOR(as_strided_copy,
         "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
         "storage_offset=None) -> Tensor") {
  return copy_of(view_as_strided, b, arguments);
}
OPERATOR(as_strided_scatter,
         "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? "
         "storage_offset=None) -> Tensor") {
  return scattered(view_as_strided, "as_strided_scatter", b, arguments);
}

}  // namespace tendon::aten
