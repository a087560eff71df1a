/* SPDX-License-Identifier: MIT
 *
 * Hogwild on a server: pushes that are jobs of the pool, several at a time, on
 * the same rows (store_relaxed.c).
 *
 *     data thread   finds the places, makes rows that are new, notes the
 *                   push as seen, posts the job
 *     a thread      applies it
 *     data thread   takes the job back, and settles who waits for it
 *
 * The slot's log knows nothing of it: for the log the entry is applied. So
 * whoever else touches rows, the state as bytes or the end of a slot first
 * waits for all jobs (gw__hogwild_rest). A repetition of a push whose job is under
 * way waits for that job: the values lie in the worker's memory, which is its
 * own again with the answer.
 */
#ifndef GW__PS_HOGWILD_H
#define GW__PS_HOGWILD_H

#include "server_parts.h"

/* Applies a push of a slot that nobody follows in this way, at once when it is
 * small, or posts it. False: it is for the usual way, since hogwild is off, or
 * the updater has no such, or there is no memory; nothing has happened. */
GW_MUST_CHECK bool gw__hogwild_apply(struct gw__slot *slot,
                                     const struct gw__entry *entry,
                                     struct gw__store *store,
                                     const uint32_t *places);
/* That push is a job under way: *wait waits for it. False: it is none. */
GW_MUST_CHECK bool gw__hogwild_join(struct gw__slot *slot, unsigned node,
                                    uint64_t incarnation, uint64_t sequence,
                                    struct gw__wait *wait);
/* Waits until no job touches any row. */
void gw__hogwild_rest(struct gw__server *server);
/* Settles who waits for jobs that are done. */
void gw__hogwild_collect(struct gw__server *server, uint64_t now_ns);

#endif
