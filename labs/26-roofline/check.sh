#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Asks fit.awk or fit.py for the costs of a link whose times it sees, and simulates a ring with
# the bucket of bucket.txt. Costs, ranks and share depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

P=$((4 + SEED % 9))
A=$((10 + 7 * (SEED % 5)))
R=$((500 + 250 * (SEED % 7)))
X=0.$((50 + 10 * (SEED % 5)))
note P "$P"
note A "$A"
note R "$R"
note X "$X"
hosts=$LAB_OUT/star.topo
sh "${LAB%/*}/02-crossover/star.sh" "$R" >"$hosts"

fit=$(script fit)
say "${fit##*/}, with the times of five messages:"
for size in 4096 16384 32768 65536 131072; do
    "$GW_BIN/collrun" sim broadcast --algo binomial -n 2 --topo "$hosts" \
        --alpha "${A}us" -b "$size" -o csv |
        awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { print $at["bytes"], $at["time_us"] }'
done >"$LAB_OUT/times"
sed 's/^/    /' "$LAB_OUT/times"
code=0
run_script fit "$LAB_OUT/times" >"$LAB_OUT/fitted" || code=$?
note fit.status "$code"
printf 'fit\t%s check 26 --seed %s\n' "$LAB_COMMAND" "$SEED" >>"$LAB_OUT/commands"
note fit.alpha "$(awk '{ print $1; exit }' "$LAB_OUT/fitted")"
note fit.rate "$(awk '{ print $2; exit }' "$LAB_OUT/fitted")"
report fit alpha rate

line=$(formula_in bucket.txt bucket)
say "bucket.txt, $P ranks, $A us, $R bytes per us, and a share X = $X: bucket = $line"
compute wanted "$line"
bytes=$(awk -v bytes="$(value wanted)" -v unit="$((64 * P))" 'BEGIN {
    if (bytes > 1e9) bytes = 1e9
    print (bytes > unit ? int(bytes / unit + 0.5) : 1) * unit }')
measure bucket collrun sim allreduce --algo ring -n "$P" --topo "$hosts" \
    --alpha "${A}us" -b "$bytes"
note bucket.size "$bytes"
report bucket size time_us
compute bucket.share "2*(P-1)/P*bucket.size/bucket.time_us/R"
report bucket share
