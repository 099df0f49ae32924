#!/usr/bin/env bash
# launch/test.sh [--oracle] [ctest arguments]
#
# Takes a bare Debian 12 machine to the tests' verdict: installs what is missing, builds, runs
# ctest,
# clang-format and shellcheck. --oracle also installs PyTorch on machines without a CUDA toolkit,
# for the tests that compare with it. It recomputes the goldens of tokenizers, chat templates and
# language models with the original libraries, and feeds mutated files to the readers for a minute.
# Stops after 90 minutes.
set -euo pipefail

# shellcheck source=launch/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$top"

oracle=no
if [[ ${1:-} == --oracle ]]; then oracle=yes; shift; fi
stop_after_s=5400
failures=()

# limited COMMAND...: runs it within what is left of the 90 minutes
limited() {
  local left=$((stop_after_s > SECONDS ? stop_after_s - SECONDS : 1)) flags=(--kill-after=30)
  [[ ! -t 0 ]] || flags+=(--foreground)  # so that Ctrl-C reaches the command
  timeout "${flags[@]}" "$left" "$@"
}

# check NAME COMMAND...: records a failed check, and the others still run
check() {
  local name=$1
  shift
  echo "== $name (after $((SECONDS / 60)) min)"
  "$@" || failures+=("$name")
}

# Without a toolkit the CUDA half of the build must disable itself.
toolkit_hidden() {
  local visible='' folder
  while read -r folder; do
    [[ -x $folder/nvcc ]] || visible+=${visible:+:}$folder
  done < <(tr : '\n' <<<"$PATH")
  local log=$top/build/toolkit_hidden.log
  env -u CUDACXX -u CUDA_HOME -u CUDA_PATH PATH="$visible" \
    cmake --preset release --fresh -B build-toolkit-hidden >"$log" 2>&1 || { cat "$log"; return 1; }
  grep 'this build runs on the CPU only' "$log" || { tail -20 "$log"; return 1; }
}

format() {
  git ls-files -z '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs -0 clang-format --dry-run -Werror
}

scripts() {
  local list
  mapfile -t list < <(git ls-files '*.sh' '*.sbatch' launch/mgpu-run .ci/run)
  shellcheck -x "${list[@]}"
}

# Compares the goldens with the libraries; ctest compares them with our results.
goldens() {
  local shipped=$deps/llama.cpp/models/templates
  limited python tests/oracle/tokenizer_goldens.py tests/text/goldens --check &&
    limited python tests/oracle/text_folder_goldens.py tests/text --check &&
    limited python tests/oracle/language_models.py tests/lm/goldens --check &&
    limited python tests/oracle/generation.py tests/lm/goldens --check &&
    limited python tests/oracle/language_training.py tests/lm/goldens --check || return 1
  if [[ ! -d $shipped ]]; then
    echo "not compared: chat templates, which the set-up could not fetch"
    return 1
  fi
  limited python tests/oracle/chat_template_goldens.py tests/text "$shipped" --check
}

# Checks that transformers opens the model folders that ctest left.
written_folders() {
  limited python tests/oracle/written_folders.py build/tests/recipes/written tests/lm/goldens
}

fuzz() { limited tests/fuzz/run.sh 60; }

# Uses one more than the cores, up to 8, because tests with several ranks wait half of their time.
# Tests labelled "long" (sanitized builds of the CUDA emulator) run by `ctest --test-dir build -L
# long`.
run_ctest() {
  local jobs=$(($(nproc) + 1))
  limited ctest --test-dir build -j "$((jobs < 8 ? jobs : 8))" --output-on-failure -LE '^long$' "$@"
}

set_up_tests "$oracle"
configure
check 'clang-format' format
check 'shellcheck' scripts
check 'configure with the CUDA toolkit hidden' toolkit_hidden
[[ $oracle == no ]] || check 'goldens' goldens
check 'build' limited cmake --build --preset release
[[ " ${failures[*]} " == *' build '* ]] || check 'ctest' run_ctest "$@"
[[ $oracle == no ]] || check 'fuzz' fuzz
[[ $oracle == no || ! -d build/tests/recipes/written ]] || check 'written folders' written_folders

if [[ ${#failures[@]} == 0 ]]; then echo "test.sh: all passed in $((SECONDS / 60)) min"; exit 0; fi
printf 'test.sh: failed: %s\n' "${failures[@]}"
exit 1
