/* SPDX-License-Identifier: MIT
 *
 * Support for the inner loops of word2vec (word2vec_kernel.h): the table of the
 * logistic function, memory for vectors, and the selection of a kernel, which
 * follows that of gw_reduce_local.
 */
#include "coll/reduce/reduce.h"
#include "learn/logistic.h"
#include "logistic_table.h"
#include "word2vec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct gw__logistic_table made;

static void make_table(void)
{
    for (size_t i = 0; i < sizeof made.entry / sizeof *made.entry; i++) {
        double z = (double)i / GW__TABLE_STEPS - GW__TABLE_REACH;
        struct gw__logistic logistic = gw__logistic(z, false);
        made.entry[i].loss = (float)logistic.loss;
        made.entry[i].slope = (float)logistic.slope;
    }
}

const struct gw__logistic_table *gw__logistic_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    return &made;
}

void gw__word2vec_train(const struct gw__vectors *vectors,
                        const struct gw__pairs *pairs, float *scratch,
                        struct gw_sample_sums *sums)
{
#ifdef __x86_64__
    /* All levels of gw_reduce_local except the scalar one have AVX2. */
    if (gw__reduce_current() != &gw__reduce_scalar) {
        gw__word2vec_train_avx2(vectors, pairs, scratch, sums);
        return;
    }
#endif
    gw__word2vec_train_any(vectors, pairs, scratch, sums);
}

float *gw__vectors_alloc(size_t count, size_t stride)
{
    enum { CACHE_LINE_BYTES = 64 };
    size_t bytes = count * stride * sizeof(float);
    float *vectors =
        aligned_alloc(CACHE_LINE_BYTES, bytes ? bytes : CACHE_LINE_BYTES);
    if (vectors)
        memset(vectors, 0, bytes);
    return vectors;
}
