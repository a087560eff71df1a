#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs PageRank of the row of villages by an all-reduce, with the starter, and by a
# reduce-scatter and an all-to-all, with the solution.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

make_program plain "$LAB/pagerank.c" "$LAB/exercise/combine.c"
make_program ours "$LAB/pagerank.c" "$LAB/solution/combine.c"

# ranked NAME PROGRAM HOW
ranked() {
    measure "$1" collrun exec -n "$P" "$LAB_OUT/$2" "$3" "$N" 0
    report "$1" turns rank_bytes bytes wrong kept
}

say "$N pages, $P ranks, bytes per iteration. wrong is the number of values that" \
    "differ from those of one process. kept is the largest ratio of the change of an" \
    "iteration to the one before:"
ranked by_allreduce plain dense
ranked by_reduce_scatter ours dense
ranked by_alltoall ours sparse
note dense "$(value by_allreduce.rank_bytes)"
note half "$(value by_reduce_scatter.rank_bytes)"
note sparse "$(value by_alltoall.rank_bytes)"
note differ "$(value by_alltoall.wrong)"
