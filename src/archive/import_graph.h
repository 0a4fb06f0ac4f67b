// Graphs and their tensors in the serialized program. Throws FormatError.
#pragma once

#include <memory>

#include "archive/exported_program.h"
#include "archive/import_argument.h"

namespace tendon::archive {

TensorMeta import_tensor_meta(const Json& value, SymbolRegistry& symbols);
std::shared_ptr<Graph> import_graph(const Json& value, SymbolRegistry& symbols);

}  // namespace tendon::archive
