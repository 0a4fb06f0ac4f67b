#include "aten/schema.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <stdexcept>

namespace tendon::aten {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at commas outside brackets.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string_view part = trimmed(text.substr(begin, i - begin));
      if (!part.empty()) parts.push_back(part);
      begin = i + 1;
    } else if (text[i] == '[' || text[i] == '(') {
      ++depth;
    } else if (text[i] == ']' || text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

Scalar parse_number(std::string_view text, bool floating) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (!floating && text.find_first_of(".e") == std::string_view::npos) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw std::logic_error("bad number in a schema: " + std::string(text));
    }
    return value;
  }
  return std::stod(std::string(text));
}

Arguments::Value parse_default(std::string_view text, std::string_view type) {
  if (text == "None") return std::monostate{};
  if (text == "True") return Scalar(true);
  if (text == "False") return Scalar(false);
  if (text == "Mean" || text == "mean") return Scalar(std::int64_t{1});
  if (text == "long") return DType::kInt64;
  if (text == "float") return DType::kFloat32;
  if (text == "contiguous_format") return archive::MemoryFormat::kContiguous;
  if (text == "preserve_format") return archive::MemoryFormat::kPreserve;
  if (text.front() == '\'' || text.front() == '"') {
    return std::string(text.substr(1, text.size() - 2));
  }
  const bool floating = starts_with(type, "float");
  if (text.front() == '[') {
    std::vector<Scalar> values;
    for (std::string_view part : split_list(text.substr(1, text.size() - 2))) {
      if (part == "True" || part == "False") {
        values.push_back(part == "True");
      } else {
        values.push_back(parse_number(part, floating));
      }
    }
    return values;
  }
  return parse_number(text, floating);
}

std::string without_annotation(std::string_view type) {
  const std::size_t open = type.find('(');
  if (open == std::string_view::npos) return std::string(type);
  const std::size_t close = type.find(')', open);
  return std::string(type.substr(0, open)) + std::string(type.substr(close + 1));
}

std::string target_of(std::string_view name) {
  if (starts_with(name, "aten::")) name.remove_prefix(6);
  for (std::string_view prefix :
       {"_operator.", "math.", "torch.", "higher_order.", "transformers."}) {
    if (starts_with(name, prefix)) return std::string(name);
  }
  std::string target = "aten." + std::string(name);
  if (name.find('.') == std::string_view::npos) target += ".default";
  return target;
}

using Registry = std::map<std::string, RegistryEntry, std::less<>>;

const Registry& registry() {
  static const Registry table = [] {
    Registry result;
    for (const Operator* op : operator_list()) {
      for (std::string_view text : op->schemas) {
        Schema schema = parse_schema(text);
        std::string target = schema.target;
        if (!result.emplace(target, RegistryEntry{std::move(schema), op}).second) {
          throw std::logic_error("operator defined twice: " + target);
        }
      }
    }
    return result;
  }();
  return table;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row[b.size()];
}

}  // namespace

int Schema::find(std::string_view name) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Schema parse_schema(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t arrow = text.rfind("->");
  const std::size_t close = text.rfind(')', arrow == std::string_view::npos ? text.size() : arrow);
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    throw std::logic_error("not a schema: " + std::string(text));
  }
  Schema schema;
  schema.target = target_of(trimmed(text.substr(0, open)));
  for (std::string_view part : split_list(text.substr(open + 1, close - open - 1))) {
    if (part == "*") continue;
    SchemaParameter parameter;
    std::string_view declaration = part;
    std::string_view value;
    if (const std::size_t equals = part.find('='); equals != std::string_view::npos) {
      declaration = trimmed(part.substr(0, equals));
      value = trimmed(part.substr(equals + 1));
    }
    const std::size_t space = declaration.rfind(' ');
    if (space == std::string_view::npos) {
      throw std::logic_error("parameter without a name in " + std::string(text));
    }
    parameter.name = declaration.substr(space + 1);
    parameter.type = without_annotation(trimmed(declaration.substr(0, space)));
    if (!value.empty()) {
      parameter.has_default = true;
      parameter.default_value = parse_default(value, parameter.type);
    }
    schema.parameters.push_back(std::move(parameter));
  }
  return schema;
}

const RegistryEntry* find_operator(std::string_view target) {
  const auto it = registry().find(target);
  return it == registry().end() ? nullptr : &it->second;
}

const RegistryEntry* find_in_place(std::string_view target) {
  // "aten.add_.Tensor" -> "aten.add.Tensor"; "aten.__iand__.Tensor" -> "aten.__and__.Tensor".
  const std::size_t dot = target.find('.', 5);
  if (!starts_with(target, "aten.") || dot == std::string_view::npos || target[dot - 1] != '_') {
    return nullptr;
  }
  const std::string_view name = target.substr(5, dot - 5);
  const std::string overload(target.substr(dot));
  if (starts_with(name, "__i") && name.size() > 5) {
    return find_operator("aten.__" + std::string(name.substr(3)) + overload);
  }
  return find_operator("aten." + std::string(name.substr(0, name.size() - 1)) + overload);
}

std::vector<std::string_view> operator_targets() {
  std::vector<std::string_view> targets;
  for (const auto& [target, entry] : registry()) targets.push_back(target);
  return targets;
}

std::string nearest_target(std::string_view target) {
  std::string best;
  std::size_t best_distance = target.size();
  for (const auto& [candidate, entry] : registry()) {
    const std::size_t distance = edit_distance(target, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tendon::aten
