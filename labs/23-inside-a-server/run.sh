#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A ring all-reduce inside a server in two orders, with and without direct links;
# then a network on two servers, in both orders of the mesh. All in virtual time.
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
    tell "$name" qpi_buffers pcie_buffers direct_buffers time_us
}

# step NAME ROWS: computing takes no time, so what is left is communication.
step() {
    measure_by kind,what "$1" pipebench layout "$net" --mesh 2x8 --tflops 0 \
        --batch "$2" --topo "$topologies/infiniband.topo"
    tell "$1" step.tensor.model_us step.tensor.data_us step.data.model_us \
        step.data.data_us step.whole.model_us step.whole.data_us
}

say "A ring all-reduce of $S in a server of $P. Of each kind of links the busiest," \
    "as a multiple of the buffer:"
ring file --order racks
ring best --order ring
ring poor --order ring --without direct
note qpi "$(value file.qpi_buffers)"
note ring_file "$(value file.time_us)"
note ring_direct "$(value best.time_us)"
reckon without 'poor.time_us/best.time_us'

say "A network on two servers, all of its slices in one server (model) or all of" \
    "its copies of a slice (data), with 4096 rows and with 512:"
step large 4096
step small 512
reckon inside 'large.step.tensor.model_us/K'
reckon across 'large.step.tensor.data_us/K'
note far "$(value large.step.data.model_us)"
note near "$(value large.step.data.data_us)"
note large.gap "$(awk -v a="$(value large.step.whole.data_us)" \
    -v b="$(value large.step.whole.model_us)" 'BEGIN { print a - b }')"
note small.gap "$(awk -v a="$(value small.step.whole.data_us)" \
    -v b="$(value small.step.whole.model_us)" 'BEGIN { print a - b }')"
reckon even '512+3584*(0-small.gap)/(large.gap-small.gap)'
