#!/usr/bin/env bash
# Tests the messages and files of launch/collect_training_data.sh, with a stand-in for the program.
set -uo pipefail
# shellcheck source=tests/scripts/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"

# with_gpus NUMBER: lets nvidia-smi list so many GPUs in this case
with_gpus() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\nseq -f "GPU %%g: NVIDIA H100 (UUID: GPU-x)" 0 %d\n' "$(($1 - 1))" \
    >"$work/bin/nvidia-smi"
  [[ $1 != 0 ]] || printf '#!/bin/sh\nexit 9\n' >"$work/bin/nvidia-smi"
  chmod +x "$work/bin/nvidia-smi"
  export PATH=$work/bin:$PATH
}

# program RUN EXPORT: makes a program that runs the text RUN to collect and EXPORT to export. Both
# may use $work and $rank
program() {
  cat >"$work/program" <<END
#!/usr/bin/env bash
work=$work rank=\${OMPI_COMM_WORLD_RANK:-0}
printf '%s\n' "\$*" >>"$work/calls"
if [[ \$1 == --export ]]; then
  $2
  exit
fi
[[ \$rank != 0 ]] || printf 'run directory  %s\n' "$work/run"
echo "output of rank \$rank"
echo "error of rank \$rank" >&2
$1
END
  chmod +x "$work/program"
}

# start NAME=VALUE...: starts the script with these settings
start() {
  run env MGPU_PROGRAM="$work/program" OUTPUT_DIR="$work/prm_data" LOG_DIR="$work/logs" \
    ENABLE_MULTI_GPU=true NUM_GPUS=2 GPU_IDS=0,1 "$@" "$top/launch/collect_training_data.sh"
}

# refused NAME=VALUE... -- MESSAGE: starts the script, which must refuse the settings
refused() {
  start "${@:1:$#-2}"
  code_is 78
  says "^✗ ERROR: ${!#}"
  [[ ! -e $work/calls && ! -e $work/logs ]] || broken 'it began to collect'
}

# writes NAME...: prints commands that export files of these names
writes() {
  # shellcheck disable=SC2016  # $work is for the stand-in
  printf 'mkdir -p "$work/run/prm_data"; '
  # shellcheck disable=SC2016
  printf 'echo data >"$work/run/prm_data/%s"; ' "$@"
}

case_settings_are_checked_before_any_work() {
  with_gpus 2
  program true true
  refused GPU_IDS=0,2 -- 'GPU 2 is not available\. Valid range: \[0, 1\]$'
  refused GPU_IDS=08,1 -- 'GPU 08 is not available\. Valid range: \[0, 1\]$'
  refused NUM_GPUS=4 -- 'Number of GPU IDs does not match num_gpus$'
  refused GPU_IDS= -- 'No GPU IDs provided$'
  refused GPU_IDS=0,x -- 'No GPU IDs provided$'
  refused GPU_IDS=1,1 -- 'a GPU ID comes twice$'
  refused NUM_GPUS=two -- "NUM_GPUS is a number above 0, not 'two'$"
  refused ENABLE_MULTI_GPU=yes -- "ENABLE_MULTI_GPU is true or false, not 'yes'$"
}

case_ranks_have_logs_and_files_are_copied() {
  with_gpus 2
  program true "$(writes a_merged.pt a_merged_metadata.json a_gpu_0.pt a_gpu_1.pt)"
  start MAX_SAMPLES=10 BATCH_SIZE=1 NUM_PATHS=20 GPU_IDS='0, 1'
  code_is 0
  says "^✓ $work/prm_data/a_merged.pt, one of 4 files"
  grep -qF -- "latent/collect.yaml data.max_samples=10 collect.batch_size=1 collect.num_paths=20 --gpus 0,1" \
    "$work/calls" || broken "$(cat "$work/calls")"
  grep -qxF -- "--export pt $work/run collect.pt_parts=2" "$work/calls" || broken 'no export'
  [[ $(ls "$work/prm_data") == $'a_gpu_0.pt\na_gpu_1.pt\na_merged.pt\na_merged_metadata.json' ]] ||
    broken 'other files'
  local logs=("$work"/logs/*)
  for rank in 0 1; do
    grep -qx "output of rank $rank" "${logs[0]}/gpu_${rank}_stdout.log" || broken 'no stdout log'
    [[ $(cat "${logs[0]}/gpu_${rank}_stderr.log") == "error of rank $rank" ]] || broken 'no stderr log'
  done
  grep -q 'a_merged.pt' "${logs[0]}/orchestrator_${logs[0]##*/}.log" || broken 'no orchestrator log'
}

case_one_gpu_has_files_without_a_suffix() {
  with_gpus 0
  program true "$(writes a.pt a_metadata.json)"
  start ENABLE_MULTI_GPU=false
  code_is 0
  says "^✓ $work/prm_data/a.pt, one of 2 files"
  says_not 'Multi-GPU'
  [[ $(grep -c . "$work/calls") == 2 && ! -e $work/logs ]] || broken "$(cat "$work/calls")"
}

case_hidden_gpus_do_not_count() {
  with_gpus 4
  program true "$(writes a_merged.pt)"
  refused CUDA_VISIBLE_DEVICES=2,3 GPU_IDS=2,3 -- 'GPU 2 is not available\. Valid range: \[0, 1\]$'
  start CUDA_VISIBLE_DEVICES=
  code_is 0
  says 'no GPUs here: NUM_GPUS=2 counts CPU ranks$'
}

case_without_gpus_ranks_are_counted() {
  with_gpus 0
  program true "$(writes a_merged.pt)"
  start GPU_IDS=4,5
  code_is 0
  says '^\[Multi-GPU\] no GPUs here: NUM_GPUS=2 counts CPU ranks$'
  ! grep -q -- --gpus "$work/calls" || broken 'it chose GPUs'
}

case_failed_ranks_are_named() {
  with_gpus 0
  program 'exit 65' true
  start
  code_is 65
  says '^\[Multi-GPU\] GPU 0 process failed with return code 65$'
  says '^\[Multi-GPU\] GPU 1 process failed with return code 65$'
  says "what was collected is in $work/run"
  [[ ! -e $work/prm_data ]] || broken 'it wrote files'
}

# mpirun names a rank that dies after its start was registered, which takes some time.
# shellcheck disable=SC2016
case_a_killed_rank_is_named() {
  with_gpus 0
  program 'sleep 2; [[ $rank == 1 && ! -e $work/died ]] || { sleep 1; exit; }
    touch $work/died; kill -9 $$' "$(writes a_merged.pt)"
  start
  code_is 0
  says '^\[Multi-GPU\] GPU 1 process failed with return code 137$'
  says_not 'GPU 0 process failed'
}

case_too_many_failed_questions_are_the_exit_code() {
  with_gpus 0
  program 'exit 1' "$(writes a_merged.pt)"
  start
  code_is 1
  says "^✓ $work/prm_data/a_merged.pt"
}

case_files_that_cannot_be_copied_are_said() {
  with_gpus 0
  program true "$(writes a_merged.pt) mkdir -p $work/prm_data/a_merged.pt/a_merged.pt"
  start
  code_is 74
  says "cannot copy the files to '$work/prm_data'"
}

# shellcheck disable=SC2016
case_a_stop_signal_reaches_the_launcher() {
  with_gpus 0
  program 'touch $work/begun; sleep 30' true
  local shell=$BASHPID
  (until [[ -e $work/begun ]]; do sleep 0.05; done
    pkill -TERM -P "$shell" -f launch/collect_training_data.sh) &
  start MGPU_GRACE_S=1
  code_is 143
  says 'did not end within 1 s'
  says 'the same command continues it'
}

case_nothing_collected_is_said() {
  with_gpus 0
  program 'exit 1' 'echo "error[E143]: the run has no solutions" >&2; exit 64'
  start
  code_is 65
  says '\[Multi-GPU Aggregation\] No data collected from any GPU$'
}

case_a_missing_merged_file_is_said() {
  with_gpus 0
  program true "$(writes a_gpu_0.pt)"
  start
  code_is 66
  says '^✗ ERROR: Merged file not found$'
  says "write it again: $work/program --export pt $work/run collect.pt_parts=2"
}

case_a_failed_export_is_not_taken_for_an_older_one() {
  with_gpus 0
  program true "$(writes a_merged.pt)"
  start
  code_is 0
  program true 'exit 74'
  start
  code_is 66
  says '^✗ ERROR: Merged file not found$'
}

case_a_stopped_collection_continues_with_the_same_command() {
  with_gpus 0
  program 'exit 75' true
  start
  code_is 75
  says '^stopped: the same command continues$'
  says_not 'process failed'
}

finish
