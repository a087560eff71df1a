#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates a ring with the learner's order, and the learner's layout of each job.
# Finds the time of the best layout by trying all. Sizes depend on the seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

servers=${LAB%/*}/topologies/infiniband.topo
servers=${servers#"$PWD"/}
net=${LAB#"$PWD"/}/block.net

# Prints a topology without its order, in one form.
cluster_of() {
    sed 's/#.*//' "$1" | awk '$1 != "order" && NF { $1 = $1; print }'
}

# timed MESH ROWS: prints lines such as "model 12.3", "data 23.4", "held 1234".
timed() {
    run_tool pipebench layout "$net" --mesh "$1" --batch "$2" --tflops 0 \
        --topo "$servers" -o csv 2>/dev/null | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $1 == "step" && $2 == "whole" {
            print "model", $at["model_us"]
            print "data", $at["data_us"]
        }
        $1 == "held" && $2 == "whole" { print "held", $at["model_bytes"] }'
}

# least ROWS ROOM: prints the time of the fastest layout that fits.
least() {
    for mesh in 16x1 8x2 4x4 2x8 1x16; do
        timed "$mesh" "$1" | awk -v room="$2" '$1 != "held" {
            us = !us || $2 < us ? $2 : us
        }
        $1 == "held" && $2 <= room { print us }'
    done | sort -n | head -n 1
}

# judged JOB ROWS ROOM
judged() {
    job=$(awk -v job="$1" '$1 == job { print $2, $3 }' "$LAB_DIR/jobs.txt" |
        tail -n 1)
    say "$1, batches of $2 rows, $3 bytes: ${job:-no line in jobs.txt}"
    timed "${job% *}" "$2" >"$LAB_OUT/$1.timed"
    note "$1.us" "$(awk -v order="${job#* }" '$1 == order { print $2 }' \
        "$LAB_OUT/$1.timed")"
    note "$1.held" "$(awk '$1 == "held" { print $2 }' "$LAB_OUT/$1.timed")"
    note "$1.room" "$3"
    note "$1.least" "$(least "$2" "$3")"
    report "$1" us held
}

say "order.topo, with a ring of its eight ranks:"
note order.S $((8 * 65536 * (100 + SEED % 50)))
measure order collrun sim allreduce --topo "$LAB_DIR/order.topo" --algo ring \
    --order file -b "$(value order.S)"
report order qpi_buffers pcie_buffers direct_buffers time_us
if [ "$(cluster_of "$LAB_DIR/order.topo")" = \
    "$(cluster_of "$LAB/exercise/order.topo")" ]; then
    note order.changed 0
else
    note order.changed 1
fi

judged short $((32 * (SEED % 4 + 1))) 1000000000
judged tight $((1024 - 64 * (SEED % 3))) 56000000
judged long $((8192 - 256 * (SEED % 4))) 1000000000
