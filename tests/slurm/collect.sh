#!/usr/bin/env bash
# collect.sh [--program P]
#
# Runs the configurations smoke.yaml and full.yaml of conf/collect/multi_gpu on 16 ranks of four
# nodes, and kills a node during full.yaml. The model has been trained for one step. The files must
# have the bytes of uninterrupted runs on one rank of this machine. Exits with 77 if no cluster can
# be started.

# shellcheck source=tests/slurm/against_one_rank.sh
source "$(dirname "${BASH_SOURCE[0]}")/against_one_rank.sh"

conf=$top/conf/collect
run model "$conf/latent/train.yaml" train.max_steps=1
model=model.path=$made/model/latest/ckpt/last
run smoke "$conf/multi_gpu/smoke.yaml" "$model"
on_the_cluster finish smoke "$conf/multi_gpu/smoke.yaml" "$model" comm.timeout_s=20
run full "$conf/multi_gpu/full.yaml" "$model"
lose_a_node node 4 full "$conf/multi_gpu/full.yaml" "$model" comm.timeout_s=20
