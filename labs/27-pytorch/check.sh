#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Trains without and with the learner's hook, and compares bytes and parameters; with
# two ranks and with three, so that a mean is not a half.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"
LAB_TIMEOUT=${LAB_TIMEOUT:-120}

export CAP_MB
say "hook.py, 20 steps with it, compared with 20 steps without:"
for ranks in $((2 + SEED % 2)) $((3 - SEED % 2)); do
    measure "hook.$ranks" collrun exec -n "$ranks" --no-pin "$PYTHON" "$LAB/side.py" \
        hook "$LAB_DIR/hook.py"
    report "hook.$ranks" bytes gradient_bytes apart_percent
done
compute half 'hook.2.gradient_bytes / 2'
printf 'hook\t%s check 27 --seed %s\n' "$LAB_COMMAND" "$SEED" >>"$LAB_OUT/commands"
