#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The environment of the table, one line "name: value" each: the machine, its
# load before the start, and the peers' versions. ROUNDS and SECONDS_EACH are in
# the environment.
set -u

cpu() {
    sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1
}

version() { # command...
    "$@" 2>/dev/null | sed -n 's/^[^0-9]*\([0-9][0-9.]*\).*/\1/p' | head -n 1
}

package() {
    dpkg-query -W -f '${Version}' "$1" 2>/dev/null
}

note() {
    echo "$1: ${2:-unknown}"
}

note date "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
note cpu "$(cpu)"
note cores "$(getconf _NPROCESSORS_ONLN)"
note kernel "$(uname -sr)"
note load "$(cut -d ' ' -f 1-3 /proc/loadavg)"
note compiler "$(gcc --version | head -n 1)"
note openmpi "$(version mpirun.openmpi --version)"
note mpich "$(version mpirun.mpich --version)"
note gloo "$(package libgloo-dev)"
note zeromq "$(pkg-config --modversion libzmq)"
note rounds "$ROUNDS of $SECONDS_EACH s"
