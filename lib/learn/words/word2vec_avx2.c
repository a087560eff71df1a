/* SPDX-License-Identifier: MIT
 *
 * The inner loops of word2vec for AVX2, in vectors of 32 bytes. FMA is not
 * used, since its rounding differs.
 */
#include "learn/tasks/unlocked.h"
#include "logistic_table.h"
#include "word2vec.h"

#ifdef __x86_64__

#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#pragma clang attribute push(__attribute__((target("avx2"))),                  \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#pragma GCC optimize("fp-contract=off")
#endif

#define VECTOR_BYTES 32
#define TRAIN        gw__word2vec_train_avx2
#include "word2vec_kernel.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
