// The fields of the serialized program that this build knows.
#pragma once

#include "archive/exported_program.h"
#include "archive/json.h"

namespace tendon::archive {

inline constexpr int kSchemaMajor = 8;
inline constexpr int kSchemaMinor = 17;

/// Warns of fields that a newer minor version has added: they are ignored, and may matter.
void note_unknown_fields(const Json& exported_program, Program& program);

}  // namespace tendon::archive
