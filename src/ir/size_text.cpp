// The text form of sizes.
#include <functional>
#include <limits>
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

using SymbolText = std::function<std::string(const Symbol&)>;

std::string source(const Size& size, const SymbolText& symbol_text);

std::string source(const SizeAtom& atom, const SymbolText& symbol_text) {
  if (atom.symbol != nullptr) return symbol_text(*atom.symbol);
  if (atom.overflow) return std::to_string(std::numeric_limits<std::int64_t>::max()) + "LL";
  std::string text = std::string("size_") + size_function_name(atom.function) + "(";
  for (std::size_t i = 0; i < atom.arguments.size(); ++i) {
    if (i != 0) text += ", ";
    text += source(atom.arguments[i], symbol_text);
  }
  return text + ")";
}

std::string literal(std::int64_t value) {
  // The smallest number is no literal of C++.
  if (value == std::numeric_limits<std::int64_t>::min())
    return "(" + std::to_string(value + 1) + "LL - 1)";
  return value < 0 ? "(" + std::to_string(value) + "LL)" : std::to_string(value) + "LL";
}

std::string source(const Size& size, const SymbolText& symbol_text) {
  if (size.is_constant()) return literal(size.constant());
  std::string text;
  for (const SizeTerm& term : terms_of(size)) {
    if (!text.empty()) text += " + ";
    if (term.coefficient != 1) text += literal(term.coefficient) + " * ";
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      if (i != 0) text += " * ";
      text += source(*term.factors[i], symbol_text);
    }
  }
  const std::int64_t constant = SizePolynomial::constant_part(size);
  if (constant != 0) text += " + " + literal(constant);
  return "(" + text + ")";
}

}  // namespace

std::string Size::to_string() const {
  std::string text;
  print(*this, text);
  return text;
}

std::string Size::to_source(const std::function<std::string(const Symbol&)>& symbol_text) const {
  return source(*this, symbol_text);
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
