#!/usr/bin/env bash
# teacher.sh [--program P]
#
# Runs conf/teacher/llama_70b.yaml unchanged, with a tiny model on every four of 16 ranks, and kills
# one of the cluster's four nodes half way. The file must have the bytes of an uninterrupted run on
# one rank of this machine. Exits with 77 if no cluster can be started.

# shellcheck source=tests/slurm/against_one_rank.sh
source "$(dirname "${BASH_SOURCE[0]}")/against_one_rank.sh"

python3 -B "$here/make_teacher.py" "$made"
conf=$top/conf/teacher/llama_70b.yaml
keys=("model.path=$made/model" "data.path=$made/rows.jsonl" run.chunk_size=4)
run golden "$conf" "${keys[@]}" devices.gpus_per_model=1
# Even on a fast machine, all groups still work at half way.
lose_a_node half 12 golden "$conf" "${keys[@]}"
