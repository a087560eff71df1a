#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The two programs with the files that are given, with the MPI alone and on gradwire,
# and their traces.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"
allow_root_of_mpi

by_rank=${LAB#"$PWD"/}/late.awk
make_mpi_program heat "$LAB/heat.c" "$LAB/exercise/cut.c"
make_mpi_program histogram "$LAB/histogram.c" "$LAB/exercise/bins.c"

say "Heat on $N x $N points, $STEPS steps, $P ranks: the MPI alone, then on gradwire." \
    "The binary is the same:"
GRADWIRE_MPI=0
export GRADWIRE_MPI
measure alone collrun exec -n "$P" --mpi "$LAB_OUT/heat" "$N" "$STEPS" 1
report alone rows most_rows heat digest
unset GRADWIRE_MPI
GRADWIRE_MPI_TRACE=1
export GRADWIRE_MPI_TRACE
measure heat collrun exec -n "$P" --mpi "$LAB_OUT/heat" "$N" "$STEPS" 1
report heat rows most_rows heat digest
sed 's/^/    /' "$LAB_OUT/heat.err"
note calls "$(calls_of heat)"
compute points 'heat.digest - alone.digest'
compute longer 'heat.most_rows*P/heat.rows'

say "The events of each rank. Which one is late?"
record_mpi heat "$N" "$STEPS" 1
show awk -f "$by_rank" "$LAB_OUT"/gradwire-mpi.*.jsonl

say "The same with an even cut and rank $LATE, which sleeps $MS ms in each step:"
make_mpi_program even "$LAB/heat.c" "$LAB/solution/cut.c"
record_mpi even "$N" 20 1 "$LATE" "$MS"
show awk -f "$by_rank" "$LAB_OUT"/gradwire-mpi.*.jsonl
note shortest "$(awk -v only=shortest -f "$by_rank" "$LAB_OUT"/gradwire-mpi.*.jsonl)"

say "A histogram of a million numbers, with one call per bin. mean_us depends on your" \
    "machine:"
measure histogram collrun exec -n "$P" --mpi "$LAB_OUT/histogram" 1000000 1
sed 's/^/    /' "$LAB_OUT/histogram.err"
note bin_calls "$(calls_of histogram MPI_Reduce)"
compute one_call '(1+8*BINS/1000)/(1+8/1000)'
