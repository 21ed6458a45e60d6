#!/usr/bin/env bash
# Measures the tests' coverage of proto, data, graph and solvers, in build-coverage/.
#   scripts/dev/coverage.sh [OPTION OF CTEST...]
# Prints line and branch coverage of each folder; build-coverage/pages/index.html shows each file and line. Branches
# that only exceptions take are not counted.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/install_deps.sh gcovr
cmake --preset coverage
cmake --build --preset coverage --parallel "$(nproc)"
find build-coverage -name '*.gcda' -delete
ctest --preset coverage --parallel "$(nproc)" "$@" || echo "coverage.sh: some tests failed"

mkdir -p build-coverage/pages
count() { # count REGEX [OPTION OF GCOVR...]: the files whose path matches
  local filter=$1
  shift
  gcovr --root . --object-directory build-coverage --filter "$filter" --exclude '.*pb\.(cc|h)' \
    --exclude-throw-branches --exclude-unreachable-branches --gcov-ignore-parse-errors "$@" build-coverage
}
for folder in proto data engine/graph solvers; do
  count "$folder/" --json "build-coverage/${folder##*/}.json" --print-summary |
    sed -n "s/^\(lines\|branches\): /$folder: \1 /p"
done
count '(proto|data|engine/graph|solvers)/' --html-details build-coverage/pages/index.html
