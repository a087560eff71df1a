#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The learner's bins.c and cut.c with three and four ranks, compared with one rank. Sizes
# depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"
allow_root_of_mpi

GRADWIRE_MPI_TRACE=1
export GRADWIRE_MPI_TRACE
numbers=$((100000 + 1000 * SEED))
rows=$((1600 + SEED % 64))
note cut.N "$rows"

make_mpi_program bins "$LAB/histogram.c" "$LAB_DIR/bins.c"
make_mpi_program cut "$LAB/heat.c" "$LAB_DIR/cut.c"
make_mpi_program right_cut "$LAB/heat.c" "$LAB/solution/cut.c"
make_mpi_program right_bins "$LAB/histogram.c" "$LAB/solution/bins.c"

say "The right results, by one rank:"
measure right_bins collrun exec -n 1 --mpi "$LAB_OUT/right_bins" "$numbers" "$SEED"
measure right_cut collrun exec -n 1 --mpi "$LAB_OUT/right_cut" "$rows" 10 "$SEED"

for ranks in 3 4; do
    say "$ranks ranks:"
    measure "bins.$ranks" collrun exec -n "$ranks" --mpi "$LAB_OUT/bins" "$numbers" "$SEED"
    note "bins.$ranks.calls" "$(calls_of "bins.$ranks" 'MPI_(Reduce|Allreduce)')"
    report "bins.$ranks" numbers digest calls
    compute "bins.$ranks.wrong" "bins.$ranks.digest - right_bins.digest"
    measure "cut.$ranks" collrun exec -n "$ranks" --mpi "$LAB_OUT/cut" "$rows" 10 "$SEED"
    report "cut.$ranks" rows most_rows digest
    compute "cut.$ranks.wrong" "cut.$ranks.digest - right_cut.digest"
    compute "cut.$ranks.surplus" "cut.$ranks.most_rows - ceil($rows/$ranks)"
done
