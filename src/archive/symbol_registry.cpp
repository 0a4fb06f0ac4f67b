#include "archive/symbol_registry.h"

#include "archive/symbolic_expression.h"

namespace tendon::archive {

ir::Size SymbolRegistry::symbol(const std::string& name, std::optional<std::int64_t> hint) {
  auto it = symbols_.find(name);
  if (it == symbols_.end()) {
    auto symbol = std::make_shared<ir::Symbol>();
    symbol->name = name;
    symbol->from_data = !name.empty() && (name[0] == 'u' || name.substr(0, 2) == "zu");
    if (symbol->from_data) symbol->lower = -ir::kUnbounded;
    if (const auto range = ranges.find(name); range != ranges.end()) {
      symbol->lower = range->second.lower.value_or(symbol->lower);
      symbol->upper = range->second.upper.value_or(ir::kUnbounded);
    }
    it = symbols_.emplace(name, std::move(symbol)).first;
  }
  if (!it->second->hint) it->second->hint = hint;
  return ir::Size::symbol(it->second);
}

ir::Size SymbolRegistry::expression(const std::string& text) {
  const auto known = parsed_.find(text);
  if (known != parsed_.end()) return known->second;
  SymbolicNames names;
  names.symbol = [this](const std::string& name) -> Result<ir::Size> { return symbol(name); };
  auto size = parse_symbolic(text, names);
  if (!size.ok() && size.status().code() == StatusCode::kUnimplemented) {
    // Export knows an integer here that sizes cannot express. Only the program's own steps give it.
    auto unknown = std::make_shared<ir::Symbol>();
    unknown->name = "<" + text + ">";
    unknown->lower = -ir::kUnbounded;
    unknown->from_data = true;
    size = ir::Size::symbol(std::move(unknown));
  }
  if (!size.ok()) throw FormatError(size.status());
  parsed_.emplace(text, *size);
  return *size;
}

ir::Size SymbolRegistry::size(const Json& value) {
  if (const Json* integer = optional_member(value, "as_int")) return integer_of(*integer);
  if (const Json* boolean = optional_member(value, "as_bool")) return boolean_of(*boolean) ? 1 : 0;
  const Json& expr = member(value, "as_expr");
  const std::string text = text_of(member(expr, "expr_str"));
  if (const Json* hint = optional_member(expr, "hint")) {
    // A hint on a lone symbol is that symbol's value at export.
    if (const Json* integer = optional_member(*hint, "as_int");
        integer != nullptr && text.substr(0, 7) == "Symbol(") {
      const std::size_t begin = text.find('\''), end = text.find('\'', begin + 1);
      if (end != std::string::npos && text.find("Symbol(", 7) == std::string::npos) {
        symbol(text.substr(begin + 1, end - begin - 1), integer_of(*integer));
      }
    }
  }
  return expression(text);
}

}  // namespace tendon::archive
