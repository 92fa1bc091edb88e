#!/bin/sh
# agent.sh HOST COMMAND.. - starts a command on a host, as ssh would: the host is a network namespace of that name.
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$1"; shift; eval "exec $*"' sh "$host" "$*"
