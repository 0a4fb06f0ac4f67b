#include "tensor/npz.h"

#include <fmt/format.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "tensor/memory_zip.h"
#include "tensor/npy_header.h"
#include "tensor/strided_copy.h"
#include "tensor/validate.h"

namespace tendon::tensor {

namespace {

// minizip counts bytes of one call in 32 bits.
constexpr std::size_t kChunkBytes = std::size_t{1} << 28;
constexpr std::string_view kSuffix = ".npy";

Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

struct UnzipCloser {
  void operator()(void* file) const { unzClose(file); }
};
struct ZipCloser {
  void operator()(void* file) const { zipClose(file, nullptr); }
};

// The current entry's bytes, as a uint8 tensor.
Result<Tensor> read_entry(unzFile zip, const unz_file_info64& info, std::size_t archive_bytes) {
  // Deflate cannot expand by more than 1032, so a larger claim is a lie, not a reason to allocate.
  if (info.compressed_size > archive_bytes ||
      info.uncompressed_size / 1032 > info.compressed_size + 64) {
    return data_loss(fmt::format("claims to expand from {} to {} bytes, in an archive of {}",
                                 info.compressed_size, info.uncompressed_size, archive_bytes));
  }
  if ((info.flag & 1) != 0) return Status(StatusCode::kUnimplemented, "the entry is encrypted");
  if (unzOpenCurrentFile(zip) != UNZ_OK) {
    return data_loss(
        fmt::format("cannot be read (compression method {})", info.compression_method));
  }
  TENDON_ASSIGN_OR_RETURN(
      Tensor bytes,
      Tensor::allocate(DType::kUInt8, {static_cast<std::int64_t>(info.uncompressed_size)}));
  std::size_t done = 0;
  while (done < info.uncompressed_size) {
    const auto chunk = std::min<std::size_t>(info.uncompressed_size - done, kChunkBytes);
    const int count =
        unzReadCurrentFile(zip, bytes.as<std::byte>() + done, static_cast<unsigned>(chunk));
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  const int closed = unzCloseCurrentFile(zip);
  if (done != info.uncompressed_size) {
    return data_loss(fmt::format("ends after {} of {} bytes", done, info.uncompressed_size));
  }
  if (closed != UNZ_OK) return data_loss("its checksum is wrong");
  return bytes;
}

Status add_entry(zipFile zip, const NamedView& tensor, NpzCompression compression) {
  const TensorView& view = tensor.view;
  TENDON_ASSIGN_OR_RETURN(const std::string header,
                          print_npy_header({view.dtype, false, view.sizes}));
  TENDON_ASSIGN_OR_RETURN(const Tensor dense, as_contiguous(view));
  const bool deflate = compression == NpzCompression::kDeflated;
  zip_fileinfo info{};
  info.tmz_date = {.tm_mday = 1, .tm_mon = 0, .tm_year = 1980};  // equal tensors, equal files
  const std::string name = tensor.name + std::string(kSuffix);
  const bool large = view.bytes() + header.size() >= 0xffffffffu;
  bool ok = zipOpenNewFileInZip64(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                                  deflate ? Z_DEFLATED : 0, deflate ? Z_DEFAULT_COMPRESSION : 0,
                                  large) == ZIP_OK;
  const auto put = [&](const char* data, std::size_t size) {
    for (std::size_t done = 0; ok && done < size;) {
      const std::size_t chunk = std::min(size - done, kChunkBytes);
      ok = zipWriteInFileInZip(zip, data + done, static_cast<unsigned>(chunk)) == ZIP_OK;
      done += chunk;
    }
  };
  put(header.data(), header.size());
  put(dense.as<const char>(), view.bytes());
  ok = ok && zipCloseFileInZip(zip) == ZIP_OK;
  if (!ok) {
    return Status(StatusCode::kResourceExhausted, fmt::format("cannot write '{}'", tensor.name));
  }
  return {};
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes) {
  TENDON_ASSIGN_OR_RETURN(NpyLayout layout, parse_npy_header(bytes));
  NpyHeader& header = layout.header;
  const std::span<const std::byte> data = bytes.subspan(layout.data_offset);
  const std::optional<std::int64_t> size = byte_count(header.dtype, header.shape);
  if (!size || static_cast<std::uint64_t>(*size) != data.size()) {
    return data_loss(fmt::format("NPY array of {} and shape ({}) cannot take {} bytes",
                                 dtype_name(header.dtype), fmt::join(header.shape, ", "),
                                 data.size()));
  }
  TENDON_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(header.dtype, header.shape));
  if (!data.empty()) std::memcpy(tensor.view().data, data.data(), data.size());
  TENDON_RETURN_IF_ERROR(check_bools(tensor.view()));
  if (!header.fortran_order) return tensor;
  TensorView view = tensor.view();
  view.strides = contiguous_strides(Sizes(header.shape.rbegin(), header.shape.rend()));
  std::reverse(view.strides.begin(), view.strides.end());
  return Tensor(std::move(view), std::make_shared<Tensor>(std::move(tensor)));
}

Result<TensorFile> parse_npz(std::span<const std::byte> bytes) {
  MemoryZip memory{bytes};
  zlib_filefunc64_def functions = memory_zip_functions(memory);
  const std::unique_ptr<void, UnzipCloser> zip(unzOpen2_64("", &functions));
  if (zip == nullptr) return data_loss("not an NPZ file: it has no zip directory");
  TensorFile file;
  int position = unzGoToFirstFile(zip.get());
  for (; position == UNZ_OK; position = unzGoToNextFile(zip.get())) {
    unz_file_info64 info;
    std::string name(65536, '\0');  // the format's longest
    if (unzGetCurrentFileInfo64(zip.get(), &info, name.data(), name.size(), nullptr, 0, nullptr,
                                0) != UNZ_OK) {
      return data_loss("the zip directory is damaged");
    }
    name.resize(std::min<std::size_t>(info.size_filename, name.size()));
    const std::string context = fmt::format("entry '{}'", name);
    if (!name.ends_with(kSuffix)) return data_loss(context + " is not an .npy array");
    auto content = read_entry(zip.get(), info, bytes.size());
    if (!content.ok()) return content.status().with_context(context);
    auto tensor = parse_npy({content->as<std::byte>(), content->view().bytes()});
    if (!tensor.ok()) return tensor.status().with_context(context);
    name.resize(name.size() - kSuffix.size());
    if (!file.tensors.emplace(name, std::move(*tensor)).second) {
      return data_loss(context + " comes twice");
    }
  }
  if (position != UNZ_END_OF_LIST_OF_FILE) return data_loss("the zip directory is damaged");
  return file;
}

Result<TensorFile> read_npz(const std::string& path) {
  TENDON_ASSIGN_OR_RETURN(auto mapping, base::MappedFile::open(path));
  auto file = parse_npz(mapping->bytes());
  if (!file.ok()) return file.status().with_context(path);
  return file;
}

Status write_npz(const std::string& path, const std::vector<NamedView>& tensors,
                 NpzCompression compression) {
  std::set<std::string> names;
  for (const NamedView& tensor : tensors) {
    if (tensor.name.size() > 65000 || !names.insert(tensor.name).second) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("{}: the name '{}' is too long or given twice", path,
                                tensor.name.substr(0, 200)));
    }
  }
  TENDON_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path));
  std::unique_ptr<void, ZipCloser> zip(zipOpen64(file.path().c_str(), APPEND_STATUS_CREATE));
  if (zip == nullptr) return Status(StatusCode::kNotFound, "cannot write '" + path + "'");
  for (const NamedView& tensor : tensors) {
    TENDON_RETURN_IF_ERROR(add_entry(zip.get(), tensor, compression).with_context(path));
  }
  if (zipClose(zip.release(), nullptr) != ZIP_OK) {
    return Status(StatusCode::kResourceExhausted, "cannot write '" + path + "'");
  }
  return file.commit();
}

}  // namespace tendon::tensor
