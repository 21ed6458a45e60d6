#!/usr/bin/env bash
# Measures Cortado beside its peers: the newest PyTorch, ONNX Runtime, OpenVINO and ncnn that PyPI gives, or Debian's
# PyTorch where PyPI is out of reach. Arguments go to bench/bench.py (--help tells); with --python=FILE nothing
# is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/bench-venv
needed=(torch onnx onnxruntime numpy 'setuptools>=77')  # torch.compile needs setuptools
more=(openvino nncf ncnn pnnx)

measure() { exec "$python" bench/bench.py "$@"; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

install() {
  dpkg-query -W "$@" >/dev/null 2>&1 ||
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

make_venv() {
  install python3-venv
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install -q "${needed[@]}" || return
  "$venv/bin/pip" install -q "${more[@]}" || echo "bench: PyPI has not all of ${more[*]} for this machine"
  echo "${more[@]}" > "$venv/complete"
}

choose_python() {
  for argument in "$@"; do
    case $argument in --python=*) python=${argument#--python=}; return ;; esac
  done
  python=$venv/bin/python
  [ "$(cat "$venv/complete" 2>/dev/null)" = "${more[*]}" ] && return
  echo "bench: making $venv with the newest peers (about 5 GB)"
  make_venv && return
  echo "bench: PyPI is out of reach: Debian's PyTorch is the only peer"
  install python3-torch python3-numpy
  python=/usr/bin/python3
}

case " $* " in *" --help "* | *" -h "* | *" --table"*) python=/usr/bin/python3; measure "$@" ;; esac
scripts/install_deps.sh
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build --target cortado cortado_bench_train cortado_bench_infer
choose_python "$@"
measure "$@"
