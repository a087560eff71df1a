# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A cluster of hosts for a test (labs/cluster/netlab), and how processes are
# started on them. setup calls lab_up, teardown lab_down; what is on a host when
# it goes ends with it. Each process writes into NAME.out and NAME.err.

started=()

# What an engine around the tests says is not about their processes.
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

# lab_lacks COMMAND...: says what is missing here; nothing when all is there.
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

# lab_up RACKS HOSTS: and a key that all of them have.
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

# start NAME HOST COMMAND...: its number is then the last of `started`.
start() {
    timeout 120 "$NETLAB_COMMAND" exec "${@:2}" >"$1.out" 2>"$1.err" \
        </dev/null 3>&- &
    started+=($!)
}

# until_true SECONDS COMMAND...: looks often, until it holds.
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

# address HOST: of version 4, and with 6 behind of version 6
address() {
    netlab list | awk -v host="$1" -v six="${2:-4}" \
        '$1 == host { print six == 6 ? $4 : $3 }'
}
