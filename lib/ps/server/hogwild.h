/* SPDX-License-Identifier: MIT
 *
 * Hogwild on a server: pushes run as concurrent jobs of the thread pool, on the
 * same rows (store_relaxed.c).
 *
 *     data thread   finds the places, creates missing rows, records the
 *                   sequence number, posts the job
 *     pool thread   applies the push
 *     data thread   takes the job back and notifies the waiting requests
 *
 * For the slot's log the entry is already applied. So all other users of the
 * rows, saving the state, and closing the slot first wait for all jobs
 * (gw__hogwild_rest). A repetition of a push whose job is under way waits for
 * that job: its values are in the worker's memory, which the reply returns to
 * the worker.
 */
#ifndef GW__PS_HOGWILD_H
#define GW__PS_HOGWILD_H

#include "server_parts.h"

/* Applies a push to a slot without followers: at once if it is small, otherwise
 * as a job. False: use the normal path, since hogwild is off, the updater does
 * not support it, or memory is short; nothing has changed. */
GW_MUST_CHECK bool gw__hogwild_apply(struct gw__slot *slot,
                                     const struct gw__entry *entry,
                                     struct gw__store *store,
                                     const uint32_t *places);
/* If the push is a job under way, *wait waits for it. False: it is not. */
GW_MUST_CHECK bool gw__hogwild_join(struct gw__slot *slot, unsigned node,
                                    uint64_t incarnation, uint64_t sequence,
                                    struct gw__wait *wait);
/* Waits until all jobs have finished with their rows. */
void gw__hogwild_rest(struct gw__server *server);
/* Notifies the requests that wait for finished jobs. */
void gw__hogwild_collect(struct gw__server *server, uint64_t now_ns);

#endif
