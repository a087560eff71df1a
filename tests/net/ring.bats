#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# An elastic ring on several hosts (labs/programs/elastic.c): its members know
# only the controllers' address. A host dies, another is cut off, one joins and
# one is asked to leave. Every member checks each op's sum, and all end with
# equal states.

load lab.bash

started=()
code=
OPS=600

setup_file() {
    lab_environment
    export ELASTIC=$BATS_FILE_TMPDIR/elastic
    # shellcheck disable=SC2086
    ${CC:-cc} -Wall -Wextra -Werror -o "$ELASTIC" labs/programs/elastic.c \
        -I lib/include -L "$BUILD" -lgradwire -Wl,-rpath,"$BUILD" ${SAN:-}
}

setup() {
    lab_up 2 3
    export GW_CONTROLLERS=tcp://h0:7100
    start c h0 "$BUILD/psnode" controller --index 0 --dir "$PWD/c0" --ring 3
}

teardown() {
    lab_down
}

# member HOST: its pid is in `pid`.
member() {
    start "$1" "$1" "$ELASTIC" $OPS
    pid=${started[-1]}
}

# has_joined HOST [TIMES]
has_joined() {
    [ "$(grep -c '^joined: ' "$1.out")" -eq "${2:-1}" ]
}

# Bytes sent by a host's NIC.
sent() {
    netlab exec "$1" cat /proc/net/dev | awk '$1 == "eth0:" { print $10 }'
}

has_sent() {
    [ "$(sent "$1")" -gt "$2" ]
}

# ended_well PID HOST WORD: with status 0, and nothing lost or doubled.
ended_well() {
    ends "$1"
    cat "$2.out" "$2.err"
    [ "$code" -eq 0 ]
    grep -Eq "^$3: .* lost 0, doubled 0\$" "$2.out"
}

@test "a host dies, one joins, one leaves, and the sums are right" {
    member h1 && first=$pid
    member h2
    member h3 && third=$pid
    for host in h1 h2 h3; do
        until_true 30 has_joined $host
    done
    netlab kill h2
    member h4 && fourth=$pid
    until_true 30 has_joined h4
    kill -TERM "$third"
    ended_well "$third" h3 leaves
    ended_well "$first" h1 'done'
    ended_well "$fourth" h4 'done'
    # Contributions are counted in the common state.
    for host in h1 h4; do
        sed -n 's/^done: .* members, \([0-9]* contributions\),.*/\1/p' $host.out
    done | sort -u >contributions.txt
    [ "$(wc -l <contributions.txt)" -eq 1 ]
}

@test "two hosts are lost at once, and the last one continues with new members" {
    member h1
    member h2
    member h3 && third=$pid
    for host in h1 h2 h3; do
        until_true 30 has_joined $host
    done
    netlab cut h1 h2
    member h4 && fourth=$pid
    until_true 30 has_joined h4
    ended_well "$third" h3 'done'
    ended_well "$fourth" h4 'done'
}

@test "a host that was cut off comes back as another incarnation" {
    member h1 && first=$pid
    member h2 && second=$pid
    member h3 && third=$pid
    for host in h1 h2 h3; do
        until_true 30 has_joined $host
    done
    netlab cut h2
    # The others continue without it; the byte counters of their NICs show how
    # far.
    until_true 30 has_sent h1 $(($(sent h1) + 60000))
    netlab heal h2
    until_true 30 has_joined h2 2
    ended_well "$first" h1 'done'
    ended_well "$second" h2 'done'
    ended_well "$third" h3 'done'
}
