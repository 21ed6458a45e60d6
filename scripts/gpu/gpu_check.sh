#!/usr/bin/env bash
# Checks and measures Cortado on a GPU, in three stages with time limits, and writes a table: see scripts/gpu/check.py
# --help and docs/gpu.md. In a clone it builds first; in an unpacked bundle (scripts/gpu/gpu_bundle.sh) it uses the
# bundle's programs.
#   scripts/gpu/gpu_check.sh [--gpu=0|simulated] [--stage=1,2,3] [--part=NAME,...] [--python=FILE] [--out=F] [--log=F]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/bin
python=python3
for argument in "$@"; do
  case $argument in
  --help | -h) exec python3 "$root/scripts/gpu/check.py" --help ;;
  --python=*) python=${argument#*=} ;;
  esac
done

if [ ! -x "$bin/cortado" ]; then
  "$root/scripts/install_deps.sh"
  cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$root/build" --parallel "$(nproc)" --target cortado cortado_bench_train \
    cortado_bench_copy cortado_device_tests cortado_simulated_nvjpeg
  bin=$root/build/bin
fi

# cuDNN, cuBLAS and their dependencies may be in the folders of PyTorch's packages, which the loader does not search.
python_libraries() {
  "$python" - <<'PYTHON'
import glob, sys
files = [file for folder in sys.path for file in glob.glob(folder + '/nvidia/*/lib/*.so*')]
print(':'.join(sorted({file.rpartition('/')[0] for file in files})))
PYTHON
}
LD_LIBRARY_PATH=$(python_libraries):${LD_LIBRARY_PATH:-}
for folder in /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64 /usr/local/nvidia/lib64; do
  [ ! -d $folder ] || LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$folder
done
export LD_LIBRARY_PATH
missing=$(ldd "$bin/cortado" "$bin/cortado_device_tests" | awk '/not found/ { print $1 }' | sort -u)
[ -z "$missing" ] || echo "gpu_check.sh: the loader does not find" $missing "(hint: set LD_LIBRARY_PATH)" >&2
exec python3 "$root/scripts/gpu/check.py" --bin="$bin" "$@"
