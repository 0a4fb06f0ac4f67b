#include "archive/load.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "archive/bare_graph.h"
#include "archive/file_kind.h"
#include "archive/import_program.h"
#include "archive/sample_inputs.h"
#include "archive/zip_index.h"
#include "base/checked_math.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{1} << 31;

Status invalid(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}
Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The bytes of an entry, in place if it is stored.
struct EntryBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;  // of inflated bytes
};
Result<EntryBytes> entry_bytes(const ZipIndex& zip, const std::string& name, std::uint64_t limit) {
  const ZipEntry* entry = zip.find(name);
  if (entry == nullptr) return data_loss("entry '" + name + "' is missing");
  if (entry->stored) return EntryBytes{entry->bytes, nullptr};
  TENDON_ASSIGN_OR_RETURN(std::vector<std::byte> content, zip.read(name, limit));
  auto owned = std::make_shared<std::vector<std::byte>>(std::move(content));
  return EntryBytes{*owned, owned};
}

/// A strided view of a storage; every element it can reach lies inside.
Result<Tensor> view_of_storage(const PayloadEntry& entry, EntryBytes storage,
                               std::shared_ptr<void> owner) {
  const auto element = static_cast<std::int64_t>(dtype_size(entry.dtype));
  if (entry.sizes.size() != entry.strides.size())
    return data_loss("weight '" + entry.name + "' has " + std::to_string(entry.sizes.size()) +
                     " sizes and " + std::to_string(entry.strides.size()) + " strides");
  const auto count = base::checked_product(entry.sizes);
  if (!count || entry.storage_offset < 0)
    return data_loss("weight '" + entry.name + "' has impossible sizes");
  TensorView view;
  view.dtype = entry.dtype;
  view.sizes = entry.sizes;
  view.strides = entry.strides;
  if (*count == 0) return Tensor(view, std::move(owner));
  std::optional<std::int64_t> last = entry.storage_offset;
  for (std::size_t i = 0; last && i < entry.sizes.size(); ++i) {
    if (entry.strides[i] < 0) return data_loss("weight '" + entry.name + "' has a negative stride");
    const auto reach = base::checked_multiply(entry.sizes[i] - 1, entry.strides[i]);
    last = reach ? base::checked_add(*last, *reach) : std::nullopt;
  }
  const auto end = last ? base::checked_add(*last, 1) : std::nullopt;
  const auto bytes = end ? base::checked_multiply(*end, element) : std::nullopt;
  if (!bytes || static_cast<std::uint64_t>(*bytes) > storage.bytes.size()) {
    return data_loss("weight '" + entry.name + "' reaches beyond its storage of " +
                     std::to_string(storage.bytes.size()) + " bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(storage.bytes.data()) %
          static_cast<std::uintptr_t>(element) !=
      0) {
    // PyTorch aligns entries; a file that does not is copied.
    auto copy = Tensor::allocate(DType::kUInt8, {static_cast<std::int64_t>(storage.bytes.size())});
    if (!copy.ok()) return copy.status();
    std::memcpy(copy->view().data, storage.bytes.data(), storage.bytes.size());
    storage.bytes = {static_cast<const std::byte*>(copy->view().data), storage.bytes.size()};
    owner = std::make_shared<Tensor>(*copy);
  }
  // Mapped read-only: Tendon never writes weights.
  view.data = const_cast<std::byte*>(storage.bytes.data()) + entry.storage_offset * element;
  return Tensor(view, std::move(owner));
}

struct Archive {
  ZipIndex zip;
  std::string root;   // "policy/"
  std::string model;  // "model"
  std::shared_ptr<void> owner;
};

Status read_weights(const Archive& archive, const std::string& folder, const std::string& suffix,
                    Program& program) {
  const std::string base = archive.root + "data/" + folder + "/";
  const std::string config = base + archive.model + suffix;
  if (archive.zip.find(config) == nullptr) return {};
  TENDON_ASSIGN_OR_RETURN(EntryBytes json, entry_bytes(archive.zip, config, kMaxJsonBytes));
  TENDON_ASSIGN_OR_RETURN(const std::vector<PayloadEntry> entries,
                          import_payload_config(json.bytes));
  for (const PayloadEntry& entry : entries) {
    if (!entry.has_tensor) continue;  // a custom object; refused where the program takes it
    TENDON_ASSIGN_OR_RETURN(EntryBytes storage,
                            entry_bytes(archive.zip, base + entry.file, std::uint64_t{1} << 40));
    std::shared_ptr<void> owner = storage.owner != nullptr ? storage.owner : archive.owner;
    if (entry.use_pickle) {
      auto tensors = read_torch_save(storage.bytes, owner);
      if (!tensors.ok()) return tensors.status().with_context("weight '" + entry.name + "'");
      if (tensors->size() != 1) return data_loss("weight '" + entry.name + "' is not one tensor");
      program.weights[entry.name] = Weight{(*tensors)[0], entry.is_parameter};
      continue;
    }
    TENDON_ASSIGN_OR_RETURN(Tensor tensor, view_of_storage(entry, storage, std::move(owner)));
    program.weights[entry.name] = Weight{std::move(tensor), entry.is_parameter};
  }
  return {};
}

Result<std::string> choose_model(const ZipIndex& zip, const std::string& root,
                                 const std::string& wanted) {
  std::vector<std::string> models;
  const std::string prefix = root + "models/";
  for (const auto& [name, entry] : zip.entries()) {
    if (name.substr(0, prefix.size()) == prefix && name.size() > prefix.size() + 5 &&
        name.substr(name.size() - 5) == ".json") {
      models.push_back(name.substr(prefix.size(), name.size() - prefix.size() - 5));
    }
  }
  std::string list;
  for (const std::string& model : models) list += (list.empty() ? "" : ", ") + model;
  if (!wanted.empty()) {
    if (std::find(models.begin(), models.end(), wanted) != models.end()) return wanted;
    return Status(StatusCode::kNotFound,
                  "the archive has no program '" + wanted + "'; it has: " + list);
  }
  if (models.size() == 1) return models[0];
  if (std::find(models.begin(), models.end(), "model") != models.end()) return std::string("model");
  return invalid("the archive has several programs, choose one: " + list);
}

/// The folder that all entries are in, found by its archive_format or models.
std::optional<std::string> find_root(const ZipIndex& zip) {
  for (const auto& [name, entry] : zip.entries()) {
    const std::size_t models = name.find("models/");
    if (models != std::string::npos && (models == 0 || name[models - 1] == '/'))
      return name.substr(0, models);
  }
  return std::nullopt;
}

Status check_byte_order(const ZipIndex& zip, const std::string& root) {
  if (const ZipEntry* order = zip.find(root + "byteorder"); order != nullptr && order->stored) {
    if (as_text(order->bytes).substr(0, 3) == "big")
      return Status(StatusCode::kUnimplemented, "the archive's numbers are big-endian");
  }
  return {};
}

Result<Program> read_archive(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                             const ReadOptions& options) {
  TENDON_ASSIGN_OR_RETURN(ZipIndex zip, ZipIndex::open(bytes));
  if (zip.find("serialized_exported_program.json") != nullptr) return read_old_layout(zip, owner);
  const auto root = find_root(zip);
  if (!root)
    return invalid("this is " + describe_archive(zip) + ", not a program of torch.export.save");
  TENDON_RETURN_IF_ERROR(check_byte_order(zip, *root));
  TENDON_ASSIGN_OR_RETURN(std::string model, choose_model(zip, *root, options.model));
  const Archive archive{std::move(zip), *root, model, owner};
  TENDON_ASSIGN_OR_RETURN(
      EntryBytes json,
      entry_bytes(archive.zip, *root + "models/" + model + ".json", kMaxJsonBytes));
  TENDON_ASSIGN_OR_RETURN(Program program, import_program(json.bytes));
  TENDON_RETURN_IF_ERROR(read_weights(archive, "weights", "_weights_config.json", program));
  TENDON_RETURN_IF_ERROR(read_weights(archive, "constants", "_constants_config.json", program));
  const std::string samples = *root + "data/sample_inputs/" + model + ".pt";
  if (archive.zip.find(samples) != nullptr) {
    TENDON_ASSIGN_OR_RETURN(EntryBytes pickle,
                            entry_bytes(archive.zip, samples, std::uint64_t{1} << 34));
    auto tensors = read_torch_save(pickle.bytes, pickle.owner != nullptr ? pickle.owner : owner);
    if (tensors.ok()) {
      program.sample_inputs = std::move(*tensors);
    } else {
      program.warnings.push_back("the sample inputs cannot be read: " + tensors.status().message());
    }
  }
  return program;
}

Result<std::vector<std::byte>> inflate_gzip(std::span<const std::byte> bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    return Status(StatusCode::kResourceExhausted, "no memory to inflate");
  std::vector<std::byte> result;
  std::vector<std::byte> block(std::size_t{1} << 18);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in =
      static_cast<uInt>(std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    code = inflate(&stream, Z_NO_FLUSH);
    result.insert(result.end(), block.begin(), block.end() - stream.avail_out);
    if (result.size() > kMaxJsonBytes) code = Z_MEM_ERROR;
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END) return data_loss("the gzip file is damaged, truncated or too large");
  return result;
}

Result<Program> read_bare_graph(std::span<const std::byte> json, const ReadOptions& options) {
  TENDON_ASSIGN_OR_RETURN(Program program, import_program(json));
  TENDON_RETURN_IF_ERROR(draw_weights(program, options.weight_seed));
  return program;
}

}  // namespace

Result<Program> read_program(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                             const std::string& name, const ReadOptions& options) {
  const std::string_view text = as_text(bytes);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (text.substr(0, 2) == "PK") return read_archive(bytes, std::move(owner), options);
  if (first != std::string_view::npos && text[first] == '{') return read_bare_graph(bytes, options);
  if (text.substr(0, 2) == "\x1f\x8b") {
    TENDON_ASSIGN_OR_RETURN(const std::vector<std::byte> json, inflate_gzip(bytes));
    if (as_text(json).find_first_not_of(" \t\r\n") == std::string_view::npos ||
        as_text(json)[as_text(json).find_first_not_of(" \t\r\n")] != '{') {
      return invalid("a gzip file that does not hold a graph");
    }
    return read_bare_graph(json, options);
  }
  const std::string kind = describe_bytes(bytes);
  (void)name;
  return invalid("this is " + (kind.empty() ? std::string("an unknown kind of file") : kind) +
                 ", not a program of torch.export.save");
}

Result<Program> read_program(const std::string& path, const ReadOptions& options) {
  TENDON_ASSIGN_OR_RETURN(std::shared_ptr<base::MappedFile> file, base::MappedFile::open(path));
  const std::span<const std::byte> bytes = file->bytes();
  return read_program(bytes, file, path, options);
}

}  // namespace tendon::archive
