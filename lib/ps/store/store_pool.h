/* SPDX-License-Identifier: MIT
 *
 * Rows at known places, by several threads: a large update or reading is cut
 * into as many pieces as there are hands, inside the one call. Rows are
 * distinct, so the pieces share none, and the bits are those of one thread.
 */
#ifndef GW__PS_STORE_POOL_H
#define GW__PS_STORE_POOL_H

#include "ps/server/thread_pool.h"
#include "store.h"

/* Fewer floats are done sooner than a thread wakes up. */
enum { GW__THREAD_POOL_FLOATS = 65536 };

/* As gw__store_update, of distinct places. `pool` NULL: alone. */
void gw__thread_pool_update(struct gw__thread_pool *pool,
                            struct gw__store *store, const uint32_t *places,
                            size_t count, const float *gradients, float scale);
/* As gw__store_read. `relaxed`:
 * others write the same rows meanwhile by gw__store_update_relaxed. */
void gw__thread_pool_read(struct gw__thread_pool *pool,
                          const struct gw__store *store, const uint64_t *keys,
                          const uint32_t *places, size_t count, bool relaxed,
                          float *values);

#endif
