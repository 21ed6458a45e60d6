#!/usr/bin/env bash
# Builds for aarch64 (64-bit ARM) on a Debian machine of another kind, and tests that under qemu's emulation: the tests
# of kernels/ and layers/, and parity.
#   scripts/dev/build_aarch64.sh            builds in build-aarch64/ and runs these tests
#   scripts/dev/build_aarch64.sh --build    builds alone
# The compiler comes from Debian's packages for crossing, libraries from arm64's, unpacked in build-aarch64/sysroot; the
# system itself gets none of the latter. Programs for the build (protoc, Python) are this machine's.
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

# armv8-a is what every such CPU has.
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DCORTADO_SYSROOT="$sysroot" \
  -DCMAKE_BUILD_TYPE=Release -DCORTADO_MARCH=armv8-a -DCORTADO_CUDA=OFF >"$build/configure.log"
cmake --build "$build" --parallel "$(nproc)"
[ "${1-}" != --build ] || exit 0

# OpenBLAS lies where Debian's alternatives, which nobody has set up in the sysroot, would point to. Started again, as
# it does to limit spinning, a program would leave the emulator.
for program in cortado cortado_kernels_tests cortado_layers_tests; do
  cat >"$build/$program" <<EOF
#!/bin/sh
exec env GOMP_SPINCOUNT=5000 qemu-aarch64 -L "$sysroot" -E LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu/openblas-pthread \
  "$build/bin/$program" "\$@"
EOF
  chmod +x "$build/$program"
done
# Without those of oneDNN's own kernels and formats, of which it has none for ARM.
"$build/cortado_kernels_tests" --gtest_brief=1 \
  --gtest_filter='-ConvOneDnn*:Conv.WorksInGivenWeightFormats:Conv.DepthwiseWorksInBlocksOfLibraries'
"$build/cortado_layers_tests" --gtest_brief=1
/usr/bin/python3 tests/parity/run_parity.py "$build/cortado"
