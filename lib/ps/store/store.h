/* SPDX-License-Identifier: MIT
 *
 * The rows of one table in one slot: an open-addressing table from 64-bit key
 * to the place of a row, and an arena of rows (values, then the updater's
 * state) that never move and are never freed one by one. A row keeps its place
 * (a number) for the store's life, so a key list that comes again and again is
 * resolved once (struct gw__places).
 *
 * A dense table is the same with the key's offset in the slot's range as place.
 *
 * Rows are found in the order in which they were first pushed; a sorted list of
 * new keys therefore lies in one run, and adding to it is one pass over memory.
 *
 * Threads: finding with `make` and loading want the store alone among those who
 * find, save or digest. Updating and reading rows whose places are known may go
 * on beside them; several who update the same row at once must do so by the
 * functions of store_relaxed.c, all of them.
 */
#ifndef GW__PS_STORE_H
#define GW__PS_STORE_H

#include "update.h"

#define GW__NO_PLACE UINT32_MAX

struct gw__store;

/* `first`, `rows`: a dense table's range of keys in this slot; rows 0: sparse.
 * The updater is copied. */
GW_MUST_CHECK enum gw_err gw__store_new(const struct gw__updater *updater,
                                        uint64_t first, uint32_t rows,
                                        struct gw__store **store,
                                        struct gw_error *why);
void gw__store_destroy(struct gw__store **store);
const struct gw__updater *gw__store_updater(const struct gw__store *store);
size_t gw__store_rows(const struct gw__store *store);
size_t gw__store_bytes(const struct gw__store *store); /* of memory, about */

/* Places of `count` keys. With `make` rows that are missing are made; without
 * they get GW__NO_PLACE. Prefetches in batches. GW_ENOMEM: nothing was made.
 * GW_EDATA: a key outside of a dense range. */
GW_MUST_CHECK enum gw_err gw__store_find(struct gw__store *store,
                                         const uint64_t *keys, size_t count,
                                         bool make, uint32_t *places,
                                         struct gw_error *why);
/* Applies count gradients (stride width) to the rows at `places`, which are all
 * there. Runs of adjacent places go through gw__updater_apply_run. */
void gw__store_update(struct gw__store *store, const uint32_t *places,
                      size_t count, const float *gradients, float scale);
/* Copies values (stride width); GW__NO_PLACE: the key's initial value. */
void gw__store_read(const struct gw__store *store, const uint64_t *keys,
                    const uint32_t *places, size_t count, float *values);
/* The same, for rows that others update and read in this way at the same time
 * (store_relaxed.c says what may be lost); for some updaters only. */
bool gw__store_has_relaxed(const struct gw__store *store);
void gw__store_update_relaxed(struct gw__store *store, const uint32_t *places,
                              size_t count, const float *gradients,
                              float scale);
void gw__store_read_relaxed(const struct gw__store *store, const uint64_t *keys,
                            const uint32_t *places, size_t count,
                            float *values);
/* Where row `place` lies: values, then state. Stable for the store's life. */
float *gw__store_row(const struct gw__store *store, uint32_t place);

/* As bytes, for copies to a learner and for snapshots: keys and rows in the
 * order of places, so that a copy is equal, place by place. gw__store_save
 * returns the bytes; they are written when they fit `room`. */
size_t gw__store_save(const struct gw__store *store, void *out, size_t room);
/* Into a new, empty store of the same table. GW_EDATA. */
GW_MUST_CHECK enum gw_err gw__store_load(struct gw__store *store,
                                         const void *data, size_t bytes,
                                         struct gw_error *why);
/* Equal for equal content, whatever the order of places. */
uint64_t gw__store_digest(const struct gw__store *store);

#endif
