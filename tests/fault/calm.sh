#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The false alarms and the detection times of failure detection on a busy
# machine. With 1, 2 and 4 loops per core that never sleep, rings of 4 and 8 and
# 3 servers with 4 workers run undisturbed, and each member that is declared
# dead is a mistake. Then members are killed (SIGKILL) and stopped (SIGSTOP),
# and the time until the new view is measured. Prints one table, and the goals
# that were missed:
#
#     none declared dead at 1 and 2 loops per core, at most one per hour at 4
#     at 2 loops per core: SIGKILL p99 <= 100 ms, SIGSTOP p99 <= 600 ms
#
#   tests/fault/calm.sh [-t SECONDS] [-n SAMPLES] [-s SEED] [-l LOADS] [-m SHAPES]
#                                                               make check-calm
#
# SECONDS without faults in total: 300 by default, 3600 for an hour. SAMPLES of
# each signal, in each row: 20. LOADS: some of "1 2 4"; SHAPES: some of "ring-4
# ring-8 servers". Exit status 1 if a goal was missed or a sum was wrong.
set -eu
cd "$(dirname "$0")/../.."
build=${B:-build}
seconds=300
samples=20
seed=1
loads="1 2 4"
shapes="ring-4 ring-8 servers"
while getopts t:n:s:l:m: option; do
    case $option in
    t) seconds=$OPTARG ;;
    n) samples=$OPTARG ;;
    s) seed=$OPTARG ;;
    l) loads=$OPTARG ;;
    m) shapes=$OPTARG ;;
    *) exit 64 ;;
    esac
done

work=$(mktemp -d)
GRADWIRE_RUNS=$work/runs
export GRADWIRE_RUNS
busy=
idle() {
    for pid in $busy; do
        kill "$pid" 2>/dev/null || true
    done
    busy=
}
finish() {
    idle
    "$build/ringctl" --run calm down >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' HUP INT PIPE TERM

# load LOOPS: so many per core. They end with this script, even if it is killed.
load() {
    left=$(($(nproc) * $1))
    while [ "$left" -gt 0 ]; do
        setpriv --pdeathsig KILL sh -c 'while :; do :; done' &
        busy="$busy $!"
        left=$((left - 1))
    done
}

# up SHAPE: a run without an end.
up() {
    case $1 in
    ring-*) set -- "${1#ring-}" ops --bytes 1M ;;
    *) set -- --servers 3 --workers 4 --replicas 3 train lr rows.libsvm \
        --batch 30 --parts 4 --epochs 1000000 ;;
    esac
    GRADWIRE_DATA=$work "$build/ringctl" --timeout 5m up --name calm "$@" \
        >"$work/output" 2>&1 || {
        cat "$work/output"
        exit 1
    }
}

# numbers FILE: p50, p99 and max of the times until the new view.
numbers() {
    awk '$1 == "new" && $2 == "view" {
        for (i = 3; i < NF; i++)
            if ($i == "p50" || $i == "p99" || $i == "max") v[$i] = $(i + 1)
    } END {
        print v["p50"] == "" ? "- - -" : v["p50"] " " v["p99"] " " v["max"]
    }' "$1"
}

# run_kills MEMBERS COUNT WHAT: exit status 3 means members declared dead.
run_kills() {
    status=0
    "$build/kills" calm "$1" "$2" "$seed" "$3" >"$work/$3" 2>"$work/why" ||
        status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || {
        cat "$work/$3" "$work/why"
        exit 1
    }
}

# row LOOPS SHAPE MEMBERS: measures, and appends to the table.
row() {
    echo "calm: $1 loops per core, $2: $each s of calm, $samples kills and" \
        "stops" >&2
    up "$2"
    load "$1"
    run_kills "$3" "$each" calm
    run_kills "$3" "$samples" kill
    run_kills "$3" "$samples" pause
    idle
    "$build/ringctl" --run calm down >/dev/null
    dead=$(awk '/declared dead/ { print $(NF - 2) }' "$work/calm")
    sed "s/^/calm:   /" "$work/calm" "$work/kill" "$work/pause" >&2
    echo "$1 $2 $each $dead $(numbers "$work/kill") $(numbers "$work/pause")" \
        >>"$work/rows"
}

awk 'BEGIN {
    srand(1)
    for (i = 0; i < 3000; i++) {
        x = 2 * rand() - 1; y = 2 * rand() - 1
        print (x + y > 0 ? 1 : -1), "1:" x, "2:" y
    }
}' >"$work/rows.libsvm"
rows=$(($(echo "$loads" | wc -w) * $(echo "$shapes" | wc -w)))
each=$((seconds / rows))
[ "$each" -ge 1 ] || each=1
echo "calm: seed $seed" >&2
for loops in $loads; do
    for shape in $shapes; do
        case $shape in
        ring-*) row "$loops" "$shape" "${shape#ring-}" ;;
        *) row "$loops" "$shape" 7 ;;
        esac
    done
done

awk -v samples="$samples" '
BEGIN {
    head = "%-9s %-8s %7s %5s %7s %27s %27s\n"
    printf head, "", "", "", "", "an", "SIGKILL to new view, ms", \
        "SIGSTOP to new view, ms"
    printf head, "loops", "members", "calm", "false", "hour", \
        "p50      p99      max", "p50      p99      max"
}
function miss(text) { missed = missed "  " text "\n" }
{
    hour = $4 * 3600 / $3
    printf "%-9s %-8s %5d s %5d %7.1f %9s%9s%9s %9s%9s%9s\n", $1 " a core", \
        $2, $3, $4, hour, $5, $6, $7, $8, $9, $10
    dead[$1] += $4; time[$1] += $3
    if ($1 == 2 && $6 + 0 > 100) miss($2 ": SIGKILL p99 " $6 " ms > 100 ms")
    if ($1 == 2 && $9 + 0 > 600) miss($2 ": SIGSTOP p99 " $9 " ms > 600 ms")
}
END {
    for (loops = 1; loops <= 2; loops++)
        if (dead[loops] > 0)
            miss(dead[loops] " declared dead at " loops " loops a core")
    if (time[4] && dead[4] > 1 && dead[4] * 3600 / time[4] > 1)
        miss(dead[4] " declared dead in " time[4] " s at 4 loops a core")
    printf "%s", missed == "" ? "All goals were met.\n" \
        : "Goals that were missed:\n" missed
    exit missed != ""
}' "$work/rows"
