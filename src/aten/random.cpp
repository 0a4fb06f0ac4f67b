// Random numbers: Philox bits from the program's seed, one stream per operator and call.
#include <cmath>
#include <numbers>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// Draws the numbers of one operator: `position` counts its elements.
class Source {
 public:
  explicit Source(Builder& b) : b_(b), stream_(b.random_stream()) {}

  /// The row-major position of an element.
  Expr position(const Shape& shape, const Indices& index) const {
    Expr result = b_.constant(DType::kInt64, 0);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      result = result * b_.size(shape[axis]) + index[axis];
    }
    return result;
  }
  /// In [0, 1), as fine as the type holds.
  Expr uniform(Expr position, DType compute, int draw = 0) const {
    if (compute == DType::kFloat64) {
      const Expr high = cast(compute, bits(position, 2 * draw) >> 5);
      const Expr low = cast(compute, bits(position, 2 * draw + 1) >> 6);
      return (high * 67108864.0 + low) * 0x1p-53;
    }
    return cast(DType::kFloat32, bits(position, 2 * draw) >> 8) * 0x1p-24;
  }
  /// By Box and Muller.
  Expr normal(Expr position, DType compute) const {
    const Expr radius =
        unary(Op::kSqrt, unary(Op::kLog, 1.0 - uniform(position, compute, 0)) * -2.0);
    return radius * unary(Op::kCos, uniform(position, compute, 1) * (2 * std::numbers::pi));
  }
  /// In [0, range): the product of 64 bits would not fit, so two draws are joined by remainder.
  Expr integer(Expr position, Expr range) const {
    const Expr wide = bits(position, 0) * (std::int64_t{1} << 31) + (bits(position, 1) >> 1);
    return remainder(wide, range);
  }

 private:
  struct Bits {
    Expr value;
    operator Expr() const { return value; }
    Expr operator>>(int count) const { return binary(Op::kShiftRight, value, like(value, count)); }
    Expr operator*(std::int64_t factor) const { return value * factor; }
  };
  Bits bits(Expr position, int draw) const {
    return {b_.random_bits(stream_, position * std::int64_t{4} + std::int64_t{draw})};
  }

  Builder& b_;
  std::int64_t stream_;
};

DType dtype_or(const Arguments& arguments, DType otherwise) {
  return arguments.dtype("dtype").value_or(otherwise);
}

void check_floating(DType dtype, std::string_view name) {
  if (!is_floating(dtype)) {
    throw InvalidProgram("\"" + std::string(name) + "\" not implemented for '" +
                         std::string(dtype_name(dtype)) + "'");
  }
}

/// One number per element of the shape, from its position.
Tensor drawn(Builder& b, const Shape& shape, DType dtype,
             const std::function<Expr(const Source&, Expr position, const Indices&)>& body) {
  const Source source(b);
  return b.map(shape, [&](const Indices& i) {
    return cast(dtype, body(source, source.position(shape, i), i));
  });
}

Tensor uniform(Builder& b, const Shape& shape, DType dtype, double low, double high) {
  check_floating(dtype, "uniform");
  const DType compute = compute_type(dtype);
  return drawn(b, shape, dtype, [&](const Source& source, Expr position, const Indices&) {
    const Expr x = source.uniform(position, compute);
    return low == 0 && high == 1 ? x : x * (high - low) + low;
  });
}

Tensor normal(Builder& b, const Shape& shape, DType dtype, double mean, double deviation) {
  check_floating(dtype, "normal");
  const DType compute = compute_type(dtype);
  return drawn(b, shape, dtype, [&](const Source& source, Expr position, const Indices&) {
    return source.normal(position, compute) * deviation + mean;
  });
}

Tensor integers(Builder& b, const Shape& shape, DType dtype, const Size& low, const Size& high) {
  if (const auto empty = ir::provably_less_equal(high, low); empty.has_value() && *empty) {
    throw InvalidProgram("random_ expects 'from' to be less than 'to', but got from=" +
                         low.to_string() + " >= to=" + high.to_string());
  }
  return drawn(b, shape, dtype, [&](const Source& source, Expr position, const Indices&) {
    return source.integer(position, b.size(high - low)) + b.size(low);
  });
}

/// Mean and deviation tensors or numbers, broadcast.
Tensor normal_of(Builder& b, const Arguments& arguments) {
  std::vector<Shape> shapes;
  DType dtype = DType::kFloat32;
  for (const char* name : {"std", "mean"}) {
    if (const auto* tensor = std::get_if<Tensor>(&arguments.value(name))) {
      shapes.push_back(tensor->shape);
      dtype = tensor->dtype;
    }
  }
  check_floating(dtype, "normal");
  const DType compute = compute_type(dtype);
  const auto element = [&](const char* name, const Indices& i) {
    const Arguments::Value& value = arguments.value(name);
    if (const auto* tensor = std::get_if<Tensor>(&value)) {
      return cast(compute, b.load_broadcast(*tensor, i));
    }
    return b.scalar(arguments.scalar(name), compute);
  };
  return drawn(b, broadcast_shapes(b, shapes), dtype,
               [&](const Source& source, Expr position, const Indices& i) {
                 return source.normal(position, compute) * element("std", i) + element("mean", i);
               });
}

/// 1 with the probability that `chance` gives for an element, else 0.
Tensor bernoulli(Builder& b, const Shape& shape, DType dtype,
                 const std::function<Expr(const Indices&)>& chance) {
  return drawn(b, shape, dtype, [&](const Source& source, Expr position, const Indices& i) {
    const Expr p = chance(i);
    return source.uniform(position, p.dtype()) < p;
  });
}

/// -log(u) / rate with u in (0, 1].
Expr exponential(const Source& source, Expr position, DType compute, double rate) {
  return unary(Op::kLog, 1.0 - source.uniform(position, compute)) * (-1.0 / rate);
}

}  // namespace

Tensor uniform_numbers(Builder& b, const Shape& shape, DType dtype) {
  return uniform(b, shape, dtype, 0, 1);
}

OPERATOR(rand,
         "rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
         "bool? pin_memory=None) -> Tensor",
         "rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? "
         "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor") {
  return uniform(b, arguments.sizes("size"), dtype_or(arguments, DType::kFloat32), 0, 1);
}
OPERATOR(rand_like,
         "rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return uniform(b, self.shape, dtype_or(arguments, self.dtype), 0, 1);
}
OPERATOR(randn,
         "randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None) -> Tensor",
         "randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? "
         "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor") {
  return normal(b, arguments.sizes("size"), dtype_or(arguments, DType::kFloat32), 0, 1);
}
OPERATOR(randn_like,
         "randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return normal(b, self.shape, dtype_or(arguments, self.dtype), 0, 1);
}
OPERATOR(randint,
         "randint(SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, "
         "Device? device=None, bool? pin_memory=None) -> Tensor") {
  return integers(b, arguments.sizes("size"), dtype_or(arguments, DType::kInt64), 0,
                  arguments.size("high"));
}
OPERATOR(randint_low,
         "randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? "
         "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor") {
  return integers(b, arguments.sizes("size"), dtype_or(arguments, DType::kInt64),
                  arguments.size("low"), arguments.size("high"));
}
OPERATOR(
    randint_like,
    "randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return integers(b, self.shape, dtype_or(arguments, self.dtype), 0, arguments.size("high"));
}
OPERATOR(randint_like_low,
         "randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, "
         "Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
         "memory_format=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return integers(b, self.shape, dtype_or(arguments, self.dtype), arguments.size("low"),
                  arguments.size("high"));
}
OPERATOR(randperm,
         "randperm(SymInt n, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, "
         "bool? pin_memory=None) -> Tensor") {
  // The order of random keys.
  const Tensor keys = uniform(b, {arguments.size("n")}, DType::kFloat64, 0, 1);
  return cast(b, b.sort(keys, 0, false).second, dtype_or(arguments, DType::kInt64));
}
OPERATOR(normal,
         "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> "
         "Tensor",
         "normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor",
         "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor") {
  return normal_of(b, arguments);
}
OPERATOR(normal_float,
         "normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, "
         "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
         "pin_memory=None) -> Tensor") {
  return normal(b, arguments.sizes("size"), dtype_or(arguments, DType::kFloat32),
                arguments.real("mean"), arguments.real("std"));
}
OPERATOR(normal_self,
         "normal(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor",
         "normal_functional(Tensor self, float mean=0, float std=1, *, Generator? generator=None) "
         "-> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return normal(b, self.shape, self.dtype, arguments.real("mean"), arguments.real("std"));
}
OPERATOR(uniform,
         "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return uniform(b, self.shape, self.dtype, arguments.real("from"), arguments.real("to"));
}
OPERATOR(log_normal,
         "log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) -> "
         "Tensor") {
  const Tensor& self = arguments.tensor("self");
  const Tensor drawn = normal(b, self.shape, compute_type(self.dtype), arguments.real("mean"),
                              arguments.real("std"));
  return b.map(self.shape, [&](const Indices& i) {
    return cast(self.dtype, unary(Op::kExp, b.load(drawn, i)));
  });
}
OPERATOR(exponential,
         "exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  check_floating(self.dtype, "exponential");
  return drawn(b, self.shape, self.dtype, [&](const Source& source, Expr position, const Indices&) {
    return exponential(source, position, compute_type(self.dtype), arguments.real("lambd"));
  });
}
OPERATOR(geometric, "geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  const double rate = -std::log1p(-arguments.real("p"));
  return drawn(b, self.shape, self.dtype, [&](const Source& source, Expr position, const Indices&) {
    return unary(Op::kCeil, exponential(source, position, DType::kFloat64, rate));
  });
}
OPERATOR(cauchy,
         "cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None) -> "
         "Tensor") {
  const Tensor& self = arguments.tensor("self");
  check_floating(self.dtype, "cauchy");
  const DType compute = compute_type(self.dtype);
  return drawn(b, self.shape, self.dtype, [&](const Source& source, Expr position, const Indices&) {
    const Expr angle = (source.uniform(position, compute) - 0.5) * std::numbers::pi;
    return unary(Op::kTan, angle) * arguments.real("sigma") + arguments.real("median");
  });
}
OPERATOR(random_from,
         "random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return integers(b, self.shape, self.dtype, arguments.size("from"),
                  arguments.optional_size("to").value_or(std::int64_t{1} << 53));
}
OPERATOR(random_to, "random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return integers(b, self.shape, self.dtype, 0, arguments.size("to"));
}
OPERATOR(bernoulli, "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  check_floating(self.dtype, "bernoulli");
  return bernoulli(b, self.shape, self.dtype, [&](const Indices& i) {
    return cast(compute_type(self.dtype), b.load(self, i));
  });
}
OPERATOR(bernoulli_number,
         "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
         "bernoulli.float(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  return bernoulli(b, self.shape, self.dtype, [&](const Indices&) {
    return b.constant(DType::kFloat64, arguments.real("p"));
  });
}
OPERATOR(bernoulli_tensor,
         "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor") {
  const Tensor &self = arguments.tensor("self"), &p = arguments.tensor("p");
  return bernoulli(b, self.shape, self.dtype,
                   [&](const Indices& i) { return cast(DType::kFloat64, b.load_broadcast(p, i)); });
}
OPERATOR(multinomial,
         "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
         "generator=None) -> Tensor") {
  const Tensor& self = arguments.tensor("self");
  if (self.rank() != 1 && self.rank() != 2) {
    throw InvalidProgram("prob_dist must be 1 or 2 dim");
  }
  const Size samples = arguments.size("num_samples");
  const int axis = self.rank() - 1;
  const Size count = self.size(axis);
  const DType compute = DType::kFloat64;
  if (!arguments.boolean("replacement")) {
    // The race of exponentials: weights over them, the largest first.
    const Tensor keys =
        drawn(b, self.shape, compute, [&](const Source& source, Expr position, const Indices& i) {
          return cast(compute, b.load(self, i)) / exponential(source, position, compute, 1.0);
        });
    return b.top_k(keys, axis, true, samples).second;
  }
  // How many partial sums lie at or below a uniform part of the total.
  const Tensor sums = b.scan(ir::ScanOp::kSum, axis, self.shape,
                             [&](const Indices& i) { return cast(compute, b.load(self, i)); })[0];
  Shape shape = self.shape;
  shape.back() = samples;
  const Tensor draws = uniform(b, shape, compute, 0, 1);
  return b.reduce(ReduceOp::kSum, shape, {count - 1}, [&](const Indices& i) {
    const Indices sample(i.begin(), i.end() - 1);
    Indices last = sample, current = sample;
    last.back() = b.size(count - 1);
    current.back() = i.back();
    return cast(DType::kInt64, b.load(sums, current) <= b.load(draws, sample) * b.load(sums, last));
  });
}

}  // namespace tendon::aten
