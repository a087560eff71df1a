/* SPDX-License-Identifier: MIT
 *
 * Concurrent updates and reads of rows without a lock: Hogwild! by Niu, Recht,
 * Re and Wright (NIPS 2011), as used on the servers of Project Adam (OSDI
 * 2014). Each float is read and written atomically, but without any order. One
 * of two concurrent updates of a float may be lost, and a reader may see a
 * partly changed row. Other rows and the index are not affected.
 *
 * Sparse gradients rarely collide, and a lost update is small compared with the
 * noise of the gradients. The formulas are those of update_kernels.h, so a
 * single thread gives the same bits.
 */
#include "store_parts.h"

#include <math.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

static float get(const float *at)
{
    float value;
    __atomic_load(at, &value, __ATOMIC_RELAXED);
    return value;
}

static void store_float(float *at, float value)
{
    __atomic_store(at, &value, __ATOMIC_RELAXED);
}

typedef void row_update(const struct gw_ps_table_config *config, float *row,
                        const float *gradient, float scale);

static void add_gradient(const struct gw_ps_table_config *config, float *row,
                         const float *gradient, float scale)
{
    for (size_t j = 0; j < config->width; j++)
        store_float(row + j, get(row + j) + gradient[j] * scale);
}

static void sgd(const struct gw_ps_table_config *config, float *row,
                const float *gradient, float scale)
{
    for (size_t j = 0; j < config->width; j++) {
        float w = get(row + j), g = gradient[j] * scale;
        store_float(row + j, w - config->rate * (g + config->l2 * w));
    }
}

static void adagrad(const struct gw_ps_table_config *config, float *row,
                    const float *gradient, float scale)
{
    float *sums = row + config->width;
    for (size_t j = 0; j < config->width; j++) {
        float g = gradient[j] * scale, n = get(sums + j) + g * g;
        store_float(sums + j, n);
        store_float(row + j, get(row + j) - config->rate * g /
                                                (sqrtf(n) + config->epsilon));
    }
}

static row_update *const updates[GW_PS_UPDATERS] = {
    [GW_PS_ADD] = add_gradient, [GW_PS_SGD] = sgd, [GW_PS_ADAGRAD] = adagrad};

bool gw__store_has_relaxed(const struct gw__store *store)
{
    return updates[store->updater.config.updater] != NULL;
}

void gw__store_update_relaxed(struct gw__store *store, const uint32_t *places,
                              size_t count, const float *gradients, float scale)
{
    const struct gw_ps_table_config *config = &store->updater.config;
    row_update *update = updates[config->updater];
    for (size_t i = 0; i < count; i++)
        update(config, gw__store_at(store, places[i]),
               gradients + i * store->width, scale);
}

void gw__store_read_relaxed(const struct gw__store *store, const uint64_t *keys,
                            const uint32_t *places, size_t count, float *values)
{
    for (size_t i = 0; i < count; i++) {
        float *out = values + i * store->width;
        if (places[i] == GW__NO_PLACE) {
            gw__updater_initial(&store->updater, keys[i], out);
            continue;
        }
        const float *row = gw__store_at(store, places[i]);
        for (size_t j = 0; j < store->width; j++)
            out[j] = get(row + j);
    }
}
