#!/usr/bin/env bash
# Packs the files that gpu_check.sh needs on a machine with a GPU, CUDA, cuDNN and Python, but without a compiler and
# the packages of install_deps.sh: the program, an executable of all device tests, the benchmark's worker, the libraries
# that such a machine lacks, the parity cases, the nets and the scripts. Programs are for x86-64-v3.
#   scripts/gpu/gpu_bundle.sh [FILE]     default: build/gpu-bundle.tar.xz; CUDAARCHS: compute capabilities, default 90
# On that machine: tar xf gpu-bundle.tar.xz && gpu-bundle/scripts/gpu/gpu_check.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
archive=$(realpath -m "${1:-build/gpu-bundle.tar.xz}")
build=build-bundle
bundle=$build/gpu-bundle
most_mebibytes=40
programs='cortado cortado_bench_train cortado_bench_copy cortado_device_tests'

scripts/install_deps.sh
# The programs find the bundle's libraries by RPATH. LD_LIBRARY_PATH would make Python load them, too.
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCORTADO_CUDA=ON -DCORTADO_MARCH=x86-64-v3 \
  -DCMAKE_CUDA_ARCHITECTURES="${CUDAARCHS:-90}" -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
  '-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags >/dev/null
cmake --build $build --parallel "$(nproc)" --target $programs cortado_simulated_nvjpeg
simulated_nvjpeg=tests/nvjpeg/libcortado_simulated_nvjpeg.so

# Prints the libraries that these programs load, except the C library's, which every Linux has.
here_only() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -v -E '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv))\.so'
}

rm -rf $bundle
mkdir -p $bundle/bin $bundle/lib $bundle/tests/nvjpeg "$(dirname "$archive")"
for program in $programs; do
  strip -o $bundle/bin/$program $build/bin/$program
done
strip -o $bundle/$simulated_nvjpeg $build/$simulated_nvjpeg
cp -L $(here_only $(printf "$build/bin/%s " $programs) $build/$simulated_nvjpeg) $bundle/lib/
# Without fetched weights and caches
git ls-files -z tests/parity tests/cli models scripts bench | tar --null -T - -cf - | tar -C $bundle -xf -
tar -C $build -cf - gpu-bundle | xz -9 -T0 >"$archive"
size=$(($(stat -c %s "$archive") >> 20))
echo "$archive: $size MiB"
[ $size -lt $most_mebibytes ] || { echo "gpu_bundle.sh: the archive exceeds $most_mebibytes MiB" >&2; exit 1; }
