#!/usr/bin/env bash
# teacher.sh [--program P]
#
# Runs conf/teacher/llama_70b.yaml unchanged, with a tiny model on every four of 16 ranks, and kills
# one of the cluster's four nodes half way. The file must have the bytes of an uninterrupted run on
# one rank of this machine. Exits with 77 if no cluster can be started.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
program=$top/mgpu_spmd
[[ ${1:-} != --program ]] || program=$(realpath "$2")
[[ -x $program ]] || { echo "there is no program $program" >&2; exit 66; }

made=$(mktemp -d "${TMPDIR:-/tmp}/mgpu-teacher.XXXXXX")
trap 'rm -rf "$made"' EXIT
python3 -B "$here/make_teacher.py" "$made"
conf=$top/conf/teacher/llama_70b.yaml
keys=("model.path=$made/model" "data.path=$made/rows.jsonl" run.chunk_size=4)

"$top/launch/mgpu-run" -np 1 "$program" "$conf" "${keys[@]}" devices.gpus_per_model=1 \
  --name golden --output "$made" >"$made/golden.log" 2>&1 || { cat "$made/golden.log" >&2; exit 1; }
(cd "$made/golden/latest" && sha256sum results.h5) >"$made/golden.sum"

# Each of a group's first 12 chunks takes one second more. So all groups still work at half way,
# even on a fast machine.
slow=$(for n in {1..12}; do printf 'chunk.work:%s:sleep;' "$n"; done)
set -- --program "$program" --conf "$conf" --golden "$made/golden.sum" --result results.h5
for key in "${keys[@]}"; do set -- "$@" --set "$key"; done
code=0
MGPU_TESTING=1 MGPU_FAILPOINT=${slow%;} "$here/scenarios.sh" "$@" half || code=$?
exit "$code"
