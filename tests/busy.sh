#!/bin/sh
# SPDX-License-Identifier: MIT
#
# busy.sh LOOPS COMMAND...: runs the command together with LOOPS busy loops per
# core, which end with it.
set -u
loops=$1
shift
pids=
end() {
    # shellcheck disable=SC2086 # a list
    [ -z "$pids" ] || kill $pids 2>/dev/null
    pids=
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for _ in $(seq $((loops * $(nproc)))); do
    sh -c 'while kill -0 "$1" 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; done' busy $$ &
    pids="$pids $!"
done
"$@"
