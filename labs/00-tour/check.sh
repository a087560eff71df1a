#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the learner's script, then reads the state of its run.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

measure tour ringctl --timeout 20s --seed "$SEED" -c \
    "source \"$LAB_DIR/tour.ring\"; status"
report tour alive epoch step lost doubled
