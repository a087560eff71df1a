#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The counter oracle of the parameter server under blows drawn by a seed: kills,
# pauses beyond the lease, cuts, joins and moves, with real processes. Prints
# what was done, and how long a slot took from the kill of its primary to the
# first acknowledged push, and how long moved slots were not served.
#
#   tests/fault/pskills.sh [BLOWS [SEED [WIRE]]]
#
# As a test of the promises: 1000 blows (4 to 5 minutes).
set -eu
cd "$(dirname "$0")/../.."
build=${B:-build}

TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' HUP INT PIPE TERM

"$build/pskills" --marks "${1:-1000}" "${2:-1}" "${3:-shm}"
