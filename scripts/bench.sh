#!/usr/bin/env bash
# Times training steps of Cortado against PyTorch, interleaved. Arguments go to scripts/bench/bench.py (--help tells).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_deps.sh
/usr/bin/python3 -c 'import torch, numpy' 2>/dev/null || DEBIAN_FRONTEND=noninteractive $( [ "$(id -u)" = 0 ] || echo sudo ) \
  apt-get install -y --no-install-recommends python3-torch python3-numpy
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release > /dev/null
cmake --build build --target cortado_bench_worker
exec /usr/bin/python3 scripts/bench/bench.py build/bin/cortado_bench_worker "$@"
