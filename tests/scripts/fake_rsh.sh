#!/bin/sh
# fake_rsh.sh HOST COMMAND...: replaces ssh, so that mpirun takes one machine for several. A file
# named $FAKE_RSH/HOST.down makes that host unreachable.
host=$1
shift
[ ! -e "$FAKE_RSH/$host.down" ] || exit 255
mkdir -p "$FAKE_RSH/$host"
export FAKE_HOST="$host" TMPDIR="$FAKE_RSH/$host"
# Otherwise the shared-memory files of two hosts would collide in /dev/shm.
export OMPI_MCA_btl_vader_backing_directory="$FAKE_RSH/$host"
exec sh -c "$*"
