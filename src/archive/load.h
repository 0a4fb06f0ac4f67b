// Reads a program file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "archive/exported_program.h"
#include "tendon/status.h"

namespace tendon::archive {

struct ReadOptions {
  std::string model;              // which program of the archive; empty: the only one, or "model"
  std::uint64_t weight_seed = 0;  // for bare graphs, which have no weights
  std::uint64_t max_drawn_bytes = std::uint64_t{1} << 37;  // of a bare graph's weights together
};

/// A `.pt2` archive (any layout that can be read without Python), or a bare graph: `.json` or
/// `.json.gz` holding an ExportedProgram, whose weights are drawn from the seed once
/// Program::draw_weights is called. Weights of an archive lie in the mapped file: nothing is
/// copied, and they are not compared with their checksums; programs are. A weight that nobody holds
/// any more leaves physical memory.
/// Errors: NotFound (file, model), InvalidArgument (another kind of file, which the message names),
/// DataLoss (truncated, altered, contradicts itself), Unimplemented (needs what cannot be read),
/// ResourceExhausted.
Result<Program> read_program(const std::string& path, const ReadOptions& options = {});

/// The same over memory, which must outlive the program unless `owner` keeps it alive. `name` is
/// for messages.
Result<Program> read_program(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                             const std::string& name, const ReadOptions& options = {});

}  // namespace tendon::archive
