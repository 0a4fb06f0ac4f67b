#!/bin/bash
# Documents are true of the tree: their links lead somewhere, code in the README is the code of an
# example that is built and run, and nothing names a folder of the machine it was written on.
#   check_documents.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
failures=0

documents=$(find . -name '*.md' -not -path './build/*' -not -path './.git/*')
for document in $documents; do
  for link in $(grep -oE '\]\([^)#]+' "$document" | sed 's/^](//' | grep -vE '^[a-z]+:' || true); do
    if [[ ! -e $(dirname "$document")/$link ]]; then
      echo "$document: no such file: $link"
      failures=$((failures + 1))
    fi
  done
done

if grep -rnIE '/(work|home|root|farm|Users)/[A-Za-z0-9_.-]' . --exclude-dir=build --exclude-dir=.git \
  --exclude=.git; then
  echo "paths of a machine"
  failures=$((failures + 1))
fi

# The first C++ block of the README against the example's code below its heading comment.
snippet=$(awk '/^```cpp/ { inside = 1; next } /^```/ { if (inside) exit } inside' README.md)
example=$(awk '/^#include/ { inside = 1 } inside' examples/quick_start/quick_start.cpp)
if [[ -z $snippet ]] || ! diff <(echo "$snippet") <(echo "$example"); then
  echo "README.md and examples/quick_start/quick_start.cpp differ"
  failures=$((failures + 1))
fi

echo "$(echo "$documents" | wc -l) documents checked, $failures problems"
[[ $failures -eq 0 ]]
