#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The commands with which gradwire-cluster(7) makes a cluster of this machine: the
# lines of that section that begin with "# ".

load lab.bash

setup_file() {
    lab_environment
    export ROOT=$PWD
}

teardown() {
    lab_down
}

@test "the commands of the cluster on one machine in gradwire-cluster(7)" {
    cd "$BATS_TEST_TMPDIR"
    lab_needs ip tc nsenter
    PATH=$BUILD:$PATH
    ln -s "$ROOT/labs" .
    sed -n '/^\.Sh A CLUSTER ON ONE MACHINE/,/^\.Sh RDMA/s/^# //p' \
        "$ROOT/man/gradwire-cluster.7" >commands
    [ "$(wc -l <commands)" -gt 10 ]
    timeout 120 sh -euxc ". ./commands" >out.txt 2>err.txt 3>&- ||
        { tail -n 30 out.txt err.txt && false; }
    cat out.txt
    [ "$(grep -c 'server is ready' out.txt)" -ge 2 ] # one may die before
    grep -q '^# digest: ' out.txt
    grep -q 'uplink r1 rate=8M' out.txt
    [ ! -e "/run/netlab.$NETLAB" ]
}
