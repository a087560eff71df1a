#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# An invalid key file: each command with a key reports it first and only, with
# the file's name, before it begins or prints anything.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    export TOOLS=${COLLRUN%/*}
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$PWD/runs
    "$TOOLS/ringctl" keygen right.key
}

# The error for file $1 is $2, for both ways to name the key.
refused_everywhere() {
    local command
    for command in "collrun bench allreduce" "collrun tune" \
        "collrun exec -n 2" "pipebench run" "pipebench compare" \
        "psnode controller" "psnode server --join tcp://127.0.0.1:9" \
        "psnode worker train cartpole --join tcp://127.0.0.1:9" "ringctl up"; do
        # shellcheck disable=SC2086 # words
        refused ${command%% *} "$1" "$2" ${command#* } --key "$1"
        # shellcheck disable=SC2086
        GRADWIRE_KEY=$1 refused ${command%% *} "$1" "$2" ${command#* }
    done
    [ ! -e runs ]
}

refused() {
    local tool=$1 file=$2 sentence=$3
    shift 3
    case $tool,$1 in
    collrun,exec) set -- "$@" true ;;
    esac
    run -65 --separate-stderr timeout 30 "$TOOLS/$tool" "$@"
    [ -z "$output" ]
    # shellcheck disable=SC2154 # bats sets it
    [[ $stderr = "$tool: key file $file: $sentence"* ]]
    # shellcheck disable=SC2154
    [ "${#stderr_lines[@]}" = 1 ]
}

@test "key: a missing file is refused before all else" {
    refused_everywhere nowhere.key "No such file"
}

@test "key: a file that holds no key, or nothing" {
    (umask 077 && echo junk >junk.key && : >empty.key)
    refused_everywhere junk.key "must be two lines of 40 characters"
    refused_everywhere empty.key "must be two lines of 40 characters"
}

@test "key: a file that others may use, or that is another's" {
    chmod 644 right.key
    refused_everywhere right.key "other users may use it (mode 0644); run chmod 600 on it"
    chmod 600 right.key
    [ "$(id -u)" = 0 ] || skip "only root can give files away"
    chown 65534 right.key
    refused_everywhere right.key "it belongs to another user (65534)"
}

@test "key: commands without need of a key, and help, ignore a bad key" {
    export GRADWIRE_KEY=nowhere.key
    "$TOOLS/collrun" bench --help >/dev/null
    "$TOOLS/collrun" list >/dev/null
    "$TOOLS/collrun" exec --explain-env >/dev/null
}
