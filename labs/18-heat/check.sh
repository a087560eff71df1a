#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles heat.c with the learner's halo.c and runs it on random points, by strips,
# tiles and oblong blocks; the size depends on the seed. Then runs the wave with a
# test every K steps.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

mine=$LAB_OUT/mine
M=$((24 * (1 + SEED % 4)))
T=$((5 + SEED % 7))
note M "$M"
note T "$T"

say "halo.c, in T = $T steps on $M x $M random points:"
make_program mine "$LAB/heat.c" "$LAB_DIR/halo.c"
if [ "$(value mine.compiled)" = 1 ]; then
    measure strips collrun exec -n 4 "$mine" 4x1 "$M" "$T" 0 "$SEED" 0.2
    report strips halo_messages halo_bytes wrong
    measure tiles collrun exec -n 4 "$mine" 2x2 "$M" "$T" 0 "$SEED" 0.2
    report tiles halo_messages halo_bytes wrong
    measure oblong collrun exec -n 8 "$mine" 2x4 "$M" "$T" 0 "$SEED" 0.2
    report oblong halo_messages halo_bytes wrong

    say "The wave, with a test every $K steps:"
    measure seldom collrun exec -n "$P" "$mine" "${D}x$D" "$N" 100 "$K" 0 0.2
    report seldom steps looks residual_messages wrong
fi
