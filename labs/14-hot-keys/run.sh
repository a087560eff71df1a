#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Trains three models on parameter servers, and counts the keys and bytes of the
# workers. Then prints the slots with the most requests for rows by Zipf's law.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# rows FILE COUNT FEATURES PER ZIPF
rows() {
    awk -v rows="$2" -v features="$3" -v per="$4" -v zipf="$5" -v seed="$SEED" \
        -f "$LAB/rows.awk" >"$LAB_OUT/$1"
}

say "Logistic regression, $F weights, work items of $N rows with $D features each:"
rows wide 4000 "$F" "$D" 0
measure wide psnode train lr "$LAB_OUT/wide" --servers 4 --workers 2 \
    --replicas 1 --epochs 1 --batch $((2 * N)) --parts 2
report wide items keys_pushed bytes_sent train_accuracy
compute unique 'wide.keys_pushed/wide.items'
compute ratio '(F+1)/unique'

say "Matrix factorisation, work items of $RATINGS ratings, $W floats per key:"
factors="rank=$W,users=$USERS,items=$ITEMS"
measure mf psnode train mf --servers 4 --workers 2 --replicas 1 --epochs 1 \
    --batch $((2 * RATINGS)) --parts 2 --set "$factors"
report mf items keys_pushed bytes_sent test_rmse
measure mf_half psnode train mf --servers 4 --workers 2 --replicas 1 \
    --epochs 1 --batch $((2 * RATINGS)) --parts 2 --set "$factors,half=1"
report mf_half bytes_sent test_rmse
compute bytes 'mf.bytes_sent/mf.items'
compute half 'mf_half.bytes_sent/mf.bytes_sent'

say "Rows with one feature of $Z, by Zipf's law; a work item is a row. The slots with the" \
    "most requested keys:"
rows one 4000 "$Z" 1 1
show ringctl up 2 --name hot --servers 4 --replicas 1 --mode bsp --epochs 1 \
    --batch 2 --parts 2 train lr "$LAB_OUT/one" 2>/dev/null
show ringctl --run hot wait 'done'
measure_by slot hot ringctl --run hot slots
run_tool ringctl --run hot down >/dev/null
sed -n 's/^hot\.\([0-9]*\)\.keys /\1 /p' "$LAB_OUT/values" | sort -k 2nr \
    >"$LAB_OUT/slots"
head -n 5 "$LAB_OUT/slots" | sed 's/\(.*\) \(.*\)/    slot \1: \2 keys/'
awk '{ all += $2; if (NR == 1) first = $2; if (NR == 2) second = $2 }
    END { print "bias", first / all; print "zipf", second / (all - first) }' \
    "$LAB_OUT/slots" >>"$LAB_OUT/values"
