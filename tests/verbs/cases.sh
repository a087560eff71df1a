#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cases.sh: the cases of the verbs wire in a machine with a device; prints one
# line per case. The conformance suite of the wires (unit), every collective
# with 2 to 4 ranks (collrun bench, which checks each result), and a rank that
# is killed.
bad=0
operations="broadcast reduce allreduce gather scatter allgather reduce_scatter
    alltoall barrier"

record_verdict() { # verdict | case | in a word
    printf '%-4s %-7s %-46s %s\n' "$KIND" "$@"
}

failed() { # case | file that says why
    record_verdict FAILED "$1" ""
    grep -v '^repeat with' "$2" | sed 's/^/        /' | tail -20
    bad=1
}

suite() { # name | what it is
    if CK_RUN_SUITE=$1 GW_TEST_WIRES=verbs CK_DEFAULT_TIMEOUT=60 unit >log 2>&1; then
        record_verdict ok "$2" "$(sed -n 's/^100%: Checks: \([0-9]*\),.*/\1 tests/p' log)"
    else
        failed "$2" log
    fi
}

# Correct rows; none may be wrong, and there must be one per size.
bench() { # ranks
    rows=0
    for operation in $operations; do
        if ! collrun bench "$operation" -n "$1" --wire verbs --insecure \
            --sizes 4,1000,65536,700000 --iters 3 --warmup 1 -o jsonl \
            >rows 2>log || ! grep -q '"wire":"verbs"' rows ||
            grep '"wrong":' rows | grep -qv '"wrong":0[,}]'; then
            cat rows >>log
            failed "$operation, $1 ranks" log
            return
        fi
        rows=$((rows + $(grep -c '"wrong":0[,}]' rows)))
    done
    record_verdict ok "every collective, $1 ranks" "$rows sizes, none wrong"
}

# Data that iWARP has finished may still be under way in TCP.
suite_over_a_slow_line() {
    if /usr/sbin/tc qdisc add dev lo root netem delay 20ms; then
        suite wire_memory "conformance: memory, over a slow line"
        /usr/sbin/tc qdisc del dev lo root
    else
        record_verdict FAILED "a slow line" ""
        bad=1
    fi
}

all_algorithms() {
    if collrun bench allreduce --algo all -n 4 --wire verbs --insecure \
        --sizes 70000 --iters 2 --warmup 1 -o jsonl >rows 2>log &&
        ! grep '"wrong":' rows | grep -qv '"wrong":0[,}]'; then
        record_verdict ok "every algorithm of all-reduce, 4 ranks" \
            "$(grep -c '"wrong":0[,}]' rows) algorithms, none wrong"
    else
        cat rows >>log
        failed "every algorithm of all-reduce" log
    fi
}

# Three processes without a supervisor; the last is killed while they work. The
# others must end by themselves, and rank 0, which prints, must name it.
member() { # rank
    GW_RANK=$1 GW_SIZE=3 GW_RENDEZVOUS=tcp://127.0.0.1:5577 exec collrun bench \
        allreduce --wire verbs --insecure -o jsonl --seconds 500ms \
        --begin 1K --end 1G --factor 2 >out."$1" 2>err."$1"
}

killed() {
    name="a killed rank is named by the others"
    (member 0) & zero=$!
    (member 1) & one=$!
    (member 2) & two=$!
    tries=0
    until grep -q '"wrong":0' out.0 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || break
        sleep 0.05
    done
    read -r before _ </proc/uptime
    kill -9 "$two"
    status=0
    wait "$zero" && status=1
    wait "$one" && status=1
    read -r after _ </proc/uptime
    took=$((${after%.*} - ${before%.*} + 1))
    cat err.0 err.1 >log
    if [ "$tries" -lt 600 ] && [ "$status" = 0 ] && grep -q 'rank 2' err.0 &&
        [ "$took" -le 5 ]; then
        record_verdict ok "$name" "within $took s"
    else
        echo "after $tries looks: status $status, $took s" >>log
        failed "$name" log
    fi
}

refused() { # case | words | command...
    name=$1
    words=$2
    shift 2
    if "$@" >log 2>&1 || ! grep -q "$words" log; then
        failed "$name" log
    else
        record_verdict ok "$name" ""
    fi
}

suite wire "conformance: slices"
suite wire_memory "conformance: memory that is freed"
suite wire_end "conformance: ends of links"
suite wire_interrupt "conformance: interrupts"
test "$KIND" != siw || suite_over_a_slow_line
for ranks in 2 3 4; do
    bench "$ranks"
done
all_algorithms
killed
refused "without --insecure it is refused" "$ADDRESS on rdma0 is open to the network" \
    collrun bench barrier -n 2 --wire verbs
refused "a wrong interface names what there is" "there are: rdma0 port 1 ($ADDRESS" \
    collrun bench barrier -n 2 --wire verbs --insecure --interface lo0
exit "$bad"
