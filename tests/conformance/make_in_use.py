"""Writes tests/data/conformance/in_use.zip: for each operator that real models use a small program, with a dynamic
batch where a model would have it, and calls of several batch sizes with PyTorch's results.

    python make_in_use.py OPERATORS_IN_USE.json OUT.zip      (needs torch 2.11 and safetensors)
"""
import io, json, sys, zipfile

import torch
from safetensors.torch import save

aten = torch.ops.aten
BATCHES = (3, 5, 1)


def randn(*sizes):
    return torch.randn(*sizes)


def grouped(x, weight, ends):
    """As transformers defines it, where its models are exported without a grouped product of PyTorch's."""
    output, start = torch.zeros(x.size(0), weight.size(2), dtype=x.dtype), 0
    for group, end in enumerate(ends.tolist()):
        output[start:end] = x[start:end] @ weight[group]
        start = end
    return output


torch.library.custom_op("transformers::grouped_mm_fallback", grouped, mutates_args=(),
                        schema="(Tensor input, Tensor weight, Tensor offs) -> Tensor")
torch.library.register_fake("transformers::grouped_mm_fallback",
                            lambda input, weight, offs: input.new_empty(input.size(0), weight.size(2)))


class Program(torch.nn.Module):
    def __init__(self, function, constants):
        super().__init__()
        self.function = function
        for i, constant in enumerate(constants):
            self.register_buffer(f"c{i}", constant)

    def forward(self, *inputs):
        return self.function(*inputs, *self.buffers())


def in_place(function):
    """Of a tensor that the program made."""
    def call(x, *others):
        y = x * 1
        function(y, *others)
        return y
    return call


PLAIN = ["cos", "sin", "relu", "exp", "silu", "mish", "neg", "sigmoid", "tanh", "hardsigmoid", "hardswish", "abs",
         "ceil", "sign", "softplus", "hardtanh", "contiguous", "alias", "clone", "detach", "lift_fresh_copy", "gelu",
         "zeros_like", "ones_like", "reciprocal"]
IN_PLACE = ["relu_", "silu_", "hardswish_", "hardtanh_", "zero_", "detach_"]
POSITIVE = ["rsqrt", "sqrt", "log"]


def programs():
    """Target: function, makers of its inputs from the batch size, constants (weights)."""
    one = [lambda n: randn(n, 4)]
    two = [lambda n: randn(n, 4), lambda n: randn(n, 4)]
    image = [lambda n: randn(n, 4, 8, 8)]
    volume = [lambda n: randn(n, 2, 4, 6, 6)]
    sequence = [lambda n: randn(n, 4, 10)]
    for name in PLAIN:
        yield f"aten.{name}.default", getattr(aten, name).default, one
    for name in IN_PLACE:
        yield f"aten.{name}.default", in_place(getattr(aten, name).default), one
    for name in POSITIVE:
        yield f"aten.{name}.default", getattr(aten, name).default, [lambda n: torch.rand(n, 4) + 0.1]
    for name in ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "le.Tensor", "gt.Tensor", "eq.Tensor",
                 "min.other", "expand_as.default", "type_as.default", "reshape_as.default"):
        packet, overload = name.split(".")
        yield f"aten.{name}", getattr(getattr(aten, packet), overload), two
    for name in ("add_.Tensor", "mul_.Tensor", "div_.Tensor", "copy_.default"):
        packet, overload = name.split(".")
        yield f"aten.{name}", in_place(getattr(getattr(aten, packet), overload)), two
    for name in ("ge", "ne", "lt", "eq", "gt", "le", "rsub"):
        yield f"aten.{name}.Scalar", lambda x, f=getattr(aten, name).Scalar: f(x, 0.25), one
    yield "aten.linear.default", aten.linear.default, one, [randn(6, 4), randn(6)]
    yield "aten.addmm.default", lambda x, w, c: aten.addmm.default(c, x, w), one, [randn(4, 6), randn(6)]
    yield "aten.matmul.default", aten.matmul.default, sequence, [randn(10, 6)]
    yield "aten.bmm.default", aten.bmm.default, [lambda n: randn(n, 4, 6), lambda n: randn(n, 6, 5)]
    yield "aten.baddbmm.default", lambda x, y, z: aten.baddbmm.default(z, x, y, beta=0.5, alpha=2), [
        lambda n: randn(n, 4, 6), lambda n: randn(n, 6, 5), lambda n: randn(n, 4, 5)]
    yield "aten.einsum.default", lambda x, y: aten.einsum.default("bhd,bkd->bhk", [x, y]), [
        lambda n: randn(n, 4, 6), lambda n: randn(n, 5, 6)]
    yield "transformers.grouped_mm_fallback.default", torch.ops.transformers.grouped_mm_fallback.default, [
        lambda n: randn(n, 4), None, lambda n: torch.tensor([n // 3, n // 3, n - n // 4])], [], [randn(3, 4, 6)]
    yield "aten.flatten.using_ints", lambda x: aten.flatten.using_ints(x, 1), image
    yield "aten.reshape.default", lambda x: aten.reshape.default(x, [x.size(0), -1, 2]), image
    yield "aten.view.default", lambda x: aten.view.default(x, [x.size(0) * 4, 64]), image
    yield "aten.transpose.int", lambda x: aten.transpose.int(x, 1, -1), sequence
    yield "aten.swapaxes.default", lambda x: aten.swapaxes.default(x, 0, 1), sequence
    yield "aten.numpy_T.default", aten.numpy_T.default, one
    yield "aten.permute.default", lambda x: aten.permute.default(x, [0, 2, 3, 1]), image
    yield "aten.unsqueeze.default", lambda x: aten.unsqueeze.default(x, 1), one
    yield "aten.squeeze.dim", lambda x: aten.squeeze.dim(x, 1), [lambda n: randn(n, 1, 4)]
    yield "aten.unflatten.int", lambda x: aten.unflatten.int(x, -1, [2, 5]), sequence
    yield "aten.cat.default", lambda x, y: aten.cat.default([x, y], 1), two
    yield "aten.stack.default", lambda x, y: aten.stack.default([x, y], 1), two
    yield "aten.chunk.default", lambda x: tuple(aten.chunk.default(x, 3, -1)), sequence
    yield "aten.split.Tensor", lambda x: tuple(aten.split.Tensor(x, 4, -1)), sequence
    yield "aten.split_with_sizes.default", lambda x: tuple(aten.split_with_sizes.default(x, [2, 5, 3], -1)), sequence
    yield "_operator.getitem", lambda x: aten.split_with_sizes.default(x, [2, 5, 3], -1)[1], sequence
    yield "aten.unbind.int", lambda x: tuple(aten.unbind.int(x, 1)), one
    yield "aten.slice.Tensor", lambda x: aten.slice.Tensor(x, 2, 1, -1, 2), sequence
    yield "aten.select.int", lambda x: aten.select.int(x, 1, -1), sequence
    yield "aten.expand.default", lambda x: aten.expand.default(x.unsqueeze(1), [-1, 3, 4]), one
    yield "aten.repeat.default", lambda x: aten.repeat.default(x, [1, 2]), one
    yield "aten.tile.default", lambda x: aten.tile.default(x, [2, 3]), one
    yield "aten.roll.default", lambda x: aten.roll.default(x, [2, -1], [1, 2]), sequence
    yield "aten.unfold.default", lambda x: aten.unfold.default(x, 2, 4, 3), sequence
    yield "aten.diff.default", aten.diff.default, sequence
    yield "aten.meshgrid.indexing", lambda x: tuple(
        aten.meshgrid.indexing([x.reshape(-1), x[0]], indexing="ij")), one
    yield "aten.pad.default", lambda x: aten.pad.default(x, [1, 2, 0, 3], "constant", 0.5), image
    yield "aten.dropout.default", lambda x: aten.dropout.default(x, 0.1, False), one
    yield "aten.dropout_.default", in_place(lambda x: aten.dropout_.default(x, 0.1, False)), one
    yield "aten.layer_norm.default", lambda x, w, c: aten.layer_norm.default(x, [10], w, c), sequence, [
        randn(10), randn(10)]
    yield "aten.group_norm.default", lambda x, w, c: aten.group_norm.default(x, 2, w, c), image, [randn(4), randn(4)]
    yield "aten.batch_norm.default", lambda x, w, c, m, v: aten.batch_norm.default(
        x, w, c, m, v, False, 0.1, 1e-5, True), image, [randn(4), randn(4), randn(4), torch.rand(4) + 0.5]
    yield "aten.instance_norm.default", lambda x: aten.instance_norm.default(
        x, None, None, None, None, True, 0.1, 1e-5, True), image
    yield "aten._weight_norm.default", lambda x, v, g: x @ aten._weight_norm.default(v, g, 0), one, [
        randn(4, 6), torch.rand(4, 1)]
    yield "aten.conv1d.default", lambda x, w, c: aten.conv1d.default(x, w, c, [1], [2]), sequence, [
        randn(6, 4, 5), randn(6)]
    yield "aten.conv2d.default", lambda x, w, c: aten.conv2d.default(x, w, c, [2, 2], [1, 1]), image, [
        randn(6, 4, 3, 3), randn(6)]
    yield "aten.conv2d.padding", lambda x, w: aten.conv2d.padding(x, w, None, [1, 1], "same"), image, [
        randn(6, 4, 3, 3)]
    yield "aten.conv3d.default", aten.conv3d.default, volume, [randn(3, 2, 3, 3, 3), randn(3)]
    yield "aten.conv_transpose1d.default", lambda x, w, c: aten.conv_transpose1d.default(x, w, c, [2], [1]), sequence, [
        randn(4, 3, 4), randn(3)]
    yield "aten.conv_transpose2d.input", lambda x, w, c: aten.conv_transpose2d.input(x, w, c, [2, 2]), image, [
        randn(4, 3, 2, 2), randn(3)]
    yield "aten.max_pool2d.default", lambda x: aten.max_pool2d.default(x, [3, 3], [2, 2], [1, 1]), image
    yield "aten.avg_pool1d.default", lambda x: aten.avg_pool1d.default(x, [3], [2], [1]), sequence
    yield "aten.avg_pool2d.default", lambda x: aten.avg_pool2d.default(x, [2, 2]), image
    yield "aten.adaptive_avg_pool1d.default", lambda x: aten.adaptive_avg_pool1d.default(x, [3]), sequence
    yield "aten.adaptive_avg_pool2d.default", lambda x: aten.adaptive_avg_pool2d.default(x, [1, 3]), image
    yield "aten.adaptive_avg_pool3d.default", lambda x: aten.adaptive_avg_pool3d.default(x, [1, 2, 4]), volume
    yield "aten.im2col.default", lambda x: aten.im2col.default(x, [3, 3], [1, 1], [1, 1], [2, 2]), image
    yield "aten.col2im.default", lambda x: aten.col2im.default(x, [8, 8], [2, 2], [1, 1], [0, 0], [2, 2]), [
        lambda n: randn(n, 12, 16)]
    yield "aten.grid_sampler.default", lambda x, g: aten.grid_sampler.default(x, g, 0, 0, True), [
        lambda n: randn(n, 4, 8, 8), lambda n: torch.rand(n, 5, 5, 2) * 2.4 - 1.2]
    yield "aten.upsample_bilinear2d.vec", lambda x: aten.upsample_bilinear2d.vec(x, [12, 5], False, None), image
    yield "aten.upsample_bicubic2d.vec", lambda x: aten.upsample_bicubic2d.vec(x, [12, 5], False, None), image
    yield "aten.softmax.int", lambda x: aten.softmax.int(x, -1), sequence
    yield "aten.scaled_dot_product_attention.default", aten.scaled_dot_product_attention.default, [
        lambda n: randn(n, 2, 5, 8), lambda n: randn(n, 2, 7, 8), lambda n: randn(n, 2, 7, 8)]
    yield "aten.mean.dim", lambda x: aten.mean.dim(x, [-1], True), sequence
    yield "aten.sum.dim_IntList", lambda x: aten.sum.dim_IntList(x, [0, 2]), sequence
    yield "aten.amax.default", lambda x: aten.amax.default(x, [1]), sequence
    yield "aten.max.dim", lambda x: aten.max.dim(x, 1), sequence
    yield "aten.min.dim", lambda x: aten.min.dim(x, -1, True), sequence
    yield "aten.argmax.default", lambda x: aten.argmax.default(x, -1), sequence
    yield "aten.linalg_vector_norm.default", lambda x: aten.linalg_vector_norm.default(x, 2, [1], True), sequence
    yield "aten.cumsum.default", lambda x: aten.cumsum.default(x, 0), one
    yield "aten.sort.default", lambda x: aten.sort.default(x, -1), sequence
    yield "aten.topk.default", lambda x: aten.topk.default(x, 3), sequence
    yield "aten.histc.default", lambda x: aten.histc.default(x, 6, -2, 2), one
    yield "aten.pow.Scalar", lambda x: aten.pow.Scalar(1.5, x), one
    yield "aten.pow.Tensor_Scalar", lambda x: aten.pow.Tensor_Scalar(x, 3), one
    yield "aten.pow.Tensor_Tensor", lambda x, y: aten.pow.Tensor_Tensor(x.abs(), y), two
    yield "aten.div.Tensor_mode", lambda x, y: aten.div.Tensor_mode(x, y, rounding_mode="floor"), two
    yield "aten.floor_divide.default", aten.floor_divide.default, two
    yield "aten.addcmul.default", lambda x, y: aten.addcmul.default(x, x, y, value=0.5), two
    yield "aten.clamp.default", lambda x: aten.clamp.default(x, -0.5, 0.5), one
    yield "aten.clamp_.default", in_place(lambda x: aten.clamp_.default(x, -0.5)), one
    yield "aten.clamp_min.default", lambda x: aten.clamp_min.default(x, 0.1), one
    yield "aten.bitwise_not.default", lambda x: aten.bitwise_not.default(x > 0), one
    yield "aten.__and__.Tensor", lambda x, y: aten.__and__.Tensor(x > 0, y > 0), two
    yield "aten.where.self", lambda x, y: aten.where.self(x > y, x, y), two
    yield "aten.where.ScalarOther", lambda x: aten.where.ScalarOther(x > 0, x, -1.0), one
    yield "aten.masked_fill.Scalar", lambda x: aten.masked_fill.Scalar(x, x > 0, -1.0), one
    yield "aten.masked_fill_.Scalar", in_place(lambda x: aten.masked_fill_.Scalar(x, x > 0, -1.0)), one
    yield "aten.fill_.Tensor", in_place(lambda x: aten.fill_.Tensor(x[:, 1], torch.tensor(2.0))), one
    yield "aten.index.Tensor", lambda x: aten.index.Tensor(x, [None, torch.tensor([2, 0])]), one
    yield "aten.index_put_.default", in_place(lambda x, y: aten.index_put_.default(
        x, [None, torch.tensor([2, 0])], y[:, :2])), two
    yield "aten.gather.default", lambda x, i: aten.gather.default(x, 1, i), [
        lambda n: randn(n, 4), lambda n: torch.randint(0, 4, (n, 6))]
    yield "aten.embedding.default", lambda i, w: aten.embedding.default(w, i), [
        lambda n: torch.randint(0, 9, (n, 3))], [randn(9, 4)]
    yield "aten.bucketize.Tensor", aten.bucketize.Tensor, one, [torch.tensor([-1.0, 0.0, 0.5])]
    yield "aten.to.dtype", lambda x: aten.to.dtype(x, torch.bfloat16), one
    yield "aten.to.dtype_layout", lambda x: aten.to.dtype_layout(
        x, dtype=torch.int64, layout=torch.strided, device=torch.device("cpu")), one
    yield "aten.to.device", lambda x: aten.to.device(x, torch.device("cpu"), torch.float64), one
    yield "aten._assert_tensor_metadata.default", lambda x: x.to(torch.float64) * 2, one
    yield "aten.new_ones.default", lambda x: aten.new_ones.default(x, [x.size(0), 2]), one
    yield "aten.new_zeros.default", lambda x: aten.new_zeros.default(x, [x.size(0), 2]), one
    yield "aten.full_like.default", lambda x: aten.full_like.default(x, 3), one
    yield "aten.empty_like.default", lambda x: aten.fill_.Scalar(aten.empty_like.default(x), 2), one
    yield "aten.full.default", lambda x: aten.full.default([x.size(0), 2], 1.5), one
    yield "aten.zeros.default", lambda x: aten.zeros.default([x.size(0), 2]), one
    yield "aten.ones.default", lambda x: aten.ones.default([2, x.size(0)]), one
    yield "aten.arange.default", lambda x: aten.arange.default(x.size(0)), one
    yield "aten.arange.start", lambda x: aten.arange.start(-1, x.size(0)), one
    yield "aten.arange.start_step", lambda x: aten.arange.start_step(0, 3 * x.size(0), 2), one
    yield "aten.linspace.default", lambda x: aten.linspace.default(0, 1, 7) * x[:, :1], one
    yield "aten.rand.default", lambda x: aten.rand.default([x.size(0), 2]) >= 0, one
    yield "aten.sym_size.int", lambda x: x * x.size(0), one
    for name in ("_operator.ge", "_operator.le", "aten._assert_scalar.default"):
        yield name, positive_prefix, [lambda n: randn(n, 4), lambda n: torch.tensor(n)]


def positive_prefix(x, count):
    """As many rows as a tensor says."""
    n = count.item()
    torch._check(n >= 0)
    torch._check(n <= x.size(0))
    return x[:n] * 2


def targets_of(program):
    return {str(node.target) for node in program.graph.nodes} | {
        "_operator." + node.target.__name__ for node in program.graph.nodes if callable(node.target)}


def export(function, makers, constants, fixed):
    inputs, shapes = [], []
    batch = torch.export.Dim("batch", min=1, max=64)
    for maker in makers:
        tensor = fixed[0] if maker is None else maker(BATCHES[0])
        inputs.append(tensor)
        dynamic = maker is not None and tensor.dim() > 0 and tensor.size(0) == BATCHES[0] and tensor.is_floating_point(
        ) or maker is not None and tensor.dim() > 1
        shapes.append({0: batch} if dynamic else None)
    return torch.export.export(Program(function, constants), tuple(inputs), dynamic_shapes=(tuple(shapes),),
                               strict=False)


def main(listed, path):
    torch.manual_seed(0)
    wanted = json.load(open(listed))["operators"]
    seen = set()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for target, function, makers, *rest in programs():
            constants, fixed = (rest + [[], []])[:2]
            program = export(function, makers, constants, fixed)
            if target not in targets_of(program):
                raise SystemExit(f"{target} is not in its program, but {sorted(targets_of(program))}")
            seen.add(target)
            data = io.BytesIO()
            torch.export.save(program, data)
            archive.writestr(f"{target}.pt2", data.getvalue())
            for i, n in enumerate(BATCHES):
                inputs = [fixed[0] if maker is None else maker(n) for maker in makers]
                results = program.module()(*[x.clone() for x in inputs])
                results = results if isinstance(results, (tuple, list)) else (results,)
                tensors = {f"input.{k}": x.contiguous() for k, x in enumerate(inputs)}
                tensors |= {f"output.{k}": y.contiguous().clone() for k, y in enumerate(results)}
                strides = {f"output.{k}": str(list(y.stride())) for k, y in enumerate(results)}
                archive.writestr(f"{target}.{i}.safetensors", save(tensors, strides))
    if missing := set(wanted) - seen:
        raise SystemExit(f"no program for {sorted(missing)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
