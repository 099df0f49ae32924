# shellcheck shell=bash
# Settings that differ between clusters. Copy this to slurm/site.sh and change it; the batch scripts
# read that file first. No other file of this project names a module.

# module purge
# module load gcc/12 openmpi/4.1 hdf5-parallel cuda/13.0 cmake

# export NCCL_SOCKET_IFNAME=ib0     # only if NCCL chooses the wrong network
# export TMPDIR=/local/$SLURM_JOB_ID
