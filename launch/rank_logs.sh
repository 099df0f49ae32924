#!/usr/bin/env bash
# launch/rank_logs.sh FOLDER PROGRAM ARGUMENTS
#
# Starts PROGRAM as a rank of mpirun, and copies its output to FOLDER/gpu_R_stdout.log and
# FOLDER/gpu_R_stderr.log, where R is the rank. Later starts append to these files.
set -uo pipefail

rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}}
log=$1/gpu_$rank
shift
# mpirun sends signals to all processes of a rank. The copies must outlive them.
copy_to() { trap '' INT TERM HUP USR1 USR2; exec tee -a "$1"; }
exec "$@" > >(copy_to "${log}_stdout.log") 2> >(copy_to "${log}_stderr.log" >&2)
