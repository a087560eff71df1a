#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compares the learner's formulas and choices with virtual time, on hosts whose
# costs depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

A=$((10 + SEED * 7 % 40))
R=$((1000 + SEED * 300 % 2100))
P=$((4 << (SEED + 1) % 4))
N=$((A * R))
note P "$P"
note N "$N"
hosts=$LAB_OUT/star.topo
sh "$LAB/star.sh" "$R" >"$hosts"

# share PERCENT BYTES: that share, in whole elements of every chunk.
share() {
    awk -v percent="$1" -v bytes="$2" 'BEGIN {
        printf "%.0f\n", 960 * int(percent / 100 * bytes / 960 + 0.5) }'
}

# compared NAME RANKS BYTES: notes the ring's time over recursive doubling's.
compared() {
    measure_by algo "$1" collrun sim allreduce --topo "$hosts" --alpha "${A}us" \
        -n "$2" -b "$3"
    report "$1" recursive_doubling.time_us ring.time_us
    compute "$1.ratio" "$1.ring.time_us / $1.recursive_doubling.time_us"
}

# crosses ENTRY RANKS BELOW ABOVE: tries one size slightly below the formula's
# value and one slightly above; BELOW and ABOVE are the names of these
# measurements.
crosses() {
    wrote=$(formula_in sizes.txt "$1")
    compute "$1" "$wrote"
    printf '    %s = %s, which is %s bytes\n' "$1" "$wrote" "$(value "$1")"
    if awk -v n="$(value "$1")" 'BEGIN { exit !(n >= 9600 && n < 1e9) }'; then
        compared "$3" "$2" "$(share 94 "$(value "$1")")"
        compared "$4" "$2" "$(share 106 "$(value "$1")")"
    else
        echo "    that is not a size between 9600 bytes and a thousand million"
        note "$3.ratio" 0
    fi
}

# Prints the learner's choice for each line "P SIZE N".
ask() {
    case $choose in
    *.py) python3 "$choose" ;;
    *) awk -f "$choose" -f "$LAB/ask.awk" ;;
    esac
}

# "P SIZE ALGORITHM US" of every case.
cases() {
    for ranks in 3 4 5 6 8 10 12 16; do
        for percent in 50 100 200 300 500 800 1600; do
            size=$(share "$((percent + SEED % 10 * percent / 12))" "$N")
            "$GW_BIN/collrun" sim allreduce --topo "$hosts" --alpha "${A}us" \
                -n "$ranks" -b "$size" -o csv |
                awk -F , -v ranks="$ranks" -v size="$size" '
                    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                    $at["algo"] ~ /^(recursive_doubling|rabenseifner|ring)$/ {
                        print ranks, size, $at["algo"], $at["time_us"] }'
        done
    done
}

say "sizes.txt, with $A us per message and $R bytes per us, so N = $N, and P = $P:"
crosses crossing "$P" below above
say "With six ranks:"
crosses crossing6 6 below6 above6

choose=$(script choose)
say "${choose##*/}, for 8 numbers of ranks and 7 sizes each. Its losses of more than" \
    "5 %:"
cases >"$LAB_OUT/cases"
code=0
awk '!seen[$1, $2]++ { print $1, $2 }' "$LAB_OUT/cases" |
    sed "s/$/ $N/" >"$LAB_OUT/questions"
ask <"$LAB_OUT/questions" >"$LAB_OUT/choices" || code=$?
paste -d ' ' "$LAB_OUT/questions" "$LAB_OUT/choices" |
    awk -v values="$LAB_OUT/values" -f "$LAB/cases.awk" - "$LAB_OUT/cases"
note choose.status "$code"
printf 'choose\t%s check 02 --seed %s\n' "$LAB_COMMAND" "$SEED" >>"$LAB_OUT/commands"
report choose cases mean worst
