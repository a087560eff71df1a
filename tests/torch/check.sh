#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh BUILD: the tests of this folder, PyTorch's programs that test its stores,
# and PyTorch's own distributed tests with Gloo and with gradwire, 2 and 4 ranks. It
# prints a table: test, Gloo, gradwire. The status is 1 if a test of this folder
# fails, or if a test that passes with Gloo does not pass with gradwire.
#
# RANKS="2" and TESTS=EXPRESSION (of pytest -k) choose less. BUILD/torch/BACKEND.RANKS
# has the output of PyTorch's tests.
set -eu
build=$(realpath "$1")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$build/torch
python=${PYTHON:-/usr/bin/python3}
B=$build
GRADWIRE_LIBRARY=$build/libgradwire.so
GRADWIRE_TORCH=$build/torch/_torch.so
PYTHONPATH=$(realpath ../../lib/python)
export B GRADWIRE_LIBRARY GRADWIRE_TORCH PYTHONPATH

own_tests() {
    echo "== tests/torch"
    "$python" -m pytest -q -p no:cacheprovider ${TESTS:+-k "$TESTS"} . || test $? = 5
}

# The stores over which ranks find each other. Some packages are without them.
store_tests() {
    folder=$("$python" -c 'import torch; print(torch.__path__[0] + "/bin")')
    for store in HashStore FileStore TCPStore; do
        if [ -x "$folder/${store}Test" ]; then
            echo "== ${store}Test"
            "$folder/${store}Test" | tail -n 1
        fi
    done
}

# results BACKEND RANKS: lines of test and PASSED, FAILED or SKIPPED.
results() {
    port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
    BACKEND=$1 WORLD_SIZE=$2 MASTER_PORT=$port "$python" -m pytest -v -rs \
        -p no:cacheprovider --tb=short ${TESTS:+-k "$TESTS"} distributed_suite.py |
        tee "$log/$1.$2" | sed -n 's/^.*::\(test_[a-zA-Z0-9_]*\) \([A-Z]*\).*/\1 \2/p' | sort
}

# compare RANKS: false if gradwire misses a test.
compare() {
    results gloo "$1" >"$work/gloo"
    results gradwire "$1" >"$work/gradwire"
    join "$work/gloo" "$work/gradwire" >"$work/both"
    echo "== $1 ranks: test, Gloo, gradwire"
    column -t "$work/both"
    awk -v ranks="$1" '{ count[$2 " " $3]++ }
        END { for (pair in count) print ranks " ranks:", pair, count[pair] }' "$work/both" | sort
    ! grep -E ' PASSED (FAILED|SKIPPED)$' "$work/both" && [ -s "$work/both" ]
}

missed=0
own_tests || missed=1
store_tests || missed=1
for ranks in ${RANKS:-2 4}; do
    compare "$ranks" || missed=1
done
exit $missed
