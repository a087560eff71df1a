#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The counter oracle of the parameter server under faults drawn by a seed:
# kills, pauses beyond the lease, cuts, joins and moves, with real processes.
# Prints the number of faults, the times from the kill of a slot's primary to
# the first acknowledged push, and the times for which moving slots were not
# served.
#
#   tests/fault/pskills.sh [BLOWS [SEED [WIRE]]]
#
# To test the documented limits: 1000 faults (4 to 5 minutes).
set -eu
cd "$(dirname "$0")/../.."
build=${B:-build}

TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' HUP INT PIPE TERM

"$build/pskills" --marks "${1:-1000}" "${2:-1}" "${3:-shm}"
