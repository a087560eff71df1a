#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Trains four tasks on eight ranks, with a shared trunk and with one trunk per task.
# Counts the bytes of one all-reduce with a slot for each head.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

model=$LAB_OUT/model
make_program model "$LAB/model.c" "$LAB/solution/sum.c"

say "The trunk is added up over all ranks, a head over those of its task. Bytes and" \
    "messages are per step:"
measure shared collrun exec -n "$P" "$model" 0,0,0,1,1,2,2,3 "seed=$SEED"
report shared bytes_all messages_all bytes_mine messages_mine rows_most \
    error_0 error_1 error_2 error_3
note trunk_bytes "$(value shared.bytes_all)"
note head_bytes "$(value shared.bytes_mine)"
note head_messages "$(value shared.messages_mine)"
note rows "$(value shared.rows_most)"

say "Every task with its own trunk. Look at the errors; the best possible is 0.01." \
    "Which task needs the others?"
measure alone collrun exec -n "$P" "$model" 0,0,0,1,1,2,2,3 alone "seed=$SEED"
report alone bytes_all bytes_mine error_0 error_1 error_2 error_3

say "One all-reduce over all ranks, of the trunk and a slot for each head:"
measure slots collrun run allreduce --algo ring -n "$P" -b "$((4 * (D * F + T * D)))"
report slots messages wire_bytes
note slot_bytes "$(value slots.wire_bytes)"
