// Typed access to an operator's arguments.
#include "aten/operator.h"

namespace tendon::aten {

namespace {

[[noreturn]] void wrong_kind(std::string_view name, std::string_view expected) {
  throw Unsupported("argument '" + std::string(name) + "' is not " + std::string(expected));
}

std::int64_t known_integer(std::string_view name, const Scalar& scalar) {
  if (const auto* i = std::get_if<std::int64_t>(&scalar)) return *i;
  if (const auto* b = std::get_if<bool>(&scalar)) return *b ? 1 : 0;
  if (const auto* d = std::get_if<double>(&scalar)) return static_cast<std::int64_t>(*d);
  if (const auto* s = std::get_if<Size>(&scalar)) {
    if (s->is_constant()) return s->constant();
    throw Unsupported("argument '" + std::string(name) + "' is " + s->to_string() +
                      ", but must be known at load");
  }
  wrong_kind(name, "an integer");
}

double known_real(std::string_view name, const Scalar& scalar) {
  if (const auto* d = std::get_if<double>(&scalar)) return *d;
  if (std::holds_alternative<Tensor>(scalar) ||
      std::holds_alternative<std::complex<double>>(scalar)) {
    wrong_kind(name, "a number that is known at load");
  }
  return static_cast<double>(known_integer(name, scalar));
}

Size as_size(std::string_view name, const Scalar& scalar) {
  if (const auto* s = std::get_if<Size>(&scalar)) return *s;
  return known_integer(name, scalar);
}

template <typename T>
const T& typed(const Arguments& arguments, std::string_view name, std::string_view expected) {
  const auto* value = std::get_if<T>(&arguments.value(name));
  if (value == nullptr) wrong_kind(name, expected);
  return *value;
}

/// A list; one number stands for a list of it, and an empty list of tensors for an empty list.
std::vector<Scalar> scalar_list(const Arguments& arguments, std::string_view name) {
  const Arguments::Value& value = arguments.value(name);
  if (const auto* list = std::get_if<std::vector<Scalar>>(&value)) return *list;
  if (const auto* one = std::get_if<Scalar>(&value)) return {*one};
  if (const auto* none = std::get_if<std::vector<std::optional<Tensor>>>(&value);
      none != nullptr && none->empty()) {
    return {};
  }
  wrong_kind(name, "a list of numbers");
}

template <typename T, typename Convert>
std::vector<T> converted(const Arguments& arguments, std::string_view name,
                         const Convert& convert) {
  std::vector<T> result;
  for (const Scalar& scalar : scalar_list(arguments, name)) result.push_back(convert(name, scalar));
  return result;
}

}  // namespace

const Arguments::Value& Arguments::value(std::string_view name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return parameter.value;
  }
  throw Unsupported("the schema has no argument '" + std::string(name) + "'");
}

bool Arguments::has(std::string_view name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return !std::holds_alternative<std::monostate>(parameter.value);
  }
  return false;
}

const Tensor& Arguments::tensor(std::string_view name) const {
  return typed<Tensor>(*this, name, "a tensor");
}
std::optional<Tensor> Arguments::optional_tensor(std::string_view name) const {
  return has(name) ? std::optional(tensor(name)) : std::nullopt;
}
std::vector<std::optional<Tensor>> Arguments::optional_tensors(std::string_view name) const {
  if (const auto* one = std::get_if<Tensor>(&value(name))) return {*one};
  return typed<std::vector<std::optional<Tensor>>>(*this, name, "a list of tensors");
}
std::vector<Tensor> Arguments::tensors(std::string_view name) const {
  std::vector<Tensor> result;
  for (const auto& tensor : optional_tensors(name)) {
    if (!tensor) wrong_kind(name, "a list of tensors without None");
    result.push_back(*tensor);
  }
  return result;
}
std::int64_t Arguments::integer(std::string_view name) const {
  return known_integer(name, scalar(name));
}
std::optional<std::int64_t> Arguments::optional_integer(std::string_view name) const {
  return has(name) ? std::optional(integer(name)) : std::nullopt;
}
double Arguments::real(std::string_view name) const { return known_real(name, scalar(name)); }
std::optional<double> Arguments::optional_real(std::string_view name) const {
  return has(name) ? std::optional(real(name)) : std::nullopt;
}
bool Arguments::boolean(std::string_view name) const {
  return known_integer(name, scalar(name)) != 0;
}
std::string Arguments::text(std::string_view name) const {
  return typed<std::string>(*this, name, "a string");
}
std::optional<std::string> Arguments::optional_text(std::string_view name) const {
  return has(name) ? std::optional(text(name)) : std::nullopt;
}
const Scalar& Arguments::scalar(std::string_view name) const {
  return typed<Scalar>(*this, name, "a number");
}
std::optional<Scalar> Arguments::optional_scalar(std::string_view name) const {
  return has(name) ? std::optional(scalar(name)) : std::nullopt;
}
Size Arguments::size(std::string_view name) const { return as_size(name, scalar(name)); }
std::optional<Size> Arguments::optional_size(std::string_view name) const {
  return has(name) ? std::optional(size(name)) : std::nullopt;
}
std::vector<std::int64_t> Arguments::integers(std::string_view name) const {
  return converted<std::int64_t>(*this, name, known_integer);
}
std::optional<std::vector<std::int64_t>> Arguments::optional_integers(std::string_view name) const {
  return has(name) ? std::optional(integers(name)) : std::nullopt;
}
std::vector<double> Arguments::reals(std::string_view name) const {
  return converted<double>(*this, name, known_real);
}
std::optional<std::vector<double>> Arguments::optional_reals(std::string_view name) const {
  return has(name) ? std::optional(reals(name)) : std::nullopt;
}
std::vector<bool> Arguments::booleans(std::string_view name) const {
  std::vector<bool> result;
  for (std::int64_t value : integers(name)) result.push_back(value != 0);
  return result;
}
Shape Arguments::sizes(std::string_view name) const {
  return converted<Size>(*this, name, as_size);
}
std::optional<Shape> Arguments::optional_sizes(std::string_view name) const {
  return has(name) ? std::optional(sizes(name)) : std::nullopt;
}
std::optional<DType> Arguments::dtype(std::string_view name) const {
  return has(name) ? std::optional(typed<DType>(*this, name, "a dtype")) : std::nullopt;
}
std::optional<archive::MemoryFormat> Arguments::memory_format(std::string_view name) const {
  return has(name) ? std::optional(typed<archive::MemoryFormat>(*this, name, "a memory format"))
                   : std::nullopt;
}
std::shared_ptr<const archive::Graph> Arguments::graph(std::string_view name) const {
  return typed<std::shared_ptr<const archive::Graph>>(*this, name, "a sub-graph");
}

}  // namespace tendon::aten
