// Any text, taken as a size expression, is either refused or becomes a size that has bounds, a text
// and, where nothing overflows, a value within its bounds.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "archive/symbolic_expression.h"

namespace {

using namespace tendon;

struct Symbols {
  std::map<std::string, ir::SymbolRef> known;
  Result<ir::Size> operator()(const std::string& name) {
    ir::SymbolRef& symbol = known[name];
    if (symbol == nullptr) {
      auto made = std::make_shared<ir::Symbol>();
      made->name = name;
      made->from_data = !name.empty() && name[0] == 'u';
      made->lower = made->from_data ? -100 : 1;
      made->upper = 100;
      symbol = made;
    }
    return ir::Size::symbol(symbol);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Symbols symbols;
  archive::SymbolicNames names;
  names.symbol = [&](const std::string& name) { return symbols(name); };
  names.input = [&](const archive::InputNumber& number) { return symbols(number.path); };
  const auto parsed = archive::parse_symbolic({reinterpret_cast<const char*>(data), size}, names);
  if (!parsed.ok()) {
    if (parsed.status().message().empty()) std::abort();
    return 0;
  }
  if (parsed->to_string().empty()) std::abort();
  const ir::Bounds bounds = parsed->bounds();
  const auto value = parsed->evaluate([&](const ir::Symbol& symbol) {
    const auto mixed = static_cast<std::int64_t>(std::hash<std::string>()(symbol.name) % 100);
    return std::optional(std::max(symbol.lower, mixed));
  });
  if (value && (*value < bounds.lower || *value > bounds.upper)) std::abort();
  return 0;
}
