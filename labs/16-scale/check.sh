#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compares the learner's formulas with virtual time, with costs that depend on the
# seed. Compiles, verifies, prices, simulates and runs mine.c on racks that also
# depend on the seed, and compares it with all built-in algorithms.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# ---- stops.txt ----

flat=$LAB/exercise/flat.topo
flat=${flat#"$PWD"/}
A=$((10 + SEED * 7 % 30))
R=1000
note A "$A"

# compared NAME ALGORITHM RANKS: notes its time as a multiple of T.
compared() {
    measure "$1" collrun sim allreduce --algo "$2" --topo "$flat" \
        --alpha "${A}us" -n "$3" -b "$S"
    report "$1" time_us
    compute "$1.ratio" "$1.time_us/T"
}

# formula ENTRY ALGORITHM BYTES TIME: evaluates its formula in stops.txt.
formula() {
    S=$3
    note S "$S"
    note T "$4"
    wrote=$(formula_in stops.txt "$1")
    compute "$1" "$wrote"
    printf '%s of %s bytes, %s us per message, in %s us: %s = %s ranks\n' "$2" \
        "$S" "$A" "$4" "$wrote" "$(value "$1")"
    if awk -v n="$(value "$1")" 'BEGIN { exit !(n >= 8 && n < 70000) }'; then
        return 0
    fi
    echo "    that is not a number of ranks between 8 and 70000"
    note "$1_below.ratio" 9
    return 1
}

# percent ENTRY SHARE: prints that share of its ranks.
percent() {
    awk -v n="$(value "$1")" -v share="$2" \
        'BEGIN { printf "%.0f\n", n * share / 100 }'
}

# power ENTRY: prints the largest power of two up to its value.
power() {
    awk -v n="$(value "$1")" 'BEGIN { for (p = 1; 2 * p <= n; p *= 2); print p }'
}

say "stops.txt:"
# Depending on the seed, the bytes take less or more time than the message.
if formula one_shot one_shot $((1000 * (A + (SEED % 2 * 2 - 1) * A / 2))) \
    $((A * (200 + SEED * 13 % 100))); then
    compared one_below one_shot "$(percent one_shot 94)"
    compared one_above one_shot "$(percent one_shot 106)"
fi
if formula ring ring $((1000000 + SEED % 5 * 200000)) \
    $((4000 + A * 2 * (200 + SEED * 17 % 100))); then
    compared ring_below ring "$(percent ring 94)"
    compared ring_above ring "$(percent ring 106)"
fi
bytes=$((1000 * (A / 2 + SEED % 3 * A)))
if formula doubling recursive_doubling "$bytes" \
    $(((A + bytes / R) * (19 + SEED % 4 * 2) / 2)); then
    compared doubling_below recursive_doubling "$(power doubling)"
    compared doubling_above recursive_doubling $((2 * $(power doubling)))
fi

# first NAME BYTES: doubles the ranks until one of the three takes more than T.
first() {
    note T "$((A * (100 + SEED * 11 % 60)))"
    printf '    %s, %s us:' "$2" "$(value T)"
    slow=
    ranks=2
    while [ -z "$slow" ] && [ "$ranks" -lt 256 ]; do
        ranks=$((2 * ranks))
        for algo in one_shot ring recursive_doubling; do
            "$GW_BIN/collrun" sim allreduce --algo "$algo" --topo "$few" \
                --alpha "${A}us" -n "$ranks" -b "$2" -o jsonl |
                awk -v name="$algo" -v by= -f "$LAB_LIB/json.awk"
        done >"$LAB_OUT/three"
        slow=$(awk -v most="$(value T)" '
            $1 ~ /[.]time_us$/ && $2 > most { sub(/[.].*/, "", $1); print $1 }' \
            "$LAB_OUT/three")
    done
    slow=$(echo "$slow" | sed 's/recursive_//' | xargs)
    wrote=$(formula_in stops.txt "first_$1" | xargs)
    printf ' at %s ranks it is %s; your answer is %s\n' "$ranks" "$slow" "$wrote"
    if [ "$wrote" = "$slow" ]; then
        note "$1.right" 1
    else
        note "$1.right" 0
    fi
}
# A small file, because reading 131072 hosts 42 times takes long.
few=$LAB_OUT/few.topo
sed 's/131071/255/' "$flat" >"$few"
say "Which stops first, with few bytes and with many?"
first few 400
first many $((A * R * 10))
printf '%s\t%s check 16 --seed %s\n' few "$LAB_COMMAND" "$SEED" \
    many "$LAB_COMMAND" "$SEED" >>"$LAB_OUT/commands"

# ---- mine.c ----

K=$((4 + 2 * (SEED % 2)))
case $((SEED % 3)) in
0) M=12 ;;
1) M=8 ;;
2) M=9 ;;
esac
B=131072
for entry in "K $K" "M $M" "B $B"; do
    # shellcheck disable=SC2086 # two words
    note $entry
done
note LEAST "$(awk -v k="$K" -v m="$M" '
    function sides(n,    q, sum) {
        for (q = 2; n > 1; q++)
            for (; n % q == 0; n /= q)
                sum += q - 1
        return sum
    }
    BEGIN { print 2 * (sides(k) + sides(m)) }')"
cluster=$LAB_OUT/cluster.topo
sh "$LAB/cluster.sh" "$K" "$M" >"$cluster"
so=$LAB_OUT/mine.so

say "mine.c:"
compile mine "$LAB_DIR/mine.c"
if [ "$(value mine.compiled)" != 1 ]; then
    exit 0
fi
measure verify collrun verify allreduce --algo "$so" --all --max-ranks 40

say "On $K racks of $M ranks, with uplinks of half a NIC:"
measure proof collrun verify allreduce --algo "$so" -n $((K * M)) --group "$M"
measure price collrun price allreduce --algo "$so" -n $((K * M)) --group "$M" \
    -b "$B"
report price rounds rank_bytes

# sizes NAME BYTES: simulates mine as NAME, the others as NAME_all, and notes the
# least time of the others.
sizes() {
    measure "$1" collrun sim allreduce --algo "$so" --topo "$cluster" -b "$2"
    measure_by algo "$1_all" collrun sim allreduce --topo "$cluster" \
        --order racks -b "$2"
    note "$1_best" "$(awk -v all="$1_all." '
        index($1, all) == 1 && $1 ~ /[.]time_us$/ && (!n++ || $2 < least) {
            least = $2
            name = $1
        }
        END { print least }' "$LAB_OUT/values")"
    report "$1" uplink_buffers time_us
    printf '    %-24s %s\n' "best built-in algorithm" "$(value "$1_best")"
}
sizes small4 4K
sizes mid "$B"
sizes large 16M

say "As real processes, and the same in virtual time:"
measure run collrun run allreduce --algo "$so" -n 8 --group 4 -b 64K \
    --seed "$SEED"
measure small collrun sim allreduce --algo "$so" -n 8 --group 4 -b 64K
report run messages wire_bytes wrong
report small messages total_bytes

# ---- choices.txt ----

# chosen SIZE NAME: notes the time of the algorithm chosen for this size.
chosen() {
    algo=$(sed 's/#.*//' "$LAB_DIR/choices.txt" |
        awk -v size="$1" '$1 == size { name = $2 } END { print name }')
    case $algo in
    mine) time=$(value "$2.time_us") ;;
    *) time=$(value "$2_all.$algo.time_us") ;;
    esac
    printf '    %-5s %-20s %12s us\n' "$1" "${algo:-nothing}" \
        "${time:-no such algorithm}"
    note "$2_chosen" "$time"
}

say "choices.txt, 1000 of 4K, 300 of 128K and 5 of 16M:"
chosen 4K small4
chosen 128K mid
chosen 16M large
compute mix.time_us '1000*small4_chosen+300*mid_chosen+5*large_chosen'
compute mix.best '1000*min(small4.time_us,small4_best)+300*min(mid.time_us,mid_best)+5*min(large.time_us,large_best)'
report mix time_us best
