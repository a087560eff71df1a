/* SPDX-License-Identifier: MIT
 *
 * The inner loops of word2vec for any CPU, in vectors of 16 bytes.
 */
#include "learn/tasks/unlocked.h"
#include "logistic_table.h"
#include "word2vec.h"

#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#define VECTOR_BYTES 16
#define TRAIN        gw__word2vec_train_any
#include "word2vec_kernel.h"
