#include "archive/load.h"

#include <algorithm>
#include <functional>
#include <new>

#include "archive/bare_graph.h"
#include "archive/check_program.h"
#include "archive/file_kind.h"
#include "archive/gzip.h"
#include "archive/import_program.h"
#include "archive/old_layout.h"
#include "archive/storage_view.h"
#include "archive/torch_save.h"
#include "archive/zip_index.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"

namespace tendon::archive {

namespace {

Status invalid(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}
Status data_loss(std::string message) { return Status(StatusCode::kDataLoss, std::move(message)); }

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
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
  TENDON_ASSIGN_OR_RETURN(StorageBytes json,
                          checked_entry(archive.zip, config, kMaxJsonBytes, archive.owner));
  TENDON_ASSIGN_OR_RETURN(const std::vector<PayloadEntry> entries,
                          import_payload_config(json.bytes));
  std::map<std::string, StorageBytes> storages;  // by file: names may share one
  for (const PayloadEntry& entry : entries) {
    if (!entry.has_tensor) continue;  // a custom object; refused where the program takes it
    auto known = storages.find(entry.file);
    if (known == storages.end()) {
      TENDON_ASSIGN_OR_RETURN(StorageBytes found, entry_storage(archive.zip, base + entry.file,
                                                                kMaxStorageBytes, archive.owner));
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

/// The folder that all entries are in: that of archive_format, or of models/ nearest to the top.
std::optional<std::string> find_root(const ZipIndex& zip) {
  std::optional<std::string> root;
  for (const auto& [name, entry] : zip.entries()) {
    const std::size_t models = name.find("models/");
    if (models == std::string::npos || (models != 0 && name[models - 1] != '/')) continue;
    if (root && root->size() <= models) continue;
    root = name.substr(0, models);
    if (zip.find(*root + "archive_format") != nullptr) break;
  }
  return root;
}

/// The archive is of the kind and the version that are known.
Status check_header(const ZipIndex& zip, const std::string& root) {
  const auto word = [&](const std::string& name) -> Result<std::string> {
    if (zip.find(root + name) == nullptr) return std::string();
    TENDON_ASSIGN_OR_RETURN(const std::vector<std::byte> content, zip.read(root + name, 64));
    const std::string_view text = as_text(content);
    return std::string(text.substr(0, text.find_first_of(" \r\n")));
  };
  TENDON_ASSIGN_OR_RETURN(const std::string format, word("archive_format"));
  if (!format.empty() && format != "pt2")
    return invalid("the archive's format is '" + format + "', not 'pt2'");
  TENDON_ASSIGN_OR_RETURN(const std::string version, word("archive_version"));
  if (!version.empty() && version != "0") {
    return Status(StatusCode::kUnimplemented,
                  "the archive has version " + version + "; only version 0 is read");
  }
  return check_byte_order(zip, root);
}

Result<Program> read_layout(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                            const ReadOptions& options) {
  TENDON_ASSIGN_OR_RETURN(ZipIndex zip, ZipIndex::open(bytes));
  if (zip.find(kOldLayoutProgram) != nullptr) return read_old_layout(zip, owner);
  const auto root = find_root(zip);
  if (!root)
    return invalid("this is " + describe_archive(zip) + ", not a program of torch.export.save");
  TENDON_RETURN_IF_ERROR(check_header(zip, *root));
  TENDON_ASSIGN_OR_RETURN(std::string model, choose_model(zip, *root, options.model));
  const Archive archive{std::move(zip), *root, model, owner};
  TENDON_ASSIGN_OR_RETURN(
      StorageBytes json,
      checked_entry(archive.zip, *root + "models/" + model + ".json", kMaxJsonBytes, owner));
  TENDON_ASSIGN_OR_RETURN(Program program, import_program(json.bytes));
  TENDON_RETURN_IF_ERROR(read_weights(archive, "weights", "_weights_config.json", program));
  TENDON_RETURN_IF_ERROR(read_weights(archive, "constants", "_constants_config.json", program));
  read_sample_inputs(archive.zip, *root + "data/sample_inputs/" + model + ".pt", owner, program);
  return program;
}

Result<Program> read_archive(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                             const ReadOptions& options) {
  TENDON_ASSIGN_OR_RETURN(Program program, read_layout(bytes, std::move(owner), options));
  TENDON_RETURN_IF_ERROR(check_graph(program));
  TENDON_RETURN_IF_ERROR(check_weights(program));
  return program;
}

Result<Program> read_bare_graph(std::span<const std::byte> json, const ReadOptions& options) {
  TENDON_ASSIGN_OR_RETURN(Program program, import_program(json));
  TENDON_RETURN_IF_ERROR(check_graph(program));
  TENDON_RETURN_IF_ERROR(allocate_weights(program, options.weight_seed, options.max_drawn_bytes));
  return program;
}

/// The tensor; if it lies in the file, its pages go back to the system with its last copy.
Tensor giving_pages_back(const Tensor& tensor, const std::shared_ptr<base::MappedFile>& file) {
  const TensorView& view = tensor.view();
  const auto* first = static_cast<const std::byte*>(view.data);
  const std::span<const std::byte> bytes = file->bytes();
  if (std::less<>()(first, bytes.data()) || !std::less<>()(first, bytes.data() + bytes.size()))
    return tensor;
  std::int64_t reach = view.elements() == 0 ? 0 : 1;
  for (std::size_t i = 0; reach != 0 && i < view.sizes.size(); ++i) {
    reach += (view.sizes[i] - 1) * view.strides[i];
  }
  const std::span<const std::byte> part(first,
                                        static_cast<std::size_t>(reach) * dtype_size(view.dtype));
  return Tensor(view,
                std::shared_ptr<void>(view.data, [file, part](void*) { file->give_back(part); }));
}

bool looks_like_json(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Status not_a_program(std::span<const std::byte> bytes, const char* container) {
  const std::string kind = describe_bytes(bytes);
  return invalid(std::string("this is ") + container +
                 (kind.empty() ? std::string("an unknown kind of file") : kind) +
                 ", not a program of torch.export.save");
}

Result<Program> read_any(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                         const ReadOptions& options) try {
  const std::string_view text = as_text(bytes);
  if (text.substr(0, 2) == "PK") return read_archive(bytes, std::move(owner), options);
  if (looks_like_json(text)) return read_bare_graph(bytes, options);
  if (!is_gzip(bytes)) return not_a_program(bytes, "");
  TENDON_ASSIGN_OR_RETURN(const std::vector<std::byte> json, inflate_gzip(bytes, kMaxJsonBytes));
  if (!looks_like_json(as_text(json))) return not_a_program(json, "a gzip file that holds ");
  return read_bare_graph(json, options);
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kResourceExhausted, "not enough memory to read the program");
}

}  // namespace

Result<Program> read_program(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                             const std::string& name, const ReadOptions& options) {
  auto program = read_any(bytes, std::move(owner), options);
  if (!program.ok()) return program.status().with_context(name);
  return program;
}

Result<Program> read_program(const std::string& path, const ReadOptions& options) {
  TENDON_ASSIGN_OR_RETURN(std::shared_ptr<base::MappedFile> file, base::MappedFile::open(path));
  const std::span<const std::byte> bytes = file->bytes();
  TENDON_ASSIGN_OR_RETURN(Program program, read_any(bytes, file, options));
  file->give_back(bytes);
  for (auto& [name, weight] : program.weights) {
    weight.tensor = giving_pages_back(weight.tensor, file);
  }
  return program;
}

}  // namespace tendon::archive
