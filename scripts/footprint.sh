#!/bin/sh
# Prints what a deployment weighs: each program without its symbols, and the shared libraries that it
# loads and that a bare system does not have; then, for each full-size graph, what running it takes.
# Weights of a graph are drawn, so all of them are resident and drawing counts towards the first
# answer: an archive, whose weights are mapped, needs less of both.
#   footprint.sh BUILD
set -eu

build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

megabytes() {
  stat -L -c %s "$1" | awk '{ printf "%.1f MB", $1 / 1e6 }'
}

programs=""
for name in tendon reacher quick_start; do
  if [ ! -x "$build/$name" ]; then
    echo "footprint.sh: $build/$name is not built" >&2
    exit 1
  fi
  strip -o "$work/$name" "$build/$name"
  printf '%-32s %s\n' "$name" "$(megabytes "$work/$name")"
  programs="$programs $build/$name"
done

echo
echo "shared libraries loaded:"
# shellcheck disable=SC2086
ldd $programs | awk '/=> \// { print $3 }' | sort -u |
  grep -vE '/(libc|libm|libpthread|libdl|librt)\.so' |
  while read -r library; do
    printf '%-32s %s\n' "$(basename "$library")" "$(megabytes "$library")"
  done

# number KEY TEXT: the number at KEY in a line of JSON.
number() {
  value=$(echo "$2" | sed -n "s/.*\"$1\":\([-+.e0-9]*\)[,}].*/\1/p")
  if [ -z "$value" ]; then
    echo "footprint.sh: no number '$1' in the JSON of tendon" >&2
    exit 1
  fi
  echo "$value"
}

echo
printf '%-20s %12s %14s %12s %14s %14s\n' "2 threads, 4 calls" "weights MB" "beyond them MB" \
  "inspect s" "inspect MB" "first answer s"
for graph in tests/data/graphs/*.json.gz; do
  inspected=$("$build/tendon" inspect --json "$graph" 2>/dev/null)
  ran=$("$build/tendon" bench --json --threads 2 --warmup 0 --iterations 3 "$graph" 2>/dev/null)
  weights=$(number weight_bytes "$inspected")
  loading=0
  for phase in read lower passes plan; do
    loading="$loading + $(number "$phase" "$inspected")"
  done
  printf '%-20s %12.1f %14.1f %12.2f %14.1f %14.2f\n' "$(basename "$graph" .json.gz)" \
    "$(echo "$weights" | awk '{ print $1 / 1e6 }')" \
    "$(awk "BEGIN { print ($(number peak_rss_bytes "$ran") - $weights) / 1e6 }")" \
    "$(awk "BEGIN { print ($loading) / 1e3 }")" \
    "$(awk "BEGIN { print $(number peak_rss_bytes "$inspected") / 1e6 }")" \
    "$(number first_answer_s "$ran")"
done
