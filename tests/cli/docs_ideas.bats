#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The commands of gradwire-ideas(7): those that end by themselves run, on small
# data and for one epoch. The others need a run, a NIC or minutes; for these the
# test checks that the help has the command, its options and its settings.

load docs

# A file for each word in capitals.
make_data() {
    awk 'BEGIN { state = 7
        for (row = 0; row < 120; row++) {
            line = ""; sum = 0
            for (j = 1; j <= 4; j++) {
                state = (state * 16807) % 2147483647
                x = state / 2147483647 * 2 - 1
                sum += j % 2 ? x : -x
                line = line sprintf(" %d:%.4f", j, x)
            }
            print (sum > 0 ? "+1" : "-1") line >"DATA"
            line = ""
            for (j = 1; j <= 64; j++)
                line = line sprintf(" %d:%d", j, (row * j) % 17)
            print row % 10 line >"DIGITS"
            print row % 12, int(row / 12), row % 5 + 1 >"RATINGS"
            print row % 12, int(row / 12), row % 2 >"CLICKS"
            print "a b c d e f g a c e b d f" >"TEXT"
        } }'
    echo 'at 200ms crash 2 for 600ms' >FAULTS
}

# With small files for the words in capitals, few ranks, and little to do.
filled() {
    local limits=
    case $1 in
    *train\ *) limits=' -E 1' ;;
    psnode\ bench*) limits=' -k 1000 --rounds 2' ;;
    collrun\ bench*) limits=' -b 1K -e 1K -i 20' ;;
    esac
    echo "$1$limits" | sed -e 's|--faults FILE|--faults FAULTS|' \
        -e 's| FILE| labs/topologies/racks.topo|' \
        -e 's| -n 65536 | -n 1024 |' -e 's| -k 100 | |' \
        -e 's| NET DATA| labs/nets/digits-conv.net DIGITS|' \
        -e 's|digits-conv.net DATA|digits-conv.net DIGITS|' \
        -e 's| NET | labs/nets/digits.net |'
}

# Does it end by itself, in seconds?
ends() {
    case $1 in
    *' --compare '* | *' --wire verbs'* | *ringctl\ up*) return 1 ;;
    collrun\ exec* | psnode\ controller*) return 1 ;;
    collrun* | pipebench* | psnode* | ringctl\ sim\ *' '*) return 0 ;;
    esac
    return 1
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

@test "the commands of gradwire-ideas(7) run, or their help has their options" {
    ideas
    cut -d '|' -f 4- ideas | tr '|' '\n' | sort -u >commands
    ln -s labs/plans/ring-allreduce.plan mine.plan
    make_data
    run=0
    while read -r command; do
        if ends "$command"; then
            # Streams read rows from here.
            eval "timeout 60 $(filled "$command")" >said 2>&1 <DATA 3>&- ||
                { echo "$command:"; cat said; return 1; }
            run=$((run + 1))
        else
            named "$command"
        fi
    done <commands
    [ "$run" -ge 50 ]
}
