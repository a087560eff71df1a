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

# hears PID NAME: it is that program, and catches SIGINT, which would otherwise
# just end it.
hears() {
    local caught
    [ "$(cat "/proc/$1/comm")" = "$2" ] || return 1
    caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status")
    [ $((16#$caught >> 1 & 1)) = 1 ]
}

# is_over PID...: they have ended, if only as entries that nobody has read yet.
is_over() {
    local pid
    for pid; do
        ! grep -q '^State:[[:space:]][^ZX]' "/proc/$pid/status" || return 1
    done
}

# find_port: the number of a port of loopback that nobody listens at now, and
# neither at the next one, into `port`; below those that the kernel deals.
find_port() {
    port=$((20000 + RANDOM % 6000 * 2))
    while grep -qi ":$(printf %04X $port) \|:$(printf %04X $((port + 1))) " \
        /proc/net/tcp; do
        port=$((port + 2))
    done
}
