# shellcheck shell=bash
# Shared by mgpu-run and the batch scripts in slurm/: decides when to restart a world that ended,
# and reports its end. Both find the run directory in the program's output.

max_restarts=3  # in a row without progress
# At most this many deaths of a run directory count as progress because they were traced to samples.
# Two bad rows of a chunk cause four. After eight, the machine itself is the likely cause.
max_traced=8
failures=0      # consecutive restarts without progress
last_progress=''

tell() { printf 'mgpu: %s\n' "$*" >&2; }

# copy_head FILE: passes its input on immediately, and copies the first 64 KiB into FILE. These
# contain the banner with the run directory, and a progress bar cannot fill the disk.
copy_head() { tee -p >(head -c 65536 >"$1"); }

# died CODE: succeeds if a rank died or hung (76, a signal, a lost host). A program that was asked
# to stop, found invalid input or gave up is not restarted.
died() { [[ $1 == 76 || ($1 -ge 129 && $1 != 130 && $1 != 143) ]]; }

# refused CODE NOW WANTED: succeeds if the program refused the number of ranks, and NOW is below
# WANTED because nodes were lost
refused() { [[ $1 == 78 && $2 -lt $3 && $2 -gt 1 ]]; }

# next_smaller NUMBER: prints the largest power of two below NUMBER. Some runs accept only numbers
# of ranks that divide train.lanes, such as 16, 8, 4
next_smaller() {
  local power=1
  while [[ $((2 * power)) -lt $1 ]]; do power=$((2 * power)); done
  echo "$power"
}

# run_directory FILE...: prints the directory that the program's output named last
run_directory() {
  sed -n 's/^run directory  *//p' "$@" 2>/dev/null | tail -n 1
}

# names_its_run ARGUMENT...: succeeds if the program prints its run directory at the start, which
# excludes quiet runs and commands that start no run
names_its_run() {
  local argument
  for argument in "$@"; do
    [[ ! $argument =~ ^(--quiet|--merge|--export|--compare|--check|--plan|-[a-z]*q) ]] || return 1
  done
}

# find_places DIR: fills `places` with the run directory, and for an experiment with those of its
# stages, which hold its work
find_places() {
  places=("$1")
  [[ ! -e $1/job_states.json ]] || places+=("${1%/*}"/stages/*/2*)
}

# progress DIR: prints a value that changes when a chunk was journaled, a checkpoint published, or a
# death traced to samples, because more deaths by the same sample quarantine it. A ledger of less
# than 512 bytes does not count: each attempt begins a ledger, and such a small one has no chunk
# yet.
progress() {
  local bytes newest deaths place places
  find_places "$1"
  bytes=$(find "${places[@]/%//parts}" -type f -size +511c -printf '%s\n' 2>/dev/null | paste -sd+)
  newest=$(find "${places[@]/%//ckpt}" -name 'step_????????' -prune -printf '%p\n' 2>/dev/null |
    sort | paste -sd' ')
  deaths=$(for place in "${places[@]}"; do wc -l <"$place/quarantine.jsonl"; done 2>/dev/null |
    awk -v most="$max_traced" '{sum += $1 < most ? $1 : most} END {if (sum) print sum}')
  echo "$((${bytes:-0})) $newest${deaths:+ $deaths}"
}

# last_attempt DIR: prints the number of the last attempt of a run directory, such as 0012
last_attempt() {
  find "$1/attempts" -name '[0-9]*.json' -printf '%f\n' 2>/dev/null | sort -n | tail -n 1 |
    sed 's/\.json$//'
}

# note_death DIR RANK SIGNAL: tells the next attempt which rank died first by itself, and by which
# signal (a number or name). The ranks may have recorded the death already, but they cannot see
# SIGKILL. If the rank died in a stage of an experiment, the note is for the next attempt of the
# stage, too.
note_death() {
  local cause is_alone=no mark newest place places world_mark
  case $3 in
    [0-9]*) cause=SIG$(kill -l "$3" 2>/dev/null) || return 0 ;;
    Killed | 'Out Of Memory') cause=SIGKILL ;;
    *) cause=unknown ;;
  esac
  [[ $cause != SIGTERM && $cause != SIGINT ]] || return 0
  note_in "$1" "$2" "$cause" yes
  # The rank worked in the stage where its mark is newest. Marks of stages that are older than that
  # of the experiment are from an earlier world.
  world_mark=$(mark_of "$1" "$2") newest=$world_mark
  find_places "$1"
  for place in "${places[@]:1}"; do
    mark=$(mark_of "$place" "$2")
    [[ ! $mark -nt $newest ]] || newest=$mark
  done
  [[ $newest != "$world_mark" ]] || return 0
  ! is_alone_on_host "$world_mark" || is_alone=yes
  note_in "${newest%/working/*}" "$2" "$cause" "$is_alone"
}

# mark_of DIR RANK: prints the file that says what a rank worked on in the last attempt
mark_of() { printf '%s/working/attempt_%s.rank_%04d\n' "$1" "$(last_attempt "$1")" "$2"; }

# note_in DIR RANK CAUSE IS_FIRST: writes the note of a run directory. If ranks have written it, adds
# the cause. If they have not, and IS_FIRST is yes, writes a new one.
note_in() {
  local attempt note
  attempt=$(last_attempt "$1")
  [[ -n $attempt ]] || return 0
  note=$1/attempts/$attempt.died
  if grep -qsx "$2 watchdog unknown" "$note"; then
    printf '%s watchdog %s\n' "$2" "$3" >"$note"
  elif [[ ! -s $note && $4 == yes ]]; then
    printf '%s launcher %s\n' "$2" "$3" >"$note"
  fi
}

# is_alone_on_host MARK: whether the rank with this mark is the only one on its host. Otherwise a
# rank of the host notes deaths in stages, unless the whole host is lost.
is_alone_on_host() {
  local host
  read -r host _ 2>/dev/null <"$1" || return 1
  [[ $(grep -ls "^$host " "${1%.rank_*}".rank_*) == "$1" ]]
}

# visible_gpus: prints how many GPUs a process of this host can use
visible_gpus() {
  case ${CUDA_VISIBLE_DEVICES-all} in
    all) nvidia-smi -L 2>/dev/null | grep -c '^GPU ' ;;
    '' | -1 | NoDevFiles) echo 0 ;;
    *) tr , '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c . ;;
  esac
}

# may_restart DIR: decides after a crash whether to start again. If so, it waits 1, 2 or 4 s;
# otherwise it reports that it gives up, and fails
may_restart() {
  local now
  now=$1:$(progress "$1")
  [[ $now == "$last_progress" ]] || failures=0
  last_progress=$now
  failures=$((failures + 1))
  if [[ $failures -gt $max_restarts ]]; then
    tell "giving up after $max_restarts restarts without progress"
    return 1
  fi
  sleep "$((1 << (failures - 1)))"
}

tell_restart() {
  tell "starting again on $1 ranks (restart $failures of $max_restarts without progress)"
}

# tell_asked WHAT_THEN: reports that Slurm sent a signal to a batch script
tell_asked() { tell "Slurm asks to stop: saving, then $1"; }

# The words that start a program with the stop signals blocked. Its main() unblocks them, so they
# are not lost while the loader still runs.
# shellcheck disable=SC2034  # for the scripts that source this
hold=()
# shellcheck disable=SC2034
! env --block-signal=USR1 true 2>/dev/null || hold=(env '--block-signal=USR1,USR2,TERM,INT')

scratch=''  # a folder for notes, which the script that sources this makes

# ask_to_stop PID: sends USR1 to the launcher PID, mpirun or srun. Launchers die of signals in their
# first moments, so it waits for the file begun, which a rank makes at the start of main()
ask_to_stop() {
  touch "$scratch/asked"
  pass_stop_on "$1"
}

pass_stop_on() {
  [[ ! -e $scratch/begun ]] || ! mv "$scratch/asked" "$scratch/passed" 2>/dev/null ||
    kill -USR1 "$1" 2>/dev/null
}

# pass_stop_on_later PID: waits until a rank has begun, then passes a request to stop on to PID
pass_stop_on_later() {
  trap '' INT TERM HUP USR1
  while kill -0 "$1" 2>/dev/null; do
    [[ ! -e $scratch/begun ]] || { pass_stop_on "$1"; return; }
    sleep 0.1
  done
}

# wait_out PID: waits until PID ends, and sets `code` to its exit code. A trap that sets
# interrupted=yes interrupts the wait, which is then repeated.
wait_out() {
  local status
  code=''
  while :; do
    interrupted=no
    wait "$1" 2>/dev/null  # bash would say "Killed" and the whole command
    status=$?
    [[ -n $code && $status == 127 ]] || code=$status  # 127: it had ended during the trap
    [[ $interrupted == yes ]] || break
  done
}

# tell_crash DIR SINCE SAID: prints the first crash file that is newer than the file SINCE; only its
# name if the ranks have printed the same, in the file SAID
tell_crash() {
  local first cause
  first=$(find "$1/crash" -name 'rank_*.txt' -size +0c -newer "$2" -printf '%T@ %p\n' 2>/dev/null |
    sort -n | sed -n '1s/^[^ ]* //p')
  [[ -n $first ]] || return 0
  cause=$(sed -n '/^--- what/{n;p;q}' "$first")
  if [[ -n $cause ]] && grep -qF -- "$cause" "$3"; then
    tell "first report of the crash: $first"
    return
  fi
  tell "first report of the crash ($first):"
  sed '/^--- stack/,$d; s/^/mgpu:   /' "$first" >&2
}

# split_resume ARGUMENT...: puts arguments unrelated to resuming into `others`. `wish` becomes what
# the rest requests: auto, never, a run directory, or '' for nothing. `again` becomes the request to
# retry quarantined rows.
split_resume() {
  others=() wish='' again=()
  while [[ $# -gt 0 ]]; do
    case $1 in
      --resume) wish=auto ;;
      --resume=* | run.resume=* | --set=run.resume=*) wish=${1#*resume=} ;;
      run.retry_quarantined=* | --set=run.retry_quarantined=*) again+=("$1") ;;
      --set)
        case ${2:-} in
          run.resume=*) wish=${2#*=}; shift ;;
          run.retry_quarantined=*) again+=("$1" "$2"); shift ;;
          *) others+=("$1") ;;
        esac ;;
      *) others+=("$1") ;;
    esac
    shift
  done
}

# resume_in DIR ARGUMENT...: fills `arguments`, with DIR replacing the caller's options about
# resuming. The caller's options stay if the world ended before it named its run directory.
# Quarantined rows are retried once.
resume_in() {
  local directory=$1
  split_resume "${@:2}"
  directory=${directory//\$/\$\$}  # the program takes $NAME in a path for a variable
  # shellcheck disable=SC2034
  arguments=("${others[@]}" "--resume=${directory:-${wish:-auto}}")
}

# begin_job ARGUMENT...: fills `arguments` for a batch script. A requeued job resumes from what it
# saved, even if it was told to begin a new run.
begin_job() {
  split_resume "$@"
  [[ ${SLURM_RESTART_COUNT:-0} == 0 || $wish != never ]] || wish=auto
  [[ ${SLURM_RESTART_COUNT:-0} == 0 ]] || again=()
  # shellcheck disable=SC2034
  arguments=("${others[@]}" "${again[@]}" "--resume=${wish:-auto}")
}

# slurm_node_answers NODE: succeeds if its slurmd accepts a connection. Slurm itself takes minutes
# to notice a lost node.
slurm_node_answers() {
  local record address port
  record=$(scontrol show node "$1" -o) || return 1
  address=$(sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p' <<<"$record")
  port=$(sed -n 's/.* Port=\([0-9]*\).*/\1/p' <<<"$record")
  timeout 3 bash -c ": >/dev/tcp/$address/${port:-6818}" 2>/dev/null
}
