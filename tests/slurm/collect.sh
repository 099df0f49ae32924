#!/usr/bin/env bash
# collect.sh [--program P]
#
# Runs conf/collect/multi_gpu/full.yaml on 16 ranks of four nodes with fewer and shorter paths, and
# kills a node. The model has been trained for one step. The file must have the bytes of an
# uninterrupted run on one rank of this machine. Exits with 77 if no cluster can be started.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
program=$top/mgpu_spmd
[[ ${1:-} != --program ]] || program=$(realpath "$2")
[[ -x $program ]] || { echo "there is no program $program" >&2; exit 66; }

made=$(mktemp -d "${TMPDIR:-/tmp}/mgpu-collect.XXXXXX")
trap 'rm -rf "$made"' EXIT

# run NAME CONF KEY=VALUE...: runs the program on one rank, and shows its output only if it fails
run() {
  "$top/launch/mgpu-run" -np 1 "$program" "$top/conf/collect/$2" "${@:3}" --name "$1" \
    --output "$made" >"$made/$1.log" 2>&1 || { cat "$made/$1.log" >&2; exit 1; }
}

run model latent/train.yaml train.max_steps=1
keys=("model.path=$made/model/latest/ckpt/last" data.max_samples=96 run.chunk_size=1
      collect.num_paths=2 collect.max_new_tokens=4)
run golden multi_gpu/full.yaml "${keys[@]}"
(cd "$made/golden/latest" && sha256sum results.h5) >"$made/golden.sum"

# Each rank's first 4 chunks take one second more, so the node is killed before the run ends.
slow=$(for n in {1..4}; do printf 'chunk.work:%s:sleep;' "$n"; done)
set -- --program "$program" --conf "$top/conf/collect/multi_gpu/full.yaml" \
  --golden "$made/golden.sum" --result results.h5 --set comm.timeout_s=20
for key in "${keys[@]}"; do set -- "$@" --set "$key"; done
code=0
MGPU_TESTING=1 MGPU_FAILPOINT=${slow%;} "$here/scenarios.sh" "$@" node || code=$?
exit "$code"
