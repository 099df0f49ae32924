#!/usr/bin/env bash
# Runs a real Slurm cluster of four nodes on this machine, for tests; root only.
#
#   cluster.sh start | stop | status
#   cluster.sh env                    prints settings to eval, so that the shell uses this cluster
#   cluster.sh kill-node n3           cuts the power: every process of n3 ends at once
#   cluster.sh start-node n3          starts the node again
#   cluster.sh cut-net n3 | join-net n3
#   cluster.sh run COMMAND...         start, run COMMAND in its environment, always stop
#
# Real parts: munge, slurmctld, slurmd, PMIx through srun, time limits, signals, requeue,
# preemption, node failure. A node is a set of namespaces with a separate host name, address,
# /dev/shm and process table. Simulated parts: processors and memory are declared but not limited, a
# GPU is /dev/null under another name, the network is a bridge, and the file system is this
# machine's.
# Exits with 77 if namespaces or Slurm are missing.
set -euo pipefail

root=${MGPU_CLUSTER_ROOT:-/tmp/mgpu-cluster}
nodes=(n1 n2 n3 n4)
bridge=mgpucl
subnet=10.213.7
first_port=26900
head=$(hostname -s)
PATH=$PATH:/usr/sbin:/sbin

say() { printf 'cluster: %s\n' "$*" >&2; }
skip() { say "skipped: $*"; exit 77; }
pid_of() { cat "$root/run/$1.pid" 2>/dev/null || true; }
lives() { [[ -n ${1:-} ]] && kill -0 "$1" 2>/dev/null; }

wait_for() {  # wait_for SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [[ $SECONDS -lt $end ]] || return 1
    sleep 0.1
  done
}

need() {
  local tool
  [[ $(id -u) == 0 ]] || skip 'this needs root'
  for tool in munged slurmctld slurmd sbatch srun ip nsenter unshare; do
    command -v "$tool" >/dev/null || skip "there is no $tool"
  done
  unshare --uts --mount --pid --ipc --net --fork --mount-proc true 2>/dev/null ||
    skip 'namespaces are not allowed here'
  ip link add "${bridge}t" type bridge 2>/dev/null || skip 'network bridges are not allowed here'
  ip link del "${bridge}t"
}

# --- configuration ---------------------------------------------------------------------------

write_configuration() {
  local node
  mkdir -p "$root"/{etc,run,log,state,spool,tmp,munge,dev}
  chmod 755 "$root"
  chmod 711 "$root/munge"
  general_settings >"$root/etc/slurm.conf"
  {
    echo 'AutoDetect=off'
    echo "NodeName=n[1-4] Name=gpu File=$root/dev/nvidia[0-3]"
  } >"$root/etc/gres.conf"
  : >"$root/etc/plugstack.conf"
  {
    echo '127.0.0.1 localhost'
    echo "$subnet.254 $head"
    for node in "${nodes[@]}"; do echo "$subnet.${node#n} $node"; done
  } >"$root/etc/hosts"
  for node in 0 1 2 3; do mknod -m 666 "$root/dev/nvidia$node" c 1 3; done
}

general_settings() {
  local node
  cat <<EOF
ClusterName=mgpu
SlurmctldHost=$head($subnet.254)
SlurmctldPort=$first_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$root/munge/socket
StateSaveLocation=$root/state
SlurmdSpoolDir=$root/spool/%n
TmpFS=$root/tmp/%n
SlurmctldPidFile=$root/run/slurmctld.own
SlurmdPidFile=$root/run/%n.own
SlurmctldLogFile=$root/log/slurmctld.log
SlurmdLogFile=$root/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$root/log/jobs.txt
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=2
GresTypes=gpu
SlurmdTimeout=12
SlurmctldTimeout=20
MessageTimeout=5
TCPTimeout=2
KillWait=5
ReturnToService=2
JobRequeue=1
MinJobAge=3600
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
EOF
  for node in "${nodes[@]}"; do
    echo "NodeName=$node NodeHostname=$node NodeAddr=$subnet.${node#n} Port=$((first_port + 1))" \
         "CPUs=4 RealMemory=4000 Gres=gpu:4 State=UNKNOWN"
  done
  echo 'PartitionName=batch Nodes=ALL Default=YES State=UP PriorityTier=1 GraceTime=30'
  echo 'PartitionName=urgent Nodes=ALL State=UP PriorityTier=9'
}

environment() {
  echo "export SLURM_CONF=$root/etc/slurm.conf"
  echo 'export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1'
}

# --- nodes -----------------------------------------------------------------------------------

lay_cable() {
  local node=$1 i=${1#n}
  ip netns del "$bridge-$node" 2>/dev/null || true
  ip link del "$bridge-v$i" 2>/dev/null || true
  ip netns add "$bridge-$node"
  ip link add "$bridge-v$i" type veth peer name eth0 netns "$bridge-$node"
  ip link set "$bridge-v$i" master "$bridge" up
  ip -n "$bridge-$node" link set lo up
  ip -n "$bridge-$node" addr add "$subnet.$i/24" dev eth0
  ip -n "$bridge-$node" link set eth0 up
}

# The first process of a node; it adopts orphans, and all processes end with it.
# shellcheck disable=SC2016  # expanded by the node's own shell
node_main='hostname "$1"
mount --bind "$2/etc/hosts" /etc/hosts
mount -t tmpfs -o size=1g tmpfs /dev/shm
export TMPDIR="$2/tmp/$1"
slurmd -D -N "$1" & wait'

# uses nsenter, because `ip netns exec` mounts a fresh /sys without the cgroups that slurmd needs
start_node() {
  local node=$1
  ! lives "$(pid_of "$node")" || { say "$node runs already"; return 1; }
  rm -rf "$root/tmp/$node"
  mkdir -p "$root/tmp/$node" "$root/spool/$node"
  chmod 1777 "$root/tmp/$node"
  lay_cable "$node"
  SLURM_CONF=$root/etc/slurm.conf setsid nsenter --net="/run/netns/$bridge-$node" \
    unshare --uts --mount --pid --ipc --fork --kill-child=KILL --mount-proc \
    bash -c "$node_main" "$node" "$node" "$root" </dev/null >"$root/log/$node.out" 2>&1 &
  echo $! >"$root/run/$node.pid"
  disown
}

kill_node() {
  local pid
  pid=$(pid_of "$1")
  ! lives "$pid" || kill -KILL "$pid"  # kills the node's first process, and with it all others
  rm -f "$root/run/$1.pid"
}

# --- start and stop --------------------------------------------------------------------------

all_idle() { [[ $(sinfo -h -N -p batch -o %t | grep -c '^idle$') == "${#nodes[@]}" ]]; }

# claim: takes over the cluster; removes what a killed one left
claim() {
  need
  ! lives "$(pid_of munged)" || { say "$root is in use: stop it first"; exit 1; }
  stop
}

start() {
  local node
  rm -rf "$root"
  write_configuration
  trap 'say "the start failed, logs are in $root/log"; stop' ERR
  ip link add "$bridge" type bridge
  ip addr add "$subnet.254/24" dev "$bridge"
  ip link set "$bridge" up
  (umask 077 && head -c 1024 /dev/urandom >"$root/munge/key")
  munged --key-file="$root/munge/key" --socket="$root/munge/socket" \
    --pid-file="$root/run/munged.pid" --log-file="$root/log/munged.log" \
    --seed-file="$root/munge/seed"
  export SLURM_CONF=$root/etc/slurm.conf
  setsid slurmctld -D </dev/null >"$root/log/slurmctld.out" 2>&1 &
  echo $! >"$root/run/slurmctld.pid"
  disown
  for node in "${nodes[@]}"; do start_node "$node"; done
  wait_for 30 all_idle
  trap - ERR
}

end_daemon() {
  local pid
  pid=$(pid_of "$1")
  lives "$pid" || return 0
  kill "$pid"
  wait_for 10 bash -c "! kill -0 $pid" || kill -KILL "$pid"
}

stop() {
  trap - ERR
  local node
  for node in "${nodes[@]}"; do kill_node "$node"; done
  end_daemon slurmctld
  end_daemon munged
  for node in "${nodes[@]}"; do ip netns del "$bridge-$node" 2>/dev/null || true; done
  ip link del "$bridge" 2>/dev/null || true
  rm -rf "$root/run"
}

running() { [[ -d $root/run ]] || { say 'not running'; exit 1; }; }

case ${1:-} in
  start) claim; start ;;
  stop) stop ;;
  env) running; environment ;;
  status) running; eval "$(environment)"; sinfo -N -p batch -o '%N %t %E'; squeue ;;
  kill-node) running; kill_node "${2:?node}" ;;
  start-node) running; start_node "${2:?node}" ;;
  cut-net) running; ip link set "$bridge-v${2#n}" down ;;
  join-net) running; ip link set "$bridge-v${2#n}" up ;;
  run)
    shift
    claim
    trap stop EXIT
    trap 'exit 143' TERM INT
    start
    eval "$(environment)"
    "$@" ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64 ;;
esac
