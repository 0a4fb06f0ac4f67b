#!/bin/sh
# Prints what a deployment weighs: each program without its symbols, and the shared libraries that it
# loads and that a bare system does not have.
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
