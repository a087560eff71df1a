#!/bin/sh
# SPDX-License-Identifier: MIT
#
# servers.sh N: prints a plan of a synchronous parameter server. The first N ranks
# hold the parameters, rank c % N chunk c. All ranks push, then all pull.
cat <<END
# a parameter server on the first $1 of P workers
allreduce ranks=P chunks=P name=servers_$1
step for c in 0..C-1: for i in 1..P-1: (c%$1+i)%P>(c%$1) cc +
step for c in 0..C-1: for i in 1..P-1: c%$1>(c%$1+i)%P cc =
END
