#!/bin/bash
# Names of PyTorch's operators stand in src/aten (and in src/archive, which reads them) alone: what
# comes after lowering works on primitives. Comments may name them, and so may tests.
#   check_operator_names.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
if ! grep -rqE '"[^"]*aten(\.|::)' src/aten src/archive; then
  echo "no operator name in src/aten and src/archive: the pattern of this check is out of date"
  exit 1
fi
files=$(find src -path src/aten -prune -o -path src/archive -prune -o \
  \( -name '*.h' -o -name '*.cpp' \) -not -name '*_test.cpp' -not -name '*_fuzz.cpp' -print)
# Comments go first, so that only string literals are left to look at.
# shellcheck disable=SC2086
if awk '{ code = $0; sub(/(^|[[:space:]])\/\/.*/, "", code) }
        code ~ /"[^"]*aten(\.|::)/ { print FILENAME ":" FNR ":" $0; found = 1 }
        END { exit !found }' $files; then
  echo "operator names outside src/aten"
  exit 1
fi
echo "$(echo "$files" | wc -l) files name no operator"
