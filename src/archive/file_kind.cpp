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

}  // namespace

std::string describe_bytes(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) return "an empty file";
  if (text.size() >= 8 && text.substr(4, 2) == "ET") return "an ExecuTorch program (.pte)";
  if (starts_with(text, "GGUF")) return "a GGUF model";
  if (starts_with(text, "\x89HDF")) return "an HDF5 file";
  if (starts_with(text,
                  "\x7f"
                  "ELF"))
    return "a compiled library";
  if (starts_with(text, "\x1f\x8b")) return "a gzip file";
  if (starts_with(text, "\x80\x02")) return "a pickle (an old torch.save file)";
  if (text.size() > 9 && text[8] == '{' && static_cast<unsigned char>(text[7]) == 0)
    return "a safetensors file";
  // ONNX: a protobuf whose first field is the IR version, with the producer's name near the start.
  const std::string_view head = text.substr(0, 4096);
  if (text[0] == '\x08' && (head.find("pytorch") != std::string_view::npos ||
                            head.find("onnx") != std::string_view::npos)) {
    return "an ONNX model";
  }
  if (text[0] == '\x08' && text.size() > 2 && static_cast<unsigned char>(text[1]) < 32 &&
      text[2] == '\x12')
    return "an ONNX model";
  const bool printable = std::all_of(head.begin(), head.end(), [](char c) {
    return std::isprint(static_cast<unsigned char>(c)) != 0 ||
           std::isspace(static_cast<unsigned char>(c)) != 0;
  });
  return printable ? "a text file" : "";
}

std::string describe_archive(const ZipIndex& zip) {
  bool constants = false, code = false, data = false, compiled = false, npy = false;
  for (const auto& [name, entry] : zip.entries()) {
    constants = constants || ends_with(name, "/constants.pkl");
    code = code || name.find("/code/") != std::string::npos;
    data = data || ends_with(name, "/data.pkl");
    compiled =
        compiled || name.find("/data/aotinductor/") != std::string::npos || ends_with(name, ".so");
    npy = npy || ends_with(name, ".npy");
  }
  if (compiled) return "an AOTInductor package: compiled code without a graph";
  if (constants || code)
    return "a TorchScript archive (torch.jit.save); export the module with torch.export";
  if (data)
    return "a checkpoint (torch.save) without a program; export the module with torch.export";
  if (npy) return "an NPZ file";
  return "a zip archive without a program";
}

}  // namespace tendon::archive
