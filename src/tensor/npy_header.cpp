#include "tensor/npy_header.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/status_macros.h"

namespace tendon::tensor {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxRank = 64;  // NumPy's own limit

struct DTypeCode {
  DType dtype;
  std::string_view code;  // without byte order
};
constexpr DTypeCode kDTypeCodes[] = {
    {DType::kBool, "b1"},      {DType::kUInt8, "u1"},       {DType::kInt8, "i1"},
    {DType::kInt16, "i2"},     {DType::kInt32, "i4"},       {DType::kInt64, "i8"},
    {DType::kUInt16, "u2"},    {DType::kUInt32, "u4"},      {DType::kUInt64, "u8"},
    {DType::kFloat16, "f2"},   {DType::kFloat32, "f4"},     {DType::kFloat64, "f8"},
    {DType::kComplex64, "c8"}, {DType::kComplex128, "c16"},
};

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

Result<DType> parse_descr(std::string_view descr) {
  const std::string_view code = descr.empty() ? descr : descr.substr(1);
  for (const DTypeCode& entry : kDTypeCodes) {
    if (entry.code != code) continue;
    const char order = descr[0];
    const bool one_byte = dtype_size(entry.dtype) == 1;
    if (order == '<' || order == '=' || one_byte) return entry.dtype;
    if (order == '>') {
      return Status(StatusCode::kUnimplemented,
                    fmt::format("big-endian NumPy type '{}': save it in native order", descr));
    }
  }
  return Status(StatusCode::kUnimplemented, fmt::format("unsupported NumPy type '{}'", descr));
}

// A reader of the one literal that the format allows:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  Result<NpyHeader> read() {
    std::optional<std::string_view> descr;
    std::optional<bool> fortran_order;
    std::optional<Sizes> shape;
    if (!take('{')) return malformed("'{'");
    while (!take('}')) {
      TENDON_ASSIGN_OR_RETURN(const std::string_view key, read_string());
      if (!take(':')) return malformed("':'");
      if (key == "descr" && !descr) {
        if (peek() == '[') {
          return Status(StatusCode::kUnimplemented, "structured NumPy types are not supported");
        }
        TENDON_ASSIGN_OR_RETURN(descr, read_string());
      } else if (key == "fortran_order" && !fortran_order) {
        TENDON_ASSIGN_OR_RETURN(fortran_order, read_bool());
      } else if (key == "shape" && !shape) {
        TENDON_ASSIGN_OR_RETURN(shape, read_tuple());
      } else {
        return data_loss(fmt::format("NPY header: unknown or repeated key '{}'", key));
      }
      if (!take(',') && peek() != '}') return malformed("',' or '}'");
    }
    if (peek() != '\0' || position_ != text_.size()) return malformed("the end");
    if (!descr || !fortran_order || !shape) {
      return data_loss("NPY header: one of descr, fortran_order, shape is missing");
    }
    TENDON_ASSIGN_OR_RETURN(const DType dtype, parse_descr(*descr));
    return NpyHeader{dtype, *fortran_order, std::move(*shape)};
  }

 private:
  Status malformed(std::string_view expected) const {
    return data_loss(fmt::format("NPY header: expected {} at byte {}", expected, position_));
  }
  // The next character that is not space; '\0' at the end.
  char peek() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
      ++position_;
    }
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool take(char expected) {
    if (peek() != expected) return false;
    ++position_;
    return true;
  }
  bool take_word(std::string_view word) {
    peek();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }
  Result<std::string_view> read_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return malformed("a string");
    const std::size_t begin = ++position_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) return malformed("a closing quote");
    position_ = end + 1;
    return text_.substr(begin, end - begin);
  }
  Result<bool> read_bool() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    return malformed("True or False");
  }
  Result<Sizes> read_tuple() {
    Sizes sizes;
    if (!take('(')) return malformed("'('");
    while (!take(')')) {
      peek();
      std::int64_t size = 0;
      const char* end = text_.data() + text_.size();
      const auto [next, failure] = std::from_chars(text_.data() + position_, end, size);
      if (failure != std::errc() || size < 0) return malformed("a size");
      position_ = static_cast<std::size_t>(next - text_.data());
      take('L');  // Python 2 wrote long integers so
      if (sizes.size() == kMaxRank) return data_loss("NPY header: more than 64 axes");
      sizes.push_back(size);
      if (!take(',') && peek() != ')') return malformed("',' or ')'");
    }
    return sizes;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

Result<NpyLayout> parse_npy_header(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.size() < 10 || !text.starts_with(kMagic)) {
    return data_loss("not an NPY array: it does not begin with \\x93NUMPY");
  }
  const int version = byte_at(6);
  if (version < 1 || version > 3 || byte_at(7) != 0) {
    return Status(StatusCode::kUnimplemented,
                  fmt::format("NPY version {}.{}, expected 1.0, 2.0 or 3.0", version, byte_at(7)));
  }
  std::size_t begin = 10;
  std::size_t length = byte_at(8) | static_cast<std::size_t>(byte_at(9)) << 8;
  if (version >= 2) {
    if (text.size() < 12) return data_loss("NPY array: truncated in its header");
    begin = 12;
    length |= static_cast<std::size_t>(byte_at(10)) << 16 | static_cast<std::size_t>(byte_at(11))
                                                                << 24;
  }
  if (length > text.size() - begin || length > kMaxHeaderBytes) {
    return data_loss(fmt::format("NPY array: a header of {} bytes, but only {} follow", length,
                                 text.size() - begin));
  }
  TENDON_ASSIGN_OR_RETURN(NpyHeader header, LiteralReader(text.substr(begin, length)).read());
  return NpyLayout{std::move(header), begin + length};
}

Result<std::string> print_npy_header(const NpyHeader& header) {
  const DTypeCode* code = nullptr;
  for (const DTypeCode& entry : kDTypeCodes) {
    if (entry.dtype == header.dtype) code = &entry;
  }
  if (code == nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("NumPy has no type for {}", dtype_name(header.dtype)));
  }
  std::string shape;
  for (std::int64_t size : header.shape) shape += fmt::format("{}, ", size);
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': ({}), }}",
                                 dtype_size(header.dtype) == 1 ? '|' : '<', code->code,
                                 header.fortran_order ? "True" : "False", shape);
  const std::size_t prefix = text.size() + 11 + 64 > 0xffff ? 12 : 10;
  const std::size_t total = (prefix + text.size() + 1 + 63) / 64 * 64;
  text.resize(total - prefix - 1, ' ');
  text += '\n';
  std::string out(kMagic);
  out += prefix == 12 ? '\2' : '\1';
  out += '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i) {
    out += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return out + text;
}

}  // namespace tendon::tensor
