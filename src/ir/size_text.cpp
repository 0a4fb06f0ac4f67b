// The text form of sizes.
#include <string>

#include "ir/size.h"
#include "ir/size_polynomial.h"

namespace tendon::ir {

namespace {

void print(const Size& size, std::string& text);

void print_call(const char* name, std::span<const Size> arguments, std::string& text) {
  text += name;
  text += '(';
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i != 0) text += ", ";
    print(arguments[i], text);
  }
  text += ')';
}

void print(const SizeAtom& atom, std::string& text) {
  if (atom.symbol != nullptr) {
    text += atom.symbol->name;
  } else if (atom.overflow) {
    text += "overflow";
  } else if (atom.tree_size > kMaxTreeSize) {
    text += std::string(size_function_name(atom.function)) + "(...)";
  } else {
    print_call(size_function_name(atom.function), atom.arguments, text);
  }
}

/// 1 - condition, which is how a negation is stored, reads as one.
bool print_negation(const Size& size, std::string& text) {
  const auto terms = terms_of(size);
  if (SizePolynomial::constant_part(size) != 1 || terms.size() != 1 || terms[0].coefficient != -1 ||
      terms[0].factors.size() != 1) {
    return false;
  }
  const SizeAtom& atom = *terms[0].factors[0];
  if (atom.symbol != nullptr || atom.overflow || atom.tree_size > kMaxTreeSize) return false;
  if (atom.function == SizeFunction::kEqual) {
    print_call("not_equal", atom.arguments, text);
  } else if (atom.function == SizeFunction::kLess) {
    const Size swapped[] = {atom.arguments[1], atom.arguments[0]};
    print_call("less_equal", swapped, text);
  } else if (atom.function == SizeFunction::kAnd || atom.function == SizeFunction::kOr) {
    text += "not(";
    print(atom, text);
    text += ')';
  } else {
    return false;
  }
  return true;
}

void print(const Size& size, std::string& text) {
  const std::int64_t constant = SizePolynomial::constant_part(size);
  if (size.is_constant()) {
    text += std::to_string(constant);
    return;
  }
  if (print_negation(size, text)) return;
  bool first = true;
  for (const SizeTerm& term : terms_of(size)) {
    if (term.coefficient < 0) {
      text += first ? "-" : " - ";
    } else if (!first) {
      text += " + ";
    }
    first = false;
    const std::string magnitude = std::to_string(term.coefficient);
    if (term.coefficient != 1 && term.coefficient != -1) {
      text += term.coefficient < 0 ? magnitude.substr(1) : magnitude;
      text += '*';
    }
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      if (i != 0) text += '*';
      print(*term.factors[i], text);
    }
  }
  if (constant == 0) return;
  const std::string magnitude = std::to_string(constant);
  text += constant < 0 ? " - " + magnitude.substr(1) : " + " + magnitude;
}

}  // namespace

std::string Size::to_string() const {
  std::string text;
  print(*this, text);
  return text;
}

std::string to_string(std::span<const Size> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    print(shape[i], text);
  }
  return text + "]";
}

}  // namespace tendon::ir
