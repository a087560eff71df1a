#!/bin/sh
# SPDX-License-Identifier: MIT
#
# star.sh RATE: 32 hosts at one switch, in the form of gradwire-topology(5); their
# cards carry RATE bytes a us, and nothing else costs anything.
cat <<END
# 32 hosts, one switch: each card sends and receives $1 bytes a us.
topology star
nic   rate=${1}000000
rack all: h[0-31]
END
