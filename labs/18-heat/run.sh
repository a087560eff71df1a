#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the wave until it is gone, by strips and by tiles, with the solution.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

ours=$LAB_OUT/heat
make_program heat "$LAB/heat.c" "$LAB/solution/halo.c"

# cut NAME SHAPE
cut() {
    measure "$1" collrun exec -n "$P" "$ours" "$2" "$N" 100 1 0 0.2
    report "$1" steps halo_messages halo_bytes rank_bytes residual_messages wrong
}

say "A wave on $N x $N points, $P ranks. Messages and bytes per step are of all ranks" \
    "together; wrong is the number of points that differ from those of one process:"
cut by_strips "${P}x1"
cut by_tiles "${D}x$D"
note strips "$(value by_strips.halo_bytes)"
note tiles "$(value by_tiles.halo_bytes)"
note strip_messages "$(value by_strips.halo_messages)"
note tile_messages "$(value by_tiles.halo_messages)"
note steps "$(value by_tiles.steps)"
compute looking 'by_tiles.residual_messages/by_tiles.looks'
