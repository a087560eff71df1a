#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prices the learner's splits and layouts, finds the fewest bytes that a job can
# send by trying all layouts, and trains all of them. Batches depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

net=$LAB_DIR/tangled.net
jobs=${LAB#"$PWD"/}/jobs.net

# Prints a network without its splits.
layers_of() {
    sed 's/#.*//' "$1" | awk 'NF { print $1, $1 == "softmax" ? "" : $2 }' |
        sed -E 's/^(tanh|relu) .*/\1/'
}

# layout_of JOB: prints its mesh, mode and group as options.
layout_of() {
    awk -v job="$1" '$1 == job { print "--mesh", $2, "--mode", $3, "--group", $4,
            $5 == "" ? "" : "--micro " $5 }' "$LAB_DIR/jobs.txt" | tail -n 1
}

# costs JOB: prints the bytes sent and held, from a layout as csv. Only the job
# "whole" counts activations.
costs() {
    awk -F, -v job="$1" '
        $2 == "sent" { sent += $9 }
        $2 == "held" && (job == "whole" || $3 != "activations") { held += $9 }
        END { if (held) print sent, held }'
}

# priced JOB BATCH OPTION...
priced() {
    job=$1
    batch=$2
    shift 2
    run_tool pipebench layout "$jobs" "$@" --batch "$batch" -o csv 2>/dev/null |
        costs "$job"
}

# Prints every mesh, mode and group of eight ranks.
layouts() {
    for mesh in 8x1 4x2 2x4 1x8; do
        echo "--mesh $mesh --mode replicated"
        for group in 0 2 4; do
            echo "--mesh $mesh --mode zero1 --group $group"
            echo "--mesh $mesh --mode sharded --group $group"
        done
    done
}

# least JOB BATCH ROOM: prints the fewest bytes of a layout that fits, and its
# fewest micro-batches.
least() {
    micros=1
    if [ "$1" = whole ]; then
        micros='1 2 4 8 16'
    fi
    for micro in $micros; do
        layouts | while read -r options; do
            # shellcheck disable=SC2086 # several words
            echo "$(priced "$1" "$2" $options --micro "$micro") $micro"
        done
    done | awk -v room="$3" '
        NF == 3 && $2 <= room && (!best || $1 < best) { best = $1; micro = $3 }
        END { print best, micro }'
}

# judged JOB BATCH ROOM
judged() {
    options=$(layout_of "$1")
    found=$(least "$1" "$2" "$3")
    note "$1.least" "${found% *}"
    note "$1.least_micro" "${found#* }"
    note "$1.room" "$3"
    say "$1, batches of $2 rows, $3 bytes: ${options:-no line in jobs.txt}"
    # shellcheck disable=SC2086 # several words
    measure "$1" pipebench layout "$jobs" $options --run --data "$LAB_OUT/rows" \
        --batch "$2" --steps 2 --compare --seed "$SEED"
    # shellcheck disable=SC2086
    costs=$(priced "$1" "$2" $options)
    note "$1.sent" "${costs% *}"
    note "$1.held" "${costs#* }"
    report "$1" sent held largest_difference
}

B=$((16 * (SEED % 4 + 1)))
note B "$B"
awk -v rows=256 -v features=64 -v seed="$SEED" -f "$LAB/rows.awk" \
    >"$LAB_OUT/rows64"
awk -v rows=2048 -v seed="$SEED" -f "$LAB/rows.awk" >"$LAB_OUT/rows"

say "tangled.net on $T tensor ranks, $B rows:"
if [ "$(layers_of "$net")" = "$(layers_of "$LAB/exercise/tangled.net")" ]; then
    note net.changed 0
else
    note net.changed 1
fi
measure_by what net pipebench layout "$net" --mesh "1x${T}x1" --batch "$B"
report net tensor.bytes parameters.bytes parameters.one_process
measure run pipebench layout "$net" --mesh "1x${T}x1" --batch "$B" --run \
    --data "$LAB_OUT/rows64" --steps 3 --compare --seed "$SEED"

judged short $((64 - 8 * (SEED % 3))) 60000
judged tight $((768 + 32 * (SEED % 4))) 60000
judged long $((2048 - 64 * (SEED % 4))) 120000
judged whole $((2048 - 128 * (SEED % 3))) 400000
micro=$(awk '$1 == "whole" { print $5 == "" ? 1 : $5 }' "$LAB_DIR/jobs.txt")
note whole.micro "$micro"
