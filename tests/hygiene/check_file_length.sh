#!/bin/bash
# A file is one room: it warns at 500 lines and fails at 800.
#   check_file_length.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
find include src tools examples tests \( -name '*.h' -o -name '*.cpp' -o -name '*.sh' \) \
  -exec wc -l {} + | awk '
  $2 == "total" { next }
  { files++; lines += $1; size[files] = $1 }
  $1 > 500 { print ($1 > 800 ? "too long: " : "long:     ") $2 " has " $1 " lines"; failures += $1 > 800 }
  END {
    if (files < 20) { print "only " files + 0 " files found: is this the right folder?"; exit 1 }
    print files " files, " lines " lines, " int(lines / files) " lines a file"
    exit failures > 0
  }'
