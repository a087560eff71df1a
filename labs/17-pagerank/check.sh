#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles pagerank.c with the learner's combine.c and runs it, dense and sparse, on
# a random graph. The size, the links and the number of ranks depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

mine=$LAB_OUT/mine
R=$((2 + SEED % 4))
M=$((96 * R * (1 + SEED % 3)))
note R "$R"
note M "$M"

say "combine.c, a random graph of M = $M pages on R = $R ranks:"
make_program mine "$LAB/pagerank.c" "$LAB_DIR/combine.c"
if [ "$(value mine.compiled)" = 1 ]; then
    measure dense collrun exec -n "$R" "$mine" dense "$M" "$SEED"
    report dense turns rank_bytes wrong kept
    measure sparse collrun exec -n "$R" "$mine" sparse "$M" "$SEED"
    report sparse turns bytes pairs wrong
    measure tcp collrun exec -n "$R" --wire tcp "$mine" sparse "$M" "$SEED"
    report tcp bytes pairs wrong
    measure villages collrun exec -n "$P" "$mine" sparse "$N" 0
    report villages rank_bytes wrong
fi
