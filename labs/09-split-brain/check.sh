#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates the learner's split brain, without leases and with them. Then clocks: a
# drift that can do no harm, and one that does.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# simulated NAME OPTION...
simulated() {
    name=$1
    shift
    measure "$name" ringctl sim servers --servers "$S" --seed "$SEED" "$@"
}

# The largest drift in a fault schedule, in percent.
drift_of() {
    awk '{ sub(/#.*/, "") }
        $1 == "clock" { p = $3 + 0; if (p < 0) p = -p; if (p > most) most = p }
        END { print most / 10000 }' "$1"
}

say "split.faults, without leases and acknowledged by the primary alone:"
simulated split --without lease --ack primary --faults "$LAB_DIR/split.faults"
report split faults two_primaries two_ms pushes_lost stale
say "With all fences:"
simulated whole --faults "$LAB_DIR/split.faults"
report whole two_primaries pushes_lost stale violations

say "drift.txt: clocks with this drift, in both directions:"
note drift.safe "$(awk '$1 == "safe" { print $2 + 0; exit }' \
    "$LAB_DIR/drift.txt")"
# The duration of the lease and of the wait of the controllers, in ms.
compute drift.lease "LEASE/(1-drift.safe/100)"
compute drift.wait "(LEASE+MARGIN)/(1+drift.safe/100)"
compute more.lease "LEASE/(1-(drift.safe+1)/100)"
compute more.wait "(LEASE+MARGIN)/(1+(drift.safe+1)/100)"
report drift safe lease wait
# In the unit of the simulator, within its limits.
ppm=$(value drift.safe | awk '{ d = $1 * 10000
    printf "%d", (d < 0 ? 0 : (d > 500000 ? 500000 : d)) }')
note drift.ppm "$ppm"
two=0
for cut in 300 310 320 330; do
    simulated "at$cut" --faults "clock s0 -${ppm:=0}ppm; \
clock c0,c1,c2,s1,s2 +${ppm}ppm; at ${cut}ms cut c0,c1,c2,s1,s2|s0 for 900ms; \
at ${cut}ms cut c0,c1,c2|w0 for 900ms"
    two=$((two + $(value "at$cut.two_primaries")))
done
note drift.two "$two"

say "late.faults, with all fences:"
note late.drift "$(drift_of "$LAB_DIR/late.faults")"
simulated late --faults "$LAB_DIR/late.faults"
report late drift two_primaries two_ms violation
