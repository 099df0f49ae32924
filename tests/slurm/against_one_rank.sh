# shellcheck shell=bash
# Sourced by scripts with the arguments [--program P]. They run configurations on 16 ranks of the
# cluster, some while a node is killed, and compare the files with those of one rank of this machine.
# Sets `top`, `program`, and `made`, a folder that is removed at the end.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
program=$top/mgpu_spmd
[[ ${1:-} != --program ]] || program=$(realpath "$2")
[[ -x $program ]] || { echo "there is no program $program" >&2; exit 66; }

made=$(mktemp -d "${TMPDIR:-/tmp}/mgpu-slurm.XXXXXX")
trap 'rm -rf "$made"' EXIT

# run NAME CONF KEY=VALUE...: runs the program on one rank in $made/NAME, and shows its output only
# if it fails
run() {
  "$top/launch/mgpu-run" -np 1 "$program" "${@:2}" --name "$1" --output "$made" \
    >"$made/$1.log" 2>&1 || { cat "$made/$1.log" >&2; exit 1; }
}

# on_the_cluster SCENARIO NAME CONF KEY=VALUE...: runs the scenario of scenarios.sh, and compares
# results.h5 with that of `run NAME`. Ends this script if they differ, or no cluster can be started
on_the_cluster() {
  local key code=0 arguments
  (cd "$made/$2/latest" && sha256sum results.h5) >"$made/$2.sum"
  arguments=(--program "$program" --conf "$3" --golden "$made/$2.sum" --result results.h5)
  for key in "${@:4}"; do arguments+=(--set "$key"); done
  "$here/scenarios.sh" "${arguments[@]}" "$1" || code=$?
  [[ $code == 0 ]] || exit "$code"
}

# lose_a_node SCENARIO SLOW_CHUNKS NAME CONF KEY=VALUE...: runs on_the_cluster with a scenario that
# kills a node. Each rank's first SLOW_CHUNKS chunks take one second more, so that the node is killed
# before the run ends
lose_a_node() {
  local slow='' n
  for ((n = 1; n <= $2; n++)); do slow+="chunk.work:$n:sleep;"; done
  MGPU_TESTING=1 MGPU_FAILPOINT=${slow%;} on_the_cluster "$1" "${@:3}"
}
