#!/usr/bin/env bash
# Checks ONNX import and export against ONNX Runtime: every layer type that can be exported, the nets of models/, and
# architectures of torchvision as PyTorch exports them. Needs the environment of scripts/bench.sh, and adds torchvision.
#   scripts/dev/check_onnx_peers.sh [--env=FOLDER] [NAME...]   NAME: architectures of torchvision; default: all
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=build/bench-venv
if [[ ${1-} == --env=* ]]; then venv=${1#--env=}; shift; fi
[ -x "$venv/bin/python" ] || { echo "check_onnx_peers.sh: $venv does not exist; run scripts/bench.sh" >&2; exit 1; }
"$venv/bin/python" -c 'import torchvision, onnxscript' 2>/dev/null ||
  "$venv/bin/python" -m pip install -q --no-deps torchvision onnxscript onnx_ir pillow

failed=0
"$venv/bin/python" -m pip install -q pytest
"$venv/bin/python" -m pytest -q --runtime tests/onnx/layers_test.py || failed=1
"$venv/bin/python" -m pytest -q --runtime --all tests/onnx/models_test.py || failed=1
/usr/bin/python3 -m pytest -q --all tests/onnx/models_test.py || failed=1
for exporter in torchscript dynamo; do
  "$venv/bin/python" bench/onnx_peers.py build/bin/cortado --exporter=$exporter "$@" 2>/dev/null || failed=1
done
exit $failed
