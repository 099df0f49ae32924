#!/usr/bin/env bash
# launch/collect_training_data.sh [CONF] [KEY=VALUE ...]
#
# Collects training data for process reward models on one or several GPUs, and writes it as files of
# PyTorch: {task}_{method}_{time}.pt, or with _gpu_I for each GPU and _merged for all. Arguments
# after CONF (conf/collect/latent/collect.yaml) go to the program. A failed or stopped collection
# continues with the same command. Without GPUs, NUM_GPUS counts CPU ranks.
#
# The settings below can be edited, or given as variables of the environment.
set -uo pipefail

: "${ENABLE_MULTI_GPU:=false}"  # true: a rank for each of NUM_GPUS; false: one rank
: "${NUM_GPUS:=4}"
: "${GPU_IDS=0,1,2,3}"          # as many as NUM_GPUS, separated by commas
: "${MAX_SAMPLES:=}"            # questions at most; empty: as CONF has it
: "${BATCH_SIZE:=}"             # collect.batch_size; empty: as CONF has it
: "${NUM_PATHS:=}"              # collect.num_paths; empty: as CONF has it
: "${OUTPUT_DIR:=prm_data}"     # where the files are put, in the project's folder
: "${LOG_DIR:=output/multi_gpu_logs}"
: "${MGPU_PROGRAM:=}"           # a built program; empty: build it first

started_in=$PWD
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=launch/supervise.sh
source "$top/launch/supervise.sh"

log=/dev/null  # the orchestrator's log

note() { printf '%s\n' "$*" | tee -ia "$log"; }

# refuse CODE MESSAGE HELP...: ends the script
refuse() {
  local code=$1
  { printf '✗ ERROR: %s\n' "$2"; printf '  %s\n' "${@:3}"; } | tee -ia "$log" >&2
  exit "$code"
}

# --- settings --------------------------------------------------------------------------------

check_numbers() {
  local name
  for name in NUM_GPUS MAX_SAMPLES BATCH_SIZE NUM_PATHS; do
    [[ -z ${!name} || ${!name} =~ ^[1-9][0-9]*$ ]] ||
      refuse 78 "$name is a number above 0, not '${!name}'" "for example $name=4"
  done
  [[ $ENABLE_MULTI_GPU =~ ^(true|false)$ ]] ||
    refuse 78 "ENABLE_MULTI_GPU is true or false, not '$ENABLE_MULTI_GPU'"
}

# check_gpus: compares GPU_IDS with NUM_GPUS and with the GPUs of this machine, which it counts in
# `gpus`
check_gpus() {
  local id ids
  GPU_IDS=${GPU_IDS//[[:space:]]/}
  [[ $GPU_IDS =~ ^[0-9]+(,[0-9]+)*$ ]] ||
    refuse 78 'No GPU IDs provided' "GPU_IDS is '$GPU_IDS'; for example GPU_IDS=0,1,2,3"
  IFS=, read -ra ids <<<"$GPU_IDS"
  [[ ${#ids[@]} == "$NUM_GPUS" ]] ||
    refuse 78 'Number of GPU IDs does not match num_gpus' \
      "NUM_GPUS is $NUM_GPUS, and GPU_IDS has ${#ids[@]}: $GPU_IDS"
  gpus=$(visible_gpus)
  [[ $gpus != 0 ]] || return 0
  for id in "${ids[@]}"; do
    [[ $((10#$id)) -lt $gpus ]] ||
      refuse 78 "GPU $id is not available. Valid range: [0, $((gpus - 1))]" \
        "change GPU_IDS, which is $GPU_IDS"
  done
  [[ -z $(printf '%s\n' "${ids[@]}" | sort -n | uniq -d) ]] ||
    refuse 78 'a GPU ID comes twice' "change GPU_IDS, which is $GPU_IDS"
  arguments+=(--gpus "$GPU_IDS")
}

# --- phases ----------------------------------------------------------------------------------

find_program() {
  if [[ -z $MGPU_PROGRAM ]]; then
    bash -euo pipefail -c 'source launch/setup.sh; set_up; configure; build mgpu_spmd' || exit
    MGPU_PROGRAM=$top/mgpu_spmd
  fi
  [[ -x $MGPU_PROGRAM ]] || refuse 66 "there is no program '$MGPU_PROGRAM'"
}

# collect: runs the job, and sets `code` and `directory`. A stop signal is passed on: the run is
# saved, and this script reports it
collect() {
  local program=("$MGPU_PROGRAM") said pid
  [[ $ENABLE_MULTI_GPU == false ]] || program=(launch/rank_logs.sh "$logs" "$MGPU_PROGRAM")
  said=$(wc -l <"$log")
  set -m  # a job with its own process group can still trap Ctrl-C
  launch/mgpu-run -np "$ranks" "${program[@]}" "${arguments[@]}" >>"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  trap 'interrupted=yes; kill -INT "$pid"' INT
  trap 'interrupted=yes; kill -TERM "$pid"' TERM HUP
  tail -n "+$((said + 1))" -s 0.1 -f --pid="$pid" "$log" &
  wait_out "$pid"
  wait "$!"
  directory=$(run_directory "$log")
}

# tell_failures: names the ranks that failed. All ranks end together if the program finds an error,
# and a killed rank has the code 128 + signal
tell_failures() {
  local rank signal killed=no
  while read -r rank signal; do
    note "[Multi-GPU] GPU $rank process failed with return code $((128 + signal))"
    killed=yes
  done < <(sed -n 's/^mgpu: rank \([0-9]*\) on .* was killed by signal \([0-9]*\).*/\1 \2/p' "$log")
  [[ $killed == no && ! $code =~ ^[01]$ ]] || return 0
  for ((rank = 0; rank < ranks; rank++)); do
    note "[Multi-GPU] GPU $rank process failed with return code $code"
  done
}

check_end() {
  [[ $code != 75 ]] || { note 'stopped: the same command continues'; exit 75; }
  [[ $ENABLE_MULTI_GPU == false ]] || tell_failures
  [[ $code =~ ^[01]$ ]] ||
    refuse "$code" 'the collection is not complete' "see $logs" \
      "the same command continues it; what was collected is in ${directory:-no run directory}"
  [[ -n $directory ]] ||
    refuse 66 'the program did not name its run directory' 'do not give it --quiet'
}

# aggregate: writes the files, and copies them to OUTPUT_DIR. Sets `exported` to yes or no
aggregate() {
  local text
  exported=yes
  text=$("$MGPU_PROGRAM" --export pt "$directory" "collect.pt_parts=$ranks" 2>&1) || exported=no
  note "$text"
  [[ $text != *'the run has no solutions'* ]] ||
    refuse 65 '[Multi-GPU Aggregation] No data collected from any GPU' "see $logs"
  mkdir -p "$OUTPUT_DIR" || refuse 73 "cannot make the folder '$OUTPUT_DIR'"
  [[ $exported == no ]] || cp -f "$directory"/prm_data/* "$OUTPUT_DIR"/ ||
    refuse 74 "cannot copy the files to '$OUTPUT_DIR'" "they are in $directory/prm_data"
}

# verify: checks that the file with all questions has arrived, and counts the files
verify() {
  local made name suffix=''
  [[ $ranks == 1 ]] || suffix=_merged
  made=("$directory"/prm_data/*"$suffix".pt)
  name=$(basename "${made[0]}")
  [[ $exported == yes && -s $OUTPUT_DIR/$name ]] || refuse 66 'Merged file not found' "see $logs" \
    "write it again: $MGPU_PROGRAM --export pt $directory collect.pt_parts=$ranks"
  made=("$directory"/prm_data/*)
  note "✓ $OUTPUT_DIR/$name, one of ${#made[@]} files (.pt and .json)"
}

# --- main ------------------------------------------------------------------------------------

case ${1:-} in
  -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *.yaml | *.yml)
    conf=$1
    [[ ! -e $started_in/$1 ]] || conf=$started_in/$1
    shift ;;
  *) conf=conf/collect/latent/collect.yaml ;;
esac
cd "$top" || exit
arguments=("$conf" "$@")
[[ -z $MAX_SAMPLES ]] || arguments+=("data.max_samples=$MAX_SAMPLES")
[[ -z $BATCH_SIZE ]] || arguments+=("collect.batch_size=$BATCH_SIZE")
[[ -z $NUM_PATHS ]] || arguments+=("collect.num_paths=$NUM_PATHS")

check_numbers
ranks=1
if [[ $ENABLE_MULTI_GPU == true ]]; then
  ranks=$NUM_GPUS
  begun=$(date +%Y%m%d_%H%M%S)
  check_gpus
fi
find_program
if [[ $ENABLE_MULTI_GPU == true ]]; then
  logs=$LOG_DIR/$begun
  mkdir -p "$logs" || refuse 73 "cannot make the folder '$logs'"
  log=$logs/orchestrator_$begun.log
  note "[Multi-GPU] $ranks ranks; logs in $logs"
  [[ $gpus != 0 ]] || note "[Multi-GPU] no GPUs here: NUM_GPUS=$NUM_GPUS counts CPU ranks"
else
  log=$(mktemp)
  logs='the messages above'
  trap 'rm -f "$log"' EXIT
fi
collect
check_end
aggregate
verify
exit "$code"  # 1: more questions failed than output.max_failed allows
