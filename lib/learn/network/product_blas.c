/* SPDX-License-Identifier: MIT
 *
 * The matrix product of OpenBLAS, if this machine has it. It is loaded at the
 * first product, since few programs multiply matrices, and OpenBLAS takes 2 ms
 * to start. A rank is one of many on its machine, so a BLAS with threads is
 * limited to one, for the whole process. A BLAS without thread support shares
 * memory between callers, and concurrent calls give wrong results; it is
 * protected by a lock.
 */
#include "product.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* cblas.h, of which only this is used: matrices in 32-bit sizes. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, SEQUENTIAL = 0 };

static struct {
    void (*set_num_threads)(int threads);
    int (*get_parallel)(void);
    void (*sgemm)(int order, int trans_a, int trans_b, int rows, int columns,
                  int inner, float alpha, const float *a, int a_stride,
                  const float *b, int b_stride, float beta, float *c,
                  int c_stride);
} blas;

static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static bool loaded, locks;

static void load_blas(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    /* ISO C has no cast from dlsym's pointer to a function. */
    *(void **)&blas.set_num_threads =
        dlsym(library, "openblas_set_num_threads");
    *(void **)&blas.get_parallel = dlsym(library, "openblas_get_parallel");
    *(void **)&blas.sgemm = dlsym(library, "cblas_sgemm");
    loaded = blas.set_num_threads && blas.get_parallel && blas.sgemm;
    if (!loaded)
        return;
    blas.set_num_threads(1);
    locks = blas.get_parallel() == SEQUENTIAL;
}

static bool blas_is_usable(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, load_blas) == 0 && loaded;
}

static void multiply(const struct gw__product *p)
{
    int rows = (int)p->rows, columns = (int)p->columns, inner = (int)p->inner;
    if (inner == 0) {
        if (!p->add)
            memset(p->out, 0, p->rows * p->columns * sizeof *p->out);
        return;
    }
    if (locks)
        pthread_mutex_lock(&alone);
    blas.sgemm(ROW_MAJOR, p->left_turned ? TRANS : NO_TRANS,
               p->right_turned ? TRANS : NO_TRANS, rows, columns, inner, 1.0F,
               p->left, p->left_turned ? rows : inner, p->right,
               p->right_turned ? inner : columns, p->add ? 1.0F : 0.0F, p->out,
               columns);
    if (locks)
        pthread_mutex_unlock(&alone);
}

const struct gw__product_kind gw__product_blas = {"blas", blas_is_usable,
                                                  multiply};
