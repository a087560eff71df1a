/* SPDX-License-Identifier: MIT
 *
 * Stages: how window passes reach memory that peers cannot map. See stage.c.
 */
#ifndef GW__STAGE_H
#define GW__STAGE_H

#include "control_block.h"
#include "prepared_call.h"

/* Says in how many pieces a stage moves the call, and how it is laid out. */
void gw__stage_cut(const struct gw_comm *comm, const struct gw_call *call,
                   struct gw__prepared_call *prepared);
/* Where in a stage its room for the piece begins: it has two. */
static inline size_t gw__stage_slot(uint32_t piece, size_t slot_bytes)
{
    return piece % 2 * slot_bytes;
}

/* Posts where the buffers lie, or makes stages and fills their first pieces. */
enum gw_err gw__stage_open(struct gw_request *r, struct side *side,
                           struct gw_error *why);
/* Of a request that touches no stage and has none. */
void gw__stage_skip(struct gw_request *r);
/* Fills and empties what can be; true: something moved. */
bool gw__stage_move(struct gw_request *r);
/* All results are where they belong. */
bool gw__stage_is_empty(const struct gw_request *r);

/* How far the passes may go now: before this piece. */
uint32_t gw__stage_open_until(const struct gw_request *r);
/* Nothing that this rank touches is staged: all pieces are there at once. */
bool gw__stage_is_open(const struct gw_request *r);
/* Whom the passes wait for at piece `piece`; false: for none of the touched. */
bool gw__stage_waits_for(const struct gw_request *r, uint32_t piece,
                         unsigned *peer);

#endif
