#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The bound of cut.topo; and hand.plan, best.plan and slow.plan verified, run and
# simulated on their topologies, with sizes that depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

racks=$LAB/exercise
racks=${racks#"$PWD"/}
size=$((60 + 6 * (SEED % 7)))M
note size "$size"

# Prints a topology without the rates of uplinks, in one form.
without_rates() {
    sed 's/#.*//; s/^\( *uplink .*\)rate=[^ ]*/\1rate=/' "$1" |
        awk 'NF { $1 = $1; print }'
}

# tried NAME TOPOLOGY OP
tried() {
    measure "$1_verify" collrun verify "$LAB_DIR/$1.plan"
    measure "$1" collrun sim "$LAB_DIR/$1.plan" --topo "$racks/$2.topo" \
        -b "$size"
    report "$1" op uplink_buffers time_us optimum_percent
    note "$1.six" "$(value "$1.ranks")"
    measure "$1_bound" collrun bound "$3" --topo "$racks/$2.topo" -b "$size"
    measure "$1_run" collrun run "$LAB_DIR/$1.plan" -b 384K --seed "$SEED"
}

say "cut.topo, with an all-gather:"
measure cut collrun bound allgather --topo "$LAB_DIR/cut.topo" -b "$size"
report cut bytes_us cut
note cut.rate "$(sed -n 's/#.*//; s/^ *uplink *b .*rate=\([0-9]*\)M.*/\1/p' \
    "$LAB_DIR/cut.topo")"
if [ "$(without_rates "$LAB_DIR/cut.topo")" = \
    "$(without_rates "$LAB/exercise/cut.topo")" ]; then
    note cut.changed 0
else
    note cut.changed 1
fi

say "hand.plan on slow.topo, best.plan on six.topo, slow.plan on slow.topo:"
tried hand slow allgather
tried best six allreduce
tried slow slow allreduce
