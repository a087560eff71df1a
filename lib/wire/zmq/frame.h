/* SPDX-License-Identifier: MIT
 *
 * The messages of the ZeroMQ wires, as bytes. Pure: nothing here knows a
 * socket, and nothing that a peer sends can do more than be refused.
 *
 * A slice travels on a lane, as one part (the header, then the data) or as two
 * (the header; the data), or as a header alone, whose data comes beside
 * (stream.h). The beginning of the receiver's token is in front of
 * the header, since the HELLO speaks for its connection alone: when that ends a
 * socket takes another one, by whomever. Everything else is a note. Notes open
 * every connection (HELLO), and travel on a connection of their own beside the
 * lanes, so that data that waits does not hold them up.
 */
#ifndef GW__FRAME_H
#define GW__FRAME_H

#include "wire/wire.h"

enum {
    GW__TOKEN_BYTES = 16,
    GW__SLICE_TOKEN_BYTES = 8, /* of it */
    GW__SLICE_HEAD_BYTES = GW__SLICE_TOKEN_BYTES + sizeof(struct gw__header)
};

/* Writes what is in front of a slice's data to `out`. */
void gw__frame_seal(const unsigned char token[GW__TOKEN_BYTES],
                    const struct gw__header *header,
                    unsigned char out[GW__SLICE_HEAD_BYTES]);
/* Takes the header out of a slice's first part, which must know `token`.
 * GW_EDATA with a sentence when it does not, or the sizes do not agree: `more`
 * says whether a second part follows, `beside` whether the data may come
 * beside: it does where there is none here, and none follows. */
GW_MUST_CHECK enum gw_err
gw__frame_head(const void *part, size_t bytes, bool more, bool beside,
               const unsigned char token[GW__TOKEN_BYTES],
               struct gw__header *header, struct gw_error *why);
/* Checks the second part. */
GW_MUST_CHECK enum gw_err gw__frame_body(const struct gw__header *header,
                                         size_t bytes, bool more,
                                         struct gw_error *why);

enum gw__note_kind {
    GW__HELLO = 1, /* first on every connection: who, to whom, on which lane */
    GW__CREDIT,    /* `count` slices of this link were released so far */
    GW__GOODBYE,   /* `count` slices were sent on this link; no more come */
    GW__ABORT      /* the communicator is over: code and sentence */
};

struct gw__note {
    uint32_t magic; /* set by gw__note_seal */
    uint32_t kind;
    uint32_t from, to;                    /* ranks */
    uint32_t lane;                        /* HELLO */
    int32_t code;                         /* ABORT */
    uint64_t count;                       /* CREDIT, GOODBYE */
    unsigned char token[GW__TOKEN_BYTES]; /* HELLO: the receiver's own */
    char text[sizeof(((struct gw_error *)0)->text)]; /* ABORT */
};

enum {
    /* A note but for its text; the text follows, without its zero. */
    GW__NOTE_BYTES = offsetof(struct gw__note, text),
    GW__NOTE_BYTES_MAX = sizeof(struct gw__note)
};

/* How many of the note's bytes are to be sent; sets `magic`. */
size_t gw__note_seal(struct gw__note *note);
/* Reads a note that must come from `from` to `to`. GW_EDATA with a sentence,
 * *note then undefined, when it is none. */
GW_MUST_CHECK enum gw_err gw__note_read(const void *message, size_t bytes,
                                        unsigned from, unsigned to,
                                        struct gw__note *note,
                                        struct gw_error *why);

#endif
