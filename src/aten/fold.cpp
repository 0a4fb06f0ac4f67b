// im2col and col2im (unfold and fold): sliding blocks of images as columns, and their sum back.
#include "aten/index_tools.h"
#include "aten/operator.h"
#include "aten/toolbox.h"

namespace tendon::aten {
namespace {

struct Blocks {
  std::vector<std::int64_t> kernel, dilation, padding, stride;
  Shape image;   // height, width
  Shape counts;  // blocks along each
};

std::vector<std::int64_t> pair_of(const Arguments& arguments, const char* name) {
  std::vector<std::int64_t> values = arguments.integers(name);
  if (values.size() == 1) values.push_back(values[0]);
  if (values.size() != 2)
    throw InvalidProgram("It is expected " + std::string(name) + " equals to 2, but got size " +
                         std::to_string(values.size()));
  return values;
}

Blocks blocks_of(Builder& b, const Arguments& arguments, const Shape& image) {
  Blocks blocks{pair_of(arguments, "kernel_size"),
                pair_of(arguments, "dilation"),
                pair_of(arguments, "padding"),
                pair_of(arguments, "stride"),
                image,
                {}};
  for (std::size_t k = 0; k < 2; ++k) {
    if (blocks.kernel[k] <= 0 || blocks.dilation[k] <= 0 || blocks.stride[k] <= 0 ||
        blocks.padding[k] < 0) {
      throw InvalidProgram(
          "kernel_size, dilation and stride should be greater than zero and padding not negative");
    }
    const Size reach =
        image[k] + Size(2 * blocks.padding[k] - blocks.dilation[k] * (blocks.kernel[k] - 1) - 1);
    require(b, ir::less_equal(Size(0), reach),
            "calculated shape of the array of sliding blocks is too small (non-positive)");
    blocks.counts.push_back(ir::floor_div(reach, Size(blocks.stride[k])) + Size(1));
  }
  return blocks;
}

}  // namespace

OPERATOR(im2col,
         "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) "
         "-> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() != 3 && self.rank() != 4) {
    throw InvalidProgram(
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
        "dimensions for input, but got: " +
        shape_text(self.shape));
  }
  const Tensor x = self.rank() == 3 ? unsqueeze(b, self, 0) : self;
  const Blocks blocks = blocks_of(b, arguments, {x.size(2), x.size(3)});
  const Shape inner = {x.size(1), Size(blocks.kernel[0]), Size(blocks.kernel[1])};
  const Tensor columns = masked_rearrange(
      b, x, {x.size(0), ir::element_count(inner), ir::element_count(blocks.counts)},
      [&](const Indices& i) {
        const Indices part = unflatten_index(b, i[1], inner);
        const Indices block = unflatten_index(b, i[2], blocks.counts);
        Indices at = {i[0], part[0]};
        Condition inside;
        for (std::size_t k = 0; k < 2; ++k) {
          const Expr position =
              block[k] * blocks.stride[k] + part[k + 1] * blocks.dilation[k] - blocks.padding[k];
          if (blocks.padding[k] > 0) inside.add_in_range(position, blocks.image[k]);
          at.push_back(position);
        }
        return MaskedPosition{inside.expr(b), at};
      });
  return self.rank() == 3 ? squeeze(b, columns, {0}) : columns;
}
OPERATOR(col2im,
         "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] "
         "padding, int[2] stride) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() != 2 && self.rank() != 3) {
    throw InvalidProgram(
        "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
        "dimensions for input, but got: " +
        shape_text(self.shape));
  }
  const bool complex = self.complex();
  const Tensor batched = self.rank() == 2 ? unsqueeze(b, self, 0) : self;
  const Tensor x = complex ? as_pairs(batched) : batched;
  const Blocks blocks = blocks_of(b, arguments, arguments.sizes("output_size"));
  const std::int64_t window = blocks.kernel[0] * blocks.kernel[1];
  const std::optional<Size> channels = ir::divide_exactly(x.size(1), Size(window));
  if (!channels) {
    throw InvalidProgram(
        "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
        "got input.size(1)=" +
        x.size(1).to_string() + " and kernel_size=(" + std::to_string(blocks.kernel[0]) + ", " +
        std::to_string(blocks.kernel[1]) + ").");
  }
  require(b, ir::equal(x.size(2), ir::element_count(blocks.counts)),
          "Given output_size, kernel_size, dilation, padding and stride, expected size of input's "
          "dimension 2 to match the calculated number of sliding blocks " +
              ir::element_count(blocks.counts).to_string() +
              ", but got input.size(2)=" + x.size(2).to_string() + ".");
  const DType compute = compute_type(x.dtype);
  Shape shape = {x.size(0), *channels, blocks.image[0], blocks.image[1]};
  if (complex) shape.push_back(Size(2));
  // Every element of the image is in at most one block for each place in the window.
  const Tensor sum = b.reduce(
      ReduceOp::kSum, shape, {Size(blocks.kernel[0]), Size(blocks.kernel[1])},
      [&](const Indices& i) {
        Condition inside;
        Indices block;
        const Expr in_window[2] = {i[i.size() - 2], i[i.size() - 1]};
        for (std::size_t k = 0; k < 2; ++k) {
          const Expr start = i[k + 2] + blocks.padding[k] - in_window[k] * blocks.dilation[k];
          const Expr stride = b.constant(DType::kInt64, blocks.stride[k]);
          if (blocks.stride[k] != 1) inside.add(remainder(start, stride) == 0);
          const Expr number = blocks.stride[k] == 1 ? start : floor_divide(start, stride);
          inside.add_in_range(number, blocks.counts[k]);
          block.push_back(number);
        }
        Indices at = {i[0],
                      (i[1] * blocks.kernel[0] + in_window[0]) * blocks.kernel[1] + in_window[1],
                      flatten_index(b, block, blocks.counts)};
        if (complex) at.push_back(i[4]);
        return cast(compute, b.masked_load(x, inside.expr(b), at));
      });
  const Tensor folded = cast(b, sum, x.dtype);
  const Tensor result = complex ? from_pairs(folded, self.dtype) : folded;
  return self.rank() == 2 ? squeeze(b, result, {0}) : result;
}

}  // namespace tendon::aten
