#!/usr/bin/env bash
# launch/test.sh [--all | --long] [--write-times] [ctest arguments]
#
# Takes a bare Debian 12 machine to the tests' verdict: installs what is missing, builds, runs
# ctest, clang-format and shellcheck, and prints the 20 slowest tests.
#
# Without a flag it runs the quick tests, of at most 10 s each, and builds only their programs.
#
# --all: the whole check of a change, as in .ci/run. It adds the tests labelled "all" (kills, Slurm,
# learning, GPUs). It feeds mutated files to the readers for a minute. It recomputes the goldens of
# tokenizers, chat templates and language models with the original libraries, unless nothing has
# changed since the last time. It installs PyTorch on machines without a CUDA toolkit, too.
# --long: for a release. It adds the tests labelled "long", sanitizers, and 15 minutes of mutated
# files. It takes hours.
# --write-times: writes the times of this run to tests/times.tsv, which decides what is quick.
# Stops after 90 minutes, or with --long after 9 hours.
set -euo pipefail

# shellcheck source=launch/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$top"

tier=quick write_times=no
while [[ ${1:-} == --all || ${1:-} == --long || ${1:-} == --write-times ]]; do
  if [[ $1 == --write-times ]]; then write_times=yes; else tier=${1#--}; fi
  shift
done
[[ $write_times == no || $# == 0 ]] || fail 64 '--write-times takes all tests of a tier'

declare -A other_labels=([quick]='^(all|long)$' [all]='^long$' [long]='^none$')
declare -A fuzz_s=([all]=60 [long]=900) stop_after_s=([quick]=5400 [all]=5400 [long]=32400)
failures=()

# limited COMMAND...: runs COMMAND within the time that is left
limited() {
  local left=$((stop_after_s[$tier] > SECONDS ? stop_after_s[$tier] - SECONDS : 1))
  local flags=(--kill-after=30)
  [[ ! -t 0 ]] || flags+=(--foreground)  # so that Ctrl-C reaches the command
  timeout "${flags[@]}" "$left" "$@"
}

# check NAME COMMAND...: runs COMMAND, and records whether it failed. Later checks still run
check() {
  local name=$1
  shift
  echo "== $name (after $((SECONDS / 60)) min)"
  "$@" || failures+=("$name")
}

# toolkit_hidden: checks that CMake configures a build for the CPU only when it finds no CUDA toolkit,
# and that this build, which is in another folder, does not replace ./mgpu_spmd
toolkit_hidden() {
  local visible='' folder
  while read -r folder; do
    [[ -x $folder/nvcc ]] || visible+=${visible:+:}$folder
  done < <(tr : '\n' <<<"$PATH")
  local log=$top/build/toolkit_hidden.log
  env -u CUDACXX -u CUDA_HOME -u CUDA_PATH PATH="$visible" \
    cmake --preset release --fresh -B build-toolkit-hidden >"$log" 2>&1 || { cat "$log"; return 1; }
  grep 'this build runs on the CPU only' "$log" || { tail -20 "$log"; return 1; }
  ! grep -q "^build $top/mgpu_spmd:" build-toolkit-hidden/build.ninja ||
    { echo 'the build in build-toolkit-hidden would replace ./mgpu_spmd'; return 1; }
}

format() {
  git ls-files -z '*.cpp' '*.hpp' '*.cu' '*.cuh' |
    xargs -0 -n 40 -P "$(nproc)" clang-format --dry-run -Werror
}

scripts() {
  git ls-files -z '*.sh' '*.sbatch' launch/mgpu-run .ci/run |
    xargs -0 -n 5 -P "$(nproc)" shellcheck -x
}

# goldens_sum: prints a checksum of all that the comparison of goldens depends on
goldens_sum() {
  git ls-files -z launch/requirements-\*.txt tests/oracle tests/text '*goldens*' |
    xargs -0 cat "$deps/llama.cpp/version" | cksum
}

# Compares the goldens with the original libraries, several at a time. With --all it does nothing if
# nothing has changed since the last comparison. ctest compares our results with the goldens.
goldens() {
  local shipped=$deps/llama.cpp/models/templates stamp=$top/build/goldens.stamp
  if [[ ! -d $shipped ]]; then
    echo "not compared: chat templates, which the set-up could not fetch"
    return 1
  fi
  if [[ $tier == all && $(cat "$stamp" 2>/dev/null) == "$(goldens_sum)" ]]; then
    echo 'unchanged since the last comparison'
    return 0
  fi
  limited xargs -P "$(nproc)" -I '{}' \
    sh -c 'python tests/oracle/{} --check || { echo "failed: {}"; exit 1; }' <<END || return 1
tokenizer_goldens.py tests/text/goldens
text_folder_goldens.py tests/text
language_models.py tests/lm/goldens
generation.py tests/lm/goldens
latent_goldens.py tests/lm/goldens
language_training.py tests/lm/goldens
divergence_goldens.py tests/lm/goldens
value_goldens.py
answer_goldens.py tests/datasets/goldens/answers.tsv
chat_template_goldens.py tests/text $shipped
END
  goldens_sum >"$stamp"
}

# Checks that transformers opens the model folders that ctest left.
written_folders() {
  limited python tests/oracle/written_folders.py build/tests/recipes/written tests/lm/goldens
}

fuzz() { limited tests/fuzz/run.sh "${fuzz_s[$tier]}"; }

# sanitizers: runs the tests of single modules in programs that end at their first wrong address
# or overflow
sanitizers() {
  limited cmake --preset sanitize >build/sanitize.log 2>&1 || { cat build/sanitize.log; return 1; }
  limited cmake --build --preset sanitize || return 1
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    limited ctest --test-dir build-sanitize -j "$(at_a_time)" --output-on-failure -L '^(unit|mpi)$'
}

# at_a_time: prints how many tests run in parallel: two more than there are cores, up to 8. Tests
# with several ranks wait half of their time.
at_a_time() { echo "$(($(nproc) < 6 ? $(nproc) + 2 : 8))"; }

run_ctest() {
  local code=0 times=$top/build/times.xml left_out=${other_labels[$tier]} words=()
  while [[ $# -gt 0 ]]; do  # of two -LE, ctest leaves out what matches both
    if [[ $1 == -LE ]]; then left_out+="|$2"; shift; else words+=("$1"); fi
    shift
  done
  rm -f "$times"
  python3 tests/times.py costs build
  limited ctest --test-dir build -j "$(at_a_time)" --output-on-failure --no-tests=error \
    --output-junit "$times" -LE "$left_out" "${words[@]}" || code=$?
  [[ ! -e $times ]] || python3 tests/times.py longest "$times"
  return "$code"
}

build_tests() {
  if [[ $tier == quick ]]; then
    limited cmake --build --preset release --target quick_tests
  else
    limited cmake --build --preset release
  fi
}

set_up_tests "$([[ $tier == quick ]] && echo no || echo yes)"
configure
check 'clang-format' format
check 'shellcheck' scripts
if [[ $tier != quick ]]; then
  check 'configure with the CUDA toolkit hidden' toolkit_hidden
  check 'goldens' goldens
fi
check 'build' build_tests
[[ " ${failures[*]} " == *' build '* ]] || check 'ctest' run_ctest "$@"
if [[ $tier != quick ]]; then
  check 'fuzz' fuzz
  [[ ! -d build/tests/recipes/written ]] || check 'written folders' written_folders
fi
[[ $tier != long ]] || check 'sanitizers' sanitizers
if [[ $write_times == yes && ${#failures[@]} == 0 ]]; then
  python3 tests/times.py write build/times.xml build
fi
check 'table of times' python3 tests/times.py check build

if [[ ${#failures[@]} == 0 ]]; then echo "test.sh: all passed in $((SECONDS / 60)) min"; exit 0; fi
printf 'test.sh: failed: %s\n' "${failures[@]}"
exit 1
