#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs push.c with servers in one process, whose number depends on the seed, and
# add.c with threads that race.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

servers=$((2 + SEED % 3))

say "push.c, $servers servers:"
make_program push "$LAB/tricks.c" "$LAB_DIR/push.c"
if [ "$(value push.compiled)" = 1 ]; then
    measure push "$LAB_OUT/push" "$servers" "$SEED"
    report push updates keys messages bytes bytes_in_place wrong
fi

say "add.c, four threads:"
make_program add "$LAB/race.c" "$LAB_DIR/add.c"
note add.locks "$(grep -cE 'mutex|spin|sem_|rwlock|flock|futex|_lock' \
    "$LAB_DIR/add.c" || true)"
if [ "$(value add.compiled)" = 1 ]; then
    measure add "$LAB_OUT/add" "$SEED"
    report add updates missing wrong
fi
