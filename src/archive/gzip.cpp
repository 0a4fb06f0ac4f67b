#include "archive/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace tendon::archive {

namespace {

/// Graphs shrink to a thirtieth; only zeros and blanks shrink to a thousandth.
constexpr std::uint64_t kMaxInflation = 200;
constexpr std::uint64_t kFreeInflation = std::uint64_t{1} << 26;

/// zlib's state, freed at the end of its scope.
struct Inflater {
  Inflater() : ready(inflateInit2(&stream, 15 + 16) == Z_OK) {}
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
  bool ready;
};

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Result<std::vector<std::byte>> inflate_gzip(std::span<const std::byte> bytes, std::uint64_t limit) {
  limit = std::min<std::uint64_t>(limit, kFreeInflation + kMaxInflation * bytes.size());
  const Status too_large(StatusCode::kResourceExhausted,
                         "a gzip file of " + std::to_string(bytes.size()) +
                             " bytes inflates to more than " + std::to_string(limit));
  if (bytes.size() > std::numeric_limits<uInt>::max()) return too_large;
  Inflater inflater;
  if (!inflater.ready) return Status(StatusCode::kResourceExhausted, "no memory to inflate");
  z_stream& stream = inflater.stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::vector<std::byte> result;
  std::vector<std::byte> block(std::size_t{1} << 18);
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    code = inflate(&stream, Z_NO_FLUSH);
    result.insert(result.end(), block.begin(), block.end() - stream.avail_out);
    if (result.size() > limit) return too_large;
  }
  if (code == Z_BUF_ERROR) return Status(StatusCode::kDataLoss, "the gzip file is truncated");
  if (code != Z_STREAM_END) {
    return Status(StatusCode::kDataLoss,
                  std::string("the gzip file is damaged") +
                      (stream.msg != nullptr ? std::string(": ") + stream.msg : std::string()));
  }
  if (stream.avail_in != 0)
    return Status(StatusCode::kDataLoss, "something follows the end of the gzip file");
  return result;
}

}  // namespace tendon::archive
