/* SPDX-License-Identifier: MIT
 *
 * The matrix product of OpenBLAS, if pkg-config found it at build time. A rank
 * is one of many on its machine, so a BLAS with threads is limited to one, for
 * the whole process. A BLAS without thread support shares memory between
 * callers, and concurrent calls give wrong results; it is protected by a lock.
 */
#include "product.h"

#ifdef GW_HAVE_BLAS

#include <cblas.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static bool locks;

static void set_up_blas(void)
{
    openblas_set_num_threads(1);
    locks = openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
}

static bool blas_is_usable(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, set_up_blas) == 0;
}

static void multiply(const struct gw__product *p)
{
    blasint rows = (blasint)p->rows, columns = (blasint)p->columns;
    blasint inner = (blasint)p->inner;
    if (inner == 0) {
        if (!p->add)
            memset(p->out, 0, p->rows * p->columns * sizeof *p->out);
        return;
    }
    if (locks)
        pthread_mutex_lock(&alone);
    cblas_sgemm(CblasRowMajor, p->left_turned ? CblasTrans : CblasNoTrans,
                p->right_turned ? CblasTrans : CblasNoTrans, rows, columns,
                inner, 1.0F, p->left, p->left_turned ? rows : inner, p->right,
                p->right_turned ? inner : columns, p->add ? 1.0F : 0.0F, p->out,
                columns);
    if (locks)
        pthread_mutex_unlock(&alone);
}

#else

static bool blas_is_usable(void)
{
    return false;
}

static void multiply(const struct gw__product *p)
{
    (void)p;
}

#endif

const struct gw__product_kind gw__product_blas = {"blas", blas_is_usable,
                                                  multiply};
