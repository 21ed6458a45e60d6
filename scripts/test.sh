#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test.
#   scripts/test.sh               all tests, Release, in build/
#   scripts/test.sh --cuda        the same with the CUDA code, which is else built where a GPU is seen
#   scripts/test.sh --sanitize    all but parity and OpenCV, under AddressSanitizer and UndefinedBehaviorSanitizer,
#                                 in build-sanitize/
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
select=()
options=(-DCORTADO_TESTS=ON)
case "${1-}" in
  '') ;;
  --cuda) options+=(-DCORTADO_CUDA=ON) ;;
  --sanitize) preset=sanitize; select=(--label-exclude whole-program) ;;
  *) echo "usage: scripts/test.sh [--cuda | --sanitize]" >&2; exit 2 ;;
esac

scripts/install_deps.sh
jobs=$(nproc)
cmake --preset "$preset" "${options[@]}"
cmake --build --preset "$preset" --parallel "$jobs"
ctest --preset "$preset" --parallel "$jobs" "${select[@]}"
