/* SPDX-License-Identifier: MIT
 *
 * The ZeroMQ wire, from inside.
 *
 *   zmq_open.c     makes the wire and its address, and frees everything
 *   zmq_sockets.c  the sockets for one peer, and their options
 *   zmq_address.c  the address as bytes, and the endpoints derived from it
 *   zmq_key.c      the key file
 *   zmq_connect.c  connects the peers
 *   zmq_data.c     slices: send, peek, release, windows and credits
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
#include "wire/process_watch.h"
#include "wire/wire.h"
#include "zmq_key.h"

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
    /* libzmq's read buffer: a larger message has memory of its own at the
     * receiver. */
    GW__ZMQ_SMALL_BYTES = 8192,
    /* Bounds of the wait for data that libzmq still has to send. */
    GW__ZMQ_LINGER_MS_MIN = 200,
    GW__ZMQ_LINGER_MS_MAX = 2000,
};

enum { GW__ZMQ_MAGIC = 0x337a7767 }; /* "gwz3" */

enum gw__zmq_transport { GW__ZMQ_IPC = 1, GW__ZMQ_TCP };

/* The address blob of a rank. A peer of higher rank, numbered i from 0 upwards,
 * finds lane l (l = lanes: notes) at ports[i * (lanes + 1) + l]. Over ipc the
 * endpoints are derived from `name`. */
struct gw__zmq_endpoint_address {
    uint32_t magic;
    uint8_t transport, lanes, secured, zero;
    struct gw__process_watch_id process;
    uint64_t name;                        /* random */
    unsigned char token[GW__TOKEN_BYTES]; /* random: a HELLO must contain it */
    char host[48];                        /* numeric, terminated; tcp */
    uint16_t ports[(GW__ADDRESS_MAX - 104) / 2];
};
_Static_assert(sizeof(struct gw__zmq_endpoint_address) == GW__ADDRESS_MAX,
               "fits a blob");

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
