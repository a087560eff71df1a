/* SPDX-License-Identifier: MIT
 *
 * Matrix products in f32, where a dense network spends nearly all its time.
 * There are several implementations: OpenBLAS, if this machine has it, and a
 * blocked one of our own, for AVX2 and for any CPU. product.c selects one.
 */
#ifndef GW__PRODUCT_H
#define GW__PRODUCT_H

#include <gradwire/base.h>

/* out = left right, or out += left right: rows x inner times inner x columns,
 * all row-major and contiguous. */
struct gw__product {
    const float *left, *right;
    float *out;
    size_t rows, inner, columns;
    bool left_turned;  /* `left` is transposed: inner x rows */
    bool right_turned; /* `right` is transposed: columns x inner */
    bool add;
};

/* Allocates no memory; thread-safe. `out` must not overlap the others. */
void gw__product(const struct gw__product *product);

/* An implementation. */
struct gw__product_kind {
    const char *name; /* "blas", "avx2", "any" */
    bool (*available)(void);
    void (*run)(const struct gw__product *product);
};

extern const struct gw__product_kind gw__product_blas, gw__product_avx2,
    gw__product_any;

/* All implementations of this build, best first, NULL-terminated. */
const struct gw__product_kind *const *gw__product_kinds(void);
/* Selects an implementation for all threads. NULL: $GRADWIRE_PRODUCT or the
 * best. False: unknown here. */
bool gw__product_select(const char *name);
/* The name of the selected implementation. */
const char *gw__product_name(void);

#endif
