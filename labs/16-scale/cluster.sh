#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cluster.sh RACKS HOSTS: prints racks of that many hosts, in the form of
# gradwire-topology(5). An uplink carries half as much as a NIC.
set -eu
cat <<END
# $1 racks of $2 hosts; an uplink carries half as much as one NIC.
topology cluster
nic     rate=1G latency=5us
uplink  rate=512M latency=10us
END
for rack in $(seq 0 $(($1 - 1))); do
    echo "rack r$rack: r$rack-n[0-$(($2 - 1))]"
done
echo "order racks"
