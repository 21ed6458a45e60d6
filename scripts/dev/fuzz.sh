#!/usr/bin/env bash
# Builds the fuzzers (tests/fuzz) with clang in build-fuzz/, and runs them one after the other:
#   scripts/dev/fuzz.sh [--seconds=60] [--keep] [TARGET...]
# Each starts with the seeds of tests/fuzz/seeds.py and the corpus of earlier runs (tests/fuzz/corpus). Inputs that
# crash a fuzzer are written to build-fuzz/findings. --keep adds inputs that reach new code to tests/fuzz/corpus,
# minimised. build-fuzz/executions has the executions of all runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=60 keep=no targets=()
for word in "$@"; do
  case $word in
    --seconds=*) seconds=${word#*=} ;;
    --keep) keep=yes ;;
    -*) echo "usage: scripts/dev/fuzz.sh [--seconds=N] [--keep] [TARGET...]" >&2; exit 2 ;;
    *) targets+=("$word") ;;
  esac
done
command -v clang++ > /dev/null ||
  scripts/install_deps.sh clang 'libclang-rt-14-dev|libclang-rt-19-dev' 'libomp-14-dev|libomp-19-dev'
mkdir -p build-fuzz/findings
cmake --preset fuzz > build-fuzz/configure.log || { cat build-fuzz/configure.log; exit 1; }
ninja -C build-fuzz fuzzers
[ -x build/bin/cortado ] || { cmake --preset release; ninja -C build bin/cortado; }
if [ tests/fuzz/seeds.py -nt build-fuzz/seeds ] || [ build/bin/cortado -nt build-fuzz/seeds ]; then
  /usr/bin/python3 tests/fuzz/seeds.py . build/bin/cortado build-fuzz/seeds > /dev/null
fi
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -a build-fuzz/fuzz/fuzz_* | sed 's/^fuzz_//')

failed=()
for target in "${targets[@]}"; do
  found=build-fuzz/corpus/$target kept=tests/fuzz/corpus/$target log=build-fuzz/$target.log
  mkdir -p "$found" "$kept" "build-fuzz/seeds/$target"
  words=() longest=65536 most=2048
  case $target in *_text | net_run | augment) words=(-dict=build-fuzz/seeds/words.dict) ;; esac
  case $target in *_text | net_run | runs) longest=3000 ;; esac  # longer texts are slower and reach no more code
  [ "$target" != archive ] || most=4200  # LZMA allocates a dictionary of up to 4 GiB, and fills only what it reads
  build-fuzz/fuzz/fuzz_"$target" "${words[@]}" -max_total_time="$seconds" -entropic=0 -timeout=10 \
    -malloc_limit_mb=$most -rss_limit_mb=2048 -max_len=$longest -print_final_stats=1 \
    -artifact_prefix=build-fuzz/findings/"$target"- "$found" "$kept" "build-fuzz/seeds/$target" \
    > "$log" 2>&1 || failed+=("$target")
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo "$target ${executions:-0}" >> build-fuzz/executions
  printf '%-14s %10s executions, %s\n' "$target" "${executions:-?}" "$(grep -oE 'cov: [0-9]+' "$log" | tail -1)"
  if [ $keep = yes ]; then
    build-fuzz/fuzz/fuzz_"$target" -merge=1 -max_len=4096 "$kept" "$found" >> "$log" 2>&1 || true
  fi
done
awk '{n += $2} END {printf "%d executions in all runs\n", n}' build-fuzz/executions
if [ ${#failed[@]} -gt 0 ]; then
  echo "findings: ${failed[*]}; inputs are in build-fuzz/findings"
  exit 1
fi
