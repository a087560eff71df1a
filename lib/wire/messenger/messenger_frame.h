/* SPDX-License-Identifier: MIT
 *
 * The head of a message as bytes. Over sockets the parts follow it; over ZeroMQ
 * it is the first frame, and each part follows as a frame. Pure: nothing
 * here uses a socket, and any bytes from a stranger are safely refused.
 */
#ifndef GW__MESSENGER_FRAME_H
#define GW__MESSENGER_FRAME_H

#include "messenger.h"

/* The receiver's number and incarnation are included, since a message for a
 * process that has ended may reach its successor. */
struct gw__messenger_head {
    uint32_t magic; /* set by gw__messenger_head_seal */
    uint16_t from, to;
    uint64_t token;
    uint64_t from_high, from_low; /* the sender's incarnation */
    uint64_t to_high, to_low;     /* the receiver's */
    uint64_t sent_ns;
    uint32_t part_count;
    uint32_t session;  /* the sender's connection to us: it only grows */
    uint64_t sequence; /* of the message in the session, from 0 */
    uint64_t bytes[GW__MESSENGER_PARTS]; /* after the last part: 0 */
};
_Static_assert(sizeof(struct gw__messenger_head) == 104, "no padding");

/* Writes the head to `frame`, which has room for it. */
void gw__messenger_head_seal(struct gw__messenger_head *head, void *frame);
/* Reads a frame received by node `mine->to` in the incarnation mine->to_* of
 * the run mine->token. GW_EDATA with a message, and *head undefined: not a
 * valid head, or one for another receiver. */
GW_MUST_CHECK enum gw_err
gw__messenger_head_read(const void *frame, size_t bytes,
                        const struct gw__messenger_head *mine,
                        struct gw__messenger_head *head, struct gw_error *why);

#endif
