#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates a ring on the cluster with the learner's order. Verifies, prices and
# runs the learner's plan, and simulates it on its two racks. The sizes of the
# buffers depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# Prints a topology without its order, in one form.
cluster_of() {
    sed 's/#.*//' "$1" | awk '$1 != "order" && NF { $1 = $1; print }'
}

say "order.topo, with a ring of its ten ranks:"
note P 10
note order.S $((10 * 4096 * (200 + SEED % 50)))
measure order collrun sim allreduce --topo "$LAB_DIR/order.topo" --algo ring \
    --order file -b "$(value order.S)"
note order.named "$(awk '$1 == "order" { sub(/#.*/, ""); n += NF - 1 }
    END { print n + 0 }' "$LAB_DIR/order.topo")"
report order named uplink_buffers uplinks_bytes time_us
if [ "$(cluster_of "$LAB_DIR/order.topo")" = \
    "$(cluster_of "$LAB/exercise/order.topo")" ]; then
    note order.changed 0
else
    note order.changed 1
fi

say "two.plan, on the two racks of two.topo:"
note two.S $((3 * 4096 * (100 + SEED % 50)))
racks=$LAB/exercise/two.topo
racks=${racks#"$PWD"/}
measure verify collrun verify "$LAB_DIR/two.plan"
measure price collrun price "$LAB_DIR/two.plan" -b "$(value two.S)"
report price rounds rank_bytes
measure two collrun sim "$LAB_DIR/two.plan" --topo "$racks" \
    -b "$(value two.S)"
report two uplink_buffers uplink_percent time_us
if [ "$(value two.op)" = allreduce ]; then
    note two.allreduces "$(value two.ranks)"
fi
measure run collrun run "$LAB_DIR/two.plan" -b "$(value two.S)" --seed "$SEED"
