/* SPDX-License-Identifier: MIT
 *
 * Running window loads (coll/program.h): a plan that is not direct, in shared
 * memory. See loads.c and loads_run.c.
 */
#ifndef GW__WINDOW_LOADS_H
#define GW__WINDOW_LOADS_H

#include "control_block.h"

/* Bytes of a slice. */
enum { GW__LOAD_BYTES = 64 << 10 };

/* The memory of a rank, as this process sees it. */
struct gw__rank_memory {
    const unsigned char *in, *out; /* the buffers, or their copies */
    const unsigned char *arena;
    size_t rooms_at; /* in the arena, after the progress of its writes */
    bool in_place;
};

/* loads_memory.c: posts the places of the buffers and of an arena. */
enum gw_err gw__loads_open(struct gw_request *r, struct control_entry *entry,
                           struct gw_error *why);
/* Finds the memory of all peers. False: that of rank *lost is unreachable. */
bool gw__loads_reach(struct gw_request *r, unsigned *lost);
const unsigned char *gw__loads_source(const struct gw_request *r, unsigned rank,
                                      unsigned chunk,
                                      const struct gw__version *version);
unsigned char *gw__loads_target(const struct gw_request *r,
                                const struct gw__load_target *store);
/* Copies results to the caller's buffer that are not there. */
void gw__loads_close(struct gw_request *r);

/* loads_run.c: runs all slices that are ready. GW_PENDING: some are missing. */
enum gw_err gw__loads_progress(struct gw_request *r, bool *moved,
                               struct gw_error *why);
/* The rank that the oldest write waits for, and its duty; -1: this rank. */
int gw__loads_waits_for(const struct gw_request *r, const char **what);

#endif
