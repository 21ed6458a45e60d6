#!/usr/bin/env bash
# Measures `cortado serve`; arguments go to bench/load.py (see --help). Mode `peer` needs the Python of
# scripts/bench.sh, with fastapi and uvicorn.
set -euo pipefail
cd "$(dirname "$0")/.."
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 bench/load.py --help ;; esac
scripts/install_deps.sh
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build --target cortado cortado-serve cortado_bench_train cortado_bench_infer cortado_bench_serve
venv=build/bench-venv
if [ "${1-}" = peer ]; then
  [ -x $venv/bin/python ] || { echo "bench_serve: $venv is missing; run scripts/bench.sh" >&2; exit 1; }
  "$venv/bin/pip" install -q --disable-pip-version-check fastapi 'uvicorn[standard]'
fi
exec /usr/bin/python3 bench/load.py "$@"
