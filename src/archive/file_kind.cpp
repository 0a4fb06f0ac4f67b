#include "archive/file_kind.h"

#include <algorithm>
#include <cctype>

namespace tendon::archive {

namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_printable(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isprint(byte) != 0 || std::isspace(byte) != 0 || byte >= 0x80;
}

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  const char* kind;
};
constexpr Signature kSignatures[] = {
    {0, "GGUF", "a GGUF model"},
    {0, "\x89HDF\r\n\x1a\n", "an HDF5 file"},
    {0,
     "\x7f"
     "ELF",
     "a compiled library or program"},
    {0, "\x1f\x8b", "a gzip file"},
    {0, "\x93NUMPY", "a NumPy array"},
    {4, "TFL3", "a TensorFlow Lite model"},
    {257, "ustar", "a tar archive"},
    {0, "version https://git-lfs.github.com",
     "a Git LFS pointer (the file that it stands for has not been fetched)"},
    {0, "<!DOCTYPE html", "a web page (a download that went wrong)"},
    {0, "<!doctype html", "a web page (a download that went wrong)"},
    {0, "<html", "a web page (a download that went wrong)"},
};

bool is_executorch(std::string_view text) {
  return text.size() >= 8 && text.substr(4, 2) == "ET" && is_digit(text[6]) && is_digit(text[7]);
}

/// A little-endian header length, then the header, a JSON object.
bool is_safetensors(std::string_view text) {
  if (text.size() < 10 || text[8] != '{') return false;
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
  return length >= 2 && length <= text.size() - 8;
}

/// A protobuf that begins with field 1 (the IR version, a small number), and then field 2 (the
/// producer's name) or one that names ONNX near its start.
bool is_onnx(std::string_view text) {
  if (text.size() < 4 || text[0] != '\x08' || static_cast<unsigned char>(text[1]) >= 32)
    return false;
  const std::string_view head = text.substr(0, 4096);
  const auto producer_length = static_cast<unsigned char>(text[3]);
  const std::string_view producer = text.substr(4, producer_length);
  const bool has_producer = text[2] == '\x12' && !producer.empty() &&
                            producer.size() == producer_length &&
                            std::all_of(producer.begin(), producer.end(), is_printable);
  return has_producer || head.find("onnx") != std::string_view::npos;
}

bool is_pickle(std::string_view text) {
  return text.size() >= 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5;
}

}  // namespace

std::string describe_bytes(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) return "an empty file";
  for (const Signature& signature : kSignatures) {
    if (text.size() >= signature.offset &&
        starts_with(text.substr(signature.offset), signature.bytes))
      return signature.kind;
  }
  if (is_executorch(text)) return "an ExecuTorch program (.pte)";
  if (is_pickle(text)) return "a pickle (an old torch.save file)";
  if (is_safetensors(text)) return "a safetensors file (tensors without a program)";
  if (is_onnx(text)) return "an ONNX model";
  const std::string_view head = text.substr(0, 4096);
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == '\0'; }))
    return "a file of zeros";
  return std::all_of(head.begin(), head.end(), is_printable) ? "a text file" : "";
}

std::string describe_archive(const ZipIndex& zip) {
  bool constants = false, code = false, data = false, compiled = false, npy = false;
  for (const auto& [name, entry] : zip.entries()) {
    constants = constants || ends_with(name, "/constants.pkl");
    code = code || name.find("/code/") != std::string::npos;
    data = data || ends_with(name, "/data.pkl") || name == "data.pkl";
    compiled = compiled || name.find("data/aotinductor/") != std::string::npos ||
               ends_with(name, ".wrapper.so");
    npy = npy || ends_with(name, ".npy");
  }
  if (zip.entries().empty()) return "an empty zip archive";
  if (compiled) return "an AOTInductor package (compiled code without a graph)";
  if (constants || code) return "a TorchScript archive (torch.jit.save)";
  if (data) return "a checkpoint (torch.save: tensors without a program)";
  if (npy) return "an NPZ file";
  return "a zip archive without a program";
}

}  // namespace tendon::archive
