#!/usr/bin/env bash
# Builds the fuzzers (tests/fuzz) with clang in build-fuzz/, and runs them one after the other:
#   scripts/fuzz.sh [--seconds=60] [--jobs=1] [TARGET...]
# Each begins with files of ours and with what earlier runs found (tests/fuzz/corpus). What ends a fuzzer is left in
# build-fuzz/findings; --keep adds what reached new code to tests/fuzz/corpus, minimised.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=60 jobs=1 keep=no targets=()
for word in "$@"; do
  case $word in
    --seconds=*) seconds=${word#*=} ;;
    --jobs=*) jobs=${word#*=} ;;
    --keep) keep=yes ;;
    -*) echo "usage: scripts/fuzz.sh [--seconds=N] [--jobs=N] [--keep] [TARGET...]" >&2; exit 2 ;;
    *) targets+=("$word") ;;
  esac
done
command -v clang++ > /dev/null || scripts/install_deps.sh clang libclang-rt-14-dev libomp-14-dev
cmake --preset fuzz > build-fuzz.log || { cat build-fuzz.log; exit 1; }
rm -f build-fuzz.log
ninja -C build-fuzz fuzzers
[ -x build/bin/cortado ] || { cmake --preset release -DCORTADO_TESTS=OFF; ninja -C build bin/cortado; }
/usr/bin/python3 tests/fuzz/seeds.py . build/bin/cortado build-fuzz/seeds > /dev/null
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s .cc -a tests/fuzz/targets/*.cc)

mkdir -p build-fuzz/findings
failed=()
for target in "${targets[@]}"; do
  found=build-fuzz/corpus/$target kept=tests/fuzz/corpus/$target log=build-fuzz/$target.log
  mkdir -p "$found" "$kept" "build-fuzz/seeds/$target"
  if ! build-fuzz/fuzz/fuzz_"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
      -fork="$jobs" -artifact_prefix=build-fuzz/findings/"$target"- "$found" "$kept" "build-fuzz/seeds/$target" \
      > "$log" 2>&1; then
    failed+=("$target")
  fi
  printf '%-14s %s\n' "$target" "$(grep -E '^#[0-9]+' "$log" | tail -1)"
  if [ $keep = yes ]; then
    build-fuzz/fuzz/fuzz_"$target" -merge=1 -max_len=4096 "$kept" "$found" >> "$log" 2>&1
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "findings: ${failed[*]}; inputs are in build-fuzz/findings"
  exit 1
fi
