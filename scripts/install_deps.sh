#!/usr/bin/env bash
# Installs the Debian packages that building, testing and the quick start need, and those named as arguments; those that
# are there are left alone.
# Works as root or through sudo, and does nothing, quickly, when nothing is missing.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkgconf
  protobuf-compiler libprotobuf-dev libgoogle-glog-dev libgflags-dev nlohmann-json3-dev libpugixml-dev
  liblmdb-dev zlib1g-dev libjpeg62-turbo-dev libpng-dev libopencv-dev
  libhdf5-dev libleveldb-dev libonnx-dev python3-onnx
  libgrpc++-dev protobuf-compiler-grpc libboost-dev prometheus-cpp-dev libssl-dev
  libdnnl-dev libopenblas-dev libgomp1
  libopenmpi-dev openmpi-bin libmpich-dev mpich libgloo-dev
  libgtest-dev libbenchmark-dev pybind11-dev
  python3 python3-dev python3-numpy python3-protobuf python3-opencv python3-h5py
  dataset-fashion-mnist
  "$@"
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "install_deps.sh: as root, or with sudo: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }

echo "installing ${missing[*]}"
apt update
apt install -y --no-install-recommends "${missing[@]}" >/dev/null
