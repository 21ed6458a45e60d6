#!/usr/bin/env bash
# Checks everything that runs on a GPU, in under ten minutes, and ends with a table: see scripts/gpu/check.py --help.
# In a clone it builds first; in an unpacked bundle (scripts/gpu_bundle.sh) it takes what is there.
#   scripts/gpu_check.sh [--gpu=0|simulated] [--part=NAME,...] [--python=FILE] [--out=FILE]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$root/bin

case " $* " in *" --help "* | *" -h "*) exec python3 "$root/scripts/gpu/check.py" --help ;; esac
if [ ! -x "$bin/cortado" ]; then
  "$root/scripts/install_deps.sh"
  cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$root/build" --parallel "$(nproc)" --target cortado cortado_bench_train cortado_device_tests
  bin=$root/build/bin
fi

# cuDNN and cuBLAS may lie in Python packages' folders, which the loader does not know.
python_libraries() {
  python3 - <<'PYTHON'
import glob, sys
print(':'.join(sorted({path.rpartition('/')[0] for folder in sys.path for path in glob.glob(folder + '/nvidia/*/lib/*.so*')})))
PYTHON
}
LD_LIBRARY_PATH=$root/lib:$(python_libraries):${LD_LIBRARY_PATH:-}
for folder in /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64; do
  [ ! -d $folder ] || LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$folder
done
export LD_LIBRARY_PATH
exec python3 "$root/scripts/gpu/check.py" --bin="$bin" "$@"
