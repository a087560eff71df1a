#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The commands with which README makes a cluster of this machine, as they stand
# there: lines of the section that begin with "# ".

load lab.bash

setup_file() {
    lab_environment
    export ROOT=$PWD
}

teardown() {
    lab_down
}

@test "the commands of README's cluster" {
    cd "$BATS_TEST_TMPDIR"
    lab_needs ip tc nsenter
    ln -s "$BUILD" build
    ln -s "$ROOT/labs" .
    sed -n '/^## On a cluster/,/^## [^O]/s/^    # //p' "$ROOT/README.md" \
        >commands
    [ "$(wc -l <commands)" -gt 10 ]
    timeout 120 sh -euxc ". ./commands" >out.txt 2>err.txt 3>&- ||
        { tail -n 30 out.txt err.txt && false; }
    cat out.txt
    [ "$(grep -c 'server is ready' out.txt)" -ge 2 ] # one may die before
    grep -q '^# digest: ' out.txt
    grep -q 'uplink r1 rate=8M' out.txt
    [ ! -e "/run/netlab.$NETLAB" ]
}
