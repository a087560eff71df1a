#!/bin/sh
# SPDX-License-Identifier: MIT
#
# picture.sh FILE.svg: makes the moving picture of README. A ring of four runs in
# slow motion; node 2 is killed during an op, and another one joins. The run is
# recorded, and the recording becomes the picture. $RINGCTL and $RINGTOP are the
# programs; by default those in build/.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
ringctl=${RINGCTL:-$here/build/ringctl}
ringtop=${RINGTOP:-$here/build/ringtop}
work=$(mktemp -d)
GRADWIRE_RUNS=$work/runs
export GRADWIRE_RUNS

trap '"$ringctl" --run film down >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
"$ringctl" -c "up 4 ops --bytes 64K --pace 80ms --name film
record $work/film.jsonl; wait op>=4; kill 2; wait alive==3
wait op>=8; add; wait alive==4; wait op>=12; down"
"$ringtop" --from "$work/film.jsonl" --cast "$1" --size 92x20 --speed 0.8
