# Virtual machines for ranks, to be sourced by a script that runs in the tree's root. Each is a network namespace with a
# host name of its own; a bridge connects them over links of limited bandwidth. Needs root, iproute2 and a kernel with
# veth and tbf. The sourcing script sets:
#
#     mbit      a link's bandwidth in each direction, Mbit/s
#     program   the program cortado, with its engines in the same folder
#     only      the engine to test; empty: all that are installed

bed=ct$$  # prefix of all namespaces and devices
work=$(mktemp -d)

# A rank's machine.

name() { echo "$bed-$1"; }

# In place of ssh for the MPI launchers: flags, a host name, a command.
cat > "$work/agent" <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do shift; done
host=$1; shift
exec ip netns exec "$host" unshare --uts bash -c "hostname $host; cd $BED_FOLDER; $*"
END
chmod +x "$work/agent"
export BED_FOLDER=$work

on() { "$work/agent" "$(name "$1")" "${*:2}"; }

limit() { tc "${@:2}" qdisc add dev "$1" root tbf rate "${mbit}mbit" burst 256kb latency 50ms; }

add_machine() {
  local host end="$bed.$1"
  host=$(name "$1")
  ip netns add "$host"
  ip link add "$end" type veth peer name eth0 netns "$host"
  ip link set "$end" master "$bed" up
  ip -n "$host" addr add "10.77.0.$(($1 + 1))/24" dev eth0
  ip -n "$host" link set eth0 up
  ip -n "$host" link set lo up
  limit "$end"
  limit eth0 -n "$host"
  mkdir -p "/etc/netns/$host"
  ln -s "$work/hosts" "/etc/netns/$host/hosts"
  echo "10.77.0.$(($1 + 1)) $host" >> "$work/hosts"
}

make_bed() {
  ip link add "$bed" type bridge
  ip link set "$bed" up
  echo "127.0.0.1 localhost" > "$work/hosts"
  for ((i = 0; i < $1; ++i)); do add_machine "$i"; done
}

# Waits until no process is left, since a dying process may still write.
end_all() {
  local left
  while left=$(ip netns pids "$1") && [ -n "$left" ]; do
    kill -KILL $left 2>/dev/null || true
    sleep 0.1
  done
}

# The link is deleted first: a deleted namespace releases its end of it later.
drop_bed() {
  local host
  for host in $(ip netns list | grep -o "^$bed-[0-9]*"); do
    end_all "$host"
    ip link delete "$bed.${host##*-}"
    ip netns delete "$host"
    rm -rf "/etc/netns/$host"
  done
  ip link delete "$bed" 2>/dev/null || true
}

trap 'drop_bed; rm -rf "$work"' EXIT

# Starting ranks: launch ENGINE RANKS COMMAND...

# The names of $1 machines, each followed by $2, separated by commas.
listed() { for ((i = 0; i < $1; ++i)); do echo "$(name "$i")$2"; done | paste -sd,; }

by_openmpi() {
  on 0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --mca plm_rsh_agent "$work/agent" \
    --bind-to none --host "$(listed "$1" :1)" -n "$1" "${@:2}"
}

# MPICH's UCX would detect that all ranks share one machine, and use shared memory.
by_mpich() {
  on 0 UCX_TLS=tcp,self mpirun.mpich -launcher ssh -launcher-exec "$work/agent" -hosts "$(listed "$1" "")" -n "$1" \
    "${@:2}"
}

by_gloo() {
  local meeting
  meeting=$(mktemp -d -p "$work")
  for ((i = $1 - 1; i >= 0; --i)); do
    on "$i" CORTADO_RANK="$i" CORTADO_RANKS="$1" CORTADO_ENGINE=gloo CORTADO_RENDEZVOUS="$meeting" "${@:2}" &
  done
  wait
}

launch() { "by_$1" "${@:2}"; }

engines() {
  local engine
  for engine in ${only:-openmpi mpich gloo}; do
    [ -e "$(dirname "$program")/libcortado_$engine.so" ] || continue
    [ $engine = gloo ] || command -v mpirun.$engine >/dev/null || continue
    echo $engine
  done
}

# Writes net.prototxt, a net with 50 MB of weights.
write_net() {
  cat > "$work/net.prototxt" <<END
layer { name: "data" type: "DummyData" top: "data"
        dummy_data_param { shape { dim: 64 dim: 1024 } data_filler { type: "gaussian" } } }
$(bottom=data
  for top in a b c d e f g h i j k l; do
    echo "layer { name: '$top' type: 'InnerProduct' bottom: '$bottom' top: '$top'"
    echo "        inner_product_param { num_output: 1024 weight_filler { type: 'xavier' } } }"
    bottom=$top
  done)
layer { name: "loss" type: "Reduction" bottom: "l" top: "loss" loss_weight: 1e-9 }
END
}
