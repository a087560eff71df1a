#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Trains the transformer with processes of a ring: an epoch without deaths, of which
# one op is recorded; then two epochs, in which one process is killed and one joins.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"
LAB_TIMEOUT=${LAB_TIMEOUT:-300}

train=${LAB%/*}/programs/transformer.py
text=$LAB_OUT/text
cat "${LAB%/*}"/0[0-9]-*/README.md "${LAB%/*}"/1[0-9]-*/README.md |
    LC_ALL=C tr -cd '\n -~' | head -c "$LETTERS" >"$text"

say "The model:"
show "$PYTHON" "$train" --text "$text" --width "$W" --blocks "$BLOCKS" --context "$C" \
    --count | tee "$LAB_OUT/count"
note params "$(sed -n 's/ parameters.*//p' "$LAB_OUT/count")"

# trained NAME EPOCHS COMMANDS: a ring trains it until it is done.
trained() {
    measure "$1" ringctl -c "up $P --name $1 exec $PYTHON $train --text $text \
--width $W --blocks $BLOCKS --context $C --batch $B --epochs $2 \
--log $LAB_OUT/$1; $3 wait done; status"
    sed -n 's/^/    /; /node [0-9]*: step\|loss/p' "$LAB_OUT/runs/$1/log" | head -n 8
}

# sequences NAME EPOCH: how many of the log count in that data epoch.
sequences() {
    "$PYTHON" "$LAB/count.py" "$2" 1874 "$LAB_OUT/$1".[0-9]*
}

say "$P processes, an epoch, without deaths:"
trained calm 1 "record $LAB_OUT/calm.events; wait step>=6; "
count_events op "$LAB_OUT/calm.events" 5
note sent "$(value op.send_bytes_max)"
note steps "$(value calm.step)"
note state "$(sed -n 's/.*state of \([0-9]*\) bytes.*/\1/p' "$LAB_OUT/runs/calm/log" | tail -n 1)"
report calm state step lost doubled

say "Two epochs. Node 2 is killed, and node $P joins:"
trained killed 2 "slow 0 200ms; wait step>=4; kill 2; wait alive==$((P - 1)); add; \
wait alive==$P; slow 0 0s;"
report killed state step epoch lost doubled recoveries.0.how recoveries.0.resumed_ms
note counted "$(sequences killed 0)"
