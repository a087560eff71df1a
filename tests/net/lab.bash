# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A cluster of hosts for a test (labs/cluster/netlab), with commands to start
# processes on them. setup calls lab_up, teardown lab_down; the processes of a
# host end with it. Each process writes into NAME.out and NAME.err.

started=()

# Variables of a launcher around the tests are not meant for their processes.
lab_environment() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    NETLAB_COMMAND=$(realpath labs/cluster/netlab)
    NETLAB=test$$
    GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
    export BUILD NETLAB_COMMAND NETLAB GRADWIRE_CALIBRATION
    unset GRADWIRE_RUN GRADWIRE_RUNS GRADWIRE_KEY
    for name in $(compgen -e | grep -E '^(GW|PMI|PMIX|OMPI|SLURM|MASTER)_'); do
        unset "$name"
    done
}

# lab_lacks COMMAND...: prints the missing requirement; prints nothing if all
# are there.
lab_lacks() {
    [ "$(id -u)" -eq 0 ] || {
        echo "hosts are network namespaces, which want root"
        return
    }
    for command in "$@"; do
        command -v "$command" >/dev/null || {
            echo "$command is not installed"
            return
        }
    done
    unshare --net --uts --mount --ipc true 2>&1 |
        sed 's/^/no namespaces here: /'
}

lab_needs() {
    why=$(lab_lacks "$@")
    [ -z "$why" ] || skip "$why"
}

netlab() {
    "$NETLAB_COMMAND" "$@" 3>&-
}

# lab_up RACKS HOSTS: also makes a key for all of them.
lab_up() {
    cd "$BATS_TEST_TMPDIR" || return 1
    lab_needs ip tc nsenter
    netlab up "$1" "$2"
    "$BUILD/psnode" key "$PWD/key" >key.txt
    GRADWIRE_KEY=$PWD/key
    export GRADWIRE_KEY
}

lab_down() {
    for pid in "${started[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    netlab down
}

# start NAME HOST COMMAND...: its pid is then the last of `started`.
start() {
    timeout 120 "$NETLAB_COMMAND" exec "${@:2}" >"$1.out" 2>"$1.err" \
        </dev/null 3>&- &
    started+=($!)
}

# until_true SECONDS COMMAND...: polls until it holds.
until_true() {
    local end=$((SECONDS + $1))
    until "${@:2}" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || {
            echo "never: ${*:2}"
            head -n 5 ./*.out ./*.err
            return 1
        }
        sleep 0.05
    done
}

# ends PID: sets code.
ends() {
    # shellcheck disable=SC2034 # for the tests
    code=0
    # shellcheck disable=SC2034
    wait "$1" || code=$?
}

# address HOST [6]: its IPv4 address, or its IPv6 address.
address() {
    netlab list | awk -v host="$1" -v six="${2:-4}" \
        '$1 == host { print six == 6 ? $4 : $3 }'
}
