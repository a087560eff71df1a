#!/bin/sh
# SPDX-License-Identifier: MIT
#
# star.sh RATE: prints 32 hosts at one switch, in the form of gradwire-topology(5).
# Their NICs carry RATE bytes per us; nothing else has a cost.
cat <<END
# 32 hosts, one switch: each NIC sends and receives $1 bytes per us.
topology star
nic   rate=${1}000000
rack all: h[0-31]
END
