#!/bin/sh
# one_card.sh COMMAND...: lets NCCL ranks share a GPU; mpirun starts it on every rank. NCCL refuses
# two ranks of one host on one card. With a separate host id each rank counts as a host, and only
# the socket transport remains. For tests of logic, not of speed (NCCL below 2.30 has no better
# way).
export NCCL_HOSTID="card-of-rank-${OMPI_COMM_WORLD_RANK:?start this with mpirun}"
export NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1
export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NVLS_ENABLE=0 NCCL_MNNVL_ENABLE=0
export NCCL_MAX_CTAS=1 NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_RAS_ENABLE=0
exec "$@"
