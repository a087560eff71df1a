/* SPDX-License-Identifier: MIT
 *
 * The ZeroMQ wires, ipc and tcp, from inside.
 *
 *   zmq_open.c     makes the wire and its address, and frees everything
 *   zmq_sockets.c  the sockets for one peer, and their options
 *   zmq_address.c  the address as bytes, and the endpoints derived from it
 *   zmq_key.c      the key file
 *   zmq_files.c    reserves file descriptors
 *   zmq_connect.c  connects the peers
 *   zmq_data.c     slices: send, peek, release, windows and credits
 *   zmq_bulk.c     streams for large bodies with a key
 *   zmq_control.c  notes between ranks: loss, abort, goodbye
 *   zmq_wait.c     sleeping until something changes
 *   frame.h        the messages
 *
 * Between two ranks there are `lanes` PAIR sockets for slices and one for
 * notes. The lower rank binds all of them, the higher connects. Slice k of a
 * link uses lane k mod lanes, so both ends know the order.
 *
 * Flow control is ours, not libzmq's. A sender has at most WINDOW_SLICES slices
 * and about `window_bytes` in flight that the receiver has not released, and
 * the receiver reports its releases by CREDIT notes. High-water marks alone
 * would not do: with a full receiving pipe libzmq stops reading, and when the
 * peer then closes a Unix socket, libzmq drops the data that the kernel still
 * holds.
 */
#ifndef GW__ZMQ_WIRE_H
#define GW__ZMQ_WIRE_H

#include "frame.h"
#include "stream.h"
#include "wire/process_watch.h"
#include "wire/wire.h"

#include <poll.h>
#include <stdatomic.h>
#include <zmq.h>

enum {
    GW__ZMQ_LANES_MAX = 8,
    GW__ZMQ_WINDOW_SLICES = 64,
    /* All windows of a rank together, about: the memory that it needs in
     * addition to the user's. Then the bounds of one window. */
    GW__ZMQ_WINDOWS_BYTES = 5 << 20,
    GW__ZMQ_WINDOW_BYTES_MIN = 1 << 20,
    GW__ZMQ_WINDOW_BYTES_MAX = 4 << 20,
    /* Larger slices are lent to libzmq, smaller ones are copied: zmq_data.c. */
    GW__ZMQ_COPIED_BYTES = 128 << 10,
    /* Larger bodies use a stream, where there is one: zmq_bulk.c. */
    GW__ZMQ_BULK_BYTES = 16 << 10,
    /* libzmq's read buffer: a larger message has memory of its own at the
     * receiver. */
    GW__ZMQ_SMALL_BYTES = 8192,
    GW__ZMQ_GOODBYE_MS = 200,
};

enum { GW__ZMQ_MAGIC = 0x327a7767 }; /* "gwz2" */

enum gw__zmq_transport { GW__ZMQ_IPC = 1, GW__ZMQ_TCP };

/* The address blob of a rank. A peer of higher rank, numbered i from 0 upwards,
 * finds lane l (l = lanes: notes) at ports[i * (lanes + 1) + l]. Over ipc the
 * endpoints are derived from `name`. */
struct gw__zmq_endpoint_address {
    uint32_t magic;
    uint8_t transport, lanes, secured, sealing;
    struct gw__process_watch_id process;
    uint64_t name;                        /* random */
    unsigned char token[GW__TOKEN_BYTES]; /* random: a HELLO must contain it */
    char host[48];                        /* numeric, terminated; tcp */
    unsigned char seal_key[GW__SEAL_KEY_BYTES]; /* random; `sealing` */
    uint16_t door;                              /* the port for streams */
    uint16_t ports[(GW__ADDRESS_MAX - 138) / 2];
};
_Static_assert(sizeof(struct gw__zmq_endpoint_address) == GW__ADDRESS_MAX,
               "fits a blob");

struct gw__zmq_key {
    char public_key[41], secret_key[41]; /* Z85 */
};

/* One connection: a lane, or the one for notes. */
struct gw__zmq_lane {
    struct gw__zmq *zmq;
    void *socket;
    bool touched; /* there may be an event that no descriptor will report */
    bool greeted, welcomed; /* HELLO sent, HELLO received */
    /* Zero-copy sends: their number, the number returned, and their numbers in
     * the link (the last WINDOW_SLICES). libzmq's own thread returns them in
     * order. */
    uint64_t borrowed;
    _Atomic uint64_t returned;
    uint64_t borrowed_as[GW__ZMQ_WINDOW_SLICES];
};

enum gw__zmq_state { GW__LINK_UP, GW__LINK_CLOSED, GW__LINK_LOST };

struct gw__zmq_link {
    struct gw__zmq_lane *lanes; /* the last one is for notes */
    struct gw__zmq_lane *control;
    void *monitor;  /* reports the end of a connection to `notes` */
    int control_fd; /* the peer's connection; -1: not known yet */
    unsigned char token[GW__TOKEN_BYTES];
    struct gw__stream *stream; /* for large bodies; NULL: none */
    bool coming;               /* the body of the current header is due on it */

    enum gw__zmq_state state;
    bool disconnected;
    uint64_t ended_ns; /* when its process was found dead; 0 */
    uint64_t quiet_ns; /* not LINK_UP: the last arrival, or the end */
    bool drained;      /* LINK_LOST: nothing will arrive any more */
    uint64_t due;      /* LINK_CLOSED: slices that it sent in all */

    uint64_t sent, sent_bytes;
    uint64_t done; /* of them, returned at the last look */
    uint64_t
        released_by_peer; /* of them, released by the peer as far as known */
    uint64_t bytes_before[GW__ZMQ_WINDOW_SLICES]; /* by slice number */

    uint64_t received; /* slices released */
    uint64_t credited; /* of them, reported to the peer */
    uint64_t uncredited_bytes;
    bool held;    /* there is a view */
    bool awaited; /* the last peek found nothing */
    zmq_msg_t head, body;
    struct gw__header header;
    struct gw__slice_view view;
    struct gw__control_message goodbye; /* lent to libzmq at the end */
    void *aligned; /* for data that libzmq left at an odd address */
    size_t aligned_bytes;
};

struct gw__zmq {
    struct gw__wire wire;
    void *context;
    unsigned lanes;
    size_t window_bytes; /* of each link, about; the same on all ranks */
    struct gw__zmq_key key;
    struct gw__seal *seal; /* NULL: no streams */
    struct gw__door door;
    struct gw__zmq_endpoint_address address;
    struct gw__zmq_link *links; /* by rank; this rank's own is unused */
    struct gw__process_watch process_watch;
    struct gw_error error; /* the result of `check` */
    unsigned files;        /* reserved descriptors */
    bool over; /* aborted, here or by a peer: the lanes are closed */
    /* Buffers returned, counted by libzmq's threads. They ring `bell`, an
     * eventfd, while the user sleeps for them. */
    _Atomic uint64_t returned;
    uint64_t returned_seen;
    bool wants_returned;
    _Atomic bool sleeping;
    int bell;
    int epoll_fd; /* an epoll set of all descriptors of this wire */
};

static inline struct gw__zmq *gw__zmq_of(struct gw__wire *wire)
{
    return (struct gw__zmq *)wire;
}

/* ---- zmq_address.c ---- */

/* Bytes of the address of `rank`, or 0 when that many ports do not fit. */
size_t gw__zmq_endpoint_address_bytes(unsigned rank, unsigned size,
                                      unsigned lanes, enum gw__zmq_transport);
/* Reads rank `rank`'s address; it must be of the same wire as `mine`. */
GW_MUST_CHECK enum gw_err gw__zmq_endpoint_address_read(
    const struct gw__address *address, unsigned rank, unsigned size,
    const struct gw__zmq_endpoint_address *mine,
    struct gw__zmq_endpoint_address *endpoint, struct gw_error *why);
/* The endpoint where `binder` awaits `peer` (higher) on `lane`. */
void gw__zmq_endpoint(const struct gw__zmq_endpoint_address *address,
                      unsigned binder, unsigned peer, unsigned lane,
                      char endpoint[128]);

/* ---- zmq_key.c ---- */

GW_MUST_CHECK enum gw_err gw__zmq_key_read(const char *path,
                                           struct gw__zmq_key *key,
                                           struct gw_error *why);
/* Call it before bind or connect. */
GW_MUST_CHECK enum gw_err gw__zmq_key_set(void *socket,
                                          const struct gw__zmq_key *key,
                                          bool server, struct gw_error *why);
/* Call it before bind. An abstract name of ipc has no permissions, so libzmq
 * asks the kernel for the user of each connection and accepts only this user.
 * False: it cannot. */
GW_MUST_CHECK bool gw__zmq_own_user_only(void *socket, const char *endpoint);

/* ---- zmq_files.c ---- */

GW_MUST_CHECK enum gw_err gw__zmq_reserve_files(struct gw__zmq *zmq,
                                                struct gw_error *why);
void gw__zmq_release_files(struct gw__zmq *zmq);

/* ---- zmq_bulk.c ---- */

/* Generates this rank's key and listens for streams, where they are used: over
 * tcp with a key. */
GW_MUST_CHECK enum gw_err gw__zmq_bulk_open(struct gw__zmq *zmq,
                                            const char *interface,
                                            struct gw_error *why);
/* Makes the stream to `peer`, which sent `card`; starts to connect if this rank
 * is the higher one. */
GW_MUST_CHECK enum gw_err
gw__zmq_bulk_join(struct gw__zmq *zmq, unsigned peer,
                  const struct gw__zmq_endpoint_address *address,
                  struct gw_error *why);
/* GW_OK: the stream is connected, or there is none. GW_PENDING: not yet. */
GW_MUST_CHECK enum gw_err gw__zmq_bulk_greet(struct gw__zmq *zmq, unsigned peer,
                                             struct gw_error *why);
/* Does a body of this size use the stream? Only if it is not copied. */
bool gw__zmq_goes_by_bulk(const struct gw__zmq_link *link, size_t bytes,
                          bool copy);
/* Queues the body of the link's next slice, and takes it back. */
GW_MUST_CHECK bool gw__zmq_bulk_queue(struct gw__zmq *zmq, unsigned peer,
                                      const struct gw__header *header,
                                      const void *data);
void gw__zmq_bulk_unqueue(struct gw__zmq_link *link);
/* Sends as much as the kernel takes, if anything is queued. */
void gw__zmq_bulk_push(struct gw__zmq *zmq, unsigned peer);
/* The first of the link's sends whose body is still read; `link->sent`: none.
 */
uint64_t gw__zmq_bulk_first(struct gw__zmq *zmq, unsigned peer);
/* The body of the current header will come by the stream. */
GW_MUST_CHECK enum gw_err gw__zmq_bulk_expect(struct gw__zmq *zmq,
                                              unsigned peer);
/* GW_OK: the body is in the view. GW_PENDING: not yet. */
GW_MUST_CHECK enum gw_err gw__zmq_bulk_pull(struct gw__zmq *zmq, unsigned peer);
/* Moves a stream that was touched. True: a body that is due is complete. */
bool gw__zmq_bulk_move(struct gw__zmq *zmq, unsigned peer);
/* Forgets all queued bodies and stops reading their memory. */
void gw__zmq_bulk_drop(struct gw__zmq *zmq);
/* Before the end: waits a while for peers to receive their data, discarding
 * data that this rank will not read. */
void gw__zmq_bulk_clear(struct gw__zmq *zmq);
void gw__zmq_bulk_close(struct gw__zmq *zmq);

/* ---- the ops ---- */

enum gw_err gw__zmq_connect(struct gw__wire *wire,
                            const struct gw__address *table,
                            uint64_t deadline_ns, struct gw_error *why);
enum gw_err gw__zmq_send(struct gw__wire *wire, unsigned peer,
                         const struct gw__header *header, const void *data,
                         bool copy);
uint64_t gw__zmq_sends_done(struct gw__wire *wire, unsigned peer);
enum gw_err gw__zmq_peek(struct gw__wire *wire, unsigned peer,
                         struct gw__slice_view *view);
void gw__zmq_release(struct gw__wire *wire, unsigned peer);
void gw__zmq_wait(struct gw__wire *wire, uint64_t ns);
enum gw_err gw__zmq_check(struct gw__wire *wire, struct gw_error *why);
void gw__zmq_abort(struct gw__wire *wire, const struct gw_error *error);
void gw__zmq_close(struct gw__wire *wire);
bool gw__zmq_lost(struct gw__wire *wire, unsigned peer);

/* ---- between the files ---- */

/* Makes the sockets for `peer`, bound if this rank is the lower one. */
GW_MUST_CHECK enum gw_err gw__zmq_make_link(struct gw__zmq *zmq, unsigned peer,
                                            const char *interface,
                                            struct gw_error *why);
void gw__zmq_close_link(struct gw__zmq_link *link, unsigned lanes);
/* "127.0.0.1", "::1", "lo": not reachable from other hosts. */
bool gw__zmq_is_loopback(const char *interface);

/* libzmq calls it, from its own thread, when a buffer lent on the lane `hint`
 * is no longer read. */
void gw__zmq_return_buffer(void *data, void *hint);
/* Sends a note to `peer`. False: that connection does not accept it. */
bool gw__zmq_notify(struct gw__zmq *zmq, unsigned peer,
                    struct gw__zmq_lane *lane,
                    struct gw__control_message *control);
/* Reads the notes of `peer`. */
void gw__zmq_receive(struct gw__zmq *zmq, unsigned peer);
/* Adds `fd` to the epoll set; `doze` sets *touched on an event. NULL: it is the
 * bell, or the end of a process. `both`: also report room to write. */
bool gw__zmq_listen(struct gw__zmq *zmq, int fd, bool both, bool *touched);
/* Sleeps until there is an event, or for `ns`, and sets `touched` where there
 * are events. True: there is one of the bell or of a process. */
bool gw__zmq_doze(struct gw__zmq *zmq, uint64_t ns);
/* Records the processes that have ended. */
void gw__zmq_receive_ends(struct gw__zmq *zmq);
/* The link is broken: `check` will return the reason. */
enum gw_err gw__zmq_lose(struct gw__zmq *zmq, unsigned peer, const char *fact);
/* Frees the resources of gw__zmq_open; sockets that are still open are closed.
 */
void gw__zmq_free(struct gw__zmq *zmq);

#endif
