#!/bin/sh
# SPDX-License-Identifier: MIT
#
# All-reduces the gradients of a small transformer in buckets, with real processes,
# and counts. Then with other sizes of buckets, and then ddp.c, which learns.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

model=$LAB_OUT/model
awk -v H=64 -f "$LAB/model.awk" >"$model"
make_program backward "$LAB/backward.c"

# stepped NAME FIRST CAP
stepped() {
    measure "$1" collrun exec -n "$P" "$LAB_OUT/backward" "$model" "$2" "$3" 2
    report "$1" buckets early_percent sent_bytes sent_messages comm_us exposed_us
}

say "The gradients in elements, in the order of the forward pass. backward() computes" \
    "them from the last one to the first:"
sed 's/^/    /' "$model"

say "Two steps of $P processes. Counts are of one rank and one step. comm_us is the time" \
    "from the start of the first bucket to the end of the last one, exposed_us the part" \
    "of it after backward(); both depend on your machine:"
stepped usual "$FIRST" "$CAP"
note sent "$(value usual.sent_bytes)"
note buckets "$(value usual.buckets)"
note messages "$(value usual.sent_messages)"
note early "$(value usual.early_percent)"

say "Each gradient by itself:"
stepped each 1 1

say "DDP's sizes, 1 MiB and 25 MiB:"
stepped ddp 0 0
note default "$(value ddp.early_percent)"

say "The bucket of each gradient; 0 is started first:"
show collrun exec -n "$P" "$LAB_OUT/backward" "$model" "$FIRST" "$CAP" 0 list

say "labs/programs/ddp.c does this with a network that learns:"
make_program ddp "${LAB%/*}/programs/ddp.c"
show collrun exec -n "$P" "$LAB_OUT/ddp" 50
