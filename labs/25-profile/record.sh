#!/bin/sh
# SPDX-License-Identifier: MIT
#
# record.sh DIR: makes the three recordings of this lab in DIR. They are simulated, so
# each run makes the same bytes. $GW_BIN is the folder of the tools, build by default.
set -eu
tools=${GW_BIN:-build}
mkdir -p "$1"

# A ring of five adds up vectors. Member 1 computes 40 ms longer before the third.
"$tools/ringctl" sim ring -n 5 --faults 'at 230ms pause 1 for 40ms' --for 100ms \
    --events "$1/calls.jsonl" >/dev/null

# One all-reduce of six. The NIC of rank 3 has three tenths of the rate.
cat >"$1/slow.topo" <<'EOT'
topology slow
nic  rate=1000M latency=1us
rack all: h[0-5]
nic  h3 rate=300M
EOT
"$tools/collrun" sim allreduce --algo ring -n 6 -b 600K --topo "$1/slow.topo" \
    --events "$1/link.jsonl" >/dev/null
rm "$1/slow.topo"

# A pipeline of four stages. Stage 2 takes half as long again.
"$tools/pipebench" sim -n 4 -m 8 --slow 2:1.5 --events "$1/pipeline.jsonl" >/dev/null
