// Arguments of the serialized program, and the enumerations among them. Throws FormatError.
#pragma once

#include <string>

#include "archive/exported_program.h"
#include "archive/json.h"
#include "archive/symbol_registry.h"

namespace tendon::archive {

DType import_dtype(const Json& value);
DeviceArgument import_device(const Json& value);
/// An operator's name without "torch.ops.".
std::string import_target(const Json& value);
Argument import_argument(const Json& value, SymbolRegistry& symbols);

}  // namespace tendon::archive
