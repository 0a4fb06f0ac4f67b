// Einstein summation: one contraction of all operands, as matrix products where it pays.
#include <algorithm>
#include <array>

#include "aten/toolbox.h"

namespace tendon::aten {

namespace {

/// Labels of one operand, letters as they are; an ellipsis stands for labels of its own.
using Labels = std::vector<int>;
constexpr int kEllipsis = 256;  // the labels from here on belong to ellipses

struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The labels of "ab...c"; the ellipsis takes the axes that the letters leave, counted from the
/// right.
Labels parse_operand(std::string_view text, int rank) {
  int letters = 0;
  for (char c : text) letters += is_letter(c) ? 1 : 0;
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      if (text.substr(i, 3) != "...")
        throw InvalidProgram("einsum(): found '.' that is not part of an ellipsis");
      for (int axis = rank - letters; axis-- > 0;) labels.push_back(kEllipsis + axis);
      i += 2;
    } else if (is_letter(text[i])) {
      labels.push_back(text[i]);
    } else {
      throw InvalidProgram("einsum(): invalid subscript given, subscripts must be in [a-zA-Z]");
    }
  }
  return labels;
}

Equation parse(std::string_view text, const std::vector<Tensor>& tensors) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string_view inputs = text.substr(0, arrow);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t comma = inputs.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == tensors.size())) {
      throw InvalidProgram("einsum(): the equation and the operands differ in number");
    }
    equation.operands.push_back(parse_operand(inputs.substr(0, comma), tensors[i].rank()));
    if (static_cast<int>(equation.operands.back().size()) != tensors[i].rank()) {
      throw InvalidProgram(
          "einsum(): the number of subscripts in the equation does not match the "
          "number of dimensions of operand " +
          std::to_string(i));
    }
    inputs.remove_prefix(comma == std::string_view::npos ? inputs.size() : comma + 1);
  }
  int ellipsis = 0;
  std::array<int, kEllipsis> uses{};
  for (const Labels& labels : equation.operands) {
    for (int label : labels) {
      if (label >= kEllipsis) ellipsis = std::max(ellipsis, label - kEllipsis + 1);
      if (label < kEllipsis) ++uses[static_cast<std::size_t>(label)];
    }
  }
  if (arrow != std::string_view::npos) {
    const std::string_view output = text.substr(arrow + 2);
    int letters = 0;
    for (char c : output) letters += is_letter(c) ? 1 : 0;
    equation.output = parse_operand(output, letters + ellipsis);
  } else {
    for (int axis = ellipsis; axis-- > 0;) equation.output.push_back(kEllipsis + axis);
    for (int label = 0; label < kEllipsis; ++label) {
      if (uses[static_cast<std::size_t>(label)] == 1) equation.output.push_back(label);
    }
  }
  return equation;
}

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Term {
  Tensor tensor;
  Labels labels;  // distinct
};

/// Repeated labels become one axis: the diagonal.
Term without_repeats(Builder& b, const Tensor& tensor, const Labels& labels) {
  Term term{tensor, {}};
  Shape shape;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (contains(term.labels, labels[i])) continue;
    term.labels.push_back(labels[i]);
    shape.push_back(tensor.shape[i]);
  }
  if (term.labels.size() == labels.size()) return term;
  term.tensor = b.map(shape, [&](const Indices& index) {
    Indices positions;
    for (int label : labels) {
      const auto at = std::find(term.labels.begin(), term.labels.end(), label);
      positions.push_back(index[static_cast<std::size_t>(at - term.labels.begin())]);
    }
    return b.load(tensor, positions);
  });
  return term;
}

/// The tensor with axes `order`; labels it lacks become axes of size 1.
Tensor arranged(Builder& b, const Term& term, const Labels& order) {
  std::vector<int> axes;
  for (int label : order) {
    const auto at = std::find(term.labels.begin(), term.labels.end(), label);
    if (at != term.labels.end()) axes.push_back(static_cast<int>(at - term.labels.begin()));
  }
  Tensor result = permute(b, term.tensor, axes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!contains(term.labels, order[i])) result = unsqueeze(b, result, static_cast<int>(i));
  }
  return result;
}

/// Sums away labels that nothing else needs.
Term reduced(Builder& b, Term term, const Labels& needed) {
  std::vector<int> axes;
  Labels left;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (contains(needed, term.labels[i])) {
      left.push_back(term.labels[i]);
    } else {
      axes.push_back(static_cast<int>(i));
    }
  }
  if (axes.empty()) return term;
  const DType type = term.tensor.dtype;
  const DType result = is_floating(type) || is_complex(type) ? type : DType::kInt64;
  return {sum(b, term.tensor, axes, false, result), left};
}

Size size_of(const Term& term, int label) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (term.labels[i] == label) return term.tensor.shape[i];
  }
  return 1;
}

/// Two terms as one batched product: labels of both that are needed later are the batch.
Term multiply(Builder& b, const Term& x, const Term& y, const Labels& needed) {
  Labels batch, inner, rows, columns;
  const auto wide = [&](int label) {
    return size_of(x, label) == Size(1) ? size_of(y, label) : size_of(x, label);
  };
  for (int label : x.labels) {
    // An axis of size 1 on one side only stretches: it belongs to the other side.
    const bool shared = contains(y.labels, label);
    (!shared ? rows : contains(needed, label) ? batch : inner).push_back(label);
  }
  for (int label : y.labels) {
    if (!contains(x.labels, label)) columns.push_back(label);
  }
  const auto matrix = [&](const Term& term, const Labels& first, const Labels& second) {
    Labels order = batch;
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), second.begin(), second.end());
    Shape full, shape;
    Size groups = 1, heights = 1, widths = 1;
    for (int label : batch) groups = groups * wide(label);
    for (int label : first) heights = heights * wide(label);
    for (int label : second) widths = widths * wide(label);
    for (int label : order) full.push_back(wide(label));
    return reshape(b, expand(b, arranged(b, term, order), full), {groups, heights, widths});
  };
  const DType type = promote(x.tensor.dtype, y.tensor.dtype);
  const Tensor product =
      matmul(b, cast(b, matrix(x, rows, inner), type), cast(b, matrix(y, inner, columns), type));
  Term result;
  result.labels = batch;
  result.labels.insert(result.labels.end(), rows.begin(), rows.end());
  result.labels.insert(result.labels.end(), columns.begin(), columns.end());
  Shape shape;
  for (int label : result.labels) shape.push_back(wide(label));
  result.tensor = reshape(b, product, shape);
  return result;
}

}  // namespace

OPERATOR(einsum, "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor") {
  const std::vector<Tensor> tensors = arguments.tensors("tensors");
  if (tensors.empty()) throw InvalidProgram("einsum(): must provide at least one operand");
  const Equation equation = parse(arguments.text("equation"), tensors);
  std::vector<Term> terms;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    terms.push_back(without_repeats(b, tensors[i], equation.operands[i]));
  }
  Term result = terms[0];
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Labels needed = equation.output;
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      needed.insert(needed.end(), terms[j].labels.begin(), terms[j].labels.end());
    }
    if (i > 0) {
      Labels others = needed;
      others.insert(others.end(), result.labels.begin(), result.labels.end());
      result = multiply(b, result, reduced(b, terms[i], others), needed);
    }
    result = reduced(b, result, needed);
  }
  return arranged(b, result, equation.output);
}

}  // namespace tendon::aten
