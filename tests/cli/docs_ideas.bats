#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The commands of README's table of ideas are tried: those that end soon by
# themselves run, and of the others, which want a run, processes or data, the
# command, its options and its settings are those that its help names.

load docs

# With a file for the word in capitals, and fewer ranks.
filled() {
    echo "$1" | sed 's| FILE| labs/topologies/racks.topo|; s| -n 65536 | -n 1024 |'
}

# named COMMAND: each option and setting is in the help of the command, or in
# the list of settings.
named() {
    # shellcheck disable=SC2086 # words
    set -- $1
    case $2 in
    -* | '') "$1" --help >helped ;;
    *) "$1" "$2" --help >helped ;;
    esac
    for word in "${@:2}"; do
        case $word in
        --*) grep -qwe "$word" helped || { echo "$*: no $word"; return 1; } ;;
        [a-z]*=*)
            for name in $(echo "$word" | tr ',' '\n' | sed 's/=.*//'); do
                sed -n '/^\.Sh SETTINGS/,/^\.Sh [^S]/p' "$ROOT/man/ringctl.1" |
                    grep -qwe "$name" ||
                    { echo "$*: no $name"; return 1; }
            done
            ;;
        esac
    done
}

@test "the commands of the table of ideas run, or their help names what they have" {
    sed -n '/^## Where each idea is/,/^## Reading/s/^| //p' "$ROOT/README.md" |
        grep '|' | tail -n +3 | cut -d '|' -f 3 | tr '`' '\n' | grep '^[a-z]' |
        sort -u >commands
    ln -s labs/plans/ring-allreduce.plan mine.plan
    run=0
    while read -r command; do
        case $command in
        collrun\ plan* | collrun\ price* | collrun\ sim* | collrun\ verify* | \
            collrun\ run* | pipebench\ compare* | psnode\ sim*)
            # shellcheck disable=SC2046,SC2086 # words
            timeout 60 $(filled "$command") >said 2>&1 </dev/null 3>&- ||
                { echo "$command:"; cat said; return 1; }
            run=$((run + 1))
            ;;
        *) named "$command" ;;
        esac
    done <commands
    [ "$run" -ge 15 ]
}
