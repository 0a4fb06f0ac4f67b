#!/bin/sh
# Runs each libFuzzer program of a build for some seconds, from the seeds in tests/fuzz.
#   run_fuzzers.sh BUILD SECONDS
# New inputs are kept in BUILD/corpus; an input that fails is left in BUILD, and its name printed.
set -eu

build=$1
seconds=$2
seeds=$(dirname "$0")/../tests/fuzz

found=0
for program in "$build"/fuzz_*; do
  [ -f "$program" ] || continue
  found=1
  name=$(basename "$program")
  name=${name#fuzz_}
  corpus=$build/corpus/$name
  mkdir -p "$corpus"
  echo "fuzz_$name: $seconds s"
  set -- "$corpus"
  if [ -d "$seeds/$name" ]; then set -- "$@" "$seeds/$name"; fi
  "$program" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$build/$name-" "$@"
done
if [ "$found" -eq 0 ]; then
  echo "run_fuzzers.sh: no fuzz_* program in $build" >&2
  exit 1
fi
