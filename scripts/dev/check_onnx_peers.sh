#!/usr/bin/env bash
# Holds what is read and written as ONNX to ONNX Runtime: every layer type that can be written, the nets of models/, and
# public architectures that PyTorch exports. Wants the environment that scripts/bench.sh makes, and adds torchvision.
#   scripts/dev/check_onnx_peers.sh [--env=FOLDER] [NAME...]   NAME: architectures of torchvision, in place of all
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=build/bench-venv
if [[ ${1-} == --env=* ]]; then venv=${1#--env=}; shift; fi
[ -x "$venv/bin/python" ] || { echo "check_onnx_peers.sh: $venv is missing; scripts/bench.sh makes it" >&2; exit 1; }
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
