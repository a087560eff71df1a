#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates a ring whose members suspect after a fixed timeout. Measures the
# time until a crash is detected, the fate of a paused member, and the timeout
# that a jittery network needs.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

labs=${LAB%/*}
source=$labs/plugins/fixed_timeout.c

# with_timeout MS: compiles the plug-in with that timeout.
with_timeout() {
    sed "s/(200 \*/($1 */" "$source" >"$LAB_OUT/fixed$1.c"
    cc -shared -fPIC -I "$LAB_INCLUDE" -o "$LAB_OUT/fixed$1.so" "$LAB_OUT/fixed$1.c"
}

say "Crashes without a report, with a timeout of $T ms; the first:"
with_timeout "$T"
fixed=$LAB_OUT/fixed$T.so
measure crash ringctl sim ring --suspicion "$fixed" --silent \
    --faults "at 300ms crash 2"
report crash crashes suspicions views detect_ms recover_ms
at=300
while [ "$at" -lt 320 ]; do
    run_tool ringctl sim ring --suspicion "$fixed" --silent \
        --faults "at ${at}ms crash 2" -o jsonl
    at=$((at + 1))
done >"$LAB_OUT/crashes"
note earliest "$(sed 's/.*"detect_ms":\([0-9.]*\).*/\1/' "$LAB_OUT/crashes" |
    sort -n | sed -n 1p)"
note latest "$(sed 's/.*"detect_ms":\([0-9.]*\).*/\1/' "$LAB_OUT/crashes" |
    sort -n | sed -n '$p')"
say "With crashes at 300 to 319 ms: $(value earliest) to $(value latest) ms."

say "No member crashes, but one sleeps:"
measure sleep ringctl sim ring --suspicion "$fixed" \
    --faults "at 300ms pause 2 for 300ms"
report sleep false_suspicions wronged views
note views "$(value sleep.views)"

say "A jittery network without crashes and sleepers; false_suspicions appear with" \
    "timeouts that are too short:"
for ms in 130 120 110 100 90; do
    with_timeout "$ms"
    measure "jitter$ms" ringctl sim ring --seeds 1..100 --for 2s \
        --suspicion "$LAB_OUT/fixed$ms.so" --faults "delay *|* 0ms..${J}ms"
    report "jitter$ms" false_suspicions shaken
    if [ "$(value "jitter$ms.shaken")" = 0 ]; then
        note safe "$ms"
    fi
done
