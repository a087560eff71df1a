/* SPDX-License-Identifier: MIT
 *
 * Access to rows by several threads. A large update or read is divided into as
 * many pieces as there are threads, within one call. Rows are distinct, so
 * pieces share none, and the result is the same as with one thread, bit by bit.
 */
#ifndef GW__PS_STORE_PARALLEL_H
#define GW__PS_STORE_PARALLEL_H

#include "ps/server/thread_pool.h"
#include "store.h"

/* Smaller calls take less time than waking a thread. */
enum { GW__STORE_PARALLEL_FLOATS = 65536 };

/* As gw__store_update, for distinct places. `pool` NULL: the caller's thread
 * only. */
void gw__store_update_parallel(struct gw__thread_pool *pool,
                               struct gw__store *store, const uint32_t *places,
                               size_t count, const float *gradients,
                               float scale);
/* As gw__store_read. `relaxed`: others may write the same rows meanwhile with
 * gw__store_update_relaxed. */
void gw__store_read_parallel(struct gw__thread_pool *pool,
                             const struct gw__store *store,
                             const uint64_t *keys, const uint32_t *places,
                             size_t count, bool relaxed, float *values);

#endif
