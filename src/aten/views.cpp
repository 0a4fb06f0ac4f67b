// Views as index functions, and the same applied to tensors.
#include <algorithm>
#include <utility>

#include "aten/index_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

View::Preimage everywhere(Builder& b, Indices index) { return {b.truth(true), std::move(index)}; }

/// A run of axes of `from` and of `to` that hold the same elements in the same order.
struct Group {
  std::vector<int> from, to;
};

/// Cuts both shapes wherever the elements before (or after) the cut are known to be as many, so
/// that only axes that are really merged or split share a group. Axes of size 1 are in no group.
std::vector<Group> matching_groups(const Shape& from, const Shape& to) {
  const auto axes_of = [](const Shape& shape) {
    std::vector<int> axes;
    for (int k = 0; k < static_cast<int>(shape.size()); ++k) {
      if (!(shape[static_cast<std::size_t>(k)] == Size(1))) axes.push_back(k);
    }
    return axes;
  };
  // Elements before (after) each cut.
  const auto products = [](const Shape& shape, const std::vector<int>& axes) {
    std::vector<Size> before(axes.size() + 1, Size(1)), after(axes.size() + 1, Size(1));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      before[k + 1] = before[k] * shape[static_cast<std::size_t>(axes[k])];
    }
    for (std::size_t k = axes.size(); k-- > 0;) {
      after[k] = after[k + 1] * shape[static_cast<std::size_t>(axes[k])];
    }
    return std::pair(before, after);
  };
  const std::vector<int> from_axes = axes_of(from), to_axes = axes_of(to);
  const auto [from_before, from_after] = products(from, from_axes);
  const auto [to_before, to_after] = products(to, to_axes);
  std::vector<Group> groups;
  std::size_t first_from = 0, first_to = 0;
  const auto close = [&](std::size_t i, std::size_t j) {
    if (i == first_from && j == first_to) return;
    Group group;
    group.from.assign(from_axes.begin() + static_cast<std::ptrdiff_t>(first_from),
                      from_axes.begin() + static_cast<std::ptrdiff_t>(i));
    group.to.assign(to_axes.begin() + static_cast<std::ptrdiff_t>(first_to),
                    to_axes.begin() + static_cast<std::ptrdiff_t>(j));
    groups.push_back(std::move(group));
    first_from = i;
    first_to = j;
  };
  for (std::size_t i = 1; i < from_axes.size(); ++i) {
    for (std::size_t j = first_to + 1; j < to_axes.size(); ++j) {
      if (from_before[i] == to_before[j] || from_after[i] == to_after[j]) {
        close(i, j);
        break;
      }
    }
  }
  close(from_axes.size(), to_axes.size());
  return groups;
}

/// Position in `from` of the element at `index` of `to`.
Indices reshape_index(Builder& b, const Shape& from, const std::vector<Group>& groups, bool forward,
                      const Shape& to, const Indices& index) {
  Indices result(from.size(), b.constant(DType::kInt64, 0));
  for (const Group& group : groups) {
    const std::vector<int>& source = forward ? group.from : group.to;
    const std::vector<int>& target = forward ? group.to : group.from;
    Expr flat = b.constant(DType::kInt64, 0);
    Size stride = 1;
    for (std::size_t k = target.size(); k-- > 0;) {
      const auto axis = static_cast<std::size_t>(target[k]);
      flat = flat + index[axis] * b.size(stride);
      stride = stride * to[axis];
    }
    stride = 1;
    for (std::size_t k = source.size(); k-- > 0;) {
      const auto axis = static_cast<std::size_t>(source[k]);
      Expr position = stride == Size(1) ? flat : floor_divide(flat, b.size(stride));
      if (k > 0) position = remainder(position, b.size(from[axis]));
      result[axis] = position;
      stride = stride * from[axis];
    }
  }
  return result;
}

std::vector<int> inverse_permutation(const std::vector<int>& axes) {
  std::vector<int> inverse(axes.size());
  for (std::size_t k = 0; k < axes.size(); ++k) {
    inverse[static_cast<std::size_t>(axes[k])] = static_cast<int>(k);
  }
  return inverse;
}

Indices without(const Indices& index, int axis) {
  Indices result = index;
  result.erase(result.begin() + axis);
  return result;
}

}  // namespace

View reshape_view(const Shape& from, const Shape& to) {
  const Size from_count = ir::element_count(from), to_count = ir::element_count(to);
  if (from_count.is_constant() && to_count.is_constant() && !(from_count == to_count)) {
    throw InvalidProgram("shape '" + shape_text(to) + "' is invalid for input of size " +
                         from_count.to_string());
  }
  const std::vector<Group> groups = matching_groups(from, to);
  View view;
  view.shape = to;
  view.forward = [from, to, groups](Builder& b, const Indices& index) {
    return reshape_index(b, from, groups, true, to, index);
  };
  view.inverse = [from, to, groups](Builder& b, const Indices& index) {
    return everywhere(b, reshape_index(b, to, groups, false, from, index));
  };
  return view;
}

View permute_view(const Shape& from, const std::vector<int>& axes) {
  View view;
  for (const int axis : axes) view.shape.push_back(from[static_cast<std::size_t>(axis)]);
  const std::vector<int> inverse = inverse_permutation(axes);
  const auto permuted = [](const Indices& index, const std::vector<int>& order) {
    Indices result;
    result.reserve(order.size());
    for (const int axis : order) result.push_back(index[static_cast<std::size_t>(axis)]);
    return result;
  };
  view.forward = [permuted, inverse](Builder&, const Indices& index) {
    return permuted(index, inverse);
  };
  view.inverse = [permuted, axes](Builder& b, const Indices& index) {
    return everywhere(b, permuted(index, axes));
  };
  return view;
}

View expand_view(const Shape& from, const Shape& to) {
  const std::size_t added = to.size() - from.size();
  bool repeats = false;
  std::vector<bool> stretched(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) {
    stretched[k] = from[k] == Size(1);
    repeats |= stretched[k] && !(to[added + k] == Size(1));
  }
  for (std::size_t k = 0; k < added; ++k) repeats |= !(to[k] == Size(1));
  View view;
  view.shape = to;
  view.forward = [added, stretched](Builder& b, const Indices& index) {
    Indices result;
    for (std::size_t k = 0; k < stretched.size(); ++k) {
      result.push_back(stretched[k] ? b.constant(DType::kInt64, 0) : index[added + k]);
    }
    return result;
  };
  if (!repeats) {  // elements that appear more than once cannot be written through
    view.inverse = [added](Builder& b, const Indices& index) {
      Indices result(added, b.constant(DType::kInt64, 0));
      result.insert(result.end(), index.begin(), index.end());
      return everywhere(b, std::move(result));
    };
  }
  return view;
}

View slice_view(const Shape& from, int axis, const Size& start, const Size& length,
                std::int64_t step) {
  const auto a = static_cast<std::size_t>(axis);
  View view;
  view.shape = from;
  view.shape[a] = length;
  view.forward = [=](Builder& b, const Indices& index) {
    Indices result = index;
    result[a] = index[a] * step + b.size(start);
    return result;
  };
  const Size size = from[a];
  view.inverse = [=](Builder& b, const Indices& index) {
    Indices result = index;
    const Expr offset = index[a] - b.size(start);
    Condition inside;
    if (!(start == Size(0))) inside.add(index[a] >= b.size(start));
    if (step == 1) {
      if (!(start + length == size)) inside.add(index[a] < b.size(start + length));
      result[a] = offset;
    } else {
      inside.add(remainder(offset, b.constant(DType::kInt64, step)) == 0);
      result[a] = floor_divide(offset, b.constant(DType::kInt64, step));
      inside.add(result[a] < b.size(length));
    }
    return View::Preimage{inside.expr(b), std::move(result)};
  };
  return view;
}

View select_view(const Shape& from, int axis, const Size& position) {
  View view;
  view.shape = from;
  view.shape.erase(view.shape.begin() + axis);
  view.forward = [=](Builder& b, const Indices& index) {
    Indices result = index;
    result.insert(result.begin() + axis, b.size(position));
    return result;
  };
  view.inverse = [=](Builder& b, const Indices& index) {
    return View::Preimage{index[static_cast<std::size_t>(axis)] == b.size(position),
                          without(index, axis)};
  };
  return view;
}

View unsqueeze_view(const Shape& from, int axis) {
  View view;
  view.shape = from;
  view.shape.insert(view.shape.begin() + axis, Size(1));
  view.forward = [=](Builder&, const Indices& index) { return without(index, axis); };
  view.inverse = [=](Builder& b, const Indices& index) {
    Indices result = index;
    result.insert(result.begin() + axis, b.constant(DType::kInt64, 0));
    return everywhere(b, std::move(result));
  };
  return view;
}

View squeeze_view(const Shape& from, const std::vector<int>& axes) {
  std::vector<bool> gone(from.size());
  for (const int axis : axes) gone[static_cast<std::size_t>(axis)] = true;
  View view;
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (!gone[k]) view.shape.push_back(from[k]);
  }
  view.forward = [gone](Builder& b, const Indices& index) {
    Indices result;
    std::size_t next = 0;
    for (std::size_t k = 0; k < gone.size(); ++k) {
      result.push_back(gone[k] ? b.constant(DType::kInt64, 0) : index[next++]);
    }
    return result;
  };
  view.inverse = [gone](Builder& b, const Indices& index) {
    Indices result;
    for (std::size_t k = 0; k < gone.size(); ++k) {
      if (!gone[k]) result.push_back(index[k]);
    }
    return everywhere(b, std::move(result));
  };
  return view;
}

View alias_view(const Shape& from) {
  View view;
  view.shape = from;
  view.forward = [](Builder&, const Indices& index) { return index; };
  view.inverse = [](Builder& b, const Indices& index) { return everywhere(b, index); };
  return view;
}

Tensor reshape(Builder& b, const Tensor& x, const Shape& to) {
  return x.shape == to ? x : b.read_view(x, reshape_view(x.shape, to));
}

Tensor permute(Builder& b, const Tensor& x, const std::vector<int>& axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  return b.read_view(x, permute_view(x.shape, axes));
}

Tensor transpose(Builder& b, const Tensor& x, int axis0, int axis1) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  for (int k = 0; k < x.rank(); ++k) axes[static_cast<std::size_t>(k)] = k;
  if (axes.empty()) return x;
  std::swap(axes[static_cast<std::size_t>(wrap_axis(axis0, x.rank()))],
            axes[static_cast<std::size_t>(wrap_axis(axis1, x.rank()))]);
  return permute(b, x, axes);
}

Tensor expand(Builder& b, const Tensor& x, const Shape& to) {
  return x.shape == to ? x : b.read_view(x, expand_view(x.shape, to));
}

Tensor slice(Builder& b, const Tensor& x, int axis, const Size& start, const Size& length,
             std::int64_t step) {
  const int wrapped = wrap_axis(axis, x.rank());
  if (start == Size(0) && length == x.size(wrapped) && step == 1) return x;
  return b.read_view(x, slice_view(x.shape, wrapped, start, length, step));
}

Tensor select(Builder& b, const Tensor& x, int axis, const Size& position) {
  return b.read_view(x, select_view(x.shape, wrap_axis(axis, x.rank()), position));
}

Tensor unsqueeze(Builder& b, const Tensor& x, int axis) {
  return b.read_view(x, unsqueeze_view(x.shape, wrap_axis(axis, x.rank() + 1)));
}

Tensor squeeze(Builder& b, const Tensor& x, const std::vector<int>& axes) {
  return axes.empty() ? x : b.read_view(x, squeeze_view(x.shape, axes));
}

Tensor concatenate(Builder& b, std::span<const Tensor> tensors, int axis) {
  const Tensor& first = tensors.front();
  const int wrapped = wrap_axis(axis, first.rank());
  if (first.complex()) {
    std::vector<Tensor> pairs;
    for (const Tensor& tensor : tensors) pairs.push_back(as_pairs(tensor));
    return from_pairs(concatenate(b, pairs, wrapped), first.dtype);
  }
  std::vector<Tensor> parts;  // those that have elements
  for (const Tensor& tensor : tensors) {
    if (!(tensor.size(wrapped) == Size(0))) parts.push_back(tensor);
  }
  if (parts.empty()) return first;
  if (parts.size() == 1) return parts.front();
  const auto a = static_cast<std::size_t>(wrapped);
  Shape shape = first.shape;
  std::vector<Size> ends;
  Size end = 0;
  for (const Tensor& part : parts) ends.push_back(end = end + part.shape[a]);
  shape[a] = end;
  return b.map(shape, [&](const Indices& index) {
    std::optional<Expr> result;
    for (std::size_t k = parts.size(); k-- > 0;) {
      Indices positions = index;
      Condition inside;
      if (k > 0) {
        inside.add(index[a] >= b.size(ends[k - 1]));
        positions[a] = index[a] - b.size(ends[k - 1]);
      }
      const Expr before_end = index[a] < b.size(ends[k]);
      if (k + 1 < parts.size()) inside.add(before_end);
      const Expr element = b.masked_load(parts[k], inside.expr(b), positions);
      result = result ? select(before_end, element, *result) : element;
    }
    return *result;
  });
}

Tensor pad(Builder& b, const Tensor& x, const Shape& before, const Shape& after,
           const Scalar& value) {
  Shape shape = x.shape;
  for (std::size_t k = 0; k < shape.size(); ++k) shape[k] = shape[k] + before[k] + after[k];
  return masked_rearrange(
      b, x, shape,
      [&](const Indices& index) {
        Condition inside;
        Indices positions = index;
        for (std::size_t k = 0; k < index.size(); ++k) {
          positions[k] = index[k] - b.size(before[k]);
          const auto none = [](const Size& width) {
            return ir::provably_less_equal(width, Size(0)).value_or(false);
          };
          if (!none(before[k])) inside.add(positions[k] >= 0);
          if (!none(after[k])) inside.add(positions[k] < b.size(x.shape[k]));
        }
        return MaskedPosition{inside.expr(b), positions};
      },
      value);
}

}  // namespace tendon::aten
