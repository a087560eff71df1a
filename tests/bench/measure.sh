#!/bin/sh
# SPDX-License-Identifier: MIT
#
# measure.sh BUILD PROGRAM OP RANKS BYTES...: runs one program of the benchmark
# once and prints a line "PROGRAM OP RANKS BYTES time_us" for each size. A size
# that failed has no line; its message is on stderr.
#
# PROGRAM is one of
#   shm, ipc, tcp         gradwire, with memory of gw_alloc and floats
#   shm-malloc ...        the same with memory of malloc
#   shm-bytes ...         the same with elements of one byte
#   synth-shm ...         the same with the plan of collrun synth
#   openmpi, openmpi-tcp, mpich, gloo     peers
#   face-openmpi, face-mpich              the same programs on gradwire-mpi(7)
#   fall-openmpi, taken-openmpi           the time that gradwire-mpi(7) adds; also
#                                         with mpich
#   ideal                 the yardstick
#   start-shm             also with ipc and tcp
#   ps-shm, ps-ipc, ps-tcp, pslite
#   memory-shm            also memory-malloc (shm with malloc), -ipc, -tcp
# Each of the following groups is one measurement, under its first name:
#   wire-tcp, raw-tcp     also with ipc
#   key-tcp, cipher-tcp   the same with a key
#   events-on, events-off
#   elastic-shm, plain-shm, plain-ring-shm     also with ipc and tcp
#   tune-regret, tune-worst, tune-median, tune-p95
#
# The value is microseconds, unless stats.awk has another unit for the program.
# It is always the median of means over about 5 ms: see peers/peer.h.
#
# The environment:
#   SECONDS_EACH          the time for each size
#   LIMITS                the file with the limits of this machine
#   ROUND                 the number of the round. Long programs have their own
#                         medians and run in the first only, unless AGAIN is set.
#   GRADWIRE_CALIBRATION  the file that tune fills and all others use
# shellcheck disable=SC2086 # sizes and shapes are words
set -u
build=$1 who=$2 op=$3 ranks=$4
shift 4
seconds=${SECONDS_EACH:-0.25}

# The peers print "op ranks bytes time_us ...".
from_peer() {
    awk -v who="$who" 'NF >= 4 { print who, $1, $2, $3, $4 }'
}

# Of the runs' rows, in JSON, without wrong elements: this field, and the
# requested sizes, in their order.
from_json() { # field
    awk -v line="$who $op $ranks" -v sizes="$sizes" -v field="\"$1\":" '
        BEGIN { split(sizes, size, " ") }
        at = index($0, field) {
            row++
            if (/"wrong":0[,}]/)
                print line, size[row], substr($0, at + length(field)) + 0
        }'
}

mpi() { # program, and how to start it
    program=$1
    shift
    "$@" "$build/bench/$program" "$op" "$seconds" $sizes | from_peer
}

# The time that the library adds to a call: cost fall|taken MPI OPTION...
cost() {
    what=$1 mpi=$2
    shift 2
    "$build/gradwire-mpirun" --mpi "$mpi" "$@" -n "$ranks" "$build/bench/cost-$mpi" \
        "$what" "$seconds" $sizes | from_peer
}

gloo() {
    meeting=$(mktemp -d)
    "$build/bench/gloo" "$op" "$ranks" "$seconds" "$meeting" $sizes | from_peer
    rm -r "$meeting"
}

# A barrier has no size, and collrun refuses one.
gradwire() { # wire option...
    wire=$1
    shift
    measured=$(echo "$sizes" | tr ' ' ,)
    test "$measured" != 0 || measured=1024
    # MPI's root has one buffer, and the yardstick's copies nothing.
    test "$op" != broadcast || set -- "$@" --in-place
    "$build/collrun" bench "$op" -n "$ranks" --sizes "$measured" --wire "$wire" \
        --seconds "$seconds" --sample 5ms -o jsonl "$@" | from_json p50_us
}

# The plan for this machine with so many ranks.
synthesised() { # wire
    plans=$(mktemp -d)
    for sizes in $sizes; do
        "$build/collrun" synth "$op" --wire "$1" -n "$ranks" -b "$sizes" \
            -p "$plans/best.plan" >/dev/null &&
            gradwire "$1" --algo "$plans/best.plan"
    done
    rm -r "$plans"
}

# From exec to the end, including the cleanup after the barrier.
start() { # wire
    begin=$(date +%s%N)
    "$build/collrun" bench barrier -n "$ranks" --wire "$1" -i 1 --warmup 1 \
        -b 1K -e 1K >/dev/null || return
    echo "$who $op $ranks $sizes $((($(date +%s%N) - begin) / 1000))"
}

# Time of a request over all workers, from the number of keys per second.
server() { # wire
    case $op in
    *-keys) shape="-k 1000000 -f 1" keys=1000000 ;;
    *-random) shape="-k 1000000 -f 1 --unsorted" keys=1000000 ;;
    *-rows) shape="-k 1000 -f 10000" keys=1000 ;;
    *-small) shape="-k 100 -f 16" keys=100 ;;
    esac
    "$build/psnode" bench "${op%-*}" $shape --wire "$1" -o jsonl \
        -s $((ranks / 2)) -n $((ranks / 2)) --seconds "$seconds" |
        grep '"worker":"all"' | from_json mkeys_per_s |
        awk -v keys="$keys" '{ print $1, $2, $3, $4, keys / $5 }'
}

# One run has both times, of batches that alternate: "... W us without, T us
# with: ...". The difference is small, so it gets more time.
events() {
    long=$(awk -v s="$seconds" 'BEGIN { print s * 5 }')
    for bytes in $sizes; do
        "$build/bench/events" "$ranks" "$long" "$bytes" |
            awk -v line="$op $ranks $bytes" '
                { for (i = 2; i < NF; i++) {
                    if ($i == "us" && $(i + 1) == "without,")
                        print "events-off", line, $(i - 1)
                    if ($i == "us" && $(i + 1) == "with:")
                        print "events-on", line, $(i - 1)
                } }'
    done
}

# Plain and elastic calls alternate, so one run has both. The difference is
# small, so it gets more time.
elastic() { # wire
    long=$(awk -v s="$seconds" 'BEGIN { print s * 3 }')
    "$build/bench/elastic" "$1" "$ranks" "$long" $sizes |
        awk -v op="$op" -v wire="$1" 'NF == 5 {
            print "plain-" wire, op, $1, $2, $3
            print "plain-ring-" wire, op, $1, $2, $4
            print "elastic-" wire, op, $1, $2, $5
        }'
}

memory() { # wire [malloc]
    "$build/bench/memory" "$1" "$ranks" "$sizes" ${2:-} |
        awk -v line="$who $op $ranks $sizes" 'NF == 1 { print line, $1 }'
}

# The loss by the choice of algorithms, and the error of the prediction, by
# coefficients that are fitted during the run; older ones only select the
# candidates. The first line is about all cells of so many ranks. Rules and
# coefficients stay for the rest of the table, as for a user who has tuned.
tune() {
    test "${AGAIN:-}" || test "${ROUND:-1}" = 1 || return 0
    report=$(mktemp)
    "$build/collrun" calibrate --wire "$op" -n "$ranks" >/dev/null &&
        "$build/collrun" tune --wire "$op" -n "$ranks" --quick \
            --calibrate --by ranks -o jsonl | head -n 1 >"$report"
    awk -v line="$op $ranks $sizes" '
        function print_note(who, name,    at) {
            at = index($0, "\"" name "\":")
            if (at)
                print "tune-" who, line, substr($0, at + length(name) + 3) + 0
        }
        {
            print_note("regret", "tuned_p95_percent")
            print_note("worst", "tuned_worst_percent")
            print_note("median", "error_median_percent")
            print_note("p95", "error_p95_percent")
        }' "$report"
    rm "$report"
}

# A stream's time is that of one message; a row has both programs.
wire() { # wire [key file]
    for bytes in $sizes; do
        "$build/collrun" bench wire --wire "$1" -b "$bytes" -e "$bytes" \
            --seconds "$seconds" -o jsonl ${2:+--key "$2"} |
            awk -v wire="$1" -v op="$op" -v bytes="$bytes" -v key="${2:-}" '
                function value(name,    at) {
                    at = index($0, "\"" name "\":")
                    return substr($0, at + length(name) + 3) + 0
                }
                function print_time(who, us) {
                    print who "-" wire, op, 2, bytes, us
                }
                key { # the raw socket is measured without one, too
                    print_time("key", op == "trip" ? value("us") : bytes / value("GBps") / 1e3)
                    print_time("cipher", bytes / value("cipher_GBps") / 1e3)
                    next
                }
                op == "trip" { print_time("wire", value("us")); print_time("raw", value("raw_us")) }
                op == "stream" {
                    print_time("wire", bytes / value("GBps") / 1e3)
                    print_time("raw", bytes / value("raw_GBps") / 1e3)
                }'
    done
}

with_key() { # wire
    folder=$(mktemp -d)
    "$build/ringctl" keygen "$folder/key" && wire "$1" "$folder/key"
    rm -r "$folder"
}

measure() {
    sizes=$*
    case $who in
    memory-malloc) memory shm malloc ;;
    shm | ipc | tcp) gradwire "$who" ;;
    synth-*) synthesised "${who#synth-}" ;;
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
    face-openmpi)
        mpi openmpi mpirun.openmpi --allow-run-as-root --oversubscribe -np "$ranks" \
            -x "LD_PRELOAD=$(realpath "$build")/libgradwire-mpi-openmpi.so"
        ;;
    face-mpich)
        mpi mpich mpirun.mpich -np "$ranks" \
            -genv LD_PRELOAD "$(realpath "$build")/libgradwire-mpi-mpich.so"
        ;;
    fall-openmpi | taken-openmpi)
        cost "${who%-*}" openmpi --allow-run-as-root --oversubscribe
        ;;
    fall-mpich | taken-mpich) cost "${who%-*}" mpich ;;
    gloo) gloo ;;
    start-*) start "${who#start-}" ;;
    ps-*) server "${who#ps-}" ;;
    pslite) # by the limits of all rounds so far
        awk -v op="$op" -v ranks="$ranks" -v bytes="$sizes" -f tests/bench/pslite.awk \
            "${LIMITS%.txt}.all"
        ;;
    wire-*) wire "${who#wire-}" ;;
    key-*) with_key "${who#key-}" ;;
    events-on) events ;;
    elastic-*) elastic "${who#elastic-}" ;;
    memory-*) memory "${who#memory-}" ;;
    tune-regret) tune ;;
    raw-* | cipher-* | events-off | plain-* | tune-worst | tune-median | tune-p95) ;;
    *)
        echo "measure: there is no $who" >&2
        return 64
        ;;
    esac
}

measure "$@" </dev/null
