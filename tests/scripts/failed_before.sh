#!/usr/bin/env bash
# tests/scripts/failed_before.sh OLD_PROGRAM [WORD]
#
# Runs the end-to-end tests that failed_before.txt lists with OLD_PROGRAM, a program from before the
# defects were mended. Each test has to fail there, with the listed words in its output. Scripts in
# launch/ next to OLD_PROGRAM are used with it. With WORD, runs the lines that contain it. Prints a
# line per test, and the last lines of an unexpected failure.
# Exit: 0 all failed as listed, 1 one passed or failed otherwise.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
[[ -x ${1:-} ]] || { echo "usage: $0 OLD_PROGRAM [WORD]" >&2; exit 64; }
MGPU_PROGRAM=$(realpath "$1")
export MGPU_PROGRAM OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[[ -d ${MGPU_PROGRAM%/*}/launch ]] && export MGPU_LAUNCH=${MGPU_PROGRAM%/*}/launch
python=$top/.deps/venv/bin/python
[[ -x $python ]] || { echo "launch/test.sh makes $python" >&2; exit 66; }
ulimit -v $((8 << 20))  # KiB: some of the defects take all memory

# Removes the spaces at both ends of $1.
trim() { sed -E 's/^ +| +$//g' <<<"$1"; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
is_as_listed=0
while IFS='|' read -r defect file name words; do
  [[ -n $name && $defect != \#* && "$defect$file$name" == *"${2:-}"* ]] || continue
  words=$(trim "$words")
  if (cd "$top/tests/end_to_end" && "$python" -B "${file// /}" "${name// /}") >"$log" 2>&1; then
    echo "PASSED  $defect"
    is_as_listed=1
  elif grep -qF -- "$words" "$log"; then
    echo "failed  $defect: $words"
  else
    echo "OTHER   $defect: not \`$words\`, but"
    tail -n 20 "$log"
    is_as_listed=1
  fi
done <"$here/failed_before.txt"
exit "$is_as_listed"
