#!/usr/bin/env bash
# Measures the tests' coverage of the folders below, in build-coverage/.
#   scripts/coverage.sh [OPTION OF CTEST...]
# Prints a table; build-coverage/pages/index.html shows each file and line. Tests of kernels, and of layers other than
# data layers, are left out. Branches that only exceptions take are not counted.
set -euo pipefail
cd "$(dirname "$0")/.."
folders=(proto data engine/graph solvers formats serving/http serving/server serving/studio)
tests='^(proto|data|graph|solvers|net|cli|onnx|hdf5|leveldb|http|server|studio|runs|tools|opencv)[.]'
tests+='|^layers[.].*(Data|Label|Video|Window|Volume|Clip)'
scripts/install_deps.sh test gcovr
mkdir -p build-coverage/pages
cmake --preset coverage >build-coverage/configure.log || { cat build-coverage/configure.log >&2; exit 1; }
programs=$(ninja -C build-coverage -t targets all | sed -n 's/^\(bin\/[^:]*\): .*/\1/p' |
  grep -vE '_bench_|_(kernels|core|ranks|models|faults|device)_tests$')
ninja -C build-coverage $programs
scripts/dev/test_venv.sh build-coverage || echo "coverage.sh: PyPI cannot be reached: gRPC is not tested"
find build-coverage -name '*.gcda' -delete
ctest --preset coverage --parallel "$(nproc)" --tests-regex "$tests" "$@" || echo "coverage.sh: some tests failed"

gcovr --root . --object-directory build-coverage --filter "($(IFS='|'; echo "${folders[*]}"))/" \
  --exclude '.*pb\.(cc|h)' --exclude-throw-branches --exclude-unreachable-branches --gcov-ignore-parse-errors \
  --json build-coverage/counts.json --html-details build-coverage/pages/index.html build-coverage
/usr/bin/python3 scripts/dev/coverage_table.py build-coverage/counts.json "${folders[@]}"
