#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compares the learner's buckets with those of the library, for three models and
# sizes that depend on the seed. Then trains with the sizes of caps.txt.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

make_program backward "$LAB/backward.c"

# random SEED: prints a line "FIRST CAP", then a model.
random() {
    awk -v state="$1" '
        function draw(n) {
            state = state * 16807 % 2147483647
            return state % n
        }
        BEGIN {
            draw(1)
            draw(1)
            print 1024 * (1 + draw(40)), 1024 * (1 + draw(60))
            for (t = 0; t < 8 + draw(6); t++)
                print "w" t, 64 * (1 + draw(draw(3) ? 40 : 200))
        }'
}

# The learner reads bytes, in the order of the forward pass.
assigned() {
    awk '{ print $1, 4 * $2 }' "$1" >"$LAB_OUT/gradients"
    run_script assign "$LAB_OUT/gradients" first="$2" cap="$3" 2>&1 || true
}

assign=$(script assign)
assign=${assign##*/}
say "$assign, for three models:"
asked=0
right=0
for which in 1 2 3; do
    random $((1000 * SEED + which)) >"$LAB_OUT/random"
    read -r first cap <"$LAB_OUT/random"
    sed 1d "$LAB_OUT/random" >"$LAB_OUT/model$which"
    run_tool collrun exec -n 2 "$LAB_OUT/backward" "$LAB_OUT/model$which" \
        "$first" "$cap" 0 list >"$LAB_OUT/is"
    assigned "$LAB_OUT/model$which" "$first" "$cap" >"$LAB_OUT/says"
    asked=$((asked + $(wc -l <"$LAB_OUT/is")))
    right=$((right + $(grep -cxFf "$LAB_OUT/says" "$LAB_OUT/is" || true)))
    echo "    first $first, cap $cap: name, elements, bucket; $assign"
    paste -d ' ' "$LAB_OUT/model$which" "$LAB_OUT/is" |
        awk -v says="$LAB_OUT/says" '
            BEGIN { while ((getline line <says) > 0) {
                split(line, word, " "); of[word[1]] = word[2] } }
            { printf "    %-6s %6d %3d; %s\n", $1, $2, $4, of[$1] }'
done
note assign.asked "$asked"
note assign.right "$right"
printf 'assign\t%s check 24 --seed %s\n' "$LAB_COMMAND" "$SEED" >>"$LAB_OUT/commands"

H=$((64 + 32 * (SEED % 3)))
note H "$H"
awk -v H="$H" -f "$LAB/model.awk" >"$LAB_OUT/model"
# size NAME: its formula in caps.txt, in whole bytes.
size() {
    line=$(formula_in caps.txt "$1")
    compute "chosen.$1" "$line"
    value "chosen.$1" | awk '{ printf "%.0f\n", $1 }'
}
say "caps.txt, a model of width $H:"
measure caps collrun exec -n 2 "$LAB_OUT/backward" "$LAB_OUT/model" \
    "$(size first)" "$(size cap)" 2
report caps buckets early_percent comm_us exposed_us
