#!/usr/bin/env bash
# Takes one rank's link down during a training, for each installed engine, on machines of ranks_bed.sh. All ranks must
# end within the stall limit and 15 s, with exit code 5, and name the rank that they waited for. Prints when and how
# each rank ended. Needs root, as ranks_bed.sh does.
#
#     scripts/dev/test_lost_link.sh [--limit=5] [--engine=NAME] [--program=build/bin/cortado] [RANKS...]  (2 3)
set -euo pipefail
cd "$(dirname "$0")/../.."
mbit=1000 limit=5 only= program=build/bin/cortado numbers=()
for word in "$@"; do
  case $word in
    --limit=*) limit=${word#*=} ;;
    --engine=*) only=${word#*=} ;;
    --program=*) program=${word#*=} ;;
    [1-9]*) numbers+=("$word") ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
[ ${#numbers[@]} -gt 0 ] || numbers=(2 3)
program=$(realpath "$program")
. scripts/dev/ranks_bed.sh

# Runs a rank's process, and writes its output and exit code to files. Forwards SIGTERM; the process dies with it.
cat > "$work/noted" <<'END'
#!/bin/bash
cd "$BED_FOLDER"
setpriv --pdeathsig KILL "$@" 2> "said.$(hostname)" &
trap 'kill $!' TERM
code=0
wait $! || code=$?
[ $code -lt 128 ] || wait $! || code=$?
echo $code > "code.$(hostname)"
END
chmod +x "$work/noted"

write_training() {
  write_net
  echo 'net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: 100000 display: 1' > "$work/solver.prototxt"
}

said_by() { cat "$work/said.$(name "$1")" 2>/dev/null; }

wait_for_training() {
  for ((i = 0; i < 600; ++i)); do
    ! said_by 0 | grep -q 'Iteration 3 ' || return 0
    sleep 0.1
  done
  echo "test_lost_link.sh: the training did not reach iteration 3:"
  said_by 0
  exit 1
}

# Succeeds if rank $1 still has a process.
runs() { ip netns pids "$(name "$1")" | sed 's/.*/\/proc\/&\/exe/' | xargs -r readlink | grep -qx "$program"; }

seconds_since() { awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $1 }"; }

# Prints the exit code of $1, a machine's name or "launcher".
code_of() { cat "$work/code.$1" 2>/dev/null || echo none; }

# Prints the last error of rank $1.
last_words() { said_by "$1" | grep -o 'nothing has moved.*\|error: .*waited for.*' | tail -n 1 || true; }

says_whom() { last_words "$1" | grep -q "waited for rank"; }

mark() { [ "$1" = ok ] || wrong=$((wrong + 1)); }

# Prints how rank $1 ended, $2 s after the link went down. An MPI launcher kills the other ranks when one ends. Then it
# is enough that one rank that the launcher reaches (all but the last) has named the rank that it waited for.
report_rank() {
  local code rank good=WRONG
  code=$(code_of "$(name "$1")")
  ! { [ "$code" = 5 ] && says_whom "$1"; } || good=ok
  for ((rank = 0; rank < ranks - 1 && $1 < ranks - 1; ++rank)); do
    ! { [[ $code =~ ^(none|143)$ ]] && says_whom $rank; } || good=ok
  done
  echo "  rank $1: ended after $2 s, exit code ${code/none/none (killed)}, '$(last_words "$1")': $good"
  mark $good
}

# Reports each rank as it ends. drop_bed kills ranks that do not end in time.
watch_ranks() {
  local begin=$1 rank left
  left=$(seq 0 $((ranks - 1)))
  while [ -n "$left" ] && [ "$(seconds_since "$begin" | cut -d. -f1)" -lt $((limit + 15)) ]; do
    for rank in $left; do
      runs "$rank" && continue
      report_rank "$rank" "$(seconds_since "$begin")"
      left=$(echo "$left" | grep -vx "$rank" || true)
    done
    sleep 0.1
  done
  for rank in $left; do
    echo "  rank $rank: still runs after $(seconds_since "$begin") s: WRONG"
    mark WRONG
  done
}

# Open MPI's launcher waits for its daemon on the lost machine. That is reported; drop_bed kills it.
report_launcher() {
  local code good=ok
  for ((i = 0; i < 50; ++i)); do
    code=$(code_of launcher)
    [ "$code" = none ] || break
    sleep 0.1
  done
  [[ $code = 5 || $engine$code = openmpinone ]] || good=WRONG
  echo "  launcher: exit code ${code/none/none (still runs)}: $good"
  mark $good
}

start_ranks() {
  local code=0
  launch "$engine" "$ranks" "$work/noted" "$program" train solver.prototxt --threads=1 "--engine=$engine" \
    "--stall-limit=$limit" > "$work/launcher" 2>&1 || code=$?
  echo $code > "$work/code.launcher"
}

lose_link() {
  echo "$engine, $ranks ranks, the link of rank $((ranks - 1)) goes down:"
  rm -f "$work"/said.* "$work"/code.*
  start_ranks &
  wait_for_training
  ip link set "$bed.$((ranks - 1))" down
  watch_ranks "$(date +%s.%N)"
  [ "$engine" = gloo ] || report_launcher
}

wrong=0
write_training
for ranks in "${numbers[@]}"; do
  for engine in $(engines); do
    make_bed "$ranks"
    lose_link
    drop_bed
  done
done
[ "$wrong" = 0 ]
