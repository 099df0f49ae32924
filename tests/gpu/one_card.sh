#!/bin/sh
# one_card.sh COMMAND...: started by mpirun on every rank, lets NCCL ranks share a GPU. NCCL
# refuses two ranks of one host on one card; with a host id of its own each rank counts as a
# host, and only the socket transport is left. For tests: it shows that the logic is right, no
# speed (NCCL below 2.30; it has no better way to do this).
export NCCL_HOSTID="card-of-rank-${OMPI_COMM_WORLD_RANK:?start this with mpirun}"
export NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1
export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NVLS_ENABLE=0 NCCL_MNNVL_ENABLE=0
export NCCL_MAX_CTAS=1 NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_RAS_ENABLE=0
exec "$@"
