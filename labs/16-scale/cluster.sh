#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cluster.sh RACKS HOSTS: racks of so many hosts, in the form of
# gradwire-topology(5). An uplink carries half of what a card does.
set -eu
cat <<END
# $1 racks of $2 hosts; an uplink carries half of what one card does.
topology cluster
nic     rate=1G latency=5us
uplink  rate=512M latency=10us
END
for rack in $(seq 0 $(($1 - 1))); do
    echo "rack r$rack: r$rack-n[0-$(($2 - 1))]"
done
echo "order racks"
