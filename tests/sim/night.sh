#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A night of simulated faults: the ring and the parameter server, each under
# very many schedules of crashes, cuts, delays and clocks that a seed gives
# again, until a million are through or the first is wrong. Then its seed, the
# few faults that matter and the command that repeats it are printed.
#
#   tests/sim/night.sh [BUILD]       make sim-night
#
#   SEEDS=1000000   schedules, 4 of 5 of the ring as in `make check`
#   FIRST=1         the first seed of each; another night begins where this ends
#   JOBS=           processes; as many as there are cores
set -eu
cd "$(dirname "$0")/../.."

# One slice: "ring FIRST LAST", in the environment of the whole.
if [ "${1:-}" = --slice ]; then
    # shellcheck disable=SC2086 # three words
    set -- $2
    log=$night/$1-$2
    [ ! -e "$night/wrong" ] || exit 0
    if ! "$night_build/sim/$1" --seeds "$2..$3" >"$log" 2>&1; then
        mv "$log" "$night/wrong.$1-$2"
        : >"$night/wrong"
        exit 255 # xargs begins no other
    fi
    mv "$log" "$log.done"
    echo $(($3 - $2 + 1)) >>"$night/schedules" # one write, so none is torn
    now=$(date +%s)
    awk -v all="$night_all" -v seconds=$((now - night_began)) \
        '{ done += $1 } END {
            printf "%d of %d schedules in %d s, %.0f a second\n", done, all,
                seconds, done / (seconds > 0 ? seconds : 1)
        }' "$night/schedules"
    exit 0
fi

night_build=${1:-build}
night_all=${SEEDS:-1000000}
first=${FIRST:-1}
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
night=$(mktemp -d)
night_began=$(date +%s)
export night night_build night_all night_began
trap 'rm -rf "$night"' EXIT
trap 'exit 130' INT TERM

# Short slices of both in turn: what is wrong shows early.
slices() {
    awk -v all="$night_all" -v first="$first" -v jobs="$jobs" 'BEGIN {
        ps = int(all / 5); ring = all - ps; of_ring = of_ps = first
        step = int(ps / (4 * jobs)); if (step > 500) step = 500; if (step < 1) step = 1
        while (ring > 0 || ps > 0) {
            n = ring < 4 * step ? ring : 4 * step
            if (n > 0) print "ring " of_ring " " of_ring + n - 1
            of_ring += n; ring -= n
            n = ps < step ? ps : step
            if (n > 0) print "ps " of_ps " " of_ps + n - 1
            of_ps += n; ps -= n
        }
    }'
}

status=0
slices | xargs -P "$jobs" -I '{}' "$0" --slice '{}' || status=1
if [ -e "$night/wrong" ]; then
    cat "$night"/wrong.*
    exit 1
fi
awk -v seconds=$(($(date +%s) - night_began)) -v jobs="$jobs" -v first="$first" \
    '{ done += $1 } END {
        printf "sim-night: %d schedules from seed %d on, none wrong, in %d s: " \
            "%.0f a second with %d processes\n", done, first, seconds,
            done / (seconds > 0 ? seconds : 1), jobs
    }' "$night/schedules"
exit "$status"
