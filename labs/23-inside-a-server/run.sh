#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates a ring all-reduce inside a server in two orders, with and without direct
# links. Then simulates a network on two servers, in both orders of the mesh.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

topologies=${LAB%/*}/topologies
topologies=${topologies#"$PWD"/}
net=${LAB#"$PWD"/}/block.net

# ring NAME OPTION...
ring() {
    name=$1
    shift
    measure "$name" collrun sim allreduce --algo ring -b "$S" \
        --topo "$topologies/server-8.topo" "$@"
    report "$name" qpi_buffers pcie_buffers direct_buffers time_us
}

# step NAME ROWS: times the communication of a step; computing takes no time.
step() {
    measure_by kind,what "$1" pipebench layout "$net" --mesh 2x8 --tflops 0 \
        --batch "$2" --topo "$topologies/infiniband.topo"
    report "$1" step.tensor.model_us step.tensor.data_us step.data.model_us \
        step.data.data_us step.whole.model_us step.whole.data_us
}

say "A ring all-reduce of $S in a server of $P. For each kind of link, the bytes on" \
    "the busiest one as a multiple of the buffer:"
ring file --order racks
ring best --order ring
ring poor --order ring --without direct
note qpi "$(value file.qpi_buffers)"
note ring_file "$(value file.time_us)"
note ring_direct "$(value best.time_us)"
compute without 'poor.time_us/best.time_us'

say "A network on two servers, with 4096 rows and with 512. All slices of a copy are" \
    "in one server (model), or all copies of a slice are (data):"
step large 4096
step small 512
compute inside 'large.step.tensor.model_us/K'
compute across 'large.step.tensor.data_us/K'
note far "$(value large.step.data.model_us)"
note near "$(value large.step.data.data_us)"
note large.gap "$(awk -v a="$(value large.step.whole.data_us)" \
    -v b="$(value large.step.whole.model_us)" 'BEGIN { print a - b }')"
note small.gap "$(awk -v a="$(value small.step.whole.data_us)" \
    -v b="$(value small.step.whole.model_us)" 'BEGIN { print a - b }')"
compute even '512+3584*(0-small.gap)/(large.gap-small.gap)'
