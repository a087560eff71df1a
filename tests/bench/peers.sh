#!/bin/sh
# SPDX-License-Identifier: MIT
#
# peers.sh [BUILD]: gradwire beside what one would use instead, on this machine,
# now: Open MPI over shared memory, Gloo over TCP, and shm_ideal, the bare loads
# and stores. Figures of different days cannot be compared, so each row runs
# gradwire and its peer in turn, $ROUNDS times (5), for $SECONDS_EACH (0.25 s).
# Shown are the medians of the rounds, how far the rounds lie apart (largest to
# smallest, in percent of the median), and the ratio of the medians; below 1,
# gradwire is faster. Rows with a limit end in PASS or MISS; a MISS is status 1.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-0.25}
.ci/deps build bench

# op, ranks, bytes, gradwire's wire, the peer, and the limit: of the ratio, or,
# with "us", of gradwire's own time; - for none.
rows() {
    cat <<'EOF'
allreduce 2 1024     shm openmpi   5us
allreduce 2 131072   shm openmpi   -
allreduce 2 16777216 shm openmpi   1.0
allreduce 4 16777216 shm openmpi   -
allreduce 2 16777216 shm shm_ideal -
allreduce 2 1024     tcp gloo      -
allreduce 2 16777216 tcp gloo      0.5
allreduce 4 16777216 tcp gloo      -
allreduce 2 16777216 ipc gloo      -
EOF
}

# Is $build/bench/$1 older than its sources?
stale() {
    for source in "tests/bench/peers/$2" tests/bench/peers/peer.h; do
        test -n "$(find "$build/bench/$1" -newer "$source" 2>/dev/null)" ||
            return 0
    done
    return 1
}

compile() {
    from=tests/bench/peers
    to=$build/bench
    mkdir -p "$to"
    make -s "B=$build" "$build/collrun" >&2
    if stale openmpi mpi_coll.c; then
        mpicc.openmpi -O3 -D_GNU_SOURCE -o "$to/openmpi" $from/mpi_coll.c
    fi
    if stale gloo gloo_coll.cc; then
        g++ -O3 -o "$to/gloo" $from/gloo_coll.cc -lgloo -lpthread
    fi
    if stale shm_ideal shm_ideal.c; then
        gcc -O3 -march=native -D_GNU_SOURCE -o "$to/shm_ideal" $from/shm_ideal.c
    fi
}

# Peers print "op ranks bytes time_us ...".
run_peer() { # op ranks bytes peer
    case $4 in
    openmpi)
        mpirun.openmpi --allow-run-as-root --oversubscribe -np "$2" \
            "$build/bench/openmpi" "$1" "$3" "$seconds"
        ;;
    gloo)
        meeting=$(mktemp -d)
        "$build/bench/gloo" "$1" "$2" "$3" "$seconds" "$meeting" || true
        rm -r "$meeting"
        ;;
    shm_ideal)
        "$build/bench/shm_ideal" "$1" "$2" "$3" "$seconds"
        ;;
    esac | awk '{ print $4 }'
}

run_gradwire() { # op ranks bytes wire
    "$build/collrun" bench "$1" -n "$2" -b "$3" -e "$3" --wire "$4" \
        --seconds "$seconds" -o jsonl |
        sed -n 's/.*"time_us":\([0-9.e+-]*\).*"wrong":0.*/\1/p'
}

# A line "row gradwire's-time peer's-time" a run.
measure() {
    round=1
    while [ "$round" -le "$rounds" ]; do
        test -t 2 && printf '\rround %d of %d ' "$round" "$rounds" >&2
        row=1
        rows | while read -r op ranks bytes wire peer _; do
            ours=$(run_gradwire "$op" "$ranks" "$bytes" "$wire" </dev/null)
            theirs=$(run_peer "$op" "$ranks" "$bytes" "$peer" </dev/null)
            echo "$row ${ours:--} ${theirs:--}"
            row=$((row + 1))
        done
        round=$((round + 1))
    done
    if [ -t 2 ]; then printf '\r                \r' >&2; fi
}

# shellcheck disable=SC2016 # the dollars are awk's
report='
function sort(values, count,    i, k, value) {
    for (i = 2; i <= count; i++) {
        value = values[i]
        for (k = i - 1; k > 0 && values[k] > value; k--)
            values[k + 1] = values[k]
        values[k + 1] = value
    }
}
# Sets median and spread (percent) of the times of a row.
function summarize(who, row,    values, count, i) {
    count = runs[who, row]
    for (i = 1; i <= count; i++)
        values[i] = time[who, row, i]
    sort(values, count)
    median = count ? values[int((count + 1) / 2)] : 0
    spread = count ? 100 * (values[count] - values[1]) / median : 0
}
function verdict(limit, ours, ratio,    value) {
    if (limit == "-")
        return ""
    value = limit ~ /us$/ ? ours : ratio
    if (!value)
        return " MISS (no result)"
    return (value <= limit + 0 ? " PASS <= " : " MISS <= ") limit
}
FNR == NR {
    if ($2 != "-") time["ours", $1, ++runs["ours", $1]] = $2 + 0
    if ($3 != "-") time["theirs", $1, ++runs["theirs", $1]] = $3 + 0
    next
}
FNR == 1 {
    printf "%-10s %5s %9s %4s %11s %6s %-9s %11s %6s %6s\n", "op", "ranks",
        "bytes", "wire", "gradwire_us", "spread", "peer", "peer_us", "spread",
        "ratio"
}
{
    summarize("ours", FNR)
    ours = median
    own_spread = spread
    summarize("theirs", FNR)
    ratio = median ? ours / median : 0
    result = verdict($6, ours, ratio)
    missed = missed || result ~ /MISS/
    printf "%-10s %5d %9d %4s %11.2f %5.0f%% %-9s %11.2f %5.0f%% %6.2f%s\n",
        $1, $2, $3, $4, ours, own_spread, $5, median, spread, ratio, result
}
END { exit missed }
'

compile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
measure >"$work/times"
rows >"$work/rows"
awk "$report" "$work/times" "$work/rows"
