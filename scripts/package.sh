#!/usr/bin/env bash
# Builds the packages for Debian 12 and a tar.xz of the same files, for every x86-64 CPU, into build-package/packages.
#   scripts/package.sh                 programs and libraries for CPU levels v2, v3, v4 and amx
#   scripts/package.sh --levels='v3'   for these levels only
set -euo pipefail
cd "$(dirname "$0")/.."

levels='v2;v3;v4;amx'
case "${1-}" in
  '') ;;
  --levels=*) levels=${1#--levels=} ;;
  *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
esac

scripts/install_deps.sh build dpkg-dev
export LDFLAGS=-Wl,-s  # strips the builds of all levels
cmake --preset release -B build-package -DCMAKE_INSTALL_PREFIX=/usr -DCORTADO_CPU_LEVELS="$levels" \
  -DCORTADO_TESTS=OFF
cmake --build build-package --parallel "$(nproc)"
(cd build-package && cpack)
/usr/bin/python3 scripts/release/sbom.py --output build-package/packages/cortado.cdx.json build-package/bin/cortado* \
  build-package/bin/libcortado*.so
ls -l build-package/packages
