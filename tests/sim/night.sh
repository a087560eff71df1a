#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A night of simulated faults: the ring and the parameter server, each under
# very many schedules of crashes, cuts, delays and clocks that a seed
# reproduces, until a million have passed or the first has failed. Then its
# seed, the few relevant faults and the command that repeats it are printed.
#
#   tests/sim/night.sh [BUILD]       make sim-night
#
#   SEEDS=1000000   schedules
#   FIRST=1         the first of them
#   JOBS=           processes; by default one per core
#
# Schedules are numbered in groups of five: group g is seeds 4g - 3 to 4g of the
# ring and seed g of the parameter server. An interrupted night finishes the
# slices under way. The last line has the number of schedules done, the rate,
# and the FIRST with which another night continues.
set -eu
cd "$(dirname "$0")/../.."

# Inherited by the slices: runs seeds $2 to $3 of the simulation $1.
simulate() {
    log=$night/$1-$2
    status=0
    "$night_build/sim/$1" --seeds "$2..$3" >"$log" 2>&1 || status=$?
    [ "$status" != 0 ] || return 0
    : >"$night/end"
    case $status in
    130 | 143) ;; # cut short, too
    *) { cat "$log" && echo "$1: seeds $2 to $3: exit status $status"; } \
        >"$night/wrong.$1-$2" ;;
    esac
    exit 1
}

# One slice: the groups FIRST to LAST.
if [ "${1:-}" = --slice ]; then
    # shellcheck disable=SC2086 # two words
    set -- $2
    [ ! -e "$night/end" ] || exit 0
    simulate ring $((4 * $1 - 3)) $((4 * $2))
    simulate ps "$1" "$2"
    echo "$1 $2" >>"$night/done" # one write, so none is torn
    awk -v all="$night_all" -v seconds=$(($(date +%s) - night_began)) \
        '{ through += 5 * ($2 - $1 + 1) } END {
            printf "%d of %d schedules in %d s, %.0f a second\n", through, all,
                seconds, through / (seconds > 0 ? seconds : 1)
        }' "$night/done"
    exit 0
fi

night_build=${1:-build}
groups=$(((${SEEDS:-1000000} + 4) / 5))
first=$(((${FIRST:-1} + 4) / 5))
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
night_all=$((5 * groups))
night=$(mktemp -d)
night_began=$(date +%s)
export night night_build night_all night_began
trap 'rm -rf "$night"' EXIT
trap ': >"$night/end"' INT TERM

# Short slices show an error early, and leave little to be finished.
slices() {
    awk -v first="$first" -v groups="$groups" -v jobs="$jobs" 'BEGIN {
        step = int(groups / (4 * jobs))
        step = step > 200 ? 200 : step < 1 ? 1 : step
        end = first + groups
        for (; first < end; first += step)
            print first, (first + step < end ? first + step : end) - 1
    }'
}

: >"$night/done"
slices | xargs -P "$jobs" -I '{}' "$0" --slice '{}' &
until wait "$!" || ! kill -0 "$!" 2>/dev/null; do
    : # a signal: what is under way is waited for
done
if ls "$night"/wrong.* >/dev/null 2>&1; then
    cat "$night"/wrong.*
    exit 1
fi
awk -v seconds=$(($(date +%s) - night_began)) -v jobs="$jobs" -v first="$first" \
    '{ through += 5 * ($2 - $1 + 1); last[$1] = $2 } END {
        for (next_one = first; next_one in last;)
            next_one = last[next_one] + 1
        printf "sim-night: %d schedules from %d on, none wrong, in %d s: " \
            "%.0f a second with %d processes; FIRST=%d goes on\n", through,
            5 * first - 4, seconds, through / (seconds > 0 ? seconds : 1), jobs,
            5 * next_one - 4
    }' "$night/done"
[ ! -e "$night/end" ] || exit 130
