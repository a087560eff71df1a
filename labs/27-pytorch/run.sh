#!/bin/sh
# SPDX-License-Identifier: MIT
#
# DDP on Gloo and on gradwire, with the same network and data. The price of a bucket in
# virtual time. The death of a rank on both.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"
LAB_TIMEOUT=${LAB_TIMEOUT:-120}

export CAP_MB
side=$LAB/side.py

say "20 steps with DDP, $P ranks. bucket_us is the time of a bucket in the middle, and" \
    "depends on your machine:"
for backend in gloo gradwire; do
    measure "$backend" collrun exec -n "$P" --no-pin "$PYTHON" "$side" train "$backend"
    report "$backend" bytes buckets bucket_us digest
done
note bytes "$(value gradwire.bytes)"
note buckets "$(value gradwire.buckets)"
compute bits 'gloo.digest - gradwire.digest'

say "Its price on a network of $A us per message and $R bytes per us:"
hosts=$LAB_OUT/star.topo
sh "${LAB%/*}/02-crossover/star.sh" "$R" >"$hosts"
measure price collrun sim allreduce --algo ring -n "$P" -b $((2 * 4 * W * W)) \
    --topo "$hosts" --alpha "${A}us"
report price time_us
note bucket "$(value price.time_us)"

say "Rank 1 of 3 is killed in an all-reduce. The errors of the others:"
for backend in gloo gradwire; do
    measure "kill.$backend" collrun exec -n 3 --no-pin "$PYTHON" "$side" kill "$backend"
    report "kill.$backend" errors named ms
done
note named "$(value kill.gradwire.named)"
