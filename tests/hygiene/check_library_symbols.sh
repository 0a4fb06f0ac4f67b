#!/bin/bash
# The library never prints and never ends the process: none of its objects needs a function that
# does. For release builds without sanitizers; assertions of other builds may abort.
#   check_library_symbols.sh ARCHIVE...
set -euo pipefail

# Mangled names are matched as nm prints them; std::cout, cerr and clog are _ZSt4cout and so on.
banned='^(abort|exit|_exit|_Exit|quick_exit|__assert_fail|printf|vprintf|puts|putchar|perror'
banned+='|fprintf|vfprintf|__printf_chk|__fprintf_chk|__vfprintf_chk|stdout|stderr'
banned+='|_ZSt4cout|_ZSt4cerr|_ZSt4clog|_ZSt5wcout|_ZSt5wcerr|_ZN3hwy5Abort.*)$'

# "OBJECT SYMBOL" pairs that are allowed, each with its reason in a comment.
allowed=()

symbols=0
failures=0
for archive in "$@"; do
  # "libtendon_base.a:status.cpp.o:                 U abort"
  while read -r object symbol; do
    symbols=$((symbols + 1))
    [[ $symbol =~ $banned ]] || continue
    for pair in "${allowed[@]}"; do
      [[ "$object $symbol" == "$pair" ]] && continue 2
    done
    echo "$(basename "$archive"): $object needs $symbol"
    failures=$((failures + 1))
  done < <(nm --print-file-name --undefined-only "$archive" 2>/dev/null |
    sed -E 's/^[^:]*:([^:]*):.* [Uw] (.*)$/\1 \2/')
done
if [[ $symbols -lt 100 ]]; then
  echo "only $symbols undefined symbols in $# archives: nm or its output has changed"
  exit 1
fi
echo "$symbols symbols of $# archives checked, $failures banned"
[[ $failures -eq 0 ]]
