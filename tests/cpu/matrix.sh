#!/bin/bash
# SPDX-License-Identifier: MIT
#
# matrix.sh [BUILD]: runs the numerical unit tests once for each kind of
# processor that this one can act as, one line each: the kernels of reductions
# (and of word2vec and the updaters, which follow them) by GRADWIRE_CPU, the
# matrix products by GRADWIRE_PRODUCT, and OpenBLAS's own choice by
# OPENBLAS_CORETYPE. So a machine with AVX-512 also tests the code of one
# without it. The processor's own choice is left out, since all tests run with
# it, and so are tests that visit all levels themselves (fold_*).
#
#     LEVELS="scalar/any avx2/blas/Haswell" tests/cpu/matrix.sh
#
# runs these levels only.
set -u
unit=${1:-build}/unit
products_suites="learn_nan tensor part parallel_wrong"
all_suites="$products_suites parallel learn shards reshard word2vec ps_update task_lr task_mf"

# names VARIABLE: its levels on this machine, best first.
names() {
    env "$1=?" "$unit" 2>&1 | sed -n 's/.*; use one of //p' | tr -d ,
}

has() {
    case " $1 " in *" $2 "*) ;; *) return 1 ;; esac
}

# The kinds of OpenBLAS's kernels that this processor can run, except its own,
# the best: SSE3, AVX, AVX2.
core_types() {
    local flags
    test "$(uname -m)" = x86_64 || return 0
    flags=$(sed -n '/^flags/{s/.*://p;q}' /proc/cpuinfo)
    echo Prescott
    if has "$flags" avx2; then echo Sandybridge; fi
    if has "$flags" avx512vl; then echo Haswell; fi
}

# Each level of reductions with the product of the same age; then OpenBLAS's.
matrix() {
    local cpu product
    for cpu in ${cpus#* }; do
        product=any
        if has "$products" "$cpu"; then product=$cpu; fi
        echo "$cpu/$product"
    done
    if has "$products" blas; then
        for core in $(core_types); do echo "${cpus%% *}/blas/$core"; done
    fi
}

run() {
    local cpu product core suites=$all_suites
    IFS=/ read -r cpu product core <<<"$1"
    if [ -n "$core" ]; then suites=$products_suites; fi
    # shellcheck disable=SC2086 # a list of suites
    env GRADWIRE_CPU="$cpu" GRADWIRE_PRODUCT="$product" ${core:+OPENBLAS_CORETYPE=$core} \
        CK_DEFAULT_TIMEOUT=60 "$unit" $suites 2>&1
}

cpus=$(names GRADWIRE_CPU)
products=$(names GRADWIRE_PRODUCT)
bad=0
for level in ${LEVELS:-$(matrix)}; do
    if output=$(run "$level"); then
        echo "matrix: $level: $(grep '^[0-9]*%' <<<"$output")"
    else
        echo "matrix: $level: failed; again: LEVELS=$level $0 ${1:-build}"
        echo "$output"
        bad=1
    fi
done
exit $bad
