/* SPDX-License-Identifier: MIT
 *
 * The messages of the ZeroMQ wires as bytes. Pure: nothing here uses a socket,
 * and any bytes from a peer are safely refused.
 *
 * A slice uses a lane. It is one part (the header, then the data) or two (the
 * header; the data). The beginning of the receiver's token precedes the header,
 * since a HELLO is valid only for its own connection: when that ends, a socket
 * accepts another one, from any process. All other messages are notes
 * (control_message.h). A note opens every connection (HELLO); the others have a
 * connection of their own, so that waiting data do not delay them.
 */
#ifndef GW__FRAME_H
#define GW__FRAME_H

#include "wire/control_message.h"
#include "wire/wire.h"

enum {
    GW__SLICE_TOKEN_BYTES = 8, /* of the token */
    GW__SLICE_HEAD_BYTES = GW__SLICE_TOKEN_BYTES + sizeof(struct gw__header)
};

/* Writes the bytes that precede a slice's data to `out`. */
void gw__frame_seal(const unsigned char token[GW__TOKEN_BYTES],
                    const struct gw__header *header,
                    unsigned char out[GW__SLICE_HEAD_BYTES]);
/* Reads the header from a slice's first part, which must contain `token`.
 * `more` means that a second part follows. GW_EDATA with a message: wrong
 * token, or the sizes do not match. */
GW_MUST_CHECK enum gw_err
gw__frame_head(const void *part, size_t bytes, bool more,
               const unsigned char token[GW__TOKEN_BYTES],
               struct gw__header *header, struct gw_error *why);
/* Checks the second part. */
GW_MUST_CHECK enum gw_err gw__frame_body(const struct gw__header *header,
                                         size_t bytes, bool more,
                                         struct gw_error *why);

#endif
