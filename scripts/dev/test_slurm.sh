#!/usr/bin/env bash
# Tests a training that Slurm starts, with Open MPI through PMIx and with Gloo, on machines of ranks_bed.sh: a
# controller and three nodes. During the training one node is lost, with its link, daemon and ranks; later one rank is
# killed. Each time the job must be requeued and resume from its last snapshot on the remaining nodes. The final weights
# must equal those of a single process. Needs root, as ranks_bed.sh does, and Debian's packages slurm-wlm and munge.
# Uses only the Slurm that it starts.
#
#     scripts/dev/test_slurm.sh [--engine=NAME] [--program=build/bin/cortado]
set -euo pipefail
cd "$(dirname "$0")/../.."
mbit=1000 only= program=build/bin/cortado
for word in "$@"; do
  case $word in
    --engine=*) only=${word#*=} ;;
    --program=*) program=${word#*=} ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
program=$(realpath "$program")
. scripts/dev/ranks_bed.sh
export SLURM_CONF=$work/slurm.conf
iterations=400 between_snapshots=40

# Slurm: machine 0 has the controller, 1, 2 and 3 are nodes.

# Nodes declare 2 CPUs each, whatever this machine has, so that two nodes have room for three ranks. A node that does
# not answer is down after 10 s. A requeued job waits until its credential expires, also 10 s. Slurm needs a cgroup
# plugin configured even though it uses none.
write_slurm() {
  echo "CgroupPlugin=cgroup/v1" > "$work/cgroup.conf"
  echo "PMIxCliTmpDirBase=$work/tmp" > "$work/mpi.conf"
  cat > "$SLURM_CONF" <<END
ClusterName=$bed
SlurmctldHost=$(name 0)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket,cred_expire=10
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SlurmdTimeout=10
KillWait=5
ReturnToService=2
NodeName=$(name "[1-3]") CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
END
}

start_munge() {
  head -c 1024 /dev/urandom > "$work/munge.key"
  chmod 400 "$work/munge.key"
  chmod 755 "$work"
  munged --foreground --force --socket="$work/munge.socket" --key-file="$work/munge.key" --pid-file="$work/munge.pid" \
    --seed-file="$work/munge.seed" --log-file="$work/munge.log" > "$work/munge.out" 2>&1 &
  munge=$!
}

start_slurm() {
  rm -rf "$work/state" "$work"/spool.*
  mkdir -p "$work/state" "$work/tmp"
  on 0 slurmctld -D > "$work/slurmctld.out" 2>&1 &
  for node in 1 2 3; do start_node $node; done
  wait_for 60 "the nodes" nodes_idle 3
}

# PMIx uses the same path on all nodes: each node mounts a folder of its own there.
start_node() {
  mkdir -p "$work/spool.$(name "$1")" "$work/tmp.$1"
  on "$1" mount --bind "$work/tmp.$1" "$work/tmp" "&&" slurmd -D -N "$(name "$1")" > "$work/slurmd.out.$1" 2>&1 &
}

# The link goes down before the processes are killed, as in a power loss: they cannot send anything.
lose_node() {
  ip link set "$bed.$1" down
  end_all "$(name "$1")"
}

# Waiting

nodes_idle() { [ "$(on 0 sinfo -h -N -t idle -o %N | wc -l)" = "$1" ]; }
job_is() { [[ $(on 0 squeue -h -j "$job" -t all -o %T) == "$1" ]]; }
restarted() { on 0 scontrol show job "$job" | grep -q "Restarts=$1 "; }
snapshots() { ls "$work"/snap_iter_*.solverstate 2>/dev/null | wc -l; }
has_snapshots() { [ "$(snapshots)" -ge "$1" ]; }

# wait_for SECONDS WHAT COMMAND...: waits until COMMAND succeeds.
wait_for() {
  local begin=$SECONDS
  until "${@:3}"; do
    [ $((SECONDS - begin)) -lt "$1" ] || { echo "waited $1 s for $2"; show; exit 1; }
    sleep 0.5
  done
}

# Prints the state and the logs after a failure.
show() {
  on 0 sinfo || true
  on 0 scontrol show job || true
  tail -n 20 "$work"/*.log "$work"/*.out* "$work"/log 2>/dev/null || true
}

# The training

write_training() {
  cat > "$work/net.prototxt" <<END
layer { name: "data" type: "DummyData" top: "data" top: "target"
        dummy_data_param { shape { dim: 16 dim: 512 } shape { dim: 16 dim: 512 }
                           data_filler { type: "gaussian" } data_filler { type: "constant" value: 0.5 } } }
$(bottom=data
  for top in a b c d e f; do
    echo "layer { name: '$top' type: 'InnerProduct' bottom: '$bottom' top: '$top'"
    echo "        inner_product_param { num_output: 512 weight_filler { type: 'xavier' } } }"
    bottom=$top
  done)
layer { name: "loss" type: "EuclideanLoss" bottom: "f" bottom: "target" top: "loss" }
END
  cat > "$work/solver.prototxt" <<END
net: "net.prototxt" base_lr: 0.0001 momentum: 0.9 lr_policy: "fixed" random_seed: 7 shards: 3 solver_mode: CPU
max_iter: $iterations display: $between_snapshots snapshot: $between_snapshots snapshot_prefix: "snap"
END
}

# The job script of docs/scaling.md, with the options of each engine.
write_job() {
  local mpi=pmix
  [ "$1" != gloo ] || mpi=none
  cat > "$work/job" <<END
#!/bin/bash
#SBATCH --ntasks=3 --nodes=2-3 --requeue --open-mode=append --output=$work/log
export CORTADO_RENDEZVOUS=$work/meeting
srun --mpi=$mpi -K1 "$program" train --solver=solver.prototxt --threads=1 --deterministic --snapshot=auto
code=\$?
echo "srun: exit code \$code"
[ \$code != 5 ] && [ \$code -lt 128 ] || scontrol requeue \$SLURM_JOB_ID
exit \$code
END
}

nodes_of_job() { on 0 squeue -h -j "$job" -t all -o %N; }

# Prints the process ids of the ranks on node $1.
ranks_at() {
  local process
  for process in $(ip netns pids "$(name "$1")"); do
    [ "$(readlink "/proc/$process/exe")" != "$program" ] || echo "$process"
  done
}

kill_rank() { ranks_at "$1" | head -n 1 | xargs kill -KILL; }

# Runs $2... on the job, which must then restart (restart number $1) and write another snapshot.
sees_through() {
  local begin=$SECONDS before
  before=$(snapshots)
  echo "  $(nodes_of_job): ${*:2}"
  "${@:2}"
  wait_for 120 "the queue" restarted "$1"
  echo "  requeued after $((SECONDS - begin)) s"
  wait_for 120 "the job to run" job_is RUNNING
  echo "  running after $((SECONDS - begin)) s on $(nodes_of_job)"
  wait_for 120 "another snapshot" has_snapshots $((before + 1))
}

train_by_slurm() {
  rm -rf "$work"/snap_* "$work/meeting" "$work/log"
  mkdir "$work/meeting"
  write_job "$1"
  job=$(on 0 sbatch --parsable job)
  echo "$1, job $job"
  wait_for 120 "two snapshots" has_snapshots 2
  sees_through 1 lose_node 3
  sees_through 2 kill_rank 2
  wait_for 300 "the job's end" job_is COMPLETED
  grep -ho 'Restoring.*\|Each iteration.*\|srun: exit.*' "$work/log" | sed 's/^/  /'
}

# Fails if the weights do not change during the training: the comparison would prove nothing.
train_alone() {
  rm -f "$work"/snap_*
  (cd "$work" && "$program" train --solver=solver.prototxt --threads=1 --deterministic > alone.log 2>&1)
  mv "$work/snap_iter_$iterations.caffemodel" "$work/alone.caffemodel"
  ! cmp "$work/alone.caffemodel" "$work/snap_iter_$between_snapshots.caffemodel" > "$work/differs" || exit 1
}

try_engine() {
  make_bed 4
  start_slurm
  train_by_slurm "$1"
  cmp "$work/alone.caffemodel" "$work/snap_iter_$iterations.caffemodel"
  echo "  the weights equal those of a single process"
  drop_bed
}

write_slurm
write_training
train_alone
start_munge
trap 'kill $munge; wait $munge || true; drop_bed; rm -rf "$work"' EXIT
for engine in $(engines); do
  [ "$engine" = mpich ] || try_engine "$engine"
done
