// Pooling by positions: max_unpool, gradients of max_pool, fractional windows.
#include "aten/operator.h"
#include "aten/scatter_tools.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

/// x [lead..., spatial...] with its last axes merged.
Tensor merge_spatial(Builder& b, const Tensor& x, std::size_t axes) {
  Shape shape(x.shape.begin(), x.shape.end() - static_cast<std::ptrdiff_t>(axes));
  shape.push_back(ir::element_count(std::span(x.shape).subspan(shape.size())));
  return reshape(b, x, shape);
}

/// The elements of `source` at flat positions of planes of the given sizes.
Tensor scatter_planes(Builder& b, ir::ScatterOp op, const Tensor& source, const Tensor& indices,
                      const Shape& sizes, const std::string& message) {
  const std::size_t axes = sizes.size();
  if (indices.dtype != DType::kInt64) {
    throw InvalidProgram("elements in indices should be type int64 but got: " +
                         scalar_type_name(indices.dtype));
  }
  const Tensor elements = merge_spatial(b, source, axes);
  const Tensor positions = merge_spatial(b, indices, axes);
  if (elements.shape.size() != positions.shape.size()) {
    throw InvalidProgram("Expected shape of indices to be same as that of the input tensor");
  }
  for (std::size_t k = 0; k < elements.shape.size(); ++k) {
    require(b, ir::equal(elements.shape[k], positions.shape[k]),
            "Expected shape of indices to be same as that of the input tensor (" +
                shape_text(source.shape) +
                ") but got indices tensor with shape: " + shape_text(indices.shape));
  }
  Shape shape = elements.shape;
  shape.back() = ir::element_count(sizes);
  ScatterPlan plan;
  plan.domain = elements.shape;
  plan.source = elements;
  plan.source_position = [](const Indices& i) { return i; };
  plan.target = [&](const Indices& i) {
    Indices at = i;
    at.back() = checked_element(b, positions, i, shape.back(), message);
    return at;
  };
  const Tensor planes =
      scatter_plan(b, op, full(b, shape, std::int64_t{0}, source.dtype), plan, HalfRounding::kOnce);
  Shape result(shape.begin(), shape.end() - 1);
  result.insert(result.end(), sizes.begin(), sizes.end());
  return reshape(b, planes, result);
}

Tensor unpool(Builder& b, const Arguments& arguments, std::size_t axes) {
  const Shape sizes = arguments.sizes("output_size");
  if (sizes.size() != axes) {
    throw InvalidProgram("There should be exactly " + std::to_string(axes) +
                         " elements in output_size, but got " + std::to_string(sizes.size()) +
                         " elements.");
  }
  std::string volume;
  for (const Size& size : sizes) volume += (volume.empty() ? "" : "x") + size.to_string();
  return scatter_planes(
      b, ir::ScatterOp::kAssign, arguments.tensor("self"), arguments.tensor("indices"), sizes,
      "Found an invalid max index: {index} (output volumes are of size " + volume + ")");
}

/// Every gradient goes to the element that had been the largest of its window.
Tensor pool_gradient(Builder& b, const Arguments& arguments, std::size_t axes) {
  const Tensor& self = arguments.tensor("self");
  const Shape sizes(self.shape.end() - static_cast<std::ptrdiff_t>(axes), self.shape.end());
  return scatter_planes(b, ir::ScatterOp::kAdd, arguments.tensor("grad_output"),
                        arguments.tensor("indices"), sizes,
                        "index {index} is out of bounds for a plane of {size} elements");
}

/// Windows of one size that begin at places drawn from a sample in [0, 1) per plane.
struct Fractional {
  Tensor x;        // [n, c, spatial...]
  Tensor samples;  // [n, c, axes]
  Shape out, kernel;
};

/// Where window `index` of an axis begins, in the arithmetic of the samples' type.
Expr window_begin(Builder& b, const Fractional& f, const Indices& i, std::size_t axis,
                  std::size_t sample) {
  const Size& in = f.x.shape[axis + 2];
  const Size& out = f.out[axis + 2];
  const Size& kernel = f.kernel[axis];
  const Expr last = b.size(in - kernel);
  if (out == Size(1)) return last;
  const DType type = f.samples.dtype, compute = compute_type(type);
  const auto rounded = [&](Expr x) { return cast(compute, cast(type, x)); };
  const auto number = [&](const Size& size) { return rounded(cast(compute, b.size(size))); };
  const Expr alpha = rounded(number(in - kernel) / number(out - Size(1)));
  const Expr drawn = cast(
      compute, b.load(f.samples,
                      {i[0], i[1], b.constant(DType::kInt64, static_cast<std::int64_t>(sample))}));
  const Expr index = i[axis + 2];
  const Expr shifted = rounded(rounded(cast(compute, index)) + drawn);
  const auto whole = [](Expr x) { return cast(DType::kInt64, unary(Op::kTrunc, x)); };
  const Expr begin = whole(rounded(shifted * alpha)) - whole(rounded(drawn * alpha));
  return clamp(select(index == b.size(out - Size(1)), last, begin), b.constant(DType::kInt64, 0),
               last);
}

Outputs fractional_pool(Builder& b, const Arguments& arguments, std::size_t axes) {
  const Tensor& self = arguments.tensor("self");
  const bool unbatched = self.shape.size() == axes + 1;
  Fractional f;
  f.x = unbatched ? unsqueeze(b, self, 0) : self;
  f.samples = arguments.tensor("random_samples");
  f.kernel = arguments.sizes("kernel_size");
  Shape sizes = arguments.sizes("output_size");
  if (f.kernel.size() == 1) f.kernel.resize(axes, f.kernel[0]);
  if (sizes.size() == 1) sizes.resize(axes, sizes[0]);
  if (f.x.shape.size() != axes + 2 || f.samples.rank() != 3 || f.kernel.size() != axes ||
      sizes.size() != axes) {
    throw InvalidProgram("fractional_max_pool" + std::to_string(axes) +
                         "d(): Expected 3 sample and " + std::to_string(axes + 2) +
                         " input dimensions");
  }
  f.out = {f.x.size(0), f.x.size(1)};
  for (std::size_t k = 0; k < axes; ++k) {
    require(b, ir::less_equal(sizes[k] + f.kernel[k] - Size(1), f.x.shape[k + 2]),
            "fractional_max_pool" + std::to_string(axes) + "d(): pool size " +
                f.kernel[k].to_string() + " too large relative to input size " +
                f.x.shape[k + 2].to_string());
    f.out.push_back(sizes[k]);
  }
  const DType compute = compute_type(f.x.dtype);
  // In two dimensions the first sample is the width's.
  const auto begins = [&](const Indices& i) {
    Indices result;
    for (std::size_t k = 0; k < axes; ++k) {
      result.push_back(window_begin(b, f, i, k, axes == 2 ? 1 - k : k));
    }
    return result;
  };
  const auto element = [&](const Indices& i) {
    const Indices begin = begins(i);
    Indices at = {i[0], i[1]};
    for (std::size_t k = 0; k < axes; ++k) at.push_back(begin[k] + i[axes + 2 + k]);
    return cast(compute, b.load(f.x, at));
  };
  const Tensor values = cast(b, b.reduce(ReduceOp::kMax, f.out, f.kernel, element), f.x.dtype);
  const Tensor best = b.reduce(ReduceOp::kArgMax, f.out, f.kernel, element);
  const Shape spatial(f.x.shape.begin() + 2, f.x.shape.end());
  const Tensor positions = b.map(f.out, [&](const Indices& i) {
    const Indices window = unflatten_index(b, b.load(best, i), f.kernel);
    Indices at = begins(i);
    for (std::size_t k = 0; k < axes; ++k) at[k] = at[k] + window[k];
    return flatten_index(b, at, spatial);
  });
  if (!unbatched) return {values, positions};
  return {squeeze(b, values, {0}), squeeze(b, positions, {0})};
}

}  // namespace

OPERATOR(max_unpool2d,
         "max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor") {
  return unpool(b, arguments, 2);
}
OPERATOR(max_unpool3d,
         "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] "
         "padding) -> Tensor") {
  return unpool(b, arguments, 3);
}
OPERATOR(max_pool2d_with_indices_backward,
         "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
         "int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> "
         "Tensor") {
  return pool_gradient(b, arguments, 2);
}
OPERATOR(max_pool3d_with_indices_backward,
         "max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, "
         "int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> "
         "Tensor") {
  return pool_gradient(b, arguments, 3);
}
OPERATOR(
    adaptive_max_pool2d_backward,
    "adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor") {
  return pool_gradient(b, arguments, 2);
}
OPERATOR(
    adaptive_max_pool3d_backward,
    "adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor") {
  return pool_gradient(b, arguments, 3);
}
OPERATOR(fractional_max_pool2d,
         "fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor "
         "random_samples) -> (Tensor, Tensor)") {
  return fractional_pool(b, arguments, 2);
}
OPERATOR(fractional_max_pool3d,
         "fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor "
         "random_samples) -> (Tensor, Tensor)") {
  return fractional_pool(b, arguments, 3);
}

}  // namespace tendon::aten
