#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles the learner's policy and tries it in simulated rings: a hundred in a
# jittery network without a crash, twenty with one, and some in a quiet network.
# Jitter and time of the crash depend on the seed. Then runs the learner's script
# with real processes.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

JITTER=$((100 + SEED % 2 * 20))
FIRST=$((SEED * 100 + 1))
CRASH=$((1500 + SEED * 7 % 20))
note JITTER "$JITTER"
mine=$LAB_OUT/mine.so

compile mine "$LAB_DIR/policy.c"

say "Messages that take up to $JITTER ms, no crash:"
measure jitter ringctl sim ring --suspicion "$mine" --for 2s --keep-going \
    --seeds "$FIRST..$((FIRST + 99))" --faults "delay *|* 0ms..${JITTER}ms"
report jitter seeds false_suspicions shaken wronged
say "The same, and member 2 crashes:"
measure crash ringctl sim ring --suspicion "$mine" --for 2s --silent \
    --keep-going --seeds "$FIRST..$((FIRST + 19))" \
    --faults "delay *|* 0ms..${JITTER}ms; at ${CRASH}ms crash 2"
report crash detected detect_ms

say "A quiet network, and member 2 crashes:"
measure quiet ringctl sim ring --suspicion "$mine" --for 2s --silent \
    --keep-going --seeds "$FIRST..$((FIRST + 4))" \
    --faults "delay *|* 0ms..2ms; at ${CRASH}ms crash 2"
report quiet detected detect_ms false_suspicions

say "pause.ring, with real processes:"
measure script ringctl --timeout 30s --seed "$SEED" -c \
    "source \"$LAB_DIR/pause.ring\"; status"
report script alive epoch step
