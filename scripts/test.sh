#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test.
#   scripts/test.sh               all tests, Release, in build/
#   scripts/test.sh --sanitize    all but parity and OpenCV, under AddressSanitizer and UndefinedBehaviorSanitizer,
#                                 in build-sanitize/
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
select=()
case "${1-}" in
  '') ;;
  --sanitize) preset=sanitize; select=(--label-exclude whole-program) ;;
  *) echo "usage: scripts/test.sh [--sanitize]" >&2; exit 2 ;;
esac

scripts/install_deps.sh
jobs=$(nproc)
cmake --preset "$preset" -DCORTADO_TESTS=ON
cmake --build --preset "$preset" --parallel "$jobs"
ctest --preset "$preset" --parallel "$jobs" "${select[@]}"
