#!/bin/bash
# Every #include goes down the road from file to answer, never up: include_rules.txt says which way
# that is. Public headers include public headers only, and so do the examples. Tests are free.
#   check_includes.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
rules=tests/hygiene/include_rules.txt

# "FILE:LINE:#include ..." of all sources but tests and fuzzers.
includes() {
  find "$1" \( -name '*.h' -o -name '*.cpp' \) -not -name '*_test.cpp' -not -name '*_fuzz.cpp' \
    -exec grep -HnE '^[[:space:]]*#[[:space:]]*include' {} + || true
}

{
  includes src
  includes include
  includes examples
} | awk -v rules="$rules" '
  function folder_of(path,   parts, n) {
    n = split(path, parts, "/")
    if (parts[1] != "backends") return parts[1]
    return n > 2 ? parts[1] "/" parts[2] : parts[1]
  }
  function complain(why) { print location ": " header " " why; failures++ }
  BEGIN {
    while ((getline line < rules) > 0) {
      if (line ~ /^#/ || line == "") continue
      n = split(line, words, " ")
      if (line ~ /^</) {
        prefix = substr(words[1], 2); third_party[prefix] = 1
        for (i = 2; i <= n; i++) may[words[i], prefix] = 1
      } else {
        from = words[1]; sub(/:$/, "", from); folders[from] = 1
        for (i = 2; i <= n; i++) may[from, words[i]] = 1
      }
    }
    close(rules)
  }
  {
    checked++
    split($0, fields, ":"); location = fields[1] ":" fields[2]; file = fields[1]
    match($0, /[<"][^>"]*[>"]/); header = substr($0, RSTART, RLENGTH)
    target = substr(header, 2, length(header) - 2)
    quoted = header ~ /^"/

    if (file ~ /^include\//) {
      if (quoted && target !~ /^tendon\//) complain("in a public header")
      if (!quoted && target ~ /\//) complain("in a public header: only the standard library there")
      next
    }
    if (file ~ /^examples\//) {
      if (quoted && target ~ /\// && target !~ /^tendon\//) complain("in an example: only tendon/*.h there")
      next
    }
    sub(/^src\//, "", file); from = folder_of(file)
    if (!(from in folders)) { complain("in src/" from ", which include_rules.txt does not know"); next }
    others = 0
    for (prefix in third_party) {
      if (index(target, prefix) != 1) continue
      others = 1
      if (!((from, prefix) in may)) complain("is not for src/" from)
    }
    if (!quoted || others) {
      if (fields[1] ~ /\.h$/ && target ~ /^(iostream|regex)$/) complain("is too heavy for a header")
      next
    }
    if (target ~ /^tendon\//) next
    to = folder_of(target)
    if (target ~ /^\./ || !(to in folders)) { complain("is not relative to src"); next }
    if (to != from && !((from, to) in may)) complain("goes the wrong way: " from " may not see " to)
  }
  END {
    if (checked < 50) { print "only " checked + 0 " includes found: is this the right folder?"; exit 1 }
    print checked " includes checked, " failures + 0 " wrong"
    exit failures > 0
  }'
