#!/usr/bin/env bash
# collect.sh [--program P]
#
# Runs conf/collect/multi_gpu/full.yaml on 16 ranks of four nodes with fewer and shorter paths, and
# kills a node. The model has been trained for one step. The file must have the bytes of an
# uninterrupted run on one rank of this machine. Exits with 77 if no cluster can be started.

# shellcheck source=tests/slurm/against_one_rank.sh
source "$(dirname "${BASH_SOURCE[0]}")/against_one_rank.sh"

run model "$top/conf/collect/latent/train.yaml" train.max_steps=1
conf=$top/conf/collect/multi_gpu/full.yaml
keys=("model.path=$made/model/latest/ckpt/last" data.max_samples=96 run.chunk_size=1
      collect.num_paths=2 collect.max_new_tokens=4)
run golden "$conf" "${keys[@]}"
lose_a_node node 4 "$conf" "${keys[@]}" comm.timeout_s=20
