#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the model with the learner's groups of sixteen ranks. Then compiles it with
# the learner's sums and runs it with eight. The data depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

say "groups.txt, with sixteen ranks:"
make_program ours "$LAB/model.c" "$LAB/solution/sum.c"
measure groups collrun exec -n 16 "$LAB_OUT/ours" \
    "$(sed 's/#.*//' "$LAB_DIR/groups.txt" | tr -d ' \n')" "seed=$SEED"
report groups rows_most bytes_mine error_0 error_1 error_2 error_3

say "sum.c, with eight:"
make_program sum "$LAB/model.c" "$LAB_DIR/sum.c"
if [ "$(value sum.compiled)" != 1 ]; then
    exit 0
fi
measure sum collrun exec -n "$P" "$LAB_OUT/sum" 0,0,0,1,1,2,2,3 "seed=$SEED"
report sum bytes_all bytes_mine messages_mine error_0 error_1 error_2 error_3
compute sum.errors 'sum.error_0+sum.error_1+sum.error_2+sum.error_3'
