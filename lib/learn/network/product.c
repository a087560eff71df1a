/* SPDX-License-Identifier: MIT
 *
 * Selection of the matrix product: the best one that this machine has, or
 * $GRADWIRE_PRODUCT. Their rounding differs, so ranks that must agree bit by bit
 * should use the same one.
 */
#include "product.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct gw__product_kind *const kinds[] = {
    &gw__product_blas, &gw__product_avx2, &gw__product_any, NULL};

static _Atomic(const struct gw__product_kind *) current;

const struct gw__product_kind *const *gw__product_kinds(void)
{
    return kinds;
}

static const struct gw__product_kind *find_kind(const char *name)
{
    for (size_t i = 0; kinds[i]; i++)
        if (kinds[i]->available() && (!name || !strcmp(kinds[i]->name, name)))
            return kinds[i];
    return NULL;
}

static const struct gw__product_kind *choose_kind(void)
{
    const char *forced = getenv("GRADWIRE_PRODUCT");
    const struct gw__product_kind *kind = forced ? find_kind(forced) : NULL;
    return kind ? kind : find_kind(NULL);
}

static const struct gw__product_kind *now(void)
{
    const struct gw__product_kind *kind =
        atomic_load_explicit(&current, memory_order_acquire);
    if (kind)
        return kind;
    /* A race is harmless: all threads choose the same. */
    kind = choose_kind();
    atomic_store_explicit(&current, kind, memory_order_release);
    return kind;
}

bool gw__product_select(const char *name)
{
    const struct gw__product_kind *kind =
        name ? find_kind(name) : choose_kind();
    if (kind)
        atomic_store_explicit(&current, kind, memory_order_release);
    return kind != NULL;
}

const char *gw__product_name(void)
{
    return now()->name;
}

void gw__product(const struct gw__product *product)
{
    if (product->rows > 0 && product->columns > 0)
        now()->run(product);
}
