// Writes the text of one kernel: parameters, sizes, and expressions as statements.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cuda/compile_context.h"
#include "backends/cuda/step.h"

namespace tendon::backends::cuda {

/// Threads of a launch: blocks of the grid, threads of a block (one axis each).
struct Grid {
  std::int64_t blocks = 1;
  int threads = 256;
  int shared_bytes = 0;  // dynamic
};

/// A kernel in a library, and what it takes: a value.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const KernelLibrary* library, KernelId id, std::vector<schedule::BufferId> buffers,
         std::size_t arguments)
      : library_(library), id_(id), buffers_(std::move(buffers)), arguments_(arguments) {}
  /// `arguments`: values of KernelWriter::argument, in order. Nothing is launched for 0 blocks.
  Status launch(const Launch& launch, const Grid& grid,
                std::span<const std::int64_t> arguments = {}) const;

 private:
  const KernelLibrary* library_ = nullptr;
  KernelId id_ = -1;
  std::vector<schedule::BufferId> buffers_;
  std::size_t arguments_ = 0;
};

/// The name that an element of `dtype` has in device memory ("float", "Float16", "long long", ...),
/// and in arithmetic (half types: "float").
std::string memory_type(DType dtype);
std::string arithmetic_type_name(DType dtype);

class KernelWriter {
 public:
  explicit KernelWriter(const CompileContext& context) : context_(context) {}

  /// A value of the kernel that has no buffer: the text of its element at positions, in the
  /// arithmetic type.
  using LocalText = std::function<std::string(std::span<const std::string> positions)>;

  /// What names stand for while statements are written. Expressions already written in a scope are
  /// not written again; a copy of a scope is an inner block, which sees what came before.
  struct Scope {
    std::vector<std::string> indices;  // text of index(k), of type long long
    std::string accumulator;           // text of the product, in its arithmetic type
    std::map<ir::ValueId, LocalText> locals;
    std::unordered_map<ir::ExprId, std::string> written;
  };

  /// A size as text of type long long; symbols are read from device memory.
  std::string size(const ir::Size& size);
  /// Appends statements that compute `root`; returns the text of its value (arithmetic type).
  /// Values that load(...)s read have a buffer, or are locals of the scope.
  std::string expression(ir::ExprId root, Scope& scope, std::string& statements);
  /// "b2[...]": the element of a value with a buffer, in its memory type.
  std::string element(ir::ValueId value, std::span<const std::string> positions);
  /// The same in the arithmetic type.
  std::string load(ir::ValueId value, std::span<const std::string> positions);
  /// A statement that stores `text` (arithmetic type), rounded to the value's dtype.
  std::string store(ir::ValueId value, std::span<const std::string> positions,
                    const std::string& text);
  /// Statements that split `linear` (text of a long long in [0, product)) into positions named
  /// prefix0, prefix1, ... of type long long, row-major over `shape`; appends the names.
  std::string split(const std::string& linear, const ir::Shape& shape, const std::string& prefix,
                    std::vector<std::string>& names);
  /// Parameter name of a value's buffer: a pointer to its memory type, at the buffer's first byte.
  std::string buffer(ir::ValueId value);
  /// Declares a long long that each launch passes.
  std::string argument(const std::string& name);
  /// Number of a check that `check_failed(errors, NUMBER, value, size)` reports.
  int check(StatusCode code, const std::string& message);
  std::string fresh_name(const std::string& prefix);

  /// The kernel with these statements as its body. In it: `symbols` (const long long*), `errors`
  /// (ErrorTable*), `scratch` (char*), and the parameters asked for. `launch_bounds`: threads of
  /// the largest block. Errors: Unimplemented, if it takes too many buffers.
  Result<Kernel> finish(const std::string& body, int launch_bounds);

 private:
  std::string node(ir::ExprId id, Scope& scope);
  std::string position_sum(ir::ValueId value, std::span<const std::string> positions);

  const CompileContext& context_;
  std::vector<schedule::BufferId> buffers_;
  std::vector<std::string> buffer_types_;
  std::vector<std::string> arguments_;
  int names_ = 0;
};

}  // namespace tendon::backends::cuda
