# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Waiting in tests of real processes: conditions, polled often, with a limit
# that only a failure reaches.

# until_true SECONDS COMMAND...: polls until it holds.
until_true() {
    local end=$((SECONDS + $1))
    until "${@:2}" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { echo "never: ${*:2}"; return 1; }
        sleep 0.05
    done
}

# hears PID NAME: the process runs that program, and catches SIGINT, which would
# otherwise just end it.
hears() {
    local caught
    [ "$(cat "/proc/$1/comm")" = "$2" ] || return 1
    caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status")
    [ $((16#$caught >> 1 & 1)) = 1 ]
}

# is_over PID...: they have ended, or are zombies.
is_over() {
    local pid
    for pid; do
        ! grep -q '^State:[[:space:]][^ZX]' "/proc/$pid/status" || return 1
    done
}

# find_port: sets `port` to a loopback port that is unused at the moment, as is
# the next one, below the range of ports that the kernel assigns.
find_port() {
    port=$((20000 + RANDOM % 6000 * 2))
    while grep -qi ":$(printf %04X $port) \|:$(printf %04X $((port + 1))) " \
        /proc/net/tcp; do
        port=$((port + 2))
    done
}
