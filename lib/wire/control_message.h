/* SPDX-License-Identifier: MIT
 *
 * The notes between the ranks of a wire, other than slices, as bytes. Pure:
 * nothing here uses a socket, and any bytes from a peer are safely refused.
 */
#ifndef GW__CONTROL_MESSAGE_H
#define GW__CONTROL_MESSAGE_H

#include <gradwire/base.h>

#include <stddef.h>

enum { GW__TOKEN_BYTES = 16 };

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
