/* SPDX-License-Identifier: MIT
 *
 * Inside the ZeroMQ wires, ipc and tcp.
 *
 *   zmq_open.c     makes the wire and its address, and frees everything
 *   zmq_sockets.c  the sockets towards one peer, and their options
 *   zmq_address.c  the address as bytes, and the endpoints that follow from it
 *   zmq_key.c      the key file
 *   zmq_files.c    file descriptors enough
 *   zmq_connect.c  joins the peers
 *   zmq_data.c     slices: send, peek, release, windows and credits
 *   zmq_beside.c   large bodies under a key, beside the lanes
 *   zmq_control.c  notes between ranks: loss, abort, goodbye
 *   zmq_wait.c     sleeping until something changes
 *   frame.h        the messages
 *
 * Between two ranks there are `lanes` PAIR sockets for slices and one for
 * notes. The lower rank binds all of them, the higher connects. Slice k of a
 * link travels on lane k mod lanes, so both ends know the order.
 *
 * Flow control is ours, not libzmq's: a sender has at most WINDOW_SLICES
 * slices and about `window_bytes` under way that the receiver has not released,
 * and the receiver tells by CREDIT notes what it has. High-water marks alone
 * would not do: with a full receiving pipe libzmq stops reading, and when the
 * peer then closes a Unix socket, it forgets what the kernel still holds.
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
    /* All windows of a rank together, about, which is the memory that it needs
     * beside the user's; and the bounds of one. */
    GW__ZMQ_WINDOWS_BYTES = 5 << 20,
    GW__ZMQ_WINDOW_BYTES_MIN = 1 << 20,
    GW__ZMQ_WINDOW_BYTES_MAX = 4 << 20,
    /* Larger slices are lent to libzmq, smaller ones are copied: zmq_data.c. */
    GW__ZMQ_COPIED_BYTES = 128 << 10,
    /* Larger bodies go beside, where they can: zmq_beside.c. */
    GW__ZMQ_BESIDE_BYTES = 16 << 10,
    /* libzmq's reading buffer: what is larger has a piece of memory of its own
     * at the receiver. */
    GW__ZMQ_SMALL_BYTES = 8192,
    GW__ZMQ_GOODBYE_MS = 200,
};

enum { GW__ZMQ_MAGIC = 0x327a7767 }; /* "gwz2" */

enum gw__zmq_transport { GW__ZMQ_IPC = 1, GW__ZMQ_TCP };

/* What a rank's address says. A peer of higher rank, numbered i from 0 upwards,
 * finds lane l (l = lanes: notes) at ports[i * (lanes + 1) + l]; over ipc the
 * endpoints follow from `name`. */
struct gw__zmq_endpoint_address {
    uint32_t magic;
    uint8_t transport, lanes, secured, sealing;
    struct gw__process_watch_id process;
    uint64_t name;                        /* random */
    unsigned char token[GW__TOKEN_BYTES]; /* random: HELLOs must know it */
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
    bool touched; /* there may be news that nothing will announce any more */
    bool greeted, welcomed; /* HELLO sent, HELLO received */
    /* Of the zero-copy sends: how many, how many came back, and which sends of
     * the link they were (the last WINDOW_SLICES). libzmq gives them back in
     * order, from its own thread. */
    uint64_t lent;
    _Atomic uint64_t returned;
    uint64_t lent_as[GW__ZMQ_WINDOW_SLICES];
};

enum gw__zmq_state { GW__LINK_UP, GW__LINK_CLOSED, GW__LINK_LOST };

struct gw__zmq_link {
    struct gw__zmq_lane *lanes; /* the last one is for notes */
    struct gw__zmq_lane *notes;
    void *monitor; /* tells when a connection to `notes` ends, */
    int notes_fd;  /* and this is the peer's; -1: not known yet */
    unsigned char token[GW__TOKEN_BYTES];
    struct gw__stream *stream; /* for large bodies; NULL: none */
    bool coming;               /* the head's body comes on it */

    enum gw__zmq_state state;
    bool disconnected;
    uint64_t ended_ns; /* when its process was found dead; 0 */
    uint64_t quiet_ns; /* not LINK_UP: the last arrival, or the end */
    bool settled;      /* LINK_LOST: nothing will arrive any more */
    uint64_t due;      /* LINK_CLOSED: slices it sent in all */

    uint64_t sent, sent_bytes;
    uint64_t done;  /* of them, given back at the last look */
    uint64_t taken; /* of them, released by the peer as far as known */
    uint64_t bytes_before[GW__ZMQ_WINDOW_SLICES]; /* by slice number */

    uint64_t received; /* slices released */
    uint64_t credited; /* of them, told to the peer */
    uint64_t uncredited_bytes;
    bool held;    /* there is a view */
    bool awaited; /* the last peek found nothing */
    zmq_msg_t head, body;
    struct gw__header header;
    struct gw__slice_view view;
    struct gw__note goodbye; /* lent to libzmq at the end */
    void *aligned;           /* for data that libzmq left at an odd address */
    size_t aligned_bytes;
};

struct gw__zmq {
    struct gw__wire wire;
    void *context;
    unsigned lanes;
    size_t window_bytes; /* of each link, about; all ranks have the same */
    struct gw__zmq_key key;
    struct gw__seal *seal; /* NULL: no streams */
    struct gw__door door;
    struct gw__zmq_endpoint_address card;
    struct gw__zmq_link *links; /* by rank; this rank's own is unused */
    struct gw__process_watch watch;
    struct gw_error error; /* what `check` answers */
    unsigned files;        /* reserved descriptors */
    bool over;             /* aborted, here or there: the lanes are closed */
    /* Buffers given back, counted by libzmq's threads; they ring `bell`, an
     * eventfd, while the user sleeps and wants to know. */
    _Atomic uint64_t returned;
    uint64_t returned_seen;
    bool wants_returned;
    _Atomic bool sleeping;
    int bell;
    int ears; /* an epoll set of all descriptors of this wire */
};

static inline struct gw__zmq *gw__zmq_of(struct gw__wire *wire)
{
    return (struct gw__zmq *)wire;
}

/* ---- zmq_address.c ---- */

/* Bytes of a card of `rank`, or 0 when that many ports do not fit. */
size_t gw__zmq_endpoint_address_bytes(unsigned rank, unsigned size,
                                      unsigned lanes, enum gw__zmq_transport);
/* Reads rank `rank`'s address; it must be of the same wire as `mine`. */
GW_MUST_CHECK enum gw_err gw__zmq_endpoint_address_read(
    const struct gw__address *address, unsigned rank, unsigned size,
    const struct gw__zmq_endpoint_address *mine,
    struct gw__zmq_endpoint_address *card, struct gw_error *why);
/* Where `binder` awaits `peer` (higher) on `lane`. */
void gw__zmq_endpoint(const struct gw__zmq_endpoint_address *card,
                      unsigned binder, unsigned peer, unsigned lane,
                      char endpoint[128]);

/* ---- zmq_key.c ---- */

GW_MUST_CHECK enum gw_err gw__zmq_key_read(const char *path,
                                           struct gw__zmq_key *key,
                                           struct gw_error *why);
/* Before bind or connect. */
GW_MUST_CHECK enum gw_err gw__zmq_key_set(void *socket,
                                          const struct gw__zmq_key *key,
                                          bool server, struct gw_error *why);
/* Before bind. An abstract name of ipc has no permissions, so libzmq is to ask
 * the kernel who connects, and let in only this user. False: it cannot. */
GW_MUST_CHECK bool gw__zmq_own_user_only(void *socket, const char *endpoint);

/* ---- zmq_files.c ---- */

GW_MUST_CHECK enum gw_err gw__zmq_reserve_files(struct gw__zmq *zmq,
                                                struct gw_error *why);
void gw__zmq_release_files(struct gw__zmq *zmq);

/* ---- zmq_beside.c ---- */

/* Draws this rank's key and opens its door, where streams are used: over tcp,
 * with a key. */
GW_MUST_CHECK enum gw_err gw__zmq_beside_open(struct gw__zmq *zmq,
                                              const char *interface,
                                              struct gw_error *why);
/* The stream to `peer`, which sent `card`; begins to connect where this rank
 * does. */
GW_MUST_CHECK enum gw_err
gw__zmq_beside_join(struct gw__zmq *zmq, unsigned peer,
                    const struct gw__zmq_endpoint_address *card,
                    struct gw_error *why);
/* GW_OK: it stands, or there is none. GW_PENDING: not yet. */
GW_MUST_CHECK enum gw_err
gw__zmq_beside_meet(struct gw__zmq *zmq, unsigned peer, struct gw_error *why);
/* A body that the caller waits for, and large enough that it pays. */
bool gw__zmq_goes_beside(const struct gw__zmq_link *link, size_t bytes,
                         bool copy);
/* Queues the body of the link's next slice, and takes it back. */
GW_MUST_CHECK bool gw__zmq_beside_queue(struct gw__zmq *zmq, unsigned peer,
                                        const struct gw__header *header,
                                        const void *data);
void gw__zmq_beside_take_back(struct gw__zmq_link *link);
/* Hands over what the kernel takes, if anything is queued. */
void gw__zmq_beside_push(struct gw__zmq *zmq, unsigned peer);
/* The first of the link's sends whose body is still read; `link->sent`: none.
 */
uint64_t gw__zmq_beside_first(struct gw__zmq *zmq, unsigned peer);
/* The body of the header that was just taken comes beside. */
GW_MUST_CHECK enum gw_err gw__zmq_beside_expect(struct gw__zmq *zmq,
                                                unsigned peer);
/* GW_OK: it is in the view. GW_PENDING: not yet. */
GW_MUST_CHECK enum gw_err gw__zmq_beside_pull(struct gw__zmq *zmq,
                                              unsigned peer);
/* Moves on what was touched; true when a body that is awaited is whole. */
bool gw__zmq_beside_move(struct gw__zmq *zmq, unsigned peer);
/* Nobody reads any more what was to be sent. */
void gw__zmq_beside_drop(struct gw__zmq *zmq);
/* Before the end: has peers get what was sent though this rank has not taken
 * what they have sent, for a while. */
void gw__zmq_beside_clear(struct gw__zmq *zmq);
void gw__zmq_beside_close(struct gw__zmq *zmq);

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

/* Makes the sockets for `peer`, bound where this rank listens. */
GW_MUST_CHECK enum gw_err gw__zmq_make_link(struct gw__zmq *zmq, unsigned peer,
                                            const char *interface,
                                            struct gw_error *why);
void gw__zmq_close_link(struct gw__zmq_link *link, unsigned lanes);
/* "127.0.0.1", "::1", "lo": nobody outside this host reaches it. */
bool gw__zmq_is_loopback(const char *interface);

/* What libzmq calls, from its own thread, when a buffer lent on the lane `hint`
 * is no longer read. */
void gw__zmq_give_back(void *data, void *hint);
/* Sends a note to `peer`; false when that connection does not take it. */
bool gw__zmq_tell(struct gw__zmq *zmq, unsigned peer, struct gw__zmq_lane *lane,
                  struct gw__note *note);
/* Reads what `peer` has told. */
void gw__zmq_hear(struct gw__zmq *zmq, unsigned peer);
/* Has `doze` hear `fd`, and set *touched when there is news; NULL: it is the
 * bell, or the end of a process. `both`: there is news in room to write, too.
 */
bool gw__zmq_listen(struct gw__zmq *zmq, int fd, bool both, bool *touched);
/* Sleeps until there is news, or for `ns`, and marks what has any as touched;
 * true when there is some of the bell or of a process. */
bool gw__zmq_doze(struct gw__zmq *zmq, uint64_t ns);
/* Takes up the news of ended processes. */
void gw__zmq_hear_ends(struct gw__zmq *zmq);
/* The link is no good any more: `check` will say why. */
enum gw_err gw__zmq_lose(struct gw__zmq *zmq, unsigned peer, const char *fact);
/* Frees what gw__zmq_open made; sockets that are still open are closed. */
void gw__zmq_free(struct gw__zmq *zmq);

#endif
