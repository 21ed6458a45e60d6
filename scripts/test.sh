#!/usr/bin/env bash
# Installs what is missing, builds and tests.
#   scripts/test.sh                        everything, in build/
#   scripts/test.sh layers cli             the tests of these folders of tests/
#   scripts/test.sh layers -k AbsVal       those of them whose name matches
#   scripts/test.sh --dev layers           in build-dev/: for changing one file after another (docs/building.md)
#   scripts/test.sh --list [...]           their names
#   scripts/test.sh --slowest              the twenty that took longest in the last run
#   scripts/test.sh --cuda                 with the CUDA code, which is else built where a GPU is seen
#   scripts/test.sh --levels               programs for every CPU level, in build-levels/, each tested where it runs
#   scripts/test.sh --sanitize             under AddressSanitizer and UndefinedBehaviorSanitizer, in build-sanitize/
#   scripts/test.sh --tsan                 what has threads, under ThreadSanitizer, in build-tsan/
set -euo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '3,12s/^# //p' "$0"; }

preset=release pattern='' list=no folders=() options=() select=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit ;;
    -k) pattern=${2?-k needs a pattern}; shift ;;
    --list) list=yes ;;
    --slowest) list=slowest ;;
    --dev | --ci | --levels) preset=${1#--} ;;
    --sanitize) preset=sanitize; select=(--label-exclude whole-program) ;;
    --tsan) preset=tsan; select=(--label-exclude 'whole-program|one-thread') ;;
    --cuda) options=(-DCORTADO_CUDA=ON) ;;
    -*) echo "test.sh: there is no $1" >&2; usage >&2; exit 2 ;;
    *) [ -d "tests/$1" ] || { echo "test.sh: there is no tests/$1" >&2; exit 2; }; folders+=("$1") ;;
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

# The programs of tests in C++; tests in Python use all programs.
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

configure() {
  mkdir -p "$build"
  cmake --preset "$preset" "${options[@]}" >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; return 1; }
  grep -E 'CUDA code|not found|no .* found' "$build/configure.log" || true
}

compile() {
  cmake --build --preset "$preset" --parallel "$jobs" --target "${targets[@]}"
}

run_levels() { # of each level that this CPU has
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
    as=(setarch -R)  # the kernel's random addresses may lie where ThreadSanitizer's own memory has to
  fi
  "${as[@]}" ctest --preset "$preset" --parallel "$jobs" "${select[@]}"
}

stage install scripts/install_deps.sh test
stage configure configure
stage build compile
if [ $list = yes ]; then ctest --preset "$preset" -N "${select[@]}"; exit; fi
[ $preset != ci ] || stage clang scripts/dev/check_clang.py
scripts/dev/test_venv.sh "$build" || echo "test.sh: PyPI is out of reach: tests that need it are skipped"
stage test run
