#!/usr/bin/env bash
# tests/scripts/failed_before.sh OLD_PROGRAM [WORD]
#
# Runs the end-to-end tests that failed_before.txt lists with OLD_PROGRAM, a program from before the
# defects were mended. Each test has to fail there. With WORD, runs the lines that contain it.
# Prints a line per test, with the last line of its failure. Exit: 0 all failed, 1 one passed.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
[[ -x ${1:-} ]] || { echo "usage: $0 OLD_PROGRAM [WORD]" >&2; exit 64; }
MGPU_PROGRAM=$(realpath "$1")
export MGPU_PROGRAM OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
python=$top/.deps/venv/bin/python
[[ -x $python ]] || { echo "launch/test.sh makes $python" >&2; exit 66; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
while IFS='|' read -r defect file name; do
  [[ -n $name && $defect != \#* && "$defect$file$name" == *"${2:-}"* ]] || continue
  if (cd "$top/tests/end_to_end" && "$python" -B "${file// /}" "${name// /}") >"$log" 2>&1; then
    echo "PASSED  $defect"
    passed=1
  else
    echo "failed  $defect: $(grep -E '^[A-Za-z]*(Error|Exception)' "$log" | tail -n 1 | cut -c1-100)"
  fi
done <"$here/failed_before.txt"
exit "$passed"
