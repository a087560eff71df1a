#!/bin/sh
# SPDX-License-Identifier: MIT
#
# place.c: trains once to weigh the slots, then with the learner's placement; the
# weights must have the same bits. settings.txt: trains word2vec with the default
# and with the learner's settings.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

S=$((2 + SEED % 3))
note S "$S"

# others FILE: counts the settings in it that must not be changed.
others() {
    sed 's/#.*//' "$1" | tr ', ' '\n' | sed '/^$/d; s/=.*//' |
        grep -cvE '^(batch|half|top-share|significant|rate)$' || true
}

say "place.c, $S servers, rows by Zipf's law:"
awk -v rows=3000 -v features=200 -v per=3 -v zipf=1 -v seed="$SEED" \
    -f "$LAB/rows.awk" >"$LAB_OUT/rows"
train="psnode train lr $LAB_OUT/rows --servers $S --workers 2 --epochs 1 \
    --batch 2 --parts 2 --replicas 1"
# shellcheck disable=SC2086 # several words
measure even $train
report even hottest_server_share hottest_slot_share train_accuracy
show ringctl up 2 --name scales --servers "$S" --replicas 1 --mode bsp \
    --epochs 1 --batch 2 --parts 2 train lr "$LAB_OUT/rows" 2>/dev/null
show ringctl --run scales wait 'done'
measure_by slot scales ringctl --run scales slots
run_tool ringctl --run scales down >/dev/null
sed -n 's/^scales\.[0-9]*\.keys //p' "$LAB_OUT/values" >"$LAB_OUT/weights"
compile place "$LAB_DIR/place.c"
# shellcheck disable=SC2086
measure placed $train --placement "$LAB_OUT/place.so" \
    --weights "$LAB_OUT/weights"
report placed hottest_server_share hottest_slot_share train_accuracy
if [ "$(value placed.digest)" = "$(value even.digest)" ]; then
    note placed.other_bits 0
else
    note placed.other_bits 1
fi
# The policy must also place two replicas per slot.
# shellcheck disable=SC2086
measure twice $train --replicas 2 --placement "$LAB_OUT/place.so" \
    --weights "$LAB_OUT/weights"

say "settings.txt, word2vec:"
awk -v sentences=5000 -v seed="$SEED" -f "$LAB/text.awk" >"$LAB_OUT/text"
words="psnode train word2vec $LAB_OUT/text --servers 2 --workers 2 \
    --replicas 1 --epochs 3 --seed $SEED"
given=$(sed 's/#.*//' "$LAB_DIR/settings.txt" | tr -s ' \n' ',,' |
    sed 's/^,*//; s/,*$//')
note words.others "$(others "$LAB_DIR/settings.txt")"
# shellcheck disable=SC2086
measure plain $words
report plain items keys_pushed bytes_sent train_first
# shellcheck disable=SC2086
measure words $words ${given:+--set "$given"}
report words items keys_pushed bytes_sent train_first
sed -n 's/^words\.nearest_/    /p' "$LAB_OUT/values" | cut -c 1-76
# Counts, of the six nearest words of each of ten, those of its family.
note words.family "$(sed -n 's/^words\.nearest_//p' "$LAB_OUT/values" |
    awk '{ for (i = 2; i <= NF; i += 2) n += $i ~ "^" $1 "[0-9]*$" }
        END { print n + 0 }')"
