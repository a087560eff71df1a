#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compares position.py with the library's shards, for ops that depend on the seed, and
# runs kill.ring with real processes.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"
LAB_TIMEOUT=${LAB_TIMEOUT:-300}

batches=$((20 + SEED % 7))
"$PYTHON" "$LAB/ops.py" "$SEED" "$batches" "$LAB_OUT/ops" >"$LAB_OUT/is"
"$PYTHON" "$LAB_DIR/position.py" "$batches" "$LAB_OUT/ops" >"$LAB_OUT/says" \
    2>"$LAB_OUT/position.err" || true
say "position.py, $batches batches. An op, its answer, and the right one:"
paste -d '|' "$LAB_OUT/ops" "$LAB_OUT/says" "$LAB_OUT/is" |
    awk -F '|' '{ printf "    %-20s | %-12s | %-12s%s\n", $1, $2, $3, $2 == $3 ? "" : " <--" }'
tail -n 1 "$LAB_OUT/position.err" | sed 's/^/    /'
note position.asked "$(wc -l <"$LAB_OUT/is")"
note position.right "$(paste -d '|' "$LAB_OUT/says" "$LAB_OUT/is" |
    awk -F '|' '$1 == $2 { n++ } END { print n + 0 }')"
printf 'position\t%s check 28 --seed %s\n' "$LAB_COMMAND" "$SEED" >>"$LAB_OUT/commands"

say "kill.ring, with real processes:"
text=$LAB_OUT/text
LC_ALL=C tr -cd '\n -~' <"${LAB%/*}/README.md" | head -c 8000 >"$text"
train="$PYTHON ${LAB%/*}/programs/transformer.py --text $text --epochs 2 --batch 2 \
--log $LAB_OUT/log"
sed "s|TRAIN|$train|" "$LAB_DIR/kill.ring" >"$LAB_OUT/kill.ring"
measure ring ringctl --timeout 200s --seed "$SEED" -c \
    "source \"$LAB_OUT/kill.ring\"; status"
report ring state step epoch lost doubled recoveries.0.how recoveries.0.resumed_ms
note ring.killed "$(cat "$LAB_OUT"/runs/*/log | grep -c 'killed by signal 9' || true)"
note ring.joined "$(find "$LAB_OUT" -name 'log.[4-9]' | wc -l)"
note ring.sequences 249 # of 32 letters, and one after them: (8000 - 1) / 32
note ring.counted "$("$PYTHON" "$LAB/count.py" 1 249 "$LAB_OUT"/log.[0-9]* || true)"
