#!/usr/bin/env bash
# Installs missing packages, builds, and runs the tests.
#   scripts/test.sh                        all tests, in build/
#   scripts/test.sh layers cli             the tests in these folders of tests/
#   scripts/test.sh layers -k AbsVal       those whose name matches AbsVal
#   scripts/test.sh --dev layers           in build-dev/, which recompiles fastest after a change (docs/building.md)
#   scripts/test.sh --list [...]           print the tests' names only
#   scripts/test.sh --slowest              print the twenty slowest tests of the last run
#   scripts/test.sh --cuda                 with the CUDA code; default: if the machine has a GPU
#   scripts/test.sh --levels               programs for all CPU levels, in build-levels/; tests those that this CPU runs
#   scripts/test.sh --sanitize             under AddressSanitizer and UndefinedBehaviorSanitizer, in build-sanitize/
#   scripts/test.sh --tsan                 tests of multi-threaded code under ThreadSanitizer, in build-tsan/
#   scripts/test.sh --tsan --slice=2/6     the second of six parts of the tests, each about as long
set -euo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '3,13s/^# //p' "$0"; }

preset=release pattern='' slice='' list=no folders=() options=() select=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit ;;
    -k) pattern=${2?-k needs a pattern}; shift ;;
    --list) list=yes ;;
    --slowest) list=slowest ;;
    --dev | --ci | --levels) preset=${1#--} ;;
    --sanitize) preset=sanitize; select=(--label-exclude whole-program) ;;
    --tsan) preset=tsan; select=(--label-exclude 'whole-program|one-thread') ;;
    --slice=[1-9]*/[1-9]*) slice=${1#--slice=} ;;
    --cuda) options=(-DCORTADO_CUDA=ON) ;;
    -*) echo "test.sh: unknown flag $1" >&2; usage >&2; exit 2 ;;
    *) [ -d "tests/$1" ] || { echo "test.sh: tests/$1 does not exist" >&2; exit 2; }; folders+=("$1") ;;
  esac
  shift
done

stage() { # stage NAME COMMAND...: runs it, and prints how long it took
  local name=$1 begin=$SECONDS
  shift
  "$@"
  echo "test.sh: $name: $((SECONDS - begin)) s"
}

build=build
[[ $preset =~ ^(release|ci)$ ]] || build=build-$preset
jobs=$(nproc)

if [ $list = slowest ]; then
  awk '/ Testing: /{name = $3} /^Test time = /{printf "%8.1f s  %s\n", $4, name}' \
    "$build/Testing/Temporary/LastTest.log" | sort -rn | head -20
  exit
fi

# C++ tests need their own program only; Python tests run all programs.
targets=()
for folder in "${folders[@]}"; do
  if compgen -G "tests/$folder/*_test.c[cu]" >/dev/null; then targets+=("cortado_${folder}_tests"); fi
  if compgen -G "tests/$folder/*.py" >/dev/null || compgen -G "tests/$folder/*.test" >/dev/null; then targets+=(all); fi
done
[ ${#targets[@]} -gt 0 ] || targets=(all)
if [ ${#folders[@]} -gt 0 ]; then
  pattern="^($(IFS='|'; echo "${folders[*]}"))[.].*$pattern"
fi
[ -z "$pattern" ] || select+=(--tests-regex "$pattern")
[ -z "$slice" ] || select+=(--tests-information "${slice/\//,,}")  # every N-th test: slices take equally long

configure() {
  mkdir -p "$build"
  cmake --preset "$preset" "${options[@]}" >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; return 1; }
  grep -E 'CUDA code|not found|no .* found' "$build/configure.log" || true
}

compile() {
  cmake --build --preset "$preset" --parallel "$jobs" --target "${targets[@]}"
}

run_levels() { # tests each level that this CPU supports
  local level tests
  for level in v2 v3 v4 amx; do
    CORTADO_CPU_LEVEL=$level build-levels/bin/cortado devices >/dev/null 2>&1 || continue
    tests=build-levels/levels/$level
    [ -d "$tests" ] || tests=build-levels
    echo "CPU level $level"
    CORTADO_CPU_LEVEL=$level ctest --test-dir "$tests" --output-on-failure --no-tests=error --parallel "$jobs" \
      "${select[@]}"
  done
}

run() {
  local as=()
  if [ $preset = levels ]; then run_levels; return; fi
  if [ $preset = tsan ] && setarch -R true 2>/dev/null; then
    as=(setarch -R)  # ASLR may place mappings in ThreadSanitizer's shadow memory
  fi
  # One more than cores: many tests wait for other programs.
  "${as[@]}" ctest --preset "$preset" --parallel $((jobs + 1)) "${select[@]}"
}

stage install scripts/install_deps.sh test
stage configure configure
stage build compile
if [ $list = yes ]; then ctest --preset "$preset" -N "${select[@]}"; exit; fi
[ $preset != ci ] || stage clang scripts/dev/check_clang.py
[ $preset != ci ] || stage alone scripts/dev/check_alone.py --minutes=4
[ $preset != ci ] || stage onednn scripts/dev/check_onednn.py "$build"
scripts/dev/test_venv.sh "$build" || echo "test.sh: PyPI cannot be reached: tests that need its packages are skipped"
stage test run
