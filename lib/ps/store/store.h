/* SPDX-License-Identifier: MIT
 *
 * The rows of one table in one slot: an open-addressing index from 64-bit keys
 * to places, and an arena of rows (values, then the updater's state). Rows are
 * never moved or freed one by one. A row keeps its place (a number) for the
 * store's life, so a repeated key list is resolved only once (struct gw__keys).
 *
 * In a dense table the place is the key's offset in the slot's range.
 *
 * Places are in the order in which rows were first pushed. So a sorted list of
 * new keys becomes one contiguous run, and an update of it is one pass over
 * memory.
 *
 * Threads: finding with `make` and loading need exclusive access against
 * finding, saving and digests. Rows with known places may be updated and read
 * meanwhile. If several threads update the same rows, all of them must use the
 * functions of store_relaxed.c.
 */
#ifndef GW__PS_STORE_H
#define GW__PS_STORE_H

#include "update.h"

#define GW__NO_PLACE UINT32_MAX

struct gw__store;

/* `first` and `rows` are a dense table's range of keys in this slot; rows 0: a
 * sparse table. The updater is copied. */
GW_MUST_CHECK enum gw_err gw__store_new(const struct gw__updater *updater,
                                        uint64_t first, uint32_t rows,
                                        struct gw__store **store,
                                        struct gw_error *why);
void gw__store_destroy(struct gw__store **store);
const struct gw__updater *gw__store_updater(const struct gw__store *store);
size_t gw__store_rows(const struct gw__store *store);
/* approximate memory use */
size_t gw__store_bytes(const struct gw__store *store);

/* Finds the places of `count` keys. Missing rows are created with `make`;
 * otherwise they get GW__NO_PLACE. GW_ENOMEM: no row was created. GW_EDATA: a
 * key is outside the dense range. */
GW_MUST_CHECK enum gw_err gw__store_find(struct gw__store *store,
                                         const uint64_t *keys, size_t count,
                                         bool make, uint32_t *places,
                                         struct gw_error *why);
/* Applies `count` gradients (stride width) to the existing rows at `places`.
 * Runs of adjacent places use gw__updater_apply_run. */
void gw__store_update(struct gw__store *store, const uint32_t *places,
                      size_t count, const float *gradients, float scale);
/* Copies values (stride width). GW__NO_PLACE: the key's initial value. */
void gw__store_read(const struct gw__store *store, const uint64_t *keys,
                    const uint32_t *places, size_t count, float *values);
/* The relaxed functions are for rows that other threads update and read in the
 * same way at the same time. Updates may be lost (store_relaxed.c). Only some
 * updaters support this. */
bool gw__store_has_relaxed(const struct gw__store *store);
void gw__store_update_relaxed(struct gw__store *store, const uint32_t *places,
                              size_t count, const float *gradients,
                              float scale);
void gw__store_read_relaxed(const struct gw__store *store, const uint64_t *keys,
                            const uint32_t *places, size_t count,
                            float *values);
/* The row at `place`: values, then state. The address never changes. */
float *gw__store_row(const struct gw__store *store, uint32_t place);

/* The store as bytes, for learners and snapshots. Keys and rows are in the
 * order of places, so that a copy has the same places. Returns the size; the
 * bytes are written if they fit `room`. */
size_t gw__store_save(const struct gw__store *store, void *out, size_t room);
/* Loads into a new, empty store of the same table. GW_EDATA. */
GW_MUST_CHECK enum gw_err gw__store_load(struct gw__store *store,
                                         const void *data, size_t bytes,
                                         struct gw_error *why);
/* A digest of the contents, independent of the order of places. */
uint64_t gw__store_digest(const struct gw__store *store);

#endif
