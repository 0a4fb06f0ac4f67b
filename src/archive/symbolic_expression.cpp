#include "archive/symbolic_expression.h"

#include <cctype>
#include <charconv>
#include <vector>

#include "archive/symbolic_functions.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

using ir::Size;
using Relation = SymbolicNumber::Relation;

constexpr int kMaxDepth = 200;
/// Long sums take quadratic time; export writes short ones.
constexpr std::size_t kMaxLength = 1 << 14;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Recursive descent, one function per level of precedence.
class Parser {
 public:
  Parser(std::string_view text, const SymbolicNames& names) : text_(text), names_(names) {}

  Result<Size> parse() {
    if (text_.size() > kMaxLength) return error("longer than any that export writes");
    TENDON_ASSIGN_OR_RETURN(const SymbolicNumber result, disjunction());
    skip_space();
    if (at_ != text_.size()) return error("something after its end");
    return in_context(result.as_size());
  }

 private:
  struct Nested {
    explicit Nested(int& depth) : depth_(++depth) {}
    ~Nested() { --depth_; }
    bool too_deep() const { return depth_ > kMaxDepth; }
    int& depth_;
  };
  using Outcome = Result<SymbolicNumber>;

  std::string shown() const { return "expression '" + std::string(text_.substr(0, 200)) + "'"; }
  Status error(const std::string& what) const {
    return Status(StatusCode::kDataLoss,
                  shown() + ": " + what + " (character " + std::to_string(at_ + 1) + ")");
  }
  template <typename T>
  Result<T> in_context(Result<T> result) const {
    if (result.ok()) return result;
    return result.status().with_context(shown());
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }

  Outcome call(const std::string& function, std::vector<SymbolicNumber> arguments) {
    return in_context(apply_symbolic(function, arguments));
  }

  Outcome disjunction() {
    const Nested nested(depth_);
    if (nested.too_deep()) return error("nested too deep");
    TENDON_ASSIGN_OR_RETURN(SymbolicNumber left, conjunction());
    while (take_word("or") || take("|")) {
      TENDON_ASSIGN_OR_RETURN(const SymbolicNumber right, conjunction());
      TENDON_ASSIGN_OR_RETURN(left, call("Or", {left, right}));
    }
    return left;
  }
  Outcome conjunction() {
    TENDON_ASSIGN_OR_RETURN(SymbolicNumber left, negation());
    while (take_word("and") || take("&")) {
      TENDON_ASSIGN_OR_RETURN(const SymbolicNumber right, negation());
      TENDON_ASSIGN_OR_RETURN(left, call("And", {left, right}));
    }
    return left;
  }
  Outcome negation() {
    if (!take_word("not") && !take("~")) return comparison();
    const Nested nested(depth_);
    if (nested.too_deep()) return error("nested too deep");
    TENDON_ASSIGN_OR_RETURN(const SymbolicNumber value, negation());
    return call("Not", {value});
  }
  bool take_relation(Relation& relation) {
    static constexpr std::pair<std::string_view, Relation> kRelations[] = {
        {"==", Relation::kEqual},        {"!=", Relation::kNotEqual}, {"<=", Relation::kLessEqual},
        {">=", Relation::kGreaterEqual}, {"<", Relation::kLess},      {">", Relation::kGreater}};
    for (const auto& [token, meaning] : kRelations) {
      if (!take(token)) continue;
      relation = meaning;
      return true;
    }
    return false;
  }
  /// a < b < c means a < b and b < c.
  Outcome comparison() {
    TENDON_ASSIGN_OR_RETURN(SymbolicNumber left, sum());
    std::optional<Size> result;
    Relation relation{};
    while (take_relation(relation)) {
      TENDON_ASSIGN_OR_RETURN(const SymbolicNumber right, sum());
      TENDON_ASSIGN_OR_RETURN(const Size one,
                              in_context(SymbolicNumber::compare(left, relation, right)));
      result = result ? ir::logical_and(*result, one) : one;
      left = right;
    }
    return result ? SymbolicNumber(*result) : left;
  }
  Outcome sum() {
    TENDON_ASSIGN_OR_RETURN(SymbolicNumber left, product());
    while (true) {
      if (take("+")) {
        TENDON_ASSIGN_OR_RETURN(const SymbolicNumber right, product());
        left = left + right;
      } else if (take("-")) {
        TENDON_ASSIGN_OR_RETURN(const SymbolicNumber right, product());
        left = left - right;
      } else {
        return left;
      }
    }
  }
  Outcome product() {
    TENDON_ASSIGN_OR_RETURN(SymbolicNumber left, unary());
    while (true) {
      const char* function = take("//")  ? "FloorDiv"
                             : take("*") ? "Mul"
                             : take("/") ? "Rational"
                             : take("%") ? "PythonMod"
                                         : nullptr;
      if (function == nullptr) return left;
      TENDON_ASSIGN_OR_RETURN(const SymbolicNumber right, unary());
      TENDON_ASSIGN_OR_RETURN(left, call(function, {left, right}));
    }
  }
  Outcome unary() {
    const Nested nested(depth_);
    if (nested.too_deep()) return error("nested too deep");
    if (take("-")) {
      TENDON_ASSIGN_OR_RETURN(const SymbolicNumber value, unary());
      return SymbolicNumber(Size(0)) - value;
    }
    if (take("+")) return unary();
    TENDON_ASSIGN_OR_RETURN(const SymbolicNumber base, primary());
    if (!take("**")) return base;
    TENDON_ASSIGN_OR_RETURN(const SymbolicNumber exponent, unary());
    return call("Pow", {base, exponent});
  }
  Outcome primary() {
    const char next = peek();
    if (next == '\0') return error("it ends too early");
    if (take("(")) {
      TENDON_ASSIGN_OR_RETURN(const SymbolicNumber value, disjunction());
      if (!take(")")) return error("no closing parenthesis");
      return value;
    }
    if (is_digit(next) || next == '.') return number();
    if (text_.substr(at_, 2) == "L[") return input();
    if (!is_word(next)) return error("neither a number, a name nor a parenthesis");
    return name_or_call();
  }
  Outcome number() {
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    const char* digits = begin;
    while (digits < end && is_digit(*digits)) ++digits;
    const bool real = digits < end && (*digits == '.' || *digits == 'e' || *digits == 'E');
    if (real) {
      double value = 0;
      const auto [stop, status] = std::from_chars(begin, end, value);
      if (status != std::errc()) return error("not a number");
      at_ += static_cast<std::size_t>(stop - begin);
      return SymbolicNumber::real(value);
    }
    std::int64_t value = 0;
    const auto [stop, status] = std::from_chars(begin, end, value);
    if (status != std::errc()) return error("an integer that does not fit 64 bits");
    at_ += static_cast<std::size_t>(stop - begin);
    return SymbolicNumber(Size(value));
  }
  Outcome name_or_call() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
    const std::string name(text_.substr(start, at_ - start));
    if (take("(")) return arguments_of(name);
    if (name == "True" || name == "true") return SymbolicNumber(Size(1));
    if (name == "False" || name == "false") return SymbolicNumber(Size(0));
    if (name == "oo" || name == "int_oo") return SymbolicNumber(Size(ir::kUnbounded));
    return symbol(name);
  }
  Outcome symbol(const std::string& name) {
    if (!names_.symbol) return error("'" + name + "' is not known");
    TENDON_ASSIGN_OR_RETURN(const Size size, in_context(names_.symbol(name)));
    return SymbolicNumber(size);
  }
  Result<std::string> quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return error("expected a quoted name");
    const std::size_t close = text_.find(quote, at_ + 1);
    if (close == std::string_view::npos) return error("a name without an end");
    std::string name(text_.substr(at_ + 1, close - at_ - 1));
    at_ = close + 1;
    return name;
  }
  /// Keyword arguments: assumptions about a symbol (ranges say more), a float's precision.
  Status skip_keywords() {
    while (take(",")) {
      skip_space();
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      if (!take("=")) return error("expected a keyword argument");
      skip_space();
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    }
    return take(")") ? Status() : error("no closing parenthesis");
  }
  Outcome arguments_of(const std::string& function) {
    if (function == "Symbol" || function == "Float") {
      TENDON_ASSIGN_OR_RETURN(const std::string text, quoted());
      TENDON_RETURN_IF_ERROR(skip_keywords());
      if (function == "Symbol") return symbol(text);
      double value = 0;
      const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (status != std::errc() || stop != text.data() + text.size()) return error("not a number");
      return SymbolicNumber::real(value);
    }
    std::vector<SymbolicNumber> arguments;
    if (!take(")")) {
      do {
        TENDON_ASSIGN_OR_RETURN(SymbolicNumber argument, disjunction());
        arguments.push_back(std::move(argument));
      } while (take(","));
      if (!take(")")) return error("no closing parenthesis");
    }
    return call(function, std::move(arguments));
  }
  Result<std::int64_t> bracketed_integer() {
    std::int64_t value = 0;
    skip_space();
    const char* begin = text_.data() + at_;
    const auto [stop, status] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (status != std::errc()) return error("expected an index");
    at_ += static_cast<std::size_t>(stop - begin);
    if (!take("]")) return error("no closing bracket");
    return value;
  }
  /// L['images'][0].size()[2]
  Outcome input() {
    InputNumber number;
    at_ += 1;
    while (take("[")) {
      const char next = peek();
      if (next == '\'' || next == '"') {
        TENDON_ASSIGN_OR_RETURN(const std::string key, quoted());
        if (!take("]")) return error("no closing bracket");
        number.path += "['" + key + "']";
      } else {
        TENDON_ASSIGN_OR_RETURN(const std::int64_t index, bracketed_integer());
        number.path += "[" + std::to_string(index) + "]";
      }
    }
    using Kind = InputNumber::Kind;
    const bool size = take(".size()");
    if (size || take(".stride()")) {
      number.kind = size ? Kind::kSize : Kind::kStride;
      if (!take("[")) return error("expected the index of an axis");
      TENDON_ASSIGN_OR_RETURN(number.axis, bracketed_integer());
    } else if (take(".storage_offset()")) {
      number.kind = Kind::kStorageOffset;
    } else if (take(".dim()") || take_word(".ndim")) {
      number.kind = Kind::kRank;
    }
    if (peek() == '.') return error("a property of an input that is not known");
    if (!names_.input) return error("an input where there are none");
    TENDON_ASSIGN_OR_RETURN(const Size value, in_context(names_.input(number)));
    return SymbolicNumber(value);
  }

  std::string_view text_;
  const SymbolicNames& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Size> parse_symbolic(std::string_view text, const SymbolicNames& names) {
  return Parser(text, names).parse();
}

}  // namespace tendon::archive
