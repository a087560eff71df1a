/* SPDX-License-Identifier: MIT
 *
 * The messages of the control channel as bytes: a head, then the sender's data.
 * Pure: nothing here uses a socket, and any bytes from a stranger are safely
 * refused.
 */
#ifndef GW__CONTROL_CHANNEL_FRAME_H
#define GW__CONTROL_CHANNEL_FRAME_H

#include "control_channel.h"

/* The receiver's number is included: the port of a node that has ended may
 * belong to another node now. */
struct gw__control_channel_head {
    uint32_t magic; /* set by gw__control_channel_frame_seal */
    uint16_t from, to;
    uint64_t token;
    uint64_t incarnation_high, incarnation_low;
    uint64_t sent_ns;
    struct gw__process_watch_id process; /* the sender's */
};
_Static_assert(sizeof(struct gw__control_channel_head) == 64, "no padding");

enum {
    GW__CONTROL_CHANNEL_HEAD_BYTES = sizeof(struct gw__control_channel_head),
    GW__CONTROL_CHANNEL_FRAME_MAX =
        GW__CONTROL_CHANNEL_HEAD_BYTES + GW__CONTROL_CHANNEL_BYTES_MAX,
    GW__CONTROL_CHANNEL_FRAME_BULK =
        GW__CONTROL_CHANNEL_HEAD_BYTES + GW__CONTROL_CHANNEL_BULK_MAX
};

/* Writes head and data to `frame`, which has room for both. */
void gw__control_channel_frame_seal(struct gw__control_channel_head *head,
                                    const void *data, size_t bytes,
                                    void *frame);
/* Reads the head of a frame for node `to` of the run `token`; the rest of the
 * frame is data. GW_EDATA with a message, and *head undefined: not a valid
 * frame. */
GW_MUST_CHECK enum gw_err gw__control_channel_frame_read(
    const void *frame, size_t bytes, unsigned to, uint64_t token,
    struct gw__control_channel_head *head, struct gw_error *why);

#endif
