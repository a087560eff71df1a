#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guest.sh: the first process of a machine that vm.sh boots. It loads the
# modules, makes an RDMA device of the kind $KIND (rxe: RoCE; siw: iWARP) on a
# network device, waits until that is ready, and runs /cases.sh. Errors go to
# the console; the output of the cases goes to the second serial line, and "exit
# STATUS" comes last.
export PATH=/usr/sbin:/usr/bin HOME=/root LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
ln -sf /proc/self/fd /dev/fd
# shellcheck source=/dev/null
. /settings
export KIND ADDRESS

bye() {
    echo "exit $1" >/dev/ttyS1
    sync
    poweroff -f
    sleep 60
}

wait_for() { # command: at most 5 s
    tries=0
    until "$@" 2>/dev/null; do
        tries=$((tries + 1))
        if [ "$tries" -gt 250 ]; then
            echo "guest: in vain: $*" >/dev/ttyS1
            bye 125
        fi
        sleep 0.02
    done
}

# iWARP has one GID, made of the hardware address; the one of RoCE for the IPv4
# address appears a moment after the device.
has_gid() {
    case $KIND in
    rxe) grep -q ':ffff:[0-9a-f]*:[0-9a-f]*$' /sys/class/infiniband/rdma0/ports/1/gids/* ;;
    *) grep -q '[1-9a-f]' /sys/class/infiniband/rdma0/ports/1/gids/* ;;
    esac
}

is_active() {
    grep -q ACTIVE /sys/class/infiniband/rdma0/ports/1/state
}

while read -r module; do
    # Some processors lack the instructions of the faster checksums.
    insmod "/modules/$module" || echo "guest: insmod $module failed"
done </modules/order
ip link set lo up
ip link set "$NETDEV" mtu "$MTU"
ip addr add "$ADDRESS/24" dev "$NETDEV"
ip link set "$NETDEV" up
rdma link add rdma0 type "$KIND" netdev "$NETDEV" || bye 125
wait_for is_active
wait_for has_gid
# Of locked memory; siw does not exempt root from the limit.
# shellcheck disable=SC3045 # busybox's sh has it
ulimit -l unlimited
cd /tmp || bye 125
sh /cases.sh >/dev/ttyS1 2>&1
bye $?
