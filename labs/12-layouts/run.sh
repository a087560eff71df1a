#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Trains a small network for three steps in six layouts, one process per rank, and
# counts the bytes on the wires. Each run fails if a loss differs from that of one
# process, or a count from its formula.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

net=${LAB#"$PWD"/}/plain.net
rows=$LAB_OUT/rows
awk -v rows=512 -v seed="$SEED" -f "$LAB/rows.awk" >"$rows"

# trained NAME OPTION...
trained() {
    name=$1
    shift
    measure "$name" pipebench layout "$net" "$@" --run --data "$rows" \
        --batch "$B" --steps 3 --compare
    report "$name" data_bytes tensor_bytes parameter_bytes gradient_bytes \
        optimiser_bytes activation_bytes largest_difference
}

say "The bytes of $net in one process:"
measure_by what one pipebench layout "$net"
report one parameters.one_process
S=$(value one.parameters.one_process)
note S "$S"

say "On $P ranks. data_bytes is the bytes that all ranks together sent along the data" \
    "axis in a step; parameter_bytes and the next three are the bytes that one rank" \
    "holds:"
trained replicated --mesh "$P"
trained first --mesh "$P" --mode zero1
trained whole --mesh "$P" --mode sharded
trained small --mesh "$P" --mode sharded --micro "$M"
trained groups --mesh "$P" --mode sharded --group "$G"
compute data 'replicated.data_bytes/P/S'
compute zero1 'first.data_bytes/P/S'
compute sharded 'whole.data_bytes/P/S'
compute memory \
    '(whole.parameter_bytes+whole.gradient_bytes+whole.optimiser_bytes)/S'
compute micro 'small.data_bytes/P/S'
compute hybrid 'groups.data_bytes/P/S'
note activations "$(value replicated.activation_bytes)"
note act_micro "$(value small.activation_bytes)"

say "The memory of a rank in three of these layouts, as bars of the same scale. Each" \
    "ends at 50000 bytes:"
# bars OPTION...
bars() {
    show pipebench layout "$net" --mesh "$P" "$@" --batch "$B" --bars \
        --memory 50000 | sed '/^# [^l]/d'
}
bars
bars --mode sharded
bars --mode sharded --micro "$M"

say "And on $T ranks that share each layer:"
trained split --mesh "1x${T}x1"
compute pair 'split.tensor_bytes/T'
