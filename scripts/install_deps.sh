#!/usr/bin/env bash
# Installs the packages that are missing, on Debian and on systems with its package names.
#   scripts/install_deps.sh quickstart [PACKAGE...]   for the program `cortado` and the quick start
#   scripts/install_deps.sh build [PACKAGE...]        also for helpers, engines, server, studio, library, Python module
#   scripts/install_deps.sh test [PACKAGE...]         also for the tests (default)
# Runs as root or through sudo. Returns at once if nothing is missing. A|B: the first of these names that apt knows.
set -euo pipefail

level=test
case "${1-}" in quickstart | build | test) level=$1; shift ;; esac

packages=(
  build-essential cmake ninja-build ccache pkgconf
  protobuf-compiler libprotobuf-dev libgoogle-glog-dev libgflags-dev nlohmann-json3-dev libpugixml-dev
  liblmdb-dev zlib1g-dev 'libjpeg62-turbo-dev|libjpeg-turbo8-dev' libpng-dev libdnnl-dev libgomp1
  libarchive-dev libpango1.0-dev fonts-dejavu-core
  python3 dataset-fashion-mnist
)
# On other CPUs oneDNN has no matrix product of its own (docs/cpu.md).
[ "$(uname -m)" = x86_64 ] || packages+=(libopenblas0-pthread)
if [ $level != quickstart ]; then
  packages+=(
    libopencv-dev libhdf5-dev libleveldb-dev libonnx-dev
    libgrpc++-dev protobuf-compiler-grpc libboost-dev prometheus-cpp-dev libssl-dev
    libopenmpi-dev openmpi-bin libmpich-dev mpich libgloo-dev
    python3-dev pybind11-dev python3-numpy python3-protobuf
  )
fi
if [ $level = test ]; then
  packages+=(libgtest-dev python3-pytest python3-onnx python3-opencv python3-h5py libopenblas0-pthread)
  packages+=(curl git openssl)  # for the commands of pages, and tests of the tree
  packages+=(mkdocs mkdocs-material)  # for scripts/docs.sh
fi

packages+=("$@")

fail() {
  echo "install_deps.sh: $1" >&2
  exit 1
}

system=$(. /etc/os-release 2>/dev/null && echo "$PRETTY_NAME") || system='this system'
command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
  fail "$system has no apt; install what provides these packages (docs/installing.md): ${packages[*]%%|*}"

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status} ' ${package//|/ } 2>/dev/null || true)
  [[ " $status" == *' installed '* ]] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "packages are missing, sudo is not installed; run as root: apt-get install ${missing[*]%%|*}"
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }

apt update
chosen=() unknown=()
for package in "${missing[@]}"; do
  name=''
  for candidate in ${package//|/ }; do
    [ -n "$name" ] || ! apt-cache show --no-all-versions "$candidate" >/dev/null 2>&1 || name=$candidate
  done
  if [ -n "$name" ]; then chosen+=("$name"); else unknown+=("$package"); fi
done
[ ${#unknown[@]} -eq 0 ] ||
  fail "$system has no package ${unknown[*]}; install what provides it (docs/installing.md), then ${chosen[*]}"
echo "installing ${chosen[*]}"
apt install -y --no-install-recommends "${chosen[@]}" >/dev/null
