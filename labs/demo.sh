#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The demonstration behind `make demo`: first a ring all-reduce of three ranks
# step by step, then four processes that train a model on real data, their
# gradients added up over a ring. Each command is shown before it runs, so that
# it can be typed again. $COLLRUN is the program, build/collrun by default.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
collrun=${COLLRUN:-build/collrun}

fail() {
    echo "demo: $*" >&2
    exit 69
}

say() {
    printf '\n'
    printf '%s\n' "$@"
}

run() {
    printf '$ %s\n\n' "$*"
    "$@"
}

# Real rows that Debian ships: 270 patients, 13 measurements each (UCI Statlog
# Heart, scaled to [-1, 1]). Documentation may be compressed.
find_heart_scale() {
    examples=/usr/share/doc/liblinear-tools/examples
    if [ -f "$examples/heart_scale" ]; then
        data=$examples/heart_scale
    elif [ -f "$examples/heart_scale.gz" ]; then
        data=$work/heart_scale
        gzip -dc "$examples/heart_scale.gz" >"$data"
    else
        fail "heart_scale is not in $examples;" \
            "\"make deps\" installs liblinear-tools, which has it"
    fi
}

command -v "$collrun" >/dev/null || fail "$collrun is not built; try \"make\""
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
find_heart_scale

say "Three ranks add up their vectors over a ring. A row is a rank, a column" \
    "a part of the vector, a cell how many contributions are in it so far."
run "$collrun" run labs/plans/ring-allreduce-3.plan --watch

say "Four processes train a model on 270 patients. Each computes the gradient" \
    "of its quarter of a batch; the same ring adds the quarters up."
run "$collrun" train lr "$data" -n 4 --algo ring

say "Next: $collrun train --help, $collrun list, and labs/data/get.sh for" \
    "more data."
