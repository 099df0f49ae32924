#!/usr/bin/env bash
# scenarios.sh [--program P] [--conf C] [--result FILE]... [--set KEY=VALUE]... [--golden SUMS]
#              [SCENARIO ...]
#
# Tests the promises of the batch scripts on the cluster of cluster.sh. P runs with configuration C.
# The FILEs in its run directory must have the same bytes after any interruptions. A run with C must
# take about 10 s; --set adds a key to every run. Without options it runs the stand-in job
# ($MGPU_STAND_IN).
# For the program:
#   scenarios.sh --program ./mgpu_spmd --conf tests/slurm/train.yaml \
#     --result results.h5 --result ckpt/last/model.safetensors --set comm.timeout_s=20
# On an overloaded machine Open MPI 4.1.4 under srun sometimes crashes in MPI_Init (its TCP part
# calls a null pointer) or loses a message. Then the batch script must also start again.
#   finish   16 ranks on 4 nodes finish (always runs unless SUMS, the output of sha256sum, are
#            given: the others compare with its FILE)
#   rank     after a killed rank the job restarts and finishes; the message names the rank
#   node     after a killed node the job finishes on the rest; the message names the node
#   limit    before the time limit it saves and is requeued, and the second run finishes
#   cancel   scancel ends it permanently
#   single   single_node.sbatch: a rank is killed, then it finishes
#   late     (only when named, for the stand-in) a start that hangs is ended, the next one finishes
#   preempt  (only when named) a job of a better partition evicts it, then it finishes
#   half     (only when named) like `node`, but the node is killed when half the samples are done
#   published  (only when named, for the program) the job is told to stop when its results are
#            published, and is not queued again
#   net      (only when named) a node loses its network
# The work folder is kept when a scenario fails. Exits with 77 if no cluster can be started.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=launch/supervise.sh
source "$top/launch/supervise.sh"

program=${MGPU_STAND_IN:-$top/build/tests/slurm/stand_in}
conf=$here/stand_in.yaml
results=()
keys=() scenarios=() golden='' original=("$@")
while [[ $# -gt 0 ]]; do
  case $1 in
    --program) program=$(realpath "$2"); shift 2 ;;
    --conf) conf=$(realpath "$2"); shift 2 ;;
    --result) results+=("$2"); shift 2 ;;
    --set) keys+=("$2"); shift 2 ;;
    --golden) golden=$(realpath "$2"); shift 2 ;;
    -*) tell "unknown option $1"; exit 64 ;;
    *) scenarios+=("$1"); shift ;;
  esac
done
[[ ${#results[@]} -gt 0 ]] || results=(results.txt)
[[ ${#scenarios[@]} -gt 0 ]] || scenarios=(rank node limit cancel single)
[[ -x $program ]] || { tell "there is no program $program"; exit 66; }
[[ -n ${MGPU_IN_CLUSTER:-} ]] ||
  MGPU_IN_CLUSTER=1 exec "$here/cluster.sh" run "${BASH_SOURCE[0]}" "${original[@]}"

export MGPU_PROGRAM=$program MGPU_START_LIMIT_S=60
work=$(mktemp -d "${TMPDIR:-/tmp}/mgpu-scenarios.XXXXXX")
cd "$top" || exit 66
[[ -z $golden ]] || cp "$golden" "$work/golden.sum"

# --- a job -----------------------------------------------------------------------------------

# Each scenario runs in a subshell and ends at its first failed check.
broken() {
  tell "BROKEN: $*"
  sed 's/^/    /' "$log" | tail -n 60 >&2
  exit 1
}

# within SECONDS WHAT COMMAND...: waits until COMMAND succeeds
within() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [[ $SECONDS -lt $end ]] || broken "not within time: $what"
    sleep 0.2
  done
}

# submit NAME SCRIPT [SBATCH OPTION...]: sets `job` and `log`
submit() {
  local name=$1 script=$2
  shift 2
  log=$work/$name.log
  : >"$log"
  job=$(sbatch --parsable --cpus-per-task=1 --time=10 --output="$log" "$@" "slurm/$script" \
    "$conf" "${keys[@]}" --name "$name" --output "$work") || broken 'sbatch refused the job'
}

state_is() {
  [[ $(scontrol show job "$job" -o | sed -n 's/.* JobState=\([A-Z]*\).*/\1/p') == "$1" ]]
}

queued_again() { state_is PENDING && scontrol show job "$job" -o | grep -q ' Restarts=1 '; }

# start_again_within SECONDS [CHANGE...]: shortens Slurm's wait of two minutes. Less than KillWait
# would end the new run with signals for the old one.
start_again_within() {
  within "$1" 'the job is queued again' queued_again
  sleep 8
  scontrol update "JobId=$job" StartTime=now "${@:2}"
}

# is_working: past its start, with results to lose
is_working() {
  local directory
  state_is RUNNING && directory=$(run_directory "$log") && [[ -n $directory ]] &&
    [[ $(progress "$directory") != '0 ' ]]
}

finishes_within() {
  within "$1" 'the job completes' state_is COMPLETED
  local directory
  directory=$(run_directory "$log")
  (cd "$directory" && sha256sum "${results[@]}") >"$log.sum" ||
    broken "$directory lacks one of ${results[*]}"
  [[ -e $work/golden.sum ]] || cp "$log.sum" "$work/golden.sum"
  if ! cmp -s "$log.sum" "$work/golden.sum"; then
    diff "$work/golden.sum" "$log.sum" >&2
    broken 'the result differs from that of the unbroken run'
  fi
}

says() { grep -q "$1" "$log" || broken "the log does not say '$1'"; }

# processes_of_ranks [RANK]: lists this job's processes in this machine's process table
processes_of_ranks() {
  local folder name rank='[0-9]*'
  [[ -z ${1:-} ]] || rank=$1
  for folder in /proc/[0-9]*; do
    read -r name 2>/dev/null <"$folder/comm" || continue
    [[ $name == "$(basename "$program" | cut -c1-15)" ]] || continue
    tr '\0' '\n' >"$work/environment" 2>/dev/null <"$folder/environ" || continue
    if grep -qx "SLURM_JOB_ID=$job" "$work/environment" &&
       grep -qx "PMIX_RANK=$rank" "$work/environment"; then
      echo "${folder#/proc/}"
    fi
  done
}

# signal_ranks SIGNAL [RANK]: signals one rank, or all
signal_ranks() {
  local processes
  mapfile -t processes < <(processes_of_ranks "${@:2}")
  [[ ${#processes[@]} -gt 0 ]] || broken "no process of rank ${2:-*} is there"
  kill "-$1" "${processes[@]}" || broken "rank ${2:-*} has ended"
}

# --- the scenarios ---------------------------------------------------------------------------

scenario_finish() {
  submit finish multi_node.sbatch
  finishes_within 300
}

scenario_rank() {
  submit rank multi_node.sbatch
  within 60 'the job works' is_working
  signal_ranks KILL 9
  finishes_within 300
  says 'mgpu: the first to end was rank 9 on n3: Killed'
  says 'mgpu: starting again on 16 ranks'
}

scenario_node() {
  submit node multi_node.sbatch
  within 60 'the job works' is_working
  "$here/cluster.sh" kill-node n3
  finishes_within 300
  says 'mgpu: the node n3 is lost'
  says 'mgpu: starting again on'
  "$here/cluster.sh" start-node n3
  within 60 'the node is back' node_is_idle n3
}

# is_half_way: whether half the samples are done, by the job's last message
is_half_way() {
  local directory told
  state_is RUNNING && directory=$(run_directory "$log") && [[ -n $directory ]] || return 1
  told=$(grep '"event":"gen"' "$directory/events.jsonl" | tail -n 1)
  [[ $told =~ \"samples\":([0-9]+) ]] || return 1
  local samples=${BASH_REMATCH[1]}
  [[ $told =~ \"total\":([0-9]+) && $((2 * samples)) -ge ${BASH_REMATCH[1]} ]]
}

scenario_half() {
  submit half multi_node.sbatch
  within 120 'half of the samples are done' is_half_way
  "$here/cluster.sh" kill-node n3
  finishes_within 300
  says 'mgpu: the node n3 is lost'
  says 'mgpu: starting again on 12 ranks'
  [[ ! -e $(run_directory "$log")/quarantine.jsonl ]] || broken 'rows of the lost node are suspect'
  "$here/cluster.sh" start-node n3
  within 60 'the node is back' node_is_idle n3
}

node_is_idle() { [[ $(sinfo -h -n "$1" -p batch -o %t) == idle ]]; }

scenario_limit() {
  keys=("${keys[@]/#comm.timeout_s=*/comm.timeout_s=300}")  # stopped ranks must not count as lost
  submit limit multi_node.sbatch --signal=B:USR1@90
  within 60 'the job works' is_working
  # Slurm checks only every 30 s: stop the ranks until it has sent the signal. The limit is lowered
  # only now, because Slurm may signal early.
  signal_ranks STOP
  within 20 'Slurm takes the new limit' scontrol update "JobId=$job" TimeLimit=2
  within 100 'Slurm announces the limit' grep -q 'Slurm asks to stop' "$log"
  signal_ranks CONT
  start_again_within 30 TimeLimit=10  # a busy machine would reach 30 s again
  says 'stopped'
  finishes_within 300
}

scenario_cancel() {
  submit cancel multi_node.sbatch
  within 60 'the job works' is_working
  local before
  before=$(grep -c 'starting again' "$log")
  scancel "$job"
  within 30 'the job is cancelled' state_is CANCELLED
  sleep 3
  state_is CANCELLED || broken 'the job came back'
  [[ $(grep -c 'starting again' "$log") == "$before" ]] || broken 'it was started again'
}

scenario_single() {
  submit single single_node.sbatch
  within 60 'the job works' is_working
  signal_ranks KILL 2
  finishes_within 300
  says 'mgpu: rank 2 on n[1-4] was killed by signal 9 (Killed)'
}

scenario_late() {
  keys+=(late_once=1)
  export MGPU_START_LIMIT_S=10
  submit late multi_node.sbatch
  finishes_within 120
  says 'mgpu: the ranks have not begun in 10 s'
  says 'mgpu: starting again on 16 ranks'
}

scenario_preempt() {
  submit preempt multi_node.sbatch
  within 60 'the job works' is_working
  sbatch --partition=urgent --nodes=4 --ntasks-per-node=4 --time=1 --output=/dev/null --wrap=true
  start_again_within 90
  finishes_within 300
}

is_published() {
  local directory
  directory=$(run_directory "$log") && [[ -e $directory/results.h5 ]]
}

scenario_published() {
  # Rank 0 waits a second between results.h5 and the end, so that the signal comes in time.
  export MGPU_TESTING=1 MGPU_FAILPOINT=summary.rename@0:1:sleep
  submit published multi_node.sbatch
  within 200 'the results are published' is_published
  scancel --batch --signal=USR1 "$job"
  finishes_within 60
  says 'Slurm asks to stop'
  scontrol show job "$job" -o | grep -q ' Restarts=0 ' || broken 'the job was queued again'
}

scenario_net() {
  submit net multi_node.sbatch
  within 60 'the job works' is_working
  "$here/cluster.sh" cut-net n4
  finishes_within 300
  says 'mgpu: the node n4 is lost'
  "$here/cluster.sh" join-net n4
  scontrol update NodeName=n4 State=RESUME
  within 60 'the node is back' node_is_idle n4
}

# clear_away: removes what a failed scenario left
clear_away() {
  local node
  scancel -u "$(id -un)"
  for node in n1 n2 n3 n4; do "$here/cluster.sh" start-node "$node" 2>/dev/null; done
  within 60 'all nodes are idle' all_idle
}

all_idle() { [[ $(sinfo -h -N -p batch -o %t | grep -c '^idle$') == 4 ]]; }

failed=0
[[ -n $golden ]] || scenarios=(finish "${scenarios[@]}")
for scenario in "${scenarios[@]}"; do
  declare -F "scenario_$scenario" >/dev/null || { tell "no scenario $scenario"; exit 64; }
  began=$SECONDS
  if ("scenario_$scenario"); then
    echo "scenario $scenario: passed in $((SECONDS - began)) s"
  else
    echo "scenario $scenario: FAILED after $((SECONDS - began)) s"
    failed=1
    [[ $scenario != finish ]] || break  # nothing to compare with
    clear_away
  fi
done
if [[ $failed == 0 ]]; then rm -rf "$work"; else tell "logs are in $work"; fi
exit "$failed"
