/* SPDX-License-Identifier: MIT
 *
 * Staging buffers: window passes over memory that peers cannot map. See
 * staging.c.
 */
#ifndef GW__STAGING_H
#define GW__STAGING_H

#include "control_block.h"
#include "prepared_call.h"

/* Chooses the number of pieces and the layout of a staging buffer for the
 * call. */
void gw__staging_split(const struct gw_comm *comm, const struct gw_call *call,
                       struct gw__prepared_call *prepared);
/* The offset of a piece's slot in a staging buffer. */
static inline size_t gw__staging_offset(const struct gw__staging_slots *slots,
                                        uint32_t fragment)
{
    return (slots->first + fragment) % slots->count * slots->bytes;
}

/* Posts the places of the buffers, or makes staging buffers and fills their
 * first pieces. */
enum gw_err gw__staging_open(struct gw_request *r, struct control_entry *entry,
                             struct gw_error *why);
/* For a request that touches no staging buffer and has none. */
void gw__staging_skip(struct gw_request *r);
/* Fills and drains pieces if possible; true: some moved. */
bool gw__staging_move(struct gw_request *r);
/* Are all results in their final place? */
bool gw__staging_is_empty(const struct gw_request *r);

/* The passes may run up to before this piece. */
uint32_t gw__staging_open_until(const struct gw_request *r);
/* True if no memory that this rank touches is staged: all pieces are ready at
 * once. */
bool gw__staging_is_open(const struct gw_request *r);
/* The rank that the passes wait for at piece `piece`; false: no touched
 * rank. */
bool gw__staging_waits_for(const struct gw_request *r, uint32_t fragment,
                           unsigned *peer);

#endif
