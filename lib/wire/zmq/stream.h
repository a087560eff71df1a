/* SPDX-License-Identifier: MIT
 *
 * A stream: one TCP connection between two ranks that carries the bodies of
 * large slices, sealed (seal.h), in addition to the sockets of ZeroMQ.
 *
 * It has no frames. The receiver knows the next body and its length from the
 * slice's header, which arrives before it through ZeroMQ, under CURVE, and is
 * authenticated with the body. So a stream consists of the sealed bodies, each
 * with its tag after it. A stranger's bytes cannot be mistaken for a body: they
 * do not open, and the link is lost.
 *
 * Each rank generates a key when its wire opens; senders to that rank seal with
 * it. All ranks of a wire know all its keys, as they share the cluster's key.
 *
 * No thread serves a stream: it makes progress when its owner calls.
 */
#ifndef GW__STREAM_H
#define GW__STREAM_H

#include "frame.h"
#include "wire/seal.h"

enum {
    GW__STREAM_BODIES_MAX = 64, /* queued at a time */
    GW__STREAM_GREETING_BYTES = sizeof(uint32_t) + GW__SEAL_TAG_BYTES,
};

/* A body to send. */
struct gw__stream_body {
    const unsigned char *data;
    struct gw__header header;
    uint64_t number; /* the caller's */
};

struct gw__stream {
    int fd;       /* -1: none */
    bool touched; /* there may be an event that no descriptor will report */
    unsigned rank, peer;
    const struct gw__seal *own; /* opens received bodies */
    struct gw__seal *theirs;    /* seals sent bodies */
    unsigned char token[GW__TOKEN_BYTES], their_token[GW__TOKEN_BYTES];
    uint64_t ended_ns; /* when it was found broken, or 0 */

    /* Greeting: bytes sent and received. has_called: the door has already
     * received the peer's. */
    unsigned greeted, greeting_received;
    bool has_called;
    unsigned char greeting[GW__STREAM_GREETING_BYTES];

    /* Out: bodies from `sent` to `queued`. `sealed` bytes of the first one are
     * sealed; the last of them are in `piece`, to be sent from `piece_at` on.
     */
    struct gw__stream_body bodies[GW__STREAM_BODIES_MAX];
    uint64_t queued, sent;
    size_t sealed;
    unsigned char *block;
    size_t block_at, block_end;
    struct gw__seal_pass sealing;

    /* In: the body that is due, of which `got` bytes have arrived. */
    bool due, fits;
    struct gw__header header;
    unsigned char *body; /* with its tag, aligned to 64 */
    size_t room, got;
    uint64_t opened, spin_ns;
    bool cleared; /* something was discarded */
    struct gw__seal_pass opening;
};

/* ---- stream.c ---- */

/* Queues a body. The memory is the caller's again when `sent` counts past the
 * body. False: no memory. At most GW__STREAM_BODIES_MAX at a time. */
GW_MUST_CHECK bool gw__stream_queue(struct gw__stream *s, const void *data,
                                    const struct gw__header *header,
                                    uint64_t number);
/* Sends as much as the kernel takes. True: `sent` has grown. */
bool gw__stream_push(struct gw__stream *s);
/* The next body is header->bytes long. False: no memory. */
GW_MUST_CHECK bool gw__stream_expect(struct gw__stream *s,
                                     const struct gw__header *header);
/* GW_OK: the body is complete, in s->body, until the next one is expected.
 * GW_PENDING: not yet, or the stream has ended (ended_ns). GW_EDATA: it does
 * not open. May be called again. */
GW_MUST_CHECK enum gw_err gw__stream_pull(struct gw__stream *s);
/* Forgets the queued bodies and stops reading their memory. */
void gw__stream_drop(struct gw__stream *s);
/* Discards data that have arrived and will not be read. If a connection is
 * closed with unread data, the kernel resets it and drops data that the peer
 * has not received yet. True: some were discarded, and the peer has not
 * received all yet. */
GW_MUST_CHECK bool gw__stream_clear(struct gw__stream *s);
/* Closes the stream and frees its memory. */
void gw__stream_close(struct gw__stream *s);

/* ---- stream_greeting.c ---- */

/* Listens for streams. Guests are connections whose greeting is incomplete. */
struct gw__door {
    int fd;       /* -1: none */
    bool touched; /* there may be a connection */
    struct gw__door_guest {
        int fd;
        unsigned greeting_received;
        uint64_t came_ns;
        unsigned char greeting[GW__STREAM_GREETING_BYTES];
    } guests[32];
    unsigned count;
};

/* Listens at `host`, numeric, on a port that the kernel chooses. */
GW_MUST_CHECK enum gw_err gw__door_open(struct gw__door *door, const char *host,
                                        uint16_t *port, struct gw_error *why);
void gw__door_close(struct gw__door *door);
/* Returns a new connection that has greeted as *rank, under this rank's key and
 * token; -1: none. A connection with another greeting is closed at once, a
 * silent one after a second, if its place is needed. */
int gw__door_admit(struct gw__door *door, const struct gw__seal *own,
                   const unsigned char token[GW__TOKEN_BYTES], uint32_t *rank);
/* Starts to connect. */
GW_MUST_CHECK enum gw_err gw__stream_call(struct gw__stream *s,
                                          const char *host, uint16_t port,
                                          struct gw_error *why);
/* GW_OK: both greetings are complete. GW_PENDING: not yet. */
GW_MUST_CHECK enum gw_err gw__stream_greet(struct gw__stream *s,
                                           struct gw_error *why);

#endif
