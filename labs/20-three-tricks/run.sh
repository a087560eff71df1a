#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The three tricks, one after the other: messages with and without coalescing,
# bytes that are read in place and that are copied, updates without locks.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# pushed NAME OPTION...: measures twenty pushes; repetitions are subtracted.
pushed() {
    name=$1
    shift
    measure_by worker "$name" psnode bench push --keys "$K" --servers "$S" \
        --rounds 20 "$@"
    report "$name.0" requests messages_sent messages_saved bytes_in_place \
        bytes_gathered p50_us
}

say "Coalesced messages: $K floats to $S servers, and each slot by itself:"
pushed with
pushed without --set no-bundle=1
compute messages '(with.0.messages_sent-with.0.retries)/with.0.requests'
compute alone '(without.0.messages_sent-without.0.retries)/without.0.requests'

say "Matrix factorisation, work items with rows of all slots:"
measure mf psnode train mf --servers "$S" --workers 2 --replicas 1 --epochs 3 \
    --batch 4000 --parts 2 --set users=4000,items=4000
report mf items messages_sent messages_saved server_messages_sent \
    server_messages_saved
compute item '(mf.messages_sent-mf.retries)/mf.items'
compute saved 'mf.messages_saved/(mf.messages_saved+mf.messages_sent)'

say "Pointers instead of copies: the first push, and one that is copied:"
pushed copied --set no-place=1
compute place 'with.0.bytes_in_place/(with.0.requests+with.0.retries/S)'

say "Writes without locks, four threads in each of two workers:"
awk -v rows="$N" -v features="$D" -v seed="$SEED" -f "$LAB/rows.awk" \
    >"$LAB_OUT/rows"
measure locks psnode train lr "$LAB_OUT/rows" --servers "$S" --workers 2 \
    --mode asp --epochs "$E" --batch 2000 --set threads=4,hogwild=1
report locks row_writes row_writes_lost train_accuracy
compute writes 'locks.row_writes'
