#!/usr/bin/env bash
# hosts.sh KERBIN KERBIN_MPI MPIRUN - ranks on several hosts, made by network namespaces on one bridge; a launch
# agent that enters a namespace stands in for ssh.  Then messages are late and some are lost.
agent=$(dirname "$(readlink -f "$0")")/agent.sh
. "$(dirname "$0")/lib.sh"
id=kb$$

if [ "$(id -u)" -ne 0 ] || ! ip netns add "$id-0" 2> /dev/null; then
    echo "no network namespaces here"
    exit 77
fi
clean() {
    for k in 0 1 2; do ip netns del "$id-$k" 2> /dev/null; done
    ip link del "$id" 2> /dev/null
    rm -rf "$WORK"
}
trap clean EXIT

ip link add "$id" type bridge && ip link set "$id" up
# address K - eth0 of a host is up and has its address.
address() {
    ip netns exec "$id-$1" ip addr add "10.77.0.$(($1 + 1))/24" dev eth0
    ip netns exec "$id-$1" ip link set eth0 up
}
for k in 0 1 2; do
    [ "$k" -eq 0 ] || ip netns add "$id-$k"
    ip link add "$id.$k" type veth peer name eth0 netns "$id-$k"
    ip link set "$id.$k" master "$id" up
    address "$k"
    ip netns exec "$id-$k" ip link set lo up
done
for a in 0 1 2; do
    for b in 0 1 2; do echo "10.77.0.$((b + 1)) $id-$b"; done > hosts
    mkdir -p "/etc/netns/$id-$a" && { cat /etc/hosts; cat hosts; } > "/etc/netns/$id-$a/hosts"
done
trap 'clean; rm -rf /etc/netns/$id-*' EXIT

# on_hosts ARG.. - kerbin-mpi with a rank on each host; mpirun is on the first.
on_hosts() {
    command="mpirun on three hosts: kerbin-mpi $*"
    status=0
    # shellcheck disable=SC2086
    ip netns exec "$id-0" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "$id-0" \
        "$MPIRUN" $MPI_FLAGS --mca plm_rsh_agent "$agent" --mca plm rsh --mca btl tcp,self --mca btl_tcp_if_include eth0 \
        --mca oob_tcp_if_include eth0 --mca pml ob1 --mca mpi_yield_when_idle 1 \
        --host "$id-0,$id-1,$id-2" -n 3 "$KERBIN_MPI" "$@" > stdout 2> stderr < /dev/null || status=$?
}

one generate checkers --rows 20000 -o rows.csv
one train --tune off --grids 64 rows.csv -o one.kerbin
one predict one.kerbin rows.csv -o one.csv
expect_status 0

# all_is_well WHEN - predictions by three hosts are those of one, and so are models by ranks of one host.
all_is_well() {
    on_hosts predict one.kerbin rows.csv -o many.csv
    expect_status 0
    cmp -s one.csv many.csv || fail "$1: predictions differ"
    mpi 1 train --tune=off --solver sweeps --grids 64 --max-iter 4 --threads 1 -q rows.csv -o single.kerbin
    expect_status 0
    on_hosts train --tune=off --solver sweeps --grids 64 --max-iter 4 --threads 1 -q rows.csv -o many.kerbin
    expect_status 0
    cmp -s single.kerbin many.kerbin || fail "$1: models differ"
}

all_is_well "at once"
# Late messages, of which some are lost: by netem, or by a switch of our own.
how="with delay and loss by netem"
for k in 0 1 2; do
    ip netns exec "$id-$k" tc qdisc add dev eth0 root netem delay 2ms 1ms loss 0.5% 2> /dev/null || how="by a switch"
done
if [ "$how" = "by a switch" ]; then
    how="with delay and loss by delay.py: this kernel has no netem"
    for k in 0 1 2; do ip link del "$id.$k"; done
    mkfifo switch_in
    python3 "$(dirname "$agent")/delay.py" 2 0.005 "$id-0" "$id-1" "$id-2" < switch_in > switch_out 2> switch_err &
    exec 8> switch_in
    for _ in $(seq 100); do grep -q ready switch_out && break; sleep 0.1; done
    for k in 0 1 2; do address "$k"; done
fi
all_is_well "$how"
exec 8>&-
wait
cat switch_err 2> /dev/null
echo "tried at once, and $how"
finish
