#!/bin/sh
# Installs the Debian packages that a task needs and that are missing; says nothing if none is.
#   install_packages.sh build | fuzz | format | tidy
set -eu

task=${1:-build}
case $task in
  build)
    packages="g++ cmake ninja-build libdnnl-dev libhwy-dev libminizip-dev zlib1g-dev
              nlohmann-json3-dev rapidjson-dev libcli11-dev libfmt-dev libpng-dev libgtest-dev libgmock-dev
              librapidcheck-dev"
    ;;
  fuzz) packages="clang libclang-rt-14-dev libomp-dev" ;;
  format) packages="clang-format" ;;
  tidy) packages="clang-tidy" ;;
  *)
    echo "install_packages.sh: unknown task '$task'; expected build, fuzz, format or tidy" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  # shellcheck disable=SC2086
  echo "This is not a Debian system. Tendon needs what these Debian 12 packages hold:" $packages >&2
  exit 0
fi

missing=""
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=""
elif command -v sudo >/dev/null; then
  as_root="sudo"
else
  echo "These packages are missing, and there is neither root nor sudo to install them:" >&2
  echo "  apt-get install --no-install-recommends$missing" >&2
  exit 1
fi

echo "Installing Debian packages:$missing"
$as_root apt-get -qq update
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get -qq -y --no-install-recommends install $missing >/dev/null
