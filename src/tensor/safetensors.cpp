#include "tensor/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <set>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "tensor/safetensors_header.h"
#include "tensor/strided_copy.h"
#include "tensor/validate.h"

static_assert(std::endian::native == std::endian::little, "file formats here are little-endian");

namespace tendon::tensor {

namespace {

constexpr std::size_t kLengthBytes = 8;
// The limit of the format's reference implementation.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

// Entries by place, checked to tile the data without holes or overlaps.
Status sort_and_check_layout(std::vector<SafetensorsEntry>& entries, std::uint64_t data_bytes) {
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != position || entry.end < entry.begin) {
      return data_loss(fmt::format("tensor '{}' lies at bytes [{}, {}), expected it to begin at {}",
                                   entry.name, entry.begin, entry.end, position));
    }
    position = entry.end;
    if (position > data_bytes) {
      return data_loss(fmt::format("tensor '{}' ends at byte {}, but the file has only {} of data",
                                   entry.name, entry.end, data_bytes));
    }
  }
  if (position != data_bytes) {
    return data_loss(fmt::format("{} bytes after the last tensor", data_bytes - position));
  }
  return {};
}

Result<Tensor> make_tensor(const SafetensorsEntry& entry, std::span<std::byte> data,
                           const std::shared_ptr<void>& owner) {
  const std::optional<DType> dtype = dtype_from_safetensors(entry.dtype);
  if (!dtype) {
    return Status(
        StatusCode::kUnimplemented,
        fmt::format("tensor '{}' has the unsupported dtype '{}'", entry.name, entry.dtype));
  }
  const std::optional<std::int64_t> bytes = byte_count(*dtype, entry.shape);
  if (!bytes || static_cast<std::uint64_t>(*bytes) != entry.end - entry.begin) {
    return data_loss(fmt::format("tensor '{}' of dtype {} and shape [{}] cannot take {} bytes",
                                 entry.name, entry.dtype, fmt::join(entry.shape, ", "),
                                 entry.end - entry.begin));
  }
  std::byte* begin = data.data() + entry.begin;
  const std::size_t alignment = std::min<std::size_t>(dtype_size(*dtype), 8);
  Tensor tensor(TensorView::contiguous(begin, *dtype, entry.shape), owner);
  if (reinterpret_cast<std::uintptr_t>(begin) % alignment != 0) {
    TENDON_ASSIGN_OR_RETURN(tensor, tensor.contiguous_copy());
  }
  TENDON_RETURN_IF_ERROR(
      check_bools(tensor.view()).with_context(fmt::format("tensor '{}'", entry.name)));
  return tensor;
}

}  // namespace

Result<TensorFile> parse_safetensors(std::span<std::byte> bytes,
                                     const std::shared_ptr<void>& owner) {
  if (bytes.size() < kLengthBytes) {
    return data_loss(
        fmt::format("not a safetensors file: {} bytes, too short for a header", bytes.size()));
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - kLengthBytes) {
    return data_loss(
        fmt::format("not a safetensors file, or truncated: its header would take {} bytes, and {} "
                    "follow",
                    header_bytes, bytes.size() - kLengthBytes));
  }
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                              header_bytes);
  TENDON_ASSIGN_OR_RETURN(SafetensorsHeader header, parse_safetensors_header(json));
  const std::span<std::byte> data = bytes.subspan(kLengthBytes + header_bytes);
  TENDON_RETURN_IF_ERROR(sort_and_check_layout(header.entries, data.size()));
  TensorFile file;
  for (const SafetensorsEntry& entry : header.entries) {
    TENDON_ASSIGN_OR_RETURN(file.tensors[entry.name], make_tensor(entry, data, owner));
  }
  file.metadata = std::move(header.metadata);
  return file;
}

Result<TensorFile> read_safetensors(const std::string& path) {
  TENDON_ASSIGN_OR_RETURN(auto mapping,
                          base::MappedFile::open(path, base::MappedFile::Access::kCopyOnWrite));
  auto file = parse_safetensors(mapping->bytes(), mapping);
  if (!file.ok()) return file.status().with_context(path);
  return file;
}

Status write_safetensors(const std::string& path, const std::vector<NamedView>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  // Larger elements first: with a header of a multiple of eight bytes, every tensor is aligned.
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return dtype_size(tensors[a].view.dtype) > dtype_size(tensors[b].view.dtype);
  });
  SafetensorsHeader header;
  header.metadata = metadata;
  std::set<std::string> names = {"__metadata__"};
  std::uint64_t position = 0;
  for (std::size_t index : order) {
    const auto& [name, view] = tensors[index];
    if (!names.insert(name).second) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("{}: the name '{}' is reserved or given twice", path, name));
    }
    const auto dtype = dtype_to_safetensors(view.dtype);
    if (!dtype) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("{}: safetensors has no dtype for '{}' of {}", path, name,
                                dtype_name(view.dtype)));
    }
    const std::uint64_t end = position + view.bytes();
    header.entries.push_back({name, std::string(*dtype), view.sizes, position, end});
    position = end;
  }
  TENDON_ASSIGN_OR_RETURN(std::string json, print_safetensors_header(header));
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kMaxHeaderBytes) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{}: a header of {} bytes is too large", path, json.size()));
  }

  TENDON_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(
      std::fopen(file.path().c_str(), "wb"), std::fclose);
  if (stream == nullptr) {
    return Status(StatusCode::kNotFound,
                  fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  }
  const auto put = [&](const void* data, std::size_t size) {
    return size == 0 || std::fwrite(data, 1, size, stream.get()) == size;
  };
  const std::uint64_t json_bytes = json.size();
  bool written = put(&json_bytes, kLengthBytes) && put(json.data(), json.size());
  for (std::size_t index : order) {
    const TensorView& view = tensors[index].view;
    TENDON_ASSIGN_OR_RETURN(const Tensor dense, as_contiguous(view));
    written = written && put(dense.view().data, view.bytes());
  }
  if (!written || std::fflush(stream.get()) != 0) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  }
  return file.commit();
}

}  // namespace tendon::tensor
