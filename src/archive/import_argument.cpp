#include "archive/import_argument.h"

#include "archive/import_graph.h"

namespace tendon::archive {

namespace {

std::string name_of(const Json& value) { return text_of(member(value, "name")); }

SymbolArgument symbol_name(const Json& value, SymbolArgument::Kind kind) {
  return SymbolArgument{kind, text_of(member(value, "as_name"))};
}

/// A list whose elements are numbers or symbols: {as_int} or {as_name}.
template <typename List, typename Number>
List symbolic_list(const Json& value, SymbolArgument::Kind kind, const char* tag, Number number) {
  List list;
  for (const Json& element : value.GetArray()) {
    if (const Json* plain = optional_member(element, tag)) {
      list.values.emplace_back(number(*plain));
    } else {
      list.values.emplace_back(symbol_name(element, kind));
    }
  }
  return list;
}

template <typename List, typename Number>
List plain_list(const Json& value, Number number) {
  List list;
  for (const Json& element : value.GetArray()) list.values.emplace_back(number(element));
  return list;
}

TensorsArgument tensors(const Json& value) {
  TensorsArgument result;
  for (const Json& element : value.GetArray()) {
    if (const Json* tensor = optional_member(element, "as_tensor")) {
      result.names.emplace_back(name_of(*tensor));
    } else if (element.HasMember("as_none")) {
      result.names.emplace_back(std::nullopt);
    } else {
      result.names.emplace_back(name_of(element));
    }
  }
  return result;
}

MemoryFormat memory_format_of(const Json& value) {
  const std::int64_t code = integer_of(value);
  if (code < 1 || code > 4)
    throw FormatError("memory format number " + std::to_string(code) + " is not known");
  return static_cast<MemoryFormat>(code);
}

/// The one tag of a union that is not null.
std::pair<std::string, const Json*> tag_of(const Json& value) {
  if (!value.IsObject()) throw FormatError("expected a tagged value");
  for (const auto& field : value.GetObject()) {
    if (!field.value.IsNull()) return {text_of(field.name), &field.value};
  }
  throw FormatError("a tagged value without a tag");
}

Argument symbolic_or_number(const Json& value, SymbolArgument::Kind kind) {
  if (optional_member(value, "as_name") != nullptr) return symbol_name(value, kind);
  if (const Json* integer = optional_member(value, "as_int")) return integer_of(*integer);
  if (const Json* boolean = optional_member(value, "as_bool")) return boolean_of(*boolean);
  if (const Json* real = optional_member(value, "as_float")) return number_of(*real);
  throw FormatError("a symbolic number that is neither a name nor a number");
}

}  // namespace

std::string import_target(const Json& value) {
  constexpr std::string_view kTorchOps = "torch.ops.";
  std::string target = text_of(value);
  if (target.substr(0, kTorchOps.size()) == kTorchOps) target.erase(0, kTorchOps.size());
  return target;
}

DType import_dtype(const Json& value) {
  const std::int64_t code = integer_of(value);
  switch (code) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kInt8;
    case 3:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    case 5:
      return DType::kInt64;
    case 6:
      return DType::kFloat16;
    case 7:
      return DType::kFloat32;
    case 8:
      return DType::kFloat64;
    case 9:
      return DType::kComplex32;
    case 10:
      return DType::kComplex64;
    case 11:
      return DType::kComplex128;
    case 12:
      return DType::kBool;
    case 13:
      return DType::kBFloat16;
    case 28:
      return DType::kUInt16;
    default:
      throw FormatError("dtype number " + std::to_string(code) + " is not supported",
                        StatusCode::kUnimplemented);
  }
}

DeviceArgument import_device(const Json& value) {
  DeviceArgument device{text_of(member(value, "type")), std::nullopt};
  if (const Json* index = optional_member(value, "index"))
    device.index = static_cast<int>(integer_of(*index));
  return device;
}

Argument import_argument(const Json& value, SymbolRegistry& symbols) {
  const auto [tag, content] = tag_of(value);
  const Json& v = *content;
  using Kind = SymbolArgument::Kind;
  if (tag == "as_tensor") return TensorArgument{name_of(v)};
  if (tag == "as_int") return integer_of(v);
  if (tag == "as_float") return number_of(v);
  if (tag == "as_bool") return boolean_of(v);
  if (tag == "as_none") return NoneArgument{};
  if (tag == "as_ints") return plain_list<IntsArgument>(v, integer_of);
  if (tag == "as_tensors" || tag == "as_optional_tensors") return tensors(v);
  if (tag == "as_sym_ints") return symbolic_list<IntsArgument>(v, Kind::kInt, "as_int", integer_of);
  if (tag == "as_sym_int") return symbolic_or_number(v, Kind::kInt);
  if (tag == "as_sym_bool") return symbolic_or_number(v, Kind::kBool);
  if (tag == "as_sym_float") return symbolic_or_number(v, Kind::kFloat);
  if (tag == "as_floats") return plain_list<FloatsArgument>(v, number_of);
  if (tag == "as_sym_floats")
    return symbolic_list<FloatsArgument>(v, Kind::kFloat, "as_float", number_of);
  if (tag == "as_bools") return plain_list<BoolsArgument>(v, boolean_of);
  if (tag == "as_sym_bools")
    return symbolic_list<BoolsArgument>(v, Kind::kBool, "as_bool", boolean_of);
  if (tag == "as_string") return text_of(v);
  if (tag == "as_strings") return plain_list<StringsArgument>(v, text_of);
  if (tag == "as_scalar_type") return import_dtype(v);
  if (tag == "as_memory_format") return memory_format_of(v);
  if (tag == "as_layout") return LayoutArgument{static_cast<int>(integer_of(v))};
  if (tag == "as_device") return import_device(v);
  if (tag == "as_complex") {
    return std::complex<double>(number_of(member(v, "real")), number_of(member(v, "imag")));
  }
  if (tag == "as_optional_tensor") {
    const auto [inner, tensor] = tag_of(v);
    if (inner == "as_none") return NoneArgument{};
    return TensorArgument{name_of(*tensor)};
  }
  if (tag == "as_graph")
    return GraphArgument{name_of(v), import_graph(member(v, "graph"), symbols)};
  if (tag == "as_custom_obj") {
    const Json* class_name = optional_member(v, "class_fqn");
    return CustomObjectArgument{name_of(v), class_name != nullptr ? text_of(*class_name) : ""};
  }
  if (tag == "as_operator") return OperatorArgument{import_target(v)};
  throw FormatError("an argument of the kind '" + tag + "', which is not read",
                    StatusCode::kUnimplemented);
}

}  // namespace tendon::archive
