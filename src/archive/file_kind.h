// Which kind of file this is, for files that are not programs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "archive/zip_index.h"

namespace tendon::archive {

/// "an ONNX model", "a safetensors file", ...; empty if nothing is recognised.
std::string describe_bytes(std::span<const std::byte> bytes);
/// The same for the entries of a zip archive without a program.
std::string describe_archive(const ZipIndex& zip);

}  // namespace tendon::archive
