/* SPDX-License-Identifier: MIT
 *
 * What is on a connection, as bytes.
 *
 *   a slice    header (64), data, and zeros up to a multiple of 8 if it is small
 *   a note     length of the message (8), message
 *
 * With a key, each of them is
 *
 *   length of the payload (8), payload, tag (16)
 *
 * where the payload is the above, sealed, and the length is authenticated with
 * it. So small slices that arrive together are all aligned to 8.
 *
 * A connection begins with a greeting in each direction. It proves that its
 * sender is a member: without a key it has the receiver's token, with a key a
 * tag that only a member can make.
 */
#ifndef GW__SOCKET_FRAME_H
#define GW__SOCKET_FRAME_H

#include "socket_address.h"
#include "wire/control_message.h"
#include "wire/wire.h"

enum {
    GW__SOCKET_LENGTH_BYTES = 8,
    /* Larger slices are read to their place, smaller ones through a buffer. */
    GW__SOCKET_SMALL_BYTES = 16 << 10,
    GW__SOCKET_GREETING_BYTES = 2 * sizeof(uint32_t) + GW__SEAL_TAG_BYTES,
    GW__CONTROL_FRAME_MAX =
        GW__SOCKET_LENGTH_BYTES + GW__CONTROL_BYTES_MAX + GW__SEAL_TAG_BYTES,
};

/* The numbers of the frames that one rank seals for another. A number occurs
 * once: each lane counts its own. */
static inline uint64_t gw__socket_number(unsigned lane, uint64_t frame)
{
    return (uint64_t)lane << 56 | frame;
}
/* No frame has this number. */
static inline uint64_t gw__socket_greeting_number(unsigned lane)
{
    return gw__socket_number(lane, ((uint64_t)1 << 56) - 1);
}

/* Zeros after the data of a slice. */
static inline size_t gw__socket_padding(size_t bytes)
{
    return bytes > GW__SOCKET_SMALL_BYTES ? 0 : -bytes & 7;
}

/* The greeting of rank `from` to the rank with this address; `seal` is that
 * rank's, or NULL. */
void gw__socket_greeting(const struct gw__socket_address *to,
                         const struct gw__seal *seal, uint32_t from,
                         uint32_t lane,
                         unsigned char out[GW__SOCKET_GREETING_BYTES]);
/* Is it a greeting to the rank with this address? Sets *from and *lane. */
GW_MUST_CHECK bool
gw__socket_is_greeting(const struct gw__socket_address *to,
                       const struct gw__seal *seal,
                       const unsigned char in[GW__SOCKET_GREETING_BYTES],
                       uint32_t *from, uint32_t *lane);

#endif
