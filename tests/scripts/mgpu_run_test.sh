#!/usr/bin/env bash
# Tests the promises of launch/mgpu-run, with the stand-in job ($MGPU_STAND_IN) as the program.
set -uo pipefail
# shellcheck source=tests/scripts/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"
# shellcheck source=launch/supervise.sh
source "$top/launch/supervise.sh"

stand_in=${MGPU_STAND_IN:?the path of the stand-in job}
mgpu_run=$top/launch/mgpu-run

# job NAME KEY=VALUE...: prints the arguments of a stand-in job with a separate run directory
job() { echo "$stand_in" --output "$work/$1" "${@:2}"; }

# start NAME KEY=VALUE...: starts a job in the background and waits for its first steps; sets `pid`
start() {
  output=$work/$1.log
  #   shellcheck disable=SC2046  # words on purpose
  "$mgpu_run" -np 2 $(job "$@") >"$output" 2>&1 </dev/null &
  pid=$!
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(progress "$work/$1/stand_in/run") == '0 ' ]] || return 0
    sleep 0.05
  done
  broken 'the job did not begin'
}

# shellcheck disable=SC2046  # words on purpose
case_exit_code_passes_unchanged() {
  local expected
  for expected in 1 75 79; do
    run "$mgpu_run" -np 2 $(job "code$expected" "exit_code=$expected")
    code_is "$expected"
    says_not 'starting again|mpirun'
  done
}

# shellcheck disable=SC2046
case_ranks_are_counted_without_np() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\nprintf "GPU %%d: NVIDIA H100 (UUID: GPU-x)\\n" 0 1 2\n' >"$work/bin/nvidia-smi"
  chmod +x "$work/bin/nvidia-smi"
  unset CUDA_VISIBLE_DEVICES SLURM_NTASKS
  PATH=$work/bin:$PATH run "$mgpu_run" $(job gpus exit_code=79)
  code_is 79
  says 'no -np: 3 ranks, one for each GPU'
  CUDA_VISIBLE_DEVICES=1,2 run "$mgpu_run" $(job visible exit_code=79)
  says 'no -np: 2 ranks, one for each GPU'
  local named
  for named in '--gpus 0,2' --gpus=4-5 devices.gpus=[1,3]; do
    # shellcheck disable=SC2086  # words on purpose
    PATH=$work/bin:$PATH run "$mgpu_run" $(job named exit_code=79) $named
    says 'no -np: 2 ranks, one for each GPU'
  done
  CUDA_VISIBLE_DEVICES='' PATH=$work/bin:$PATH run "$mgpu_run" $(job none exit_code=79)
  says 'no -np and no GPUs: 2 ranks'
}

case_quiet_runs_do_not_say_where_they_are() {
  output=/dev/null
  names_its_run conf/a.yaml run.name=quiet --resume=auto || broken 'a plain run is taken for quiet'
  local option
  for option in --quiet -q -vq --merge=a --plan; do
    ! names_its_run conf/a.yaml "$option" || broken "$option is taken for a run with a banner"
  done
}

# shellcheck disable=SC2046
case_finished_job_ends_with_zero() {
  run "$mgpu_run" -np 2 $(job short steps=3)
  code_is 0
  says '^finished 3 steps'
}

# shellcheck disable=SC2046
case_input_may_be_a_socket() {
  run python3 -c 'import socket, subprocess, sys
here, there = socket.socketpair()
there.close()
sys.exit(subprocess.run(sys.argv[1:], stdin=here).returncode)' "$mgpu_run" -np 2 $(job sock steps=3)
  code_is 0
}

# shellcheck disable=SC2046
case_killed_rank_is_named_and_the_job_finishes() {
  run "$mgpu_run" -np 4 $(job whole steps=12 step_ms=20)
  run "$mgpu_run" -np 4 $(job killed steps=12 step_ms=20 die_rank=2 die_step=6)
  code_is 0
  says '^mgpu: rank 2 on .* was killed by signal 9 \(Killed\)'
  says '^mgpu: first report of the crash'
  says '^attempt 2: 4 ranks from step 6'
  cmp "$work/whole/stand_in/run/results.txt" "$work/killed/stand_in/run/results.txt" ||
    broken 'another result than the unbroken run'
}

# shellcheck disable=SC2046
case_restart_takes_the_place_of_a_wish_about_resuming() {
  local wish
  for wish in run.resume=never --resume=auto --resume '--set run.resume=never'; do
    # shellcheck disable=SC2086  # one or two words
    run "$mgpu_run" -np 2 $(job "wish${wish//[^a-z]/_}" steps=9 die_rank=1 die_step=4) $wish
    code_is 0
    says '^attempt 2: 2 ranks from step 4'
  done
}

# become EXPECTED...: compares the array `arguments`
become() {
  output=/dev/null
  [[ "${arguments[*]}" == "$*" ]] || broken "'${arguments[*]}' instead of '$*'"
}

case_resume_is_said_once() {
  resume_in /a/run c.yaml --set run.resume=never --set a.b=1 --name 'two words'
  become c.yaml --set a.b=1 --name 'two words' --resume=/a/run
  [[ ${#arguments[@]} == 6 ]] || broken 'an argument was divided'
  resume_in '' c.yaml --set=run.resume=never
  become c.yaml --resume=never
  resume_in /a/run c.yaml run.retry_quarantined=true --set run.retry_quarantined=true a.b=1
  [[ ${arguments[*]} == 'c.yaml a.b=1 --resume=/a/run' ]] ||
    broken "quarantined rows are tried again once: ${arguments[*]}"
  resume_in '' c.yaml
  become c.yaml --resume=auto
}

case_batch_job_resumes_unless_told_otherwise() {
  begin_job c.yaml a.b=1
  become c.yaml a.b=1 --resume=auto
  begin_job c.yaml run.resume=outputs/resume=x
  become c.yaml --resume=outputs/resume=x
  begin_job c.yaml --resume=never
  become c.yaml --resume=never
  SLURM_RESTART_COUNT=1 begin_job c.yaml --resume=never
  become c.yaml --resume=auto
}

# note_after DIR ARGUMENT...: prints the last attempt's note after note_death
note_after() {
  note_death "$work/$1" "${@:2}"
  cat "$work/$1/attempts/0012.died" 2>/dev/null
}

case_who_died_first_is_noted_once() {
  mkdir -p "$work/notes/attempts"
  touch "$work/notes/attempts/0002.json" "$work/notes/attempts/0012.json"
  [[ -z $(note_after notes 2 15) ]] || broken 'TERM is nobody'\''s own death'
  [[ $(note_after notes 2 9) == '2 launcher SIGKILL' ]] || broken 'the launcher says SIGKILL'
  [[ $(note_after notes 3 11) == '2 launcher SIGKILL' ]] || broken 'the first note stays'
  echo '5 watchdog unknown' >"$work/notes/attempts/0012.died"
  [[ $(note_after notes 4 Killed) == '5 watchdog unknown' ]] || broken 'another rank'
  [[ $(note_after notes 5 Killed) == '5 watchdog SIGKILL' ]] || broken 'the signal is added'
  [[ $(progress "$work/notes") == '0 ' ]] || broken 'no progress without a death'
  seq 2 >"$work/notes/quarantine.jsonl"
  [[ $(progress "$work/notes") == '0  2' ]] || broken 'a death that was traced'
  seq 99 >"$work/notes/quarantine.jsonl"
  [[ $(progress "$work/notes") == "0  $max_traced" ]] || broken 'not for ever'
}

case_a_death_in_a_stage_is_noted_there() {
  local run=$work/deaths/2026 stages=$work/deaths/stages place
  for place in "$run" "$stages"/{old,other,guilty}/2026; do
    mkdir -p "$place"/{attempts,working}
    touch "$place/attempts/0003.json"
  done
  touch "$run/job_states.json"
  echo 'n idle' >"$stages/old/2026/working/attempt_0003.rank_0001"
  touch -d '1 hour ago' "$stages/old/2026/working/attempt_0003.rank_0001"
  echo 'n idle' | tee "$run/working/attempt_0003.rank_000"{0,1} >/dev/null
  touch -d '1 minute ago' "$run/working/attempt_0003.rank_0001"
  echo 'n at 7 0 4' >"$stages/other/2026/working/attempt_0003.rank_0000"
  echo 'n at 7 0 4' >"$stages/guilty/2026/working/attempt_0003.rank_0001"
  note_death "$run" 1 9
  [[ $(cat "$run/attempts/0003.died") == '1 launcher SIGKILL' ]] || broken 'the experiment'
  [[ -z $(find "$stages" -name '*.died') ]] || broken 'a lost host is no death of a stage'
  echo '1 watchdog unknown' >"$stages/guilty/2026/attempts/0003.died"
  note_death "$run" 1 9
  [[ $(cat "$stages/guilty/2026/attempts/0003.died") == '1 watchdog SIGKILL' ]] ||
    broken 'the signal is added'
  rm "$stages/guilty/2026/attempts/0003.died" "$run/working/attempt_0003.rank_0000"
  note_death "$run" 1 9
  [[ $(cat "$stages/guilty/2026/attempts/0003.died") == '1 launcher SIGKILL' ]] ||
    broken 'a rank alone on its host'
  [[ $(find "$stages" -name '*.died' | wc -l) == 1 ]] || broken 'other stages'
  # The rank left a mark in a stage that failed, and then worked in another one.
  echo 'n at 7 0 4' >"$stages/other/2026/working/attempt_0003.rank_0001"
  touch -d '30 seconds ago' "$stages/other/2026/working/attempt_0003.rank_0001"
  note_death "$run" 1 9
  [[ ! -e $stages/other/2026/attempts/0003.died ]] || broken 'a stage that failed before'
  [[ $(progress "$run") == '0 ' ]] || broken 'no death was traced'
  seq 2 >"$stages/guilty/2026/quarantine.jsonl"
  [[ $(progress "$run") == '0  2' ]] || broken 'deaths that were traced in a stage'
}

case_stages_of_an_experiment_are_progress() {
  local run=$work/graph/2026 stage=$work/graph/stages/first/2026 before
  mkdir -p "$run" "$stage/ckpt/step_00000001" "$stage/parts"
  [[ $(progress "$run") == '0 ' ]] || broken 'another run'
  touch "$run/job_states.json"
  before=$(progress "$run")
  [[ $before != '0 ' ]] || broken 'a checkpoint of a stage'
  head -c 600 /dev/zero >"$stage/parts/ledger"
  [[ $(progress "$run") != "$before" ]] || broken 'a chunk of a stage'
}

# shellcheck disable=SC2046
case_gives_up_without_progress() {
  run "$mgpu_run" -np 2 $(job again steps=9 die_rank=1 die_step=4 die_attempts=99)
  code_is 76
  says 'giving up after 3 restarts without progress'
  [[ $(grep -c '^attempt' "$output") == 4 ]] || broken 'not 4 attempts'
}

# shellcheck disable=SC2046
case_no_restart_ends_with_76() {
  run "$mgpu_run" -np 2 --no-restart $(job once steps=9 die_rank=0 die_step=4)
  code_is 76
  says 'rank 0 on .* was killed by signal 9'
  says_not 'starting again'
}

# shellcheck disable=SC2046
case_more_ranks_than_cores_is_said() {
  run "$mgpu_run" -np "$(($(nproc) + 1))" $(job crowd steps=2)
  code_is 0
  says 'cores and take turns'
}

case_signals_save() {
  local signal
  for signal in USR1 TERM HUP; do
    start "$signal" steps=1000 step_ms=20
    kill "-$signal" "$pid"
    wait "$pid"
    code=$?
    code_is 75
    says '^stopped at step'
    says_not 'starting again'
  done
}

case_term_has_a_deadline() {
  MGPU_GRACE_S=1 start late steps=1000 step_ms=20
  pkill -STOP -P "$(pgrep -P "$pid" mpirun)"
  kill -TERM "$pid"
  wait "$pid"
  code=$?
  code_is 143
  says 'did not end within 1 s'
}

case_nothing_outlives_a_killed_launcher() {
  start orphan steps=1000 step_ms=20
  local mpirun tries
  mpirun=$(pgrep -P "$pid" mpirun)
  kill -KILL "$pid"
  wait "$pid"
  for ((tries = 0; tries < 100; tries++)); do
    kill -0 "$mpirun" 2>/dev/null || return 0
    sleep 0.1
  done
  broken 'mpirun still runs'
}

# shellcheck disable=SC2046
case_ctrl_c_saves_and_twice_quits() {
  local press=$top/tests/scripts/press_ctrl_c.py
  run python3 "$press" 1 "$mgpu_run" -np 2 $(job one steps=1000 step_ms=20)
  code_is 75
  says 'saving; Ctrl-C again quits now'
  says '^stopped at step'
  run python3 "$press" 2 "$mgpu_run" -np 2 $(job two steps=1000 step_ms=5000)
  code_is 130
}

# shellcheck disable=SC2046
case_ranks_beyond_the_slots_stay_if_no_host_is_lost() {
  run "$mgpu_run" -np 3 --host localhost $(job slots steps=9 step_ms=20 die_rank=1 die_step=4)
  code_is 0
  says 'starting again on 3 ranks'
}

# The nodes of a Slurm job and their slots.
case_slots_of_a_slurm_job() {
  local tasks expected found
  mkdir -p "$work/bin"
  printf '#!/bin/sh\nprintf "n1\\nn2\\nn3\\n"\n' >"$work/bin/scontrol"
  chmod +x "$work/bin/scontrol"
  eval "$(sed -n '/^slurm_hosts()/,/^}/p' "$mgpu_run")"
  while read -r tasks expected; do
    found=$(PATH=$work/bin:$PATH SLURM_JOB_NODELIST='n[1-3]' SLURM_NTASKS_PER_NODE='' \
      SLURM_TASKS_PER_NODE=$tasks slurm_hosts)
    [[ $found == "$expected" ]] || broken "$tasks gives $found"
  done <<<'4(x2),3 n1:4,n2:4,n3:3
8(x3) n1:8,n2:8,n3:8
2,1(x2) n1:2,n2:1,n3:1'
  unset SLURM_TASKS_PER_NODE
  found=$(PATH=$work/bin:$PATH SLURM_JOB_NODELIST='n[1-3]' slurm_hosts)
  [[ $found == n1:1,n2:1,n3:1 ]] || broken "no slots are known: $found"
}

# shellcheck disable=SC2046
case_lost_host_is_left_out() {
  export FAKE_RSH=$work/hosts OMPI_MCA_plm_rsh_agent=$top/tests/scripts/fake_rsh.sh
  mkdir "$FAKE_RSH"
  output=$work/lost.log
  "$mgpu_run" -np 4 --host a:3,b:1 $(job lost divide=1 steps=150 step_ms=20) >"$output" 2>&1 </dev/null &
  pid=$!
  local tries daemon
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(progress "$work/lost/stand_in/run") == '0 ' ]] || break
    sleep 0.05
  done
  touch "$FAKE_RSH/b.down"
  for daemon in $(pgrep -x orted); do
    if tr '\0' '\n' 2>/dev/null <"/proc/$daemon/environ" | grep -qx "TMPDIR=$FAKE_RSH/b"; then
      pkill -KILL -P "$daemon"
      kill -KILL "$daemon"
    fi
  done
  wait "$pid"
  code=$?
  code_is 0
  says '^mgpu: the host b no longer answers'
  says '^mgpu: 3 ranks are refused: trying 2'
  says '^attempt 2: 2 ranks from step'
}

case_wrong_command_lines() {
  local option
  for option in -np -n --host --hostfile --bind-to --map-by -x '--mca io'; do
    # shellcheck disable=SC2086  # words on purpose
    run timeout 5 "$mgpu_run" $option
    code_is 64
    says "${option% *} wants a value"
  done
  run "$mgpu_run" -np two true
  code_is 64
  run "$mgpu_run" -np 2
  code_is 64
  run "$mgpu_run" -np 2 --frobnicate true
  code_is 64
  run "$mgpu_run" -np 2 ./no/such/program
  code_is 66
  run "$mgpu_run" -np 2 --hostfile /no/such/file true
  code_is 66
}

# shellcheck disable=SC2046
case_mpirun_itself_may_speak() {
  run "$mgpu_run" -np 2 --bind-to nonsense $(job nonsense)
  code_is 1
  says '^mpirun: .*nonsense'
}

# Open MPI 4.1 writes only this box if a rank dies before mpirun has registered its start.
case_a_rank_that_mpirun_does_not_name_is_said() {
  mkdir "$work/bin"
  cat >"$work/bin/mpirun" <<'END'
#!/usr/bin/env bash
cat >"${TMPDIR:-/tmp}/output-pid$$-output.txt" <<'BOX'
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
BOX
exit 137
END
  chmod +x "$work/bin/mpirun"
  run env PATH="$work/bin:$PATH" "$mgpu_run" --no-restart -np 2 true
  code_is 76
  says '^mgpu: a rank was killed by signal 9 when mpirun had just started it$'
  says_not 'terminated normally'
}

case_killed_mpirun_leaves_no_rank_and_no_shared_memory() {
  export OMPI_MCA_btl_vader_backing_directory=$work/shm  # other tests leave files in /dev/shm
  mkdir "$work/shm"
  start headless steps=100 step_ms=20
  [[ $(ls "$work/shm") == *vader_segment* ]] || broken 'there is no shared memory to be left'
  kill -KILL "$(pgrep -P "$pid" mpirun)"
  wait "$pid"
  code=$?
  code_is 0
  says '^attempt 2: 2 ranks from step'
  says_not 'Killed'
  [[ -z $(ls "$work/shm") ]] || broken "$(ls "$work/shm") was left behind"
}

finish
