#!/bin/sh
# SPDX-License-Identifier: MIT
#
# measure.sh BUILD WHO OP RANKS BYTES...: runs one program of the benchmark once
# and prints a line "WHO OP RANKS BYTES time_us" for each size. A size that
# failed has no line; its message is on stderr.
#
# WHO is gradwire (shm, ipc, tcp: memory of gw_alloc and floats; -malloc: memory
# of malloc; -bytes: elements of one byte), a peer (openmpi, openmpi-tcp, mpich,
# gloo), the yardstick ideal, or one of the rest: start, ps-shm, ps-ipc, ps-tcp,
# pslite, and the pairs of which the first has times for both: wire-tcp and
# raw-tcp (and ipc), events-on and events-off.
#
# The environment: SECONDS_EACH, how long to time a size, and LIMITS, the file
# with the limits of this machine.
#
# shellcheck disable=SC2086 # sizes and shapes are words
set -u
build=$1 who=$2 op=$3 ranks=$4
shift 4
seconds=${SECONDS_EACH:-0.25}

# The peers print "op ranks bytes time_us ...".
from_peer() {
    awk -v who="$who" 'NF >= 4 { print who, $1, $2, $3, $4 }'
}

# A run's row with no wrong element, from JSON.
from_json() { # bytes field
    awk -v line="$who $op $ranks $1" -v field="\"$2\":" '
        /"wrong":0[,}]/ && (at = index($0, field)) {
            time = substr($0, at + length(field)) + 0
        }
        END { if (time) print line, time }'
}

mpi() { # program, and how to start it
    program=$1
    shift
    "$@" "$build/bench/$program" "$op" "$seconds" $sizes | from_peer
}

gloo() {
    meeting=$(mktemp -d)
    "$build/bench/gloo" "$op" "$ranks" "$seconds" "$meeting" $sizes | from_peer
    rm -r "$meeting"
}

# A barrier has no size, which collrun would not accept.
gradwire() { # wire option...
    wire=$1
    shift
    for bytes in $sizes; do
        asked=$bytes
        test "$asked" != 0 || asked=1024
        "$build/collrun" bench "$op" -n "$ranks" -b "$asked" -e "$asked" \
            --wire "$wire" --seconds "$seconds" -o jsonl "$@" |
            from_json "$bytes" time_us
    done
}

# From exec to the end, with the tidying up after the barrier.
start() {
    begin=$(date +%s%N)
    "$build/collrun" bench barrier -n "$ranks" -i 1 --warmup 1 \
        -b 1K -e 1K >/dev/null || return
    echo "$who $op $ranks $sizes $((($(date +%s%N) - begin) / 1000))"
}

# Time of a request over all workers, from how many keys go by in a second.
server() { # wire
    case $op in
    *-keys) shape="-k 1000000 -f 1" keys=1000000 ;;
    *-random) shape="-k 1000000 -f 1 --unsorted" keys=1000000 ;;
    *-rows) shape="-k 1000 -f 10000" keys=1000 ;;
    *-small) shape="-k 100 -f 16" keys=100 ;;
    esac
    "$build/psnode" bench "${op%-*}" $shape --wire "$1" -o jsonl \
        -s $((ranks / 2)) -n $((ranks / 2)) --seconds "$seconds" |
        from_json "$sizes" mkeys_per_s |
        awk -v keys="$keys" '{ print $1, $2, $3, $4, keys / $5 }'
}

# One run has both times, of rounds that alternate: "... W us without, T us
# with: ...". 101 rounds take about two seconds.
events() {
    rounds=$(awk -v s="$seconds" 'BEGIN { print int(s * 400) + 1 }')
    "$build/bench/events" "$ranks" "$rounds" |
        awk -v line="$op $ranks $sizes" '
            { for (i = 2; i < NF; i++) {
                if ($i == "us" && $(i + 1) == "without,")
                    print "events-off", line, $(i - 1)
                if ($i == "us" && $(i + 1) == "with:")
                    print "events-on", line, $(i - 1)
            } }'
}

# A stream's time is that of a message; a row has both programs.
wire() { # wire
    for bytes in $sizes; do
        "$build/collrun" bench wire --wire "$1" -b "$bytes" -e "$bytes" \
            --seconds "$seconds" -o jsonl |
            awk -v wire="$1" -v op="$op" -v bytes="$bytes" '
                function value(name,    at) {
                    at = index($0, "\"" name "\":")
                    return substr($0, at + length(name) + 3) + 0
                }
                function tell(who, us) {
                    print who "-" wire, op, 2, bytes, us
                }
                op == "trip" { tell("wire", value("us")); tell("raw", value("raw_us")) }
                op == "stream" {
                    tell("wire", bytes / value("GBps") / 1e3)
                    tell("raw", bytes / value("raw_GBps") / 1e3)
                }'
    done
}

measure() {
    sizes=$*
    case $who in
    shm | ipc | tcp) gradwire "$who" ;;
    *-malloc) gradwire "${who%-*}" --malloc ;;
    *-bytes) gradwire "${who%-*}" --dtype u8 ;;
    ideal) "$build/bench/shm_ideal" "$op" "$ranks" "$seconds" $sizes | from_peer ;;
    openmpi)
        mpi openmpi mpirun.openmpi --allow-run-as-root --oversubscribe -np "$ranks"
        ;;
    openmpi-tcp)
        mpi openmpi mpirun.openmpi --allow-run-as-root --oversubscribe \
            --mca btl tcp,self -np "$ranks"
        ;;
    mpich) mpi mpich mpirun.mpich -np "$ranks" ;;
    gloo) gloo ;;
    start) start ;;
    ps-*) server "${who#ps-}" ;;
    pslite)
        awk -v op="$op" -v ranks="$ranks" -v bytes="$sizes" -f tests/bench/pslite.awk \
            "$LIMITS"
        ;;
    wire-*) wire "${who#wire-}" ;;
    events-on) events ;;
    raw-* | events-off) ;;
    *)
        echo "measure: there is no $who" >&2
        return 64
        ;;
    esac
}

measure "$@" </dev/null
