#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prints the profiles of the three recordings, and the late rank of each by its rule.
# Then makes the recordings again.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

recordings=${LAB#"$PWD"/}/recordings
profile=${LAB#"$PWD"/}/profile.awk

# read_profile NAME
read_profile() {
    show awk -f "$profile" "$recordings/$1.jsonl"
    note "$1" "$(awk -v rule="$1" -f "$profile" "$recordings/$1.jsonl")"
    printf '    %-24s %s\n' "late" "$(value "$1")"
}

say "Calls that take long, and one that does not:"
read_profile calls
note victim "$(awk -f "$profile" "$recordings/calls.jsonl" |
    awk 'NR > 2 && $3 > most { most = $3; rank = $1 } END { print rank }')"

say "Calls that all take equally long:"
read_profile link

say "A pipeline, drawn and counted:"
show ringtop --from "$recordings/pipeline.jsonl" --batch
read_profile pipeline

say "record.sh makes these recordings. It makes the same bytes again:"
sh "$LAB/record.sh" "$LAB_OUT/again"
for name in calls link pipeline; do
    cmp "$LAB/recordings/$name.jsonl" "$LAB_OUT/again/$name.jsonl" &&
        echo "    $name.jsonl: equal"
done
