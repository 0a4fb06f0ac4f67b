// Pieces of a tensor along an axis, as lists of views.
#include <utility>

#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

using Views = std::vector<View>;

std::vector<Tensor> copies_of(Views (*views)(Builder&, const Arguments&), Builder& b,
                              const Arguments& arguments) {
  const Tensor& self = arguments.tensor("self");
  std::vector<Tensor> results;
  for (const View& view : views(b, arguments)) results.push_back(b.read_view(self, view));
  return results;
}

int splittable_axis(const Tensor& self, std::int64_t dim) {
  if (self.rank() == 0) throw InvalidProgram("split expects at least a 1-dimensional tensor");
  return wrap_axis(dim, self.rank());
}

Views pieces_of_sizes(Builder& b, const Tensor& self, int axis, const Shape& sizes) {
  Views views;
  Size start = 0;
  for (const Size& size : sizes) {
    views.push_back(slice_view(self.shape, axis, start, size, 1));
    start = start + size;
  }
  require(b, ir::equal(start, self.size(axis)),
          "split_with_sizes expects split_sizes to sum exactly to " + self.size(axis).to_string() +
              " (input tensor's size at dimension " + std::to_string(axis) +
              "), but got split_sizes=" + shape_text(sizes));
  return views;
}

/// How many pieces there are: from the sizes, or else as many as export saw.
std::int64_t piece_count(const Size& count, const Arguments& arguments) {
  if (const auto known = count.as_constant()) return *known;
  if (const std::size_t seen = arguments.expected_shapes().size(); seen > 0) {
    return static_cast<std::int64_t>(seen);
  }
  throw Unsupported("the number of pieces must be known at load, but is " + count.to_string());
}

/// Pieces of `piece` elements each; the last one may be shorter.
Views pieces_of(Builder& b, const Tensor& self, int axis, const Size& piece,
                const Arguments& arguments) {
  const Size& extent = self.size(axis);
  if (ir::provably_less(piece, Size(0)).value_or(false)) {
    throw InvalidProgram("split expects split_size be non-negative, but got split_size=" +
                         piece.to_string());
  }
  if (piece == Size(0)) {
    require(b, ir::equal(extent, Size(0)),
            "split_size can only be 0 if dimension size is 0, but got dimension size of " +
                extent.to_string());
    return {slice_view(self.shape, axis, 0, extent, 1)};
  }
  const std::optional<Size> exact = ir::divide_exactly(extent, piece);
  const Size pieces = exact ? *exact : ir::ceil_div(extent, piece);
  const std::int64_t count = std::max<std::int64_t>(piece_count(pieces, arguments), 1);
  if (!pieces.is_constant()) {
    require(b, ir::equal(ir::max(pieces, Size(1)), Size(count)),
            "split: export saw " + std::to_string(count) + " pieces, but there are " +
                pieces.to_string());
  }
  Views views;
  for (std::int64_t k = 0; k + 1 < count; ++k) {
    views.push_back(slice_view(self.shape, axis, piece * Size(k), piece, 1));
  }
  const Size start = piece * Size(count - 1);
  views.push_back(slice_view(self.shape, axis, start, extent - start, 1));
  return views;
}

Views chunks_of(Builder& b, const Tensor& self, std::int64_t dim, std::int64_t chunks,
                const Arguments& arguments) {
  if (self.rank() == 0) throw InvalidProgram("chunk expects at least a 1-dimensional tensor");
  if (chunks <= 0) {
    throw InvalidProgram("chunk expects `chunks` to be greater than 0, got: " +
                         std::to_string(chunks));
  }
  const int axis = wrap_axis(dim, self.rank());
  const Size& extent = self.size(axis);
  if (extent == Size(0)) {
    return Views(static_cast<std::size_t>(chunks), slice_view(self.shape, axis, 0, extent, 1));
  }
  const std::optional<Size> exact = ir::divide_exactly(extent, Size(chunks));
  if (exact) {  // as many as asked for, whatever the size
    return pieces_of_sizes(b, self, axis, Shape(static_cast<std::size_t>(chunks), *exact));
  }
  return pieces_of(b, self, axis, ir::ceil_div(extent, Size(chunks)), arguments);
}

/// [0, i0), [i0, i1), ..., [last, end), each by the rules of slices.
Views pieces_at(const Tensor& self, int axis, const Shape& bounds) {
  const Size& extent = self.size(axis);
  Views views;
  std::optional<Size> start = Size(0);
  const auto add = [&](const std::optional<Size>& end) {
    const SliceRange range = clamp_slice(start, end, 1, extent);
    views.push_back(slice_view(self.shape, axis, range.start, range.length, 1));
    start = end;
  };
  for (const Size& bound : bounds) add(bound);
  add(std::nullopt);
  return views;
}

/// Exactly `sections` pieces; the first ones are longer by one where it does not come out even.
Views sections_of(const Tensor& self, int axis, std::int64_t sections) {
  if (sections <= 0) {
    throw InvalidProgram("number of sections must be larger than 0, got " +
                         std::to_string(sections));
  }
  const Size& extent = self.size(axis);
  const Size least = ir::floor_div(extent, Size(sections)),
             longer = ir::mod(extent, Size(sections));
  Views views;
  for (std::int64_t k = 0; k < sections; ++k) {
    const Size start = least * Size(k) + ir::min(Size(k), longer);
    views.push_back(slice_view(self.shape, axis, start, least + ir::less(Size(k), longer), 1));
  }
  return views;
}

/// hsplit, vsplit, dsplit.
Views array_split(const Arguments& arguments, int axis, int least_rank, const char* name) {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() < least_rank) {
    throw InvalidProgram("torch." + std::string(name) + " requires a tensor with at least " +
                         std::to_string(least_rank) + " dimension" + (least_rank > 1 ? "s" : "") +
                         ", but got a tensor with " + std::to_string(self.rank()) + " dimensions!");
  }
  if (!arguments.has("sections")) {
    Shape bounds;
    for (const std::int64_t index : arguments.integers("indices")) bounds.push_back(index);
    return pieces_at(self, axis, bounds);
  }
  const std::int64_t sections = arguments.integer("sections");
  const std::optional<std::int64_t> extent = self.size(axis).as_constant();
  if (sections == 0 || (extent && *extent % sections != 0)) {
    throw InvalidProgram("torch." + std::string(name) + " attempted to split along dimension " +
                         std::to_string(axis) + ", but the size of the dimension " +
                         self.size(axis).to_string() + " is not divisible by the split_size " +
                         std::to_string(sections) + "!");
  }
  return sections_of(self, axis, sections);
}

}  // namespace

VIEW_LIST_OPERATOR(split,
                   "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> "
                   "Tensor(a)[]") {
  const Tensor& self = arguments.tensor("self");
  return pieces_of(b, self, splittable_axis(self, arguments.integer("dim")),
                   arguments.size("split_size"), arguments);
}
OPERATOR(split_copy, "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
         "unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]") {
  return copies_of(views_split, b, arguments);
}
VIEW_LIST_OPERATOR(split_sizes,
                   "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) "
                   "-> Tensor(a)[]") {
  const Tensor& self = arguments.tensor("self");
  return pieces_of_sizes(b, self, splittable_axis(self, arguments.integer("dim")),
                         arguments.sizes("split_size"));
}
VIEW_LIST_OPERATOR(split_with_sizes,
                   "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> "
                   "Tensor(a)[]") {
  const Tensor& self = arguments.tensor("self");
  return pieces_of_sizes(b, self, splittable_axis(self, arguments.integer("dim")),
                         arguments.sizes("split_sizes"));
}
OPERATOR(split_with_sizes_copy,
         "split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
         "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]") {
  return copies_of(views_split_with_sizes, b, arguments);
}
VIEW_LIST_OPERATOR(chunk, "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]") {
  return chunks_of(b, arguments.tensor("self"), arguments.integer("dim"),
                   arguments.integer("chunks"), arguments);
}
OPERATOR(unsafe_chunk, "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]") {
  return copies_of(views_chunk, b, arguments);
}
VIEW_LIST_OPERATOR(unbind, "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() == 0)
    throw InvalidProgram("Dimension specified as 0 but tensor has no dimensions");
  const int axis = wrap_axis(arguments.integer("dim"), self.rank());
  const std::int64_t count = piece_count(self.size(axis), arguments);
  require(b, ir::equal(self.size(axis), Size(count)),
          "unbind: export saw " + std::to_string(count) + " pieces, but there are " +
              self.size(axis).to_string());
  Views views;
  for (std::int64_t k = 0; k < count; ++k) views.push_back(select_view(self.shape, axis, k));
  return views;
}
OPERATOR(unbind_copy, "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]") {
  return copies_of(views_unbind, b, arguments);
}

VIEW_LIST_OPERATOR(tensor_split_sections,
                   "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> "
                   "Tensor(a)[]") {
  const Tensor& self = arguments.tensor("self");
  return sections_of(self, splittable_axis(self, arguments.integer("dim")),
                     require_constant(arguments.size("sections"), "the number of sections"));
}
VIEW_LIST_OPERATOR(tensor_split_indices,
                   "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> "
                   "Tensor(a)[]") {
  const Tensor& self = arguments.tensor("self");
  return pieces_at(self, splittable_axis(self, arguments.integer("dim")),
                   arguments.sizes("indices"));
}
VIEW_LIST_OPERATOR(tensor_split_tensor,
                   "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor "
                   "tensor_indices_or_sections, int dim=0) -> Tensor(a)[]") {
  const Tensor& self = arguments.tensor("self");
  const Tensor& where = arguments.tensor("tensor_indices_or_sections");
  const int axis = splittable_axis(self, arguments.integer("dim"));
  if (where.rank() > 1 || where.dtype != DType::kInt64) {
    throw InvalidProgram(
        "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
        "one-dimensional tensor of type Long");
  }
  if (where.rank() == 0) {  // the number of pieces is fixed by the program
    const auto count = static_cast<std::int64_t>(arguments.expected_shapes().size());
    b.assert_size(ir::equal(b.item(where, std::nullopt), Size(count)),
                  "tensor_split: export saw " + std::to_string(count) + " sections");
    return sections_of(self, axis, count);
  }
  Shape bounds;
  const std::int64_t count = require_constant(where.size(0), "the number of indices");
  for (std::int64_t k = 0; k < count; ++k) {
    bounds.push_back(b.item(select(b, where, 0, Size(k)), std::nullopt));
  }
  return pieces_at(self, axis, bounds);
}

VIEW_LIST_OPERATOR(hsplit, "hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
                   "hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]") {
  const int axis = arguments.tensor("self").rank() == 1 ? 0 : 1;
  return array_split(arguments, axis, 1, "hsplit");
}
VIEW_LIST_OPERATOR(vsplit, "vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
                   "vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]") {
  return array_split(arguments, 0, 2, "vsplit");
}
VIEW_LIST_OPERATOR(dsplit, "dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
                   "dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]") {
  return array_split(arguments, 2, 3, "dsplit");
}

}  // namespace tendon::aten
