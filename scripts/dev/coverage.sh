#!/usr/bin/env bash
# Runs the tests with a build that counts, in build-coverage/, and says how much of proto, data, graph and solvers ran:
#   scripts/dev/coverage.sh [ctest's own options]
# Lines and branches for each folder; every file, and each line that never ran, in build-coverage/pages/index.html.
# Edges that exceptions alone take do not count as branches.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/install_deps.sh gcovr
cmake --preset coverage
cmake --build --preset coverage --parallel "$(nproc)"
find build-coverage -name '*.gcda' -delete
ctest --preset coverage --parallel "$(nproc)" "$@" || echo "coverage.sh: some tests failed"

mkdir -p build-coverage/pages
count() { # the files whose path is like $1; more of gcovr's options
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
