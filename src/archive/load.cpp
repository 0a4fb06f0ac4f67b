#include "archive/load.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "archive/bare_graph.h"
#include "archive/file_kind.h"
#include "archive/import_program.h"
#include "archive/sample_inputs.h"
#include "archive/storage_view.h"
#include "archive/zip_index.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{1} << 31;
constexpr std::uint64_t kMaxStorageBytes = std::uint64_t{1} << 40;

Status invalid(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}
Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The bytes of an entry, in place if it is stored; then nobody new owns them.
Result<StorageBytes> entry_bytes(const ZipIndex& zip, const std::string& name,
                                 std::uint64_t limit) {
  const ZipEntry* entry = zip.find(name);
  if (entry == nullptr) return data_loss("entry '" + name + "' is missing");
  if (entry->stored) return StorageBytes{entry->bytes, nullptr};
  TENDON_ASSIGN_OR_RETURN(std::vector<std::byte> content, zip.read(name, limit));
  auto owned = std::make_shared<std::vector<std::byte>>(std::move(content));
  return StorageBytes{*owned, owned};
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
  TENDON_ASSIGN_OR_RETURN(StorageBytes json, entry_bytes(archive.zip, config, kMaxJsonBytes));
  TENDON_ASSIGN_OR_RETURN(const std::vector<PayloadEntry> entries,
                          import_payload_config(json.bytes));
  std::map<std::string, StorageBytes> storages;  // by file: names may share one
  for (const PayloadEntry& entry : entries) {
    if (!entry.has_tensor) continue;  // a custom object; refused where the program takes it
    auto known = storages.find(entry.file);
    if (known == storages.end()) {
      TENDON_ASSIGN_OR_RETURN(StorageBytes found,
                              entry_bytes(archive.zip, base + entry.file, kMaxStorageBytes));
      if (found.owner == nullptr) found.owner = archive.owner;
      // PyTorch aligns entries; those of a file that does not are copied.
      TENDON_ASSIGN_OR_RETURN(found, aligned_storage(std::move(found)));
      known = storages.emplace(entry.file, std::move(found)).first;
    }
    const StorageBytes& storage = known->second;
    if (entry.use_pickle) {
      auto tensors = read_torch_save(storage.bytes, storage.owner);
      if (!tensors.ok()) return tensors.status().with_context("weight '" + entry.name + "'");
      if (tensors->size() != 1) return data_loss("weight '" + entry.name + "' is not one tensor");
      program.weights[entry.name] = Weight{(*tensors)[0], entry.is_parameter};
      continue;
    }
    TENDON_ASSIGN_OR_RETURN(Tensor tensor,
                            view_of_storage(storage, entry.dtype, entry.sizes, entry.strides,
                                            entry.storage_offset, "weight '" + entry.name + "'"));
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
  if (models.empty())
    return invalid("the archive has no program: no JSON file in '" + prefix + "'");
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
      StorageBytes json,
      entry_bytes(archive.zip, *root + "models/" + model + ".json", kMaxJsonBytes));
  TENDON_ASSIGN_OR_RETURN(Program program, import_program(json.bytes));
  TENDON_RETURN_IF_ERROR(read_weights(archive, "weights", "_weights_config.json", program));
  TENDON_RETURN_IF_ERROR(read_weights(archive, "constants", "_constants_config.json", program));
  const std::string samples = *root + "data/sample_inputs/" + model + ".pt";
  if (archive.zip.find(samples) != nullptr) {
    TENDON_ASSIGN_OR_RETURN(StorageBytes pickle,
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
  TENDON_RETURN_IF_ERROR(draw_weights(program, options.weight_seed, options.max_drawn_bytes));
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
