#!/usr/bin/env bash
# Measures the exchange of ranks over a virtual network: one network namespace per rank, joined by a bridge over links
# with limited bandwidth in both directions. First the sum of 25 MiB against its ideal, and overlapped with a backward
# pass, for each installed engine; then an iteration of a training against the estimate of `cortado plan --ranks`.
# Requires root, iproute2 and a kernel with veth and tbf.
#
#     bench/bench_ranks.sh [--mbit=1000] [--rounds=7] [--engine=NAME] [--program=build/bin/cortado] [RANKS...]  (2 4)
set -euo pipefail
cd "$(dirname "$0")/.."
mbit=1000 rounds=7 only= program=build/bin/cortado numbers=()
for word in "$@"; do
  case $word in
    --mbit=*) mbit=${word#*=} ;;
    --rounds=*) rounds=${word#*=} ;;
    --engine=*) only=${word#*=} ;;
    --program=*) program=${word#*=} ;;
    [1-9]*) numbers+=("$word") ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
[ ${#numbers[@]} -gt 0 ] || numbers=(2 4)
program=$(realpath "$program")
. scripts/dev/ranks_bed.sh

# Measurements

write_training() {
  write_net
  cat > "$work/solver.prototxt" <<END
net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed"
max_iter: $((4 * rounds)) display: $rounds snapshot_after_train: false
END
}

# Milliseconds per iteration from the log's displays, without the first two.
step_of() {
  grep -o 'Iteration [0-9]* ([0-9.e+-]* iter/s' | tail -n +3 |
    awk '{ sub(/\(/, "", $3); sum += 1000 / $3 } END { printf "%.1f", sum / NR }'
}

estimated_by() { "$@" --threads=1 --json 2>/dev/null | sed -n 's/.*"step_ms": \([0-9]*\.[0-9]\).*/\1/p'; }

compare_step() {
  local ranks=$1 engine=$2 measured given found
  measured=$(launch "$engine" "$ranks" "$program" train solver.prototxt --threads=1 "--engine=$engine" 2>&1 | step_of)
  given=$(cd "$work" && estimated_by "$program" plan solver.prototxt "--ranks=$ranks" "--bandwidth=${mbit}Mbit")
  found=$(estimated_by launch "$engine" "$ranks" "$program" plan solver.prototxt --measure "--engine=$engine")
  echo "$engine, $ranks ranks: an iteration takes $measured ms;" \
    "estimated $given ms for ${mbit} Mbit/s, $found ms with --measure"
}

write_training
for ranks in "${numbers[@]}"; do
  make_bed "$ranks"
  for engine in $(engines); do
    launch "$engine" "$ranks" "$(dirname "$program")/cortado_bench_exchange" "$engine" 25 "$rounds" "$mbit"
  done
  for engine in $(engines); do compare_step "$ranks" "$engine"; done
  drop_bed
done
