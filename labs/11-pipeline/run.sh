#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates and draws schedules, and runs one of them for a second with one process
# per stage.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# simulated NAME SCHEDULE MICROS
simulated() {
    measure_by stage "$1" pipebench sim -s "$2" -n "$P" -m "$3" \
        --forward "${FWD}ms" --backward "${BWD}ms"
    report "$1.all" time_us bubble_simulated peak_activations
}

say "GPipe with 4, 16 and 32 micro-batches, in virtual time:"
for micros in 4 16 32; do
    simulated "gpipe$micros" gpipe "$micros"
    compute "bubble$micros" "100 * gpipe$micros.all.bubble_simulated"
done

say "1F1B and ZB-H1, with $M:"
simulated one 1f1b "$M"
simulated zero zb-h1 "$M"
note held_gpipe "$(value gpipe16.all.peak_activations)"
note held_1f1b "$(value one.all.peak_activations)"
compute time_1f1b 'one.all.time_us / 1000'
compute time_zb 'zero.all.time_us / 1000'

say "Activations in bytes: real training of a network of $P equal stages, $ROWS rows" \
    "per step. activation_bytes is the bytes that the fullest rank held at once:"
net=${LAB#"$PWD"/}/even.net
awk -v rows="$ROWS" -v features=64 -v seed="$SEED" \
    -f "${LAB%/*}/12-layouts/rows.awk" >"$LAB_OUT/rows"
for schedule in gpipe 1f1b; do
    measure "$schedule" pipebench layout "$net" --mesh "1x1x$P" -s "$schedule" \
        -m "$M" --batch "$ROWS" --run --data "$LAB_OUT/rows" --steps 2
    report "$schedule" activation_bytes parameter_bytes gradient_bytes \
        optimiser_bytes
    note "bytes_$schedule" "$(value "$schedule.activation_bytes")"
done

say "The memory of each rank, as bars of the same scale:"
for schedule in gpipe 1f1b; do
    show pipebench layout "$net" --mesh "1x1x$P" -s "$schedule" -m "$M" \
        --batch "$ROWS" --bars --memory 400000 | sed '/^# [^l]/d'
done

say "Pictures of all three, with 8. A row is a stage; the dots are the bubble:"
for schedule in gpipe 1f1b zb-h1; do
    show pipebench plan -s "$schedule" -n "$P" -m 8
done

say "Now $P real processes. A pass sleeps instead of computing; the messages and" \
    "the waiting are real:"
show pipebench run -s 1f1b -n "$P" -m 4 --work sleep:20ms,40ms --steps 1 \
    --events "$LAB_OUT/real.jsonl"
show ringtop --from "$LAB_OUT/real.jsonl" --batch
