// The symbols of a program.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "archive/json.h"
#include "ir/size.h"

namespace tendon::archive {

/// Symbols by name, made as they are met, with the ranges that the program declares.
class SymbolRegistry {
 public:
  struct Range {
    std::optional<std::int64_t> lower, upper;
  };
  int depth = 0;                        // of the sub-graph that is being imported
  std::map<std::string, Range> ranges;  // by symbol name, filled before anything is parsed

  ir::Size symbol(const std::string& name, std::optional<std::int64_t> hint = std::nullopt);
  /// A SymInt or SymBool object: {as_int} or {as_expr}.
  ir::Size size(const Json& value);
  ir::Size expression(const std::string& text);
  std::map<std::string, ir::SymbolRef> symbols() const {
    return {symbols_.begin(), symbols_.end()};
  }

 private:
  std::map<std::string, std::shared_ptr<ir::Symbol>> symbols_;
  std::map<std::string, ir::Size> parsed_;  // by text
};

}  // namespace tendon::archive
