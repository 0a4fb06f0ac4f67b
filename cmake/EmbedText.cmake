# cmake -DOUTPUT=FILE -DFOLDER=src -DFILES="name=path;..." -P EmbedText.cmake
# Writes a header with the named files as string literals.
set(text "// Generated from the files named below.\n#pragma once\n\nnamespace {\nstruct EmbeddedFile {\n  const char* name;\n  const char* text;\n};\nconstexpr EmbeddedFile kEmbeddedFiles[] = {\n")
foreach(entry ${FILES})
  string(REPLACE "=" ";" pair ${entry})
  list(GET pair 0 name)
  list(GET pair 1 path)
  file(READ ${path} content)
  # A literal holds 65,536 bytes for certain; longer ones are not ours.
  string(APPEND text "    {\"${name}\", R\"embedded(${content})embedded\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace\n")
file(WRITE ${OUTPUT} "${text}")
