// Orthogonal polynomials of a degree that is data, by their recurrences.
#include <limits>
#include <memory>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// P of degree m + 1 from those of degrees m (`current`) and m - 1 (`previous`).
using Recurrence = std::function<Expr(Expr x, Expr m, Expr current, Expr previous)>;

struct Family {
  std::function<Expr(Expr x)> linear;  // the polynomial of degree 1; that of degree 0 is 1
  Recurrence next;
  bool shifted = false;  // of 2 x - 1 instead of x
  bool limited = false;  // NaN where PyTorch gives up (Hermite)
};

/// A graph for one part of a loop: its inputs have the types of `operands`.
struct Part {
  std::shared_ptr<ir::Graph> graph = std::make_shared<ir::Graph>();
  Builder builder{*graph};
  std::vector<Tensor> inputs;

  Part(const Builder& outer, std::string_view name, const std::vector<Tensor>& operands) {
    builder.name_prefix = outer.name_prefix + std::string(name);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const ir::NodeId node =
          graph->add(ir::Input{static_cast<int>(i)}, {}, {{operands[i].dtype, operands[i].shape}});
      inputs.push_back(Tensor{graph->node(node).outputs[0], operands[i].dtype, operands[i].shape});
    }
  }
  void output(const Tensor& tensor) {
    graph->outputs.push_back(
        {ir::GraphOutput::Kind::kUser, tensor.value, static_cast<int>(graph->outputs.size()), {}});
  }
};

/// Runs m = 1, 2, ... while any degree is above m; elements whose degree is reached stay.
Tensor evaluate(Builder& b, const Tensor& x, const Tensor& degree, const Family& family) {
  const Shape& shape = x.shape;
  const DType type = x.dtype;
  const Tensor start = full(b, {}, Scalar(std::int64_t{1}), DType::kInt64);
  const Tensor previous = full(b, shape, Scalar(1.0), type);
  const Tensor current =
      b.map(shape, [&](const Indices& i) { return family.linear(b.load(x, i)); });
  const std::vector<Tensor> operands = {start, current, previous, x, degree};
  const std::string name = "n" + std::to_string(b.graph().nodes.size()) + "_";
  Part condition(b, name + "c_", operands), body(b, name + "b_", operands);
  {
    Builder& inner = condition.builder;
    condition.output(inner.reduce(ReduceOp::kAny, {}, shape, [&](const Indices& i) {
      return inner.load(condition.inputs[4], i) > inner.load(condition.inputs[0], {});
    }));
  }
  {
    Builder& inner = body.builder;
    const auto& in = body.inputs;
    body.output(inner.map({}, [&](const Indices&) { return inner.load(in[0], {}) + 1; }));
    const auto unfinished = [&](const Indices& i) {
      return inner.load(in[4], i) > inner.load(in[0], {});
    };
    body.output(inner.map(shape, [&](const Indices& i) {
      const Expr now = inner.load(in[1], i);
      const Expr m = cast(type, inner.load(in[0], {}));
      return select(unfinished(i), family.next(inner.load(in[3], i), m, now, inner.load(in[2], i)),
                    now);
    }));
    body.output(inner.map(shape, [&](const Indices& i) {
      return select(unfinished(i), inner.load(in[1], i), inner.load(in[2], i));
    }));
  }
  ir::While loop;
  loop.condition = condition.graph;
  loop.body = body.graph;
  loop.carried = 3;
  return b.add(loop, operands, {{DType::kInt64, {}}, {type, shape}, {type, shape}})[1];
}

Outputs polynomial(Builder& b, const Arguments& arguments, const Family& family) {
  const auto operand = [&](std::string_view name) {
    const auto* tensor = std::get_if<Tensor>(&arguments.value(name));
    return tensor != nullptr ? Operand(*tensor) : Operand(arguments.scalar(name));
  };
  const DType result = to_floating(result_type({operand("x"), operand("n")}));
  const DType compute = compute_type(result);
  const auto as_tensor = [&](std::string_view name) {
    const auto* tensor = std::get_if<Tensor>(&arguments.value(name));
    return tensor != nullptr ? *tensor : scalar_tensor(b, arguments.scalar(name), DType::kFloat64);
  };
  const Tensor given = as_tensor("x"), degrees = as_tensor("n");
  const std::vector<Shape> shapes = {given.shape, degrees.shape};
  const Shape shape = broadcast_shapes(b, shapes);
  const Tensor x = b.map(shape, [&](const Indices& i) {
    const Expr value = cast(compute, b.load_broadcast(given, i));
    return family.shifted ? value + value - 1.0 : value;
  });
  const Tensor degree = b.map(shape, [&](const Indices& i) {
    return cast(DType::kInt64, cast(compute, b.load_broadcast(degrees, i)));
  });
  const Tensor value = evaluate(b, x, degree, family);
  const std::int64_t limit = compute == DType::kFloat64 ? 512 : 128;
  return b.map(shape, [&](const Indices& i) {
    const Expr n = b.load(degree, i), own = b.load(value, i);
    Expr answer = select(n < 0, like(own, 0.0), select(n == 0, like(own, 1.0), own));
    if (family.limited) {
      answer = select(n > limit, like(own, std::numeric_limits<double>::quiet_NaN()), answer);
    }
    return cast(result, answer);
  });
}

Expr chebyshev_next(Expr x, Expr, Expr current, Expr previous) {
  return (x + x) * current - previous;
}

Expr twice(Expr x) { return x + x; }

Family chebyshev(std::function<Expr(Expr)> linear, bool shifted) {
  return {std::move(linear), chebyshev_next, shifted, false};
}

Family chebyshev_t(bool shifted) {
  return chebyshev([](Expr x) { return x; }, shifted);
}
Family chebyshev_u(bool shifted) { return chebyshev(twice, shifted); }
Family chebyshev_v(bool shifted) {
  return chebyshev([](Expr x) { return twice(x) - 1.0; }, shifted);
}
Family chebyshev_w(bool shifted) {
  return chebyshev([](Expr x) { return twice(x) + 1.0; }, shifted);
}

}  // namespace

#define TENDON_POLYNOMIAL_SCHEMAS(name)                          \
  "special_" name "(Tensor x, Tensor n) -> Tensor",              \
      "special_" name ".x_scalar(Scalar x, Tensor n) -> Tensor", \
      "special_" name ".n_scalar(Tensor x, Scalar n) -> Tensor"

OPERATOR(chebyshev_t, TENDON_POLYNOMIAL_SCHEMAS("chebyshev_polynomial_t")) {
  return polynomial(b, arguments, chebyshev_t(false));
}
OPERATOR(chebyshev_u, TENDON_POLYNOMIAL_SCHEMAS("chebyshev_polynomial_u")) {
  return polynomial(b, arguments, chebyshev_u(false));
}
OPERATOR(chebyshev_v, TENDON_POLYNOMIAL_SCHEMAS("chebyshev_polynomial_v")) {
  return polynomial(b, arguments, chebyshev_v(false));
}
OPERATOR(chebyshev_w, TENDON_POLYNOMIAL_SCHEMAS("chebyshev_polynomial_w")) {
  return polynomial(b, arguments, chebyshev_w(false));
}
OPERATOR(shifted_chebyshev_t, TENDON_POLYNOMIAL_SCHEMAS("shifted_chebyshev_polynomial_t")) {
  return polynomial(b, arguments, chebyshev_t(true));
}
OPERATOR(shifted_chebyshev_u, TENDON_POLYNOMIAL_SCHEMAS("shifted_chebyshev_polynomial_u")) {
  return polynomial(b, arguments, chebyshev_u(true));
}
OPERATOR(shifted_chebyshev_v, TENDON_POLYNOMIAL_SCHEMAS("shifted_chebyshev_polynomial_v")) {
  return polynomial(b, arguments, chebyshev_v(true));
}
OPERATOR(shifted_chebyshev_w, TENDON_POLYNOMIAL_SCHEMAS("shifted_chebyshev_polynomial_w")) {
  return polynomial(b, arguments, chebyshev_w(true));
}
OPERATOR(hermite_h, TENDON_POLYNOMIAL_SCHEMAS("hermite_polynomial_h")) {
  return polynomial(b, arguments,
                    {twice,
                     [](Expr x, Expr m, Expr current, Expr previous) {
                       return (x + x) * current - (m + m) * previous;
                     },
                     false, true});
}
OPERATOR(hermite_he, TENDON_POLYNOMIAL_SCHEMAS("hermite_polynomial_he")) {
  return polynomial(
      b, arguments,
      {[](Expr x) { return x; },
       [](Expr x, Expr m, Expr current, Expr previous) { return x * current - m * previous; },
       false, true});
}
OPERATOR(laguerre_l, TENDON_POLYNOMIAL_SCHEMAS("laguerre_polynomial_l")) {
  return polynomial(b, arguments,
                    {[](Expr x) { return 1.0 - x; },
                     [](Expr x, Expr m, Expr current, Expr previous) {
                       return ((m + m + (1.0 - x)) * current - m * previous) / (m + 1.0);
                     },
                     false, false});
}
OPERATOR(legendre_p, TENDON_POLYNOMIAL_SCHEMAS("legendre_polynomial_p")) {
  return polynomial(b, arguments,
                    {[](Expr x) { return x; },
                     [](Expr x, Expr m, Expr current, Expr previous) {
                       return ((m + m + 1.0) * x * current - m * previous) / (m + 1.0);
                     },
                     false, false});
}

#undef TENDON_POLYNOMIAL_SCHEMAS

}  // namespace tendon::aten
