#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates the learner's choices. Then trains in virtual time with the learner's
# policy and with fixed K, over three draws of times and a schedule of stragglers
# that depend on the seed. Then trains with real processes and a slow worker.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# chose NAME: prints its number in choice.txt.
chose() {
    sed -n "s/#.*//; s/^ *$1 *= *\([0-9]*\) *$/\1/p" "$LAB_DIR/choice.txt" |
        tail -n 1
}

# rounds_with NAME BACKUPS
rounds_with() {
    measure "$1" psnode sim -n $((W + $2)) --mode "kofn:$W" --late give-up \
        --rounds 4000 --seed "$SEED"
    report "$1" round_s
}

# waits_with NAME BOUND
waits_with() {
    measure "$1" psnode sim -n "$W" --mode "ssp:$2" --rounds 4000 --seed "$SEED"
    report "$1" waited_share ahead_max
}

backups=$(chose backups)
bound=$(chose bound)
say "choice.txt: backups = $backups, bound = $bound:"
note bound "$bound"
rounds_with none 0
rounds_with enough "${backups:-0}"
rounds_with fewer $((${backups:-0} > 0 ? backups - 1 : 0))
note fewer.backups "${backups:-0}"
waits_with waits "${bound:-0}"
waits_with less $((${bound:-0} / 2))

# The schedule: four workers are slow for a while, later two others.
a=$((SEED % 6))
b=$((8 + SEED % 7))
slow="$a-$((a + 3)):8@20s-60s,$b-$((b + 1)):8@80s-120s"

# trained NAME SEED ARGUMENTS...: trains until the loss is a billionth.
trained() {
    name=$1 draw=$2
    shift 2
    measure_by mode "$name" psnode sim drift -n "$W" "$@" --slow "$slow" \
        --compute normal:1s,50ms --rounds 250 --batch 128 --seed "$draw" \
        --set rate=1.1,features=64,noise=0,period=1e12 --target 1e-9
}

# reached NAME: prints the seconds to the loss, or 9999 if it was not reached.
reached() {
    seconds=$(value "$1.seconds_to_target")
    echo "${seconds:-9999}"
}

compile mine "$LAB_DIR/mine.c"
for i in 1 2 3; do
    draw=$((100 * i + SEED))
    say "mine.c and fixed K, draw $draw: seconds to the loss"
    trained "mine$i" "$draw" --mode bsp --straggler "$LAB_OUT/mine.so"
    trained "fixed$i" "$draw" --mode bsp,kofn:15,kofn:14,kofn:13,kofn:12
    report "mine$i" bsp.seconds_to_target bsp.modes
    for mode in bsp kofn_15 kofn_14 kofn_13 kofn_12; do
        note "$mode.$i" "$(reached "fixed$i.$mode")"
        printf '    %-24s %s\n' "$mode" "$(value "$mode.$i")"
    done
    note "mine.$i" "$(reached "mine$i.bsp")"
done
for name in mine bsp kofn_15 kofn_14 kofn_13 kofn_12; do
    compute "$name.sum" "$name.1+$name.2+$name.3"
done
few='min(kofn_13.sum,kofn_12.sum)' many='min(kofn_15.sum,kofn_14.sum)'
compute fixed.best "min(bsp.sum,min($few,$many))"
report mine sum
report fixed best

say "Real processes: four workers, the last one ten times slower:"
real() {
    measure "$@" -n "$N" -s 2 -E 1 --set rows=6000 --compute 5ms --slow 3=50ms \
        --seed "$SEED"
    report "$1" seconds dropped lost doubled
}
real waiting psnode train drift
real real psnode train drift --straggler "$LAB_OUT/mine.so"
report real last_mode
compute real.wrong "real.lost+real.doubled"
