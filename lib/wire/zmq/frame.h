/* SPDX-License-Identifier: MIT
 *
 * The messages of the ZeroMQ wires as bytes. Pure: nothing here uses a socket,
 * and any bytes from a peer are safely refused.
 *
 * A slice uses a lane. It is one part (the header, then the data), two parts
 * (the header; the data), or a header alone, whose data come by a stream
 * (stream.h). The beginning of the receiver's token precedes the header, since
 * a HELLO is valid only for its own connection: when that ends, a socket
 * accepts another one, from any process. All other messages are notes. A note
 * opens every connection (HELLO); the others have a connection of their own, so
 * that waiting data do not delay them.
 */
#ifndef GW__FRAME_H
#define GW__FRAME_H

#include "wire/wire.h"

enum {
    GW__TOKEN_BYTES = 16,
    GW__SLICE_TOKEN_BYTES = 8, /* of the token */
    GW__SLICE_HEAD_BYTES = GW__SLICE_TOKEN_BYTES + sizeof(struct gw__header)
};

/* Writes the bytes that precede a slice's data to `out`. */
void gw__frame_seal(const unsigned char token[GW__TOKEN_BYTES],
                    const struct gw__header *header,
                    unsigned char out[GW__SLICE_HEAD_BYTES]);
/* Reads the header from a slice's first part, which must contain `token`.
 * `more` means that a second part follows, and `beside` allows the data to come
 * by a stream, as they do when there are none here and no part follows.
 * GW_EDATA with a message: wrong token, or the sizes do not match. */
GW_MUST_CHECK enum gw_err
gw__frame_head(const void *part, size_t bytes, bool more, bool bulk,
               const unsigned char token[GW__TOKEN_BYTES],
               struct gw__header *header, struct gw_error *why);
/* Checks the second part. */
GW_MUST_CHECK enum gw_err gw__frame_body(const struct gw__header *header,
                                         size_t bytes, bool more,
                                         struct gw_error *why);

enum gw__control_kind {
    GW__HELLO = 1, /* first on every connection: the two ranks and the lane */
    GW__CREDIT,    /* `count` slices of this link were released so far */
    GW__GOODBYE,   /* `count` slices were sent on this link; no more come */
    GW__ABORT      /* the communicator is over: code and message */
};

struct gw__control_message {
    uint32_t magic; /* set by gw__control_seal */
    uint32_t kind;
    uint32_t from, to;                    /* ranks */
    uint32_t lane;                        /* HELLO */
    int32_t code;                         /* ABORT */
    uint64_t count;                       /* CREDIT, GOODBYE */
    unsigned char token[GW__TOKEN_BYTES]; /* HELLO: the receiver's own */
    char text[sizeof(((struct gw_error *)0)->text)]; /* ABORT */
};

enum {
    /* A note without its text; the text follows, without its zero. */
    GW__CONTROL_BYTES = offsetof(struct gw__control_message, text),
    GW__CONTROL_BYTES_MAX = sizeof(struct gw__control_message)
};

/* Sets `magic` and returns the number of bytes to send. */
size_t gw__control_seal(struct gw__control_message *control);
/* Reads a note, which must be from `from` to `to`. GW_EDATA with a message, and
 * *note undefined: not a valid note. */
GW_MUST_CHECK enum gw_err gw__control_read(const void *message, size_t bytes,
                                           unsigned from, unsigned to,
                                           struct gw__control_message *control,
                                           struct gw_error *why);

#endif
