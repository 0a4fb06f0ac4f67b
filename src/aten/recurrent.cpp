// LSTM, GRU and plain recurrent networks: the inputs' part of all steps is one product; the steps
// are a loop.
#include <algorithm>
#include <memory>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

enum class Cell { kLstm, kGru, kTanh, kRelu };

struct Weights {
  Tensor input, hidden;                           // [gates * h, ...]
  std::optional<Tensor> input_bias, hidden_bias;  // [gates * h]
  std::optional<Tensor> projection;               // [p, h]
};

int gate_count(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

/// State after one step. `gates` [n, gates * h] is the inputs' part; states are [n, h] and, for
/// LSTM, the cell state after the hidden one.
std::vector<Tensor> step(Builder& b, Cell cell, const Tensor& gates,
                         const std::vector<Tensor>& states, const Tensor& hidden_weight,
                         const std::optional<Tensor>& hidden_bias,
                         const std::optional<Tensor>& projection) {
  const Tensor recurrent = linear(b, states[0], hidden_weight, hidden_bias);
  const DType type = gates.dtype, compute = compute_type(type);
  const Size width = ir::floor_div(gates.size(1), gate_count(cell));
  const Shape shape = {gates.size(0), width};
  const auto gate = [&](const Tensor& from, int number, const Indices& i) {
    return cast(compute, b.load(from, {i[0], i[1] + b.size(width * number)}));
  };
  const auto both = [&](int number, const Indices& i) {
    return gate(gates, number, i) + gate(recurrent, number, i);
  };
  const auto sigmoid = [](Expr x) { return unary(Op::kSigmoid, x); };
  const auto tanh = [](Expr x) { return unary(Op::kTanh, x); };
  if (cell == Cell::kLstm) {
    const Tensor memory = b.map(shape, [&](const Indices& i) {
      return cast(type, sigmoid(both(1, i)) * cast(compute, b.load(states[1], i)) +
                            sigmoid(both(0, i)) * tanh(both(2, i)));
    });
    Tensor hidden = b.map(shape, [&](const Indices& i) {
      return cast(type, sigmoid(both(3, i)) * tanh(cast(compute, b.load(memory, i))));
    });
    if (projection) hidden = linear(b, hidden, *projection, std::nullopt);
    return {hidden, memory};
  }
  return {b.map(shape, [&](const Indices& i) {
    if (cell == Cell::kTanh) return cast(type, tanh(both(0, i)));
    if (cell == Cell::kRelu) {
      const Expr x = both(0, i);
      return cast(type, maximum(x, like(x, 0)));
    }
    const Expr reset = sigmoid(both(0, i)), update = sigmoid(both(1, i));
    const Expr fresh = tanh(gate(gates, 2, i) + reset * gate(recurrent, 2, i));
    return cast(type, (cast(compute, b.load(states[0], i)) - fresh) * update + fresh);
  })};
}

struct Sequence {
  Tensor outputs;              // [t, n, h]
  std::vector<Tensor> states;  // after the last step
};

/// Runs the steps as a loop over axis 0 of `gates` [t, n, gates * h].
Sequence run_loop(Builder& b, Cell cell, const Tensor& gates, const std::vector<Tensor>& initial,
                  const Weights& weights) {
  std::vector<Tensor> inputs = initial;
  inputs.push_back(gates);
  inputs.push_back(weights.hidden);
  if (weights.hidden_bias) inputs.push_back(*weights.hidden_bias);
  if (weights.projection) inputs.push_back(*weights.projection);
  auto body = std::make_shared<ir::Graph>();
  Builder inner(*body);
  inner.name_prefix = b.name_prefix + "n" + std::to_string(b.graph().nodes.size()) + "_";
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Shape shape = inputs[i].shape;
    if (i == initial.size()) shape.erase(shape.begin());  // one step of what is iterated
    const ir::NodeId node =
        body->add(ir::Input{static_cast<int>(i)}, {}, {{inputs[i].dtype, shape}});
    operands.push_back(Tensor{body->node(node).outputs[0], inputs[i].dtype, shape});
  }
  std::size_t next = initial.size();
  const Tensor own_gates = operands[next++];
  const Tensor hidden_weight = operands[next++];
  std::optional<Tensor> bias, projection;
  if (weights.hidden_bias) bias = operands[next++];
  if (weights.projection) projection = operands[next++];
  std::vector<Tensor> results =
      step(inner, cell, own_gates,
           std::vector<Tensor>(operands.begin(),
                               operands.begin() + static_cast<std::ptrdiff_t>(initial.size())),
           hidden_weight, bias, projection);
  results.push_back(results[0]);  // the slice of outputs
  ir::Loop loop;
  loop.carried = static_cast<int>(initial.size());
  loop.iterated = 1;
  loop.length = gates.size(0);
  std::vector<std::pair<DType, Shape>> types;
  for (std::size_t i = 0; i < results.size(); ++i) {
    body->outputs.push_back(
        {ir::GraphOutput::Kind::kUser, results[i].value, static_cast<int>(i), {}});
    Shape shape = results[i].shape;
    if (i == initial.size()) shape.insert(shape.begin(), loop.length);
    types.emplace_back(results[i].dtype, shape);
  }
  loop.body = body;
  std::vector<Tensor> outputs = b.add(loop, inputs, types);
  Sequence sequence;
  sequence.outputs = outputs.back();
  outputs.pop_back();
  sequence.states = std::move(outputs);
  return sequence;
}

Tensor reversed(Builder& b, const Tensor& x) {
  return b.map(x.shape, [&](const Indices& i) {
    Indices index = i;
    index[0] = b.size(x.size(0) - 1) - i[0];
    return b.load(x, index);
  });
}

/// One layer in one direction over x [t, n, k].
Sequence run_layer(Builder& b, Cell cell, const Tensor& x, const std::vector<Tensor>& initial,
                   const Weights& weights, bool backward) {
  const Tensor gates = linear(b, backward ? reversed(b, x) : x, weights.input, weights.input_bias);
  const auto length = x.size(0).as_constant();
  Sequence sequence;
  if (length && *length <= 8) {
    // A few steps are written out: what follows them can be fused with them.
    std::vector<Tensor> slices;
    sequence.states = initial;
    for (std::int64_t t = 0; t < *length; ++t) {
      sequence.states = step(b, cell, select(b, gates, 0, t), sequence.states, weights.hidden,
                             weights.hidden_bias, weights.projection);
      slices.push_back(unsqueeze(b, sequence.states[0], 0));
    }
    if (slices.empty()) throw InvalidProgram("Expected sequence length to be larger than 0 in RNN");
    sequence.outputs = slices.size() == 1 ? slices[0] : concatenate(b, slices, 0);
  } else {
    sequence = run_loop(b, cell, gates, initial, weights);
  }
  if (backward) sequence.outputs = reversed(b, sequence.outputs);
  return sequence;
}

Outputs recurrent(Builder& b, const Arguments& arguments, Cell cell) {
  const Tensor& input = arguments.tensor("input");
  if (input.complex()) throw Unsupported("complex numbers");
  const bool biased = arguments.boolean("has_biases");
  const bool bidirectional = arguments.boolean("bidirectional");
  const bool batch_first = arguments.boolean("batch_first");
  const auto layers = static_cast<std::size_t>(arguments.integer("num_layers"));
  if (arguments.boolean("train") && arguments.real("dropout") > 0 && layers > 1) {
    throw Unsupported("dropout between layers in training mode");
  }
  const std::vector<Tensor> parameters = arguments.tensors("params");
  const std::vector<Tensor> states =
      cell == Cell::kLstm ? arguments.tensors("hx") : std::vector<Tensor>{arguments.tensor("hx")};
  const std::size_t directions = bidirectional ? 2 : 1;
  const std::size_t each = parameters.size() / (layers * directions);
  const std::size_t plain = biased ? 4 : 2;
  if (each != plain && each != plain + 1) {
    throw InvalidProgram("a recurrent network of " + std::to_string(layers) + " layers with " +
                         std::to_string(parameters.size()) + " parameters");
  }
  const auto weights_of = [&](std::size_t index) {
    const Tensor* p = &parameters[index * each];
    Weights weights{p[0], p[1], std::nullopt, std::nullopt, std::nullopt};
    if (biased) {
      weights.input_bias = p[2];
      weights.hidden_bias = p[3];
    }
    if (each == plain + 1) weights.projection = p[plain];
    return weights;
  };
  Tensor x = batch_first ? transpose(b, input, 0, 1) : input;
  std::vector<std::vector<Tensor>> finals(states.size());
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::vector<Tensor> outputs;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const std::size_t index = layer * directions + direction;
      std::vector<Tensor> initial;
      for (const Tensor& state : states) {
        initial.push_back(select(b, state, 0, static_cast<std::int64_t>(index)));
      }
      const Sequence sequence = run_layer(b, cell, x, initial, weights_of(index), direction == 1);
      outputs.push_back(sequence.outputs);
      for (std::size_t i = 0; i < states.size(); ++i) {
        finals[i].push_back(unsqueeze(b, sequence.states[i], 0));
      }
    }
    x = outputs.size() == 1 ? outputs[0] : concatenate(b, outputs, 2);
  }
  Outputs results;
  // Some exports record one axis too many for the final states.
  results.unlike_export = true;
  results.push_back(batch_first ? transpose(b, x, 0, 1) : x);
  for (const auto& parts : finals) {
    results.push_back(parts.size() == 1 ? parts[0] : concatenate(b, parts, 0));
  }
  return results;
}

}  // namespace

OPERATOR(lstm,
         "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
         "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, "
         "Tensor)") {
  return recurrent(b, arguments, Cell::kLstm);
}
OPERATOR(gru,
         "gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
         "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)") {
  return recurrent(b, arguments, Cell::kGru);
}
OPERATOR(rnn_tanh,
         "rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
         "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
         "Tensor)") {
  return recurrent(b, arguments, Cell::kTanh);
}
OPERATOR(rnn_relu,
         "rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
         "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
         "Tensor)") {
  return recurrent(b, arguments, Cell::kRelu);
}

}  // namespace tendon::aten
