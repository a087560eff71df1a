#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates the parameter server: without faults, with servers that die at the same
# moment, and with one that dies while its copies are late. Then kills a real
# server.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# simulated NAME FAULTS OPTION...
simulated() {
    name=$1
    faults=$2
    shift 2
    measure "$name" ringctl sim servers --servers "$S" --seed "$SEED" \
        --faults "$faults" "$@"
}

say "Without faults, $R replicas:"
simulated calm none --replicas "$R"
report calm acked push_bytes replica_bytes
compute copies 'calm.replica_bytes/calm.push_bytes'

say "One, two and three servers die at the same moment, of three:"
deaths=0
for who in s0 s0,s1 s0,s1,s2; do
    simulated "die.$who" "at 500ms crash $who" --replicas "$R"
    report "die.$who" acked pushes_lost slots_lost
    if [ "$(value "die.$who.pushes_lost")" = 0 ]; then
        deaths=$((deaths + 1))
    fi
done
note deaths "$deaths"

say "Two of them, with two replicas:"
simulated two 'at 500ms crash s0,s1' --replicas 2
report two acked pushes_lost slots_lost
note pairs "$(value two.slots_lost)"

say "Server 0 dies after $WINDOW ms in which none of its copies arrived." \
    "Acknowledged by all replicas:"
late="at 500ms cut s0>s1,s2 for ${WINDOW}ms; at $((500 + WINDOW))ms crash s0"
simulated all "$late" --ack all
report all acked pushes_lost detect_ms promote_ms failover_ms
note all_lost "$(value all.pushes_lost)"
note failover "$(value all.failover_ms)"

say "Acknowledged by the primary alone:"
simulated primary "$late" --ack primary
report primary acked pushes_lost
note primary_lost "$(value primary.pushes_lost)"

say "Real processes, and SIGKILL:"
measure real ringctl --timeout 30s -c "up 2 train drift --servers $S \
--replicas $R --epochs 4; wait step>=20; kill s0; wait done; status"
report real alive epoch op lost doubled slots_lost
note real_lost "$(value real.lost)"
