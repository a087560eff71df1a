#!/bin/sh
# SPDX-License-Identifier: MIT
#
# entered.sh BUILD [-v]: counts the source files of lib/ that an action enters,
# by the coverage counters of BUILD/entered (entered.c). Each action runs five
# times; a file counts if all five runs entered it, which excludes random
# heartbeats. -v prints the files. Fails if an action enters more than its
# limit, which only falls.
set -eu
build=$(realpath "$1")
verbose=${2-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work"
failed=0

# The files of lib/ that were entered by the newest counters.
files() {
    find "$build" -name '*.gcda' >"$work/counters"
    while read -r counter; do
        gcov -n "$counter" 2>/dev/null
    done <"$work/counters" | awk -F"'" '
        /^File / { file = $2 }
        /^Lines executed:/ && file ~ /(^|\/)lib\/.*\.c$/ {
            if ($0 !~ /^Lines executed:0\.00%/) print file
            file = ""
        }' | sed 's|.*/lib/|lib/|' | sort -u
}

entered() { # ACTION LIMIT
    for try in 1 2 3 4 5; do
        find "$build" -name '*.gcda' -delete
        "$build/entered" "$1" >"$work/said" 2>&1 || true # it ends by SIGKILL
        if grep -v '^Killed$' "$work/said" >&2; then
            exit 1
        fi
        files >"$work/now"
        if [ $try = 1 ]; then
            cp "$work/now" "$work/all"
        else
            comm -12 "$work/now" "$work/all" >"$work/both"
            mv "$work/both" "$work/all"
        fi
    done
    count=$(wc -l <"$work/all")
    verdict=ok
    if [ "$count" = 0 ] || [ "$count" -gt "$2" ]; then
        verdict=FAILED
        failed=1
    fi
    printf '%-10s %3d files of at most %3d  %s\n' "$1" "$count" "$2" $verdict
    [ -z "$verbose" ] || sed 's/^/    /' "$work/all"
}

entered first 64
entered repeated 12
entered push 95
entered death 115
exit $failed
