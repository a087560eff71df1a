#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Deaths at every failpoint of lib/base/failpoint.h: of the members of rings of
# 2 to 6, and of the servers and controllers of a parameter server, with their
# oracles. Both fail if a failpoint was never reached. This script lists the
# failpoints that neither covers.
#
#   tests/fault/failpoints.sh [SLICE OF]     make check-failpoints
#
# SLICE OF: one of OF equal parts, from 0 on.
set -eu
cd "$(dirname "$0")/../.."
build=${B:-build}
slice=${1:-0}
of=${2:-1}

TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' HUP INT PIPE TERM

walked() {
    grep -ho 'GW__AT_[A-Z_]*' tests/fault/failpoints.c \
        tests/fault/pskills_points.c | sort -u
}
table=$(grep -o 'GW__AT_[A-Z_]*\]' lib/base/failpoint.c | tr -d ']' | sort -u)
missing=$(walked | awk -v table="$table" '
    { seen[$1] }
    END {
        count = split(table, names, "\n")
        for (i = 1; i <= count; i++)
            if (!(names[i] in seen)) print names[i]
    }')
if [ -n "$missing" ]; then
    echo "failpoints that no walk has:" "$missing"
    exit 1
fi

if [ "$of" -eq 1 ]; then
    "$build/failpoints"
else
    last=$("$build/failpoints" what 2>&1 | sed -n 's/.* of 0\.\.\([0-9]*\)$/\1/p')
    all=$((last + 1))
    "$build/failpoints" "$((all * slice / of))..$((all * (slice + 1) / of - 1))"
fi
"$build/pskills" --failpoints "$of" "$slice"
