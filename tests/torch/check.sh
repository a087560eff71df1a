#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh BUILD: PyTorch's own distributed tests with the backend gradwire and with
# Gloo, 2 and 4 ranks. It prints a table: test, Gloo, gradwire. The status
# is 1 if a test that passes with Gloo does not pass with gradwire. RANKS="2" and
# TESTS=EXPRESSION (of pytest -k) choose less. BUILD/torch/BACKEND.RANKS has the output.
set -eu
build=$(realpath "$1")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$build/torch
GRADWIRE_LIBRARY=$build/libgradwire.so
GRADWIRE_TORCH=$build/torch/_torch.so
PYTHONPATH=$(realpath ../../lib/python)
export GRADWIRE_LIBRARY GRADWIRE_TORCH PYTHONPATH

# results BACKEND RANKS: lines of test and PASSED, FAILED or SKIPPED.
results() {
    port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
    BACKEND=$1 WORLD_SIZE=$2 MASTER_PORT=$port "${PYTHON:-/usr/bin/python3}" -m pytest \
        -v -p no:cacheprovider --tb=short ${TESTS:+-k "$TESTS"} distributed_suite.py |
        tee "$log/$1.$2" | sed -n 's/^.*::\(test_[a-zA-Z0-9_]*\) \([A-Z]*\).*/\1 \2/p' | sort
}

missed=0
for ranks in ${RANKS:-2 4}; do
    results gloo "$ranks" >"$work/gloo"
    results gradwire "$ranks" >"$work/gradwire"
    echo "== $ranks ranks: test, Gloo, gradwire"
    join "$work/gloo" "$work/gradwire" | column -t
    join "$work/gloo" "$work/gradwire" >"$work/both"
    awk -v ranks="$ranks" '{ count[$2 " " $3]++ }
        END { for (pair in count) print ranks " ranks:", pair, count[pair] }' "$work/both" | sort
    if grep -E ' PASSED (FAILED|SKIPPED)$' "$work/both"; then
        missed=1
    fi
    [ -s "$work/both" ] || missed=1
done
exit $missed
