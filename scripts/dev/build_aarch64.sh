#!/usr/bin/env bash
# Cross-compiles for aarch64 on a Debian machine, and runs the tests of kernels/ and layers/ and parity under qemu.
#   scripts/dev/build_aarch64.sh            builds in build-aarch64/ and runs these tests
#   scripts/dev/build_aarch64.sh --build    builds only
# Uses Debian's cross compiler. The arm64 libraries are unpacked in build-aarch64/sysroot, not installed. The build's
# own programs (protoc, Python) are this machine's.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1-}" in
  '' | --build) ;;
  *) echo "usage: scripts/dev/build_aarch64.sh [--build]" >&2; exit 2 ;;
esac

scripts/install_deps.sh g++-aarch64-linux-gnu mmdebstrap qemu-user
build=$PWD/build-aarch64
sysroot=$build/sysroot
packages=libc6-dev,libstdc++-12-dev,libgcc-12-dev,libgomp1,libprotobuf-dev,libgoogle-glog-dev,libgflags-dev
packages+=,nlohmann-json3-dev,liblmdb-dev,zlib1g-dev,libjpeg62-turbo-dev,libpng-dev,libdnnl-dev,libgtest-dev
packages+=,libhdf5-dev,libleveldb-dev,libpugixml-dev,libopenblas0-pthread
if [ ! -e "$sysroot/complete" ]; then
  rm -rf "$sysroot"
  mkdir -p "$build"
  mmdebstrap --quiet --arch=arm64 --variant=extract --include=$packages bookworm "$sysroot"
  touch "$sysroot/complete"
fi

# armv8-a is the baseline that every aarch64 CPU has.
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DCORTADO_SYSROOT="$sysroot" \
  -DCMAKE_BUILD_TYPE=Release -DCORTADO_MARCH=armv8-a -DCORTADO_CUDA=OFF >"$build/configure.log"
cmake --build "$build" --parallel "$(nproc)"
[ "${1-}" != --build ] || exit 0

# The sysroot has no alternatives links, so that OpenBLAS needs a library path.
for program in cortado cortado_kernels_tests cortado_layers_tests; do
  cat >"$build/$program" <<EOF
#!/bin/sh
exec qemu-aarch64 -L "$sysroot" -E LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu/openblas-pthread \
  "$build/bin/$program" "\$@"
EOF
  chmod +x "$build/$program"
done
# oneDNN has no kernels and formats of its own for ARM: their tests are excluded.
"$build/cortado_kernels_tests" --gtest_brief=1 \
  --gtest_filter='-ConvOneDnn*:Conv.WorksInGivenWeightFormats:Conv.DepthwiseWorksInBlocksOfLibraries'
"$build/cortado_layers_tests" --gtest_brief=1
/usr/bin/python3 tests/parity/run_parity.py "$build/cortado"
