#!/usr/bin/env bash
# Benchmarks Cortado against the newest PyTorch, ONNX Runtime, OpenVINO and ncnn on PyPI, or against Debian's PyTorch if
# PyPI cannot be reached. Arguments are passed to bench/bench.py (see --help). With --python=FILE nothing is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/bench-venv
needed=(torch onnx onnxruntime numpy 'setuptools>=77')  # torch.compile needs setuptools
more=(openvino nncf ncnn pnnx torchvision simplejpeg lmdb)

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
  "$venv/bin/pip" install -q "${more[@]}" || echo "bench: PyPI does not have all of ${more[*]} for this machine"
  echo "${more[@]}" > "$venv/complete"
}

choose_python() {
  for argument in "$@"; do
    case $argument in --python=*) python=${argument#--python=}; return ;; esac
  done
  python=$venv/bin/python
  [ "$(cat "$venv/complete" 2>/dev/null)" = "${more[*]}" ] && return
  echo "bench: installing the newest peers in $venv (about 5 GB)"
  make_venv && return
  echo "bench: PyPI cannot be reached: comparing with Debian's PyTorch only"
  install python3-torch python3-numpy
  python=/usr/bin/python3
}

case " $* " in *" --help "* | *" -h "* | *" --table"*) python=/usr/bin/python3; measure "$@" ;; esac
scripts/install_deps.sh
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build --target cortado cortado_bench_train cortado_bench_infer
choose_python "$@"
measure "$@"
