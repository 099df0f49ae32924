# shellcheck shell=bash
# What differs between clusters. Copy to slurm/site.sh and change it; the batch scripts read
# that file first. Nothing else in this project names a module.

# module purge
# module load gcc/12 openmpi/4.1 hdf5-parallel cuda/13.0 cmake

# export NCCL_SOCKET_IFNAME=ib0     # only where NCCL chooses the wrong network
# export TMPDIR=/local/$SLURM_JOB_ID
