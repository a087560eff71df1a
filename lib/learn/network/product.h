/* SPDX-License-Identifier: MIT
 *
 * Matrix products in f32: where nearly all the time of a dense network goes.
 * There are several that compute the same: OpenBLAS's, when the build found it,
 * and a plain blocked one of our own for AVX2 and for any CPU. product.c
 * chooses.
 */
#ifndef GW__PRODUCT_H
#define GW__PRODUCT_H

#include <gradwire/base.h>

/* out = left right, or out += left right: rows x inner times inner x columns,
 * all row by row, without gaps. */
struct gw__product {
    const float *left, *right;
    float *out;
    size_t rows, inner, columns;
    bool left_turned;  /* `left` lies transposed: inner x rows */
    bool right_turned; /* columns x inner */
    bool add;
};

/* Allocates nothing; any thread. `out` overlaps neither. */
void gw__product(const struct gw__product *product);

/* One way to do it. */
struct gw__product_kind {
    const char *name; /* "blas", "avx2", "any" */
    bool (*available)(void);
    void (*run)(const struct gw__product *product);
};

extern const struct gw__product_kind gw__product_blas, gw__product_avx2,
    gw__product_any;

/* All that this build has, best first, NULL-terminated. */
const struct gw__product_kind *const *gw__product_kinds(void);
/* What gw__product runs from now on, for all threads; NULL: what
 * $GRADWIRE_PRODUCT names, or else the best. False: there is no such here. */
bool gw__product_use(const char *name);
/* The name of what it runs. */
const char *gw__product_name(void);

#endif
