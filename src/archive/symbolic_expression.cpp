#include "archive/symbolic_expression.h"

#include <cctype>
#include <charconv>
#include <vector>

#include "base/status_macros.h"

namespace tendon::archive {

namespace {

using ir::Size;

constexpr int kMaxDepth = 200;

class Parser {
 public:
  Parser(std::string_view text, const SymbolicNames& names) : text_(text), names_(names) {}

  Result<Size> parse() {
    TENDON_ASSIGN_OR_RETURN(Size result, disjunction());
    skip_space();
    if (at_ != text_.size()) return error("something after its end");
    return result;
  }

 private:
  Status error(const std::string& what) const {
    return Status(StatusCode::kDataLoss, "expression '" + std::string(text_.substr(0, 200)) +
                                             "': " + what + " at " + std::to_string(at_));
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
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
    if (end < text_.size() &&
        (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      return false;
    at_ = end;
    return true;
  }

  Result<Size> disjunction() {
    if (++depth_ > kMaxDepth) return error("nested too deep");
    TENDON_ASSIGN_OR_RETURN(Size left, conjunction());
    while (take_word("or") || take("|")) {
      TENDON_ASSIGN_OR_RETURN(Size right, conjunction());
      left = Size::function(ir::SizeFunction::kOr, {left, right});
    }
    --depth_;
    return left;
  }
  Result<Size> conjunction() {
    TENDON_ASSIGN_OR_RETURN(Size left, negation());
    while (take_word("and") || take("&")) {
      TENDON_ASSIGN_OR_RETURN(Size right, negation());
      left = ir::logical_and(left, right);
    }
    return left;
  }
  Result<Size> negation() {
    if (take_word("not") || take("~")) {
      if (++depth_ > kMaxDepth) return error("nested too deep");
      TENDON_ASSIGN_OR_RETURN(Size value, negation());
      --depth_;
      return ir::logical_not(value);
    }
    return comparison();
  }
  Result<Size> comparison() {
    TENDON_ASSIGN_OR_RETURN(Size left, sum());
    Size result = 1;
    bool compared = false;
    while (true) {
      const char* matched = nullptr;
      for (const char* op : {"==", "!=", "<=", ">=", "<", ">"}) {
        if (take(op)) {
          matched = op;
          break;
        }
      }
      if (matched == nullptr) return compared ? result : left;
      TENDON_ASSIGN_OR_RETURN(Size right, sum());
      const std::string_view op = matched;
      Size one;
      if (op == "==") one = ir::equal(left, right);
      if (op == "!=") one = ir::logical_not(ir::equal(left, right));
      if (op == "<=") one = ir::less_equal(left, right);
      if (op == ">=") one = ir::less_equal(right, left);
      if (op == "<") one = ir::less(left, right);
      if (op == ">") one = ir::less(right, left);
      result = compared ? ir::logical_and(result, one) : one;
      compared = true;
      left = right;
    }
  }
  Result<Size> sum() {
    TENDON_ASSIGN_OR_RETURN(Size left, product());
    while (true) {
      if (take("+")) {
        TENDON_ASSIGN_OR_RETURN(Size right, product());
        left = left + right;
      } else if (take("-")) {
        TENDON_ASSIGN_OR_RETURN(Size right, product());
        left = left - right;
      } else {
        return left;
      }
    }
  }
  Result<Size> product() {
    TENDON_ASSIGN_OR_RETURN(Size left, power());
    while (true) {
      if (take("//")) {
        TENDON_ASSIGN_OR_RETURN(Size right, power());
        left = ir::floor_div(left, right);
      } else if (take("*")) {
        TENDON_ASSIGN_OR_RETURN(Size right, power());
        left = left * right;
      } else if (take("%")) {
        TENDON_ASSIGN_OR_RETURN(Size right, power());
        left = ir::mod(left, right);
      } else {
        return left;
      }
    }
  }
  Result<Size> power() {
    TENDON_ASSIGN_OR_RETURN(Size base, unary());
    if (!take("**")) return base;
    TENDON_ASSIGN_OR_RETURN(Size exponent, unary());
    return Size::function(ir::SizeFunction::kPow, {base, exponent});
  }
  Result<Size> unary() {
    if (take("-")) {
      if (++depth_ > kMaxDepth) return error("nested too deep");
      TENDON_ASSIGN_OR_RETURN(Size value, unary());
      --depth_;
      return Size(0) - value;
    }
    return primary();
  }
  Result<Size> primary() {
    skip_space();
    if (at_ >= text_.size()) return error("it ends too early");
    if (take("(")) {
      TENDON_ASSIGN_OR_RETURN(Size value, disjunction());
      if (!take(")")) return error("no closing parenthesis");
      return value;
    }
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return number();
    if (text_.substr(at_, 2) == "L[") return input_size();
    if (std::isalpha(static_cast<unsigned char>(text_[at_])) == 0 && text_[at_] != '_') {
      return error("neither a number, a name nor a parenthesis");
    }
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '.')) {
      ++at_;
    }
    const std::string name(text_.substr(start, at_ - start));
    if (!take("(")) {
      if (name == "True") return Size(1);
      if (name == "False") return Size(0);
      if (name == "oo" || name == "int_oo") return Size(ir::kUnbounded);
      return names_.symbol(name);
    }
    return call(name);
  }
  Result<Size> number() {
    std::int64_t value = 0;
    const auto [end, status] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (status != std::errc()) return error("a number that is too large");
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == '.') {
      return Status(StatusCode::kUnimplemented,
                    "size expression '" + std::string(text_) + "' holds a fraction");
    }
    return Size(value);
  }
  Result<Size> input_size() {
    constexpr std::string_view kSize = ".size()[";
    const std::size_t size = text_.find(kSize, at_);
    const std::size_t end = size == std::string_view::npos ? size : text_.find(']', size);
    if (end == std::string_view::npos || !names_.input_size)
      return error("not the size of an input");
    const std::string path(text_.substr(at_, end + 1 - at_));
    at_ = end + 1;
    return names_.input_size(path);
  }
  Result<Size> symbol_call() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') return error("a symbol without a name");
    const std::size_t close = text_.find(quote, at_ + 1);
    if (close == std::string_view::npos) return error("a name without an end");
    const std::string name(text_.substr(at_ + 1, close - at_ - 1));
    // Assumptions (positive=True, ...) follow; ranges say more.
    at_ = text_.find(')', close);
    if (at_ == std::string_view::npos) return error("no closing parenthesis");
    ++at_;
    return names_.symbol(name);
  }
  Result<Size> call(const std::string& name) {
    if (name == "Symbol") return symbol_call();
    if (++depth_ > kMaxDepth) return error("nested too deep");
    std::vector<Size> arguments;
    if (!take(")")) {
      do {
        TENDON_ASSIGN_OR_RETURN(Size argument, disjunction());
        arguments.push_back(argument);
      } while (take(","));
      if (!take(")")) return error("no closing parenthesis");
    }
    --depth_;
    return apply(name, arguments);
  }
  Result<Size> apply(const std::string& full_name, const std::vector<Size>& a) {
    const std::string name = full_name.substr(full_name.rfind('.') + 1);
    const auto fold = [&](Size (*op)(const Size&, const Size&)) -> Result<Size> {
      if (a.empty()) return error("'" + name + "' without arguments");
      Size result = a[0];
      for (std::size_t i = 1; i < a.size(); ++i) result = op(result, a[i]);
      return result;
    };
    if (name == "Add") return fold([](const Size& x, const Size& y) { return x + y; });
    if (name == "Mul") return fold([](const Size& x, const Size& y) { return x * y; });
    if (name == "Max") return fold([](const Size& x, const Size& y) { return ir::max(x, y); });
    if (name == "Min") return fold([](const Size& x, const Size& y) { return ir::min(x, y); });
    if (name == "And")
      return fold([](const Size& x, const Size& y) { return ir::logical_and(x, y); });
    if (name == "Or") {
      return fold([](const Size& x, const Size& y) {
        return Size::function(ir::SizeFunction::kOr, {x, y});
      });
    }
    if (a.size() == 1) {
      if (name == "Integer" || name == "Identity" || name == "ToFloat") return a[0];
      if (name == "Not") return ir::logical_not(a[0]);
    }
    if (a.size() == 2) {
      if (name == "FloorDiv" || name == "CleanDiv") return ir::floor_div(a[0], a[1]);
      if (name == "CeilDiv") return ir::ceil_div(a[0], a[1]);
      if (name == "Mod" || name == "PythonMod") return ir::mod(a[0], a[1]);
      if (name == "Pow" || name == "PowByNatural")
        return Size::function(ir::SizeFunction::kPow, {a[0], a[1]});
      if (name == "Eq" || name == "Equality") return ir::equal(a[0], a[1]);
      if (name == "Ne" || name == "Unequality") return ir::logical_not(ir::equal(a[0], a[1]));
      if (name == "Lt" || name == "StrictLessThan") return ir::less(a[0], a[1]);
      if (name == "Le" || name == "LessThan") return ir::less_equal(a[0], a[1]);
      if (name == "Gt" || name == "StrictGreaterThan") return ir::less(a[1], a[0]);
      if (name == "Ge" || name == "GreaterThan") return ir::less_equal(a[1], a[0]);
    }
    if (a.size() == 3) {
      if (name == "Where") return Size::function(ir::SizeFunction::kSelect, {a[0], a[1], a[2]});
      if (name == "ModularIndexing") return ir::mod(ir::floor_div(a[0], a[1]), a[2]);
    }
    return Status(StatusCode::kUnimplemented, "size expression '" + std::string(text_) +
                                                  "' uses the function '" + full_name + "'");
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
