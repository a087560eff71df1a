#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates a primary on an island, with and without leases, and dead controllers.
# Then runs real processes: a server that sleeps longer than its lease, and a leader
# that is killed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

island="at 300ms cut c0,c1,c2|s0,w0 for ${CUT}ms; \
at 300ms cut s1,s2|s0 for ${CUT}ms"

# simulated NAME OPTION...
simulated() {
    name=$1
    shift
    measure "$name" ringctl sim servers --servers "$S" --seed "$SEED" "$@"
}

say "Server 0 and worker 0 on an island:"
simulated safe --faults "$island"
report safe acked two_primaries failover_ms refused stale pushes_lost
note two_safe "$(value safe.two_primaries)"
note nobody_ms "$(value safe.failover_ms)"

say "The same without leases:"
simulated split --faults "$island" --without lease
report split acked two_primaries two_ms refused stale pushes_lost
note two_split "$(value split.two_primaries)"
note split_ms "$(value split.two_ms)"

say "A server dies when some of $C controllers are dead:"
majority=0
for dead in c0 c0,c1 c0,c1,c2; do
    simulated "dead.$dead" --controllers "$C" \
        --faults "at 300ms crash $dead for 1500ms; at 400ms crash s0"
    report "dead.$dead" failover_ms leaders
    if awk "BEGIN { exit !($(value "dead.$dead.failover_ms") < 100) }"; then
        majority=$((majority + 1))
    fi
done
note majority "$majority"

say "Real processes: a server sleeps longer than its lease, and wakes:"
measure pause ringctl --timeout 30s -c "up $W train drift --servers $S \
--controllers 3 --epochs 40; wait step>=20; pause s0; wait servers==2; \
resume s0; wait servers==3; status"
report pause epoch alive lost doubled
compute pause_epochs "pause.epoch-$W-$S"

say "The leader is killed:"
measure lead ringctl --timeout 30s -c "up $W train drift --servers $S \
--controllers 3 --epochs 2; wait step>=20; kill leader; \
wait controllers==2; wait done; status"
report lead epoch alive controllers_alive lost doubled
compute leader_epochs "lead.epoch-$W-$S"
