# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What tests of real processes wait for: conditions, looked at often, with a
# bound that only a failure reaches.

# until_true SECONDS COMMAND...: looks often, until it holds.
until_true() {
    local end=$((SECONDS + $1))
    until "${@:2}" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { echo "never: ${*:2}"; return 1; }
        sleep 0.05
    done
}
