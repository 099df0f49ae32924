# shellcheck shell=bash
# Sourced by the script tests. Each case is a function that ends at its first failed check; `finish`
# runs all cases and gives the test's verdict.

# shellcheck disable=SC2034  # for the scripts that source this
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/mgpu-script.XXXXXX")
trap 'rm -rf "$work"' EXIT

# run COMMAND...: stores its exit code in `code`, and both streams in the file `output`
run() {
  output=$work/output
  "$@" >"$output" 2>&1 </dev/null
  code=$?
}

broken() {
  echo "    BROKEN: $*"
  sed 's/^/    | /' "$output"
  exit 1
}

code_is() { [[ $code == "$1" ]] || broken "exit code $code instead of $1"; }
says() { grep -qE -- "$1" "$output" || broken "it does not say '$1'"; }
says_not() { ! grep -qE -- "$1" "$output" || broken "it says '$1'"; }

# run_case NAME: runs a case in a separate folder below $work
run_case() {
  set +m
  work=$work/$1
  mkdir "$work"
  "$1" && touch "$work/passed"
}

# finish: runs every function whose name begins with case_, four at a time, because they mostly wait
# for mpirun
finish() {
  local names name failed=0
  mapfile -t names < <(declare -F | sed -n 's/^declare -f \(case_.*\)/\1/p')
  chmod a+x "$work"  # for cases that continue as another user
  set -m             # otherwise background processes could not be interrupted
  for name in "${names[@]}"; do
    [[ $(jobs -pr | wc -l) -lt 4 ]] || wait -n
    run_case "$name" >"$work/$name.log" 2>&1 &
  done
  wait
  for name in "${names[@]}"; do
    cat "$work/$name.log"
    if [[ -e $work/$name/passed ]]; then echo "passed $name"; else echo "FAILED $name"; failed=1; fi
  done
  exit "$failed"
}
