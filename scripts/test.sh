#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test.
#   scripts/test.sh               all tests, Release, in build/
#   scripts/test.sh --cuda        the same with the CUDA code, which is else built where a GPU is seen
#   scripts/test.sh --levels      programs for every CPU level, in build-levels/, and the tests of each that runs here
#   scripts/test.sh --sanitize    all but parity and OpenCV, under AddressSanitizer and UndefinedBehaviorSanitizer,
#                                 in build-sanitize/
#   scripts/test.sh --tsan        what has threads, under ThreadSanitizer, in build-tsan/
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
select=()
options=(-DCORTADO_TESTS=ON)
case "${1-}" in
  '') ;;
  --cuda) options+=(-DCORTADO_CUDA=ON) ;;
  --levels) preset=levels ;;
  --sanitize) preset=sanitize; select=(--label-exclude whole-program) ;;
  --tsan) preset=tsan; select=(--label-exclude 'whole-program|one-thread') ;;
  *) echo "usage: scripts/test.sh [--cuda | --levels | --sanitize | --tsan]" >&2; exit 2 ;;
esac

scripts/install_deps.sh
jobs=$(nproc)
cmake --preset "$preset" "${options[@]}"
cmake --build --preset "$preset" --parallel "$jobs"
scripts/test_venv.sh || echo "test.sh: PyPI is out of reach: tests that need it are skipped"
if [ "$preset" = levels ]; then
  for level in v2 v3 v4 amx; do
    CORTADO_CPU_LEVEL=$level build-levels/bin/cortado devices >/dev/null 2>&1 || continue  # beyond this CPU
    tests=build-levels/levels/$level
    [ -d "$tests" ] || tests=build-levels
    echo "CPU level $level"
    CORTADO_CPU_LEVEL=$level ctest --test-dir "$tests" --output-on-failure --no-tests=error --parallel "$jobs"
  done
  exit
fi
as=()
if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then
  as=(setarch -R)  # the kernel's random addresses may lie where ThreadSanitizer's own memory has to
fi
"${as[@]}" ctest --preset "$preset" --parallel "$jobs" "${select[@]}"
