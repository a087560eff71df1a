/* SPDX-License-Identifier: MIT
 *
 * A stream: one TCP connection between two ranks that carries the bodies of
 * large slices, sealed (seal.h), beside the sockets of ZeroMQ.
 *
 * It has no frames. What comes next, and how long it is, its receiver knows
 * from elsewhere: the slice's header travels before it through ZeroMQ, under
 * CURVE, and is under the body's seal too. So a stream is the sealed bodies one
 * after the other, each with its tag behind it, and there is nothing in it that
 * a stranger's bytes could be taken for: they do not open, and the link is
 * lost.
 *
 * Each rank draws a key when its wire opens; who sends to it seals with that.
 * All who share a wire know all its keys, as they share the cluster's key.
 *
 * Nobody else works on a stream: it moves on while its owner asks it to.
 */
#ifndef GW__STREAM_H
#define GW__STREAM_H

#include "frame.h"
#include "wire/seal.h"

enum {
    GW__STREAM_BODIES_MAX = 64, /* queued at a time */
    GW__STREAM_GREETING_BYTES = sizeof(uint32_t) + GW__SEAL_TAG_BYTES,
};

/* A body to be sent. */
struct gw__stream_body {
    const unsigned char *data;
    struct gw__header header;
    uint64_t number; /* the caller's */
};

struct gw__stream {
    int fd;       /* -1: none */
    bool touched; /* there may be news that nothing will announce any more */
    unsigned rank, peer;
    const struct gw__seal *own; /* opens what comes */
    struct gw__seal *theirs;    /* seals what goes */
    unsigned char token[GW__TOKEN_BYTES], their_token[GW__TOKEN_BYTES];
    uint64_t ended_ns; /* when it was found broken, or 0 */

    /* Meeting: bytes of the greetings that went and came; did the door hear
     * the peer's? */
    unsigned greeted, heard;
    bool has_called;
    unsigned char greeting[GW__STREAM_GREETING_BYTES];

    /* Out: bodies from `sent` to `queued`. Of the first `sealed` bytes are
     * through; the last of them are in `piece`, from `piece_at` on. */
    struct gw__stream_body bodies[GW__STREAM_BODIES_MAX];
    uint64_t queued, sent;
    size_t sealed;
    unsigned char *piece;
    size_t piece_at, piece_end;
    struct gw__seal_pass sealing;

    /* In: the one that is due, of which `got` bytes came. */
    bool due, fits;
    struct gw__header header;
    unsigned char *body; /* with its tag, aligned to 64 */
    size_t room, got;
    uint64_t opened, spin_ns;
    bool cleared; /* of something */
    struct gw__seal_pass opening;
};

/* ---- stream.c ---- */

/* Queues a body, which is the caller's again when `sent` counts past it. False:
 * no memory. At most GW__STREAM_BODIES_MAX at a time. */
GW_MUST_CHECK bool gw__stream_queue(struct gw__stream *s, const void *data,
                                    const struct gw__header *header,
                                    uint64_t number);
/* Hands over what the kernel takes; true when `sent` has grown. */
bool gw__stream_push(struct gw__stream *s);
/* The next body is header->bytes long. False: no memory. */
GW_MUST_CHECK bool gw__stream_expect(struct gw__stream *s,
                                     const struct gw__header *header);
/* GW_OK: it is whole, in s->body, until the next is expected. GW_PENDING: not
 * yet, or the stream has ended (ended_ns). GW_EDATA: it does not open. May be
 * asked again. */
GW_MUST_CHECK enum gw_err gw__stream_pull(struct gw__stream *s);
/* Forgets what is queued: nobody reads it any more. */
void gw__stream_drop(struct gw__stream *s);
/* Throws away what has come and nobody takes any more: when a connection is
 * closed with something unread in it, the kernel resets it and forgets what the
 * peer has not got yet. True: something was, and it has not got all yet. */
GW_MUST_CHECK bool gw__stream_clear(struct gw__stream *s);
/* Closes, and frees what the stream holds. */
void gw__stream_close(struct gw__stream *s);

/* ---- stream_meet.c ---- */

/* Where streams are awaited. Guests are those whose greeting is not whole. */
struct gw__door {
    int fd;       /* -1: none */
    bool touched; /* somebody may be there */
    struct gw__door_guest {
        int fd;
        unsigned heard;
        uint64_t came_ns;
        unsigned char greeting[GW__STREAM_GREETING_BYTES];
    } guests[32];
    unsigned count;
};

/* Listens at `host`, numeric, on a port that the kernel chooses. */
GW_MUST_CHECK enum gw_err gw__door_open(struct gw__door *door, const char *host,
                                        uint16_t *port, struct gw_error *why);
void gw__door_close(struct gw__door *door);
/* The connection of one who greeted as *rank, under this rank's key and token;
 * -1: nobody new. Who says something else is shown out at once, who says
 * nothing after a second, when his place is needed. */
int gw__door_admit(struct gw__door *door, const struct gw__seal *own,
                   const unsigned char token[GW__TOKEN_BYTES], uint32_t *rank);
/* Begins to connect. */
GW_MUST_CHECK enum gw_err gw__stream_call(struct gw__stream *s,
                                          const char *host, uint16_t port,
                                          struct gw_error *why);
/* GW_OK: both have greeted. GW_PENDING: not yet. */
GW_MUST_CHECK enum gw_err gw__stream_greet(struct gw__stream *s,
                                           struct gw_error *why);

#endif
