/* SPDX-License-Identifier: MIT
 *
 * The socket wires, ipc and tcp, from inside: stream sockets between every two
 * ranks, which the rank's own thread reads and writes.
 *
 *   socket_open.c     makes the wire and its address, and frees everything
 *   socket_address.h  the address as bytes, and the keys of connections
 *   socket_door.c     listens, and admits the connections of members
 *   socket_connect.c  connects the peers
 *   socket_hosts.c    which peers are on this host
 *   socket_frame.h    the frames on a connection, as bytes
 *   socket_out.c      sends slices
 *   socket_in.c       receives slices
 *   socket_data.c     slices as the executor sees them
 *   socket_control.c  notes between ranks: loss, abort, goodbye
 *   socket_wait.c     sleeping until something changes
 *
 * Between two ranks there are `lanes` connections for slices and one for notes,
 * so that waiting data do not delay a note. Slice k of a link uses lane k mod
 * lanes, so both ends know the order. The flow control is that of the kernel: a
 * slice counts as sent when the kernel has all of it.
 *
 * Over tcp, ranks of one host use Unix sockets if other ranks are on other
 * hosts (socket_hosts.c). If all are on one host they use TCP, as the name
 * says.
 *
 * The key of a cluster seals all of it (seal.h). Nothing depends on ZeroMQ, but
 * the addresses are exchanged through it, sealed as well.
 */
#ifndef GW__SOCKET_WIRE_H
#define GW__SOCKET_WIRE_H

#include "socket_frame.h"
#include "wire/crowd.h"
#include "wire/process_watch.h"
#include "wire/wire.h"

enum {
    GW__SOCKET_LANES_MAX = 8,
    GW__SOCKET_QUEUE = 16, /* slices of a lane that the kernel has not taken */
    GW__SOCKET_GUESTS = 64,
    GW__SOCKET_BUFFER_BYTES = 64 << 10, /* for small slices */
};

/* A slice to send. */
struct gw__socket_slice {
    struct gw__header header;
    const unsigned char *data;
    unsigned char *copy; /* freed when it is sent; NULL: `data` is lent */
};

/* Slices from `sent` to `queued` wait for the kernel. */
struct gw__socket_out {
    struct gw__socket_slice slices[GW__SOCKET_QUEUE];
    uint64_t queued, sent;
    size_t written; /* bytes of the first one's frame, without a key */
    bool full;      /* the kernel takes no more until an event reports it */
    /* With a key: the block of the frame that is being written. */
    const struct gw__seal *seal; /* the receiver's; NULL: no key */
    struct gw__seal_pass pass;
    size_t sealed; /* bytes of the first one's payload */
    unsigned char *block;
    size_t block_at, block_end;
};

struct gw__socket_in {
    bool readable; /* there may be more */
    bool ended;    /* the peer sends nothing more, or the connection broke */
    unsigned char *buffer;
    size_t begin, end; /* its unread bytes */
    unsigned char
        *back; /* bytes from back_at to back_end come next; NULL: none */
    size_t back_at, back_end;
    size_t needed; /* of them, for the next slice */

    /* A large slice is being received: `got` bytes of `due` are at `target`.
     * With a key these are its whole payload and the tag. */
    bool large;
    unsigned char *target;
    size_t got, due;
    unsigned char *staging; /* memory for large slices, aligned to 64 */
    size_t room;

    /* The slice that the executor expects next, and where its data may be
     * received; NULL: anywhere. */
    bool expects;
    struct gw__header expected;
    void *place;

    const struct gw__seal *seal; /* this rank's own; NULL: no key */
    struct gw__seal_pass pass;
    uint64_t opened; /* frames */

    bool held; /* there is a view */
    struct gw__header header;
    struct gw__slice_view view;
    size_t taken; /* its bytes in the buffer */
};

/* One connection for slices. */
struct gw__socket_lane {
    int fd;
    struct gw__socket_out out;
    struct gw__socket_in in;
};

/* One connection while it is made. */
struct gw__socket_call {
    int fd;
    unsigned written, received; /* bytes of the greetings */
    bool up;
    unsigned char greeting[GW__SOCKET_GREETING_BYTES];
};

enum gw__socket_state { GW__SOCKET_UP, GW__SOCKET_CLOSED, GW__SOCKET_LOST };

struct gw__socket_link {
    struct gw__socket_lane *lanes;
    struct gw__socket_call *calls; /* one per lane, and one for notes */
    struct gw__socket_address address;
    struct gw__seal *seal; /* the peer's; NULL: no key */

    /* notes */
    int control_fd;
    bool control_touched;
    unsigned control_got;
    unsigned char control[GW__CONTROL_FRAME_MAX];
    uint64_t control_sent, control_opened; /* frames */

    enum gw__socket_state state;
    uint64_t ended_ns;  /* when its process was found dead; 0 */
    uint64_t broken_ns; /* when a lane ended while the link was up; 0 */
    uint64_t quiet_ns;  /* not UP: the last arrival, or the end */
    bool drained;       /* LOST: nothing will arrive any more */
    uint64_t due;       /* CLOSED: slices that it sent in all */
    uint64_t sent;      /* slices accepted by `send` */
    uint64_t received;  /* slices released */
    bool awaited;       /* the last peek found nothing */
    bool discarded;     /* at the end: data that this rank did not read */
};

/* Listens for the connections of higher ranks. Guests are those whose greeting
 * is incomplete. */
struct gw__socket_door {
    int fd;       /* -1: none */
    int local_fd; /* tcp: of ranks on the same host; -1: none */
    struct gw__socket_guest {
        int fd;
        unsigned received;
        uint64_t came_ns;
        unsigned char greeting[GW__SOCKET_GREETING_BYTES];
    } guests[GW__SOCKET_GUESTS];
    unsigned count;
};

struct gw__socket {
    struct gw__wire wire;
    unsigned lanes;
    struct gw__socket_address address;
    unsigned char secret[GW__SEAL_KEY_BYTES]; /* of the cluster */
    struct gw__seal *seal;                    /* this rank's; NULL: no key */
    struct gw__socket_door door;
    struct gw__socket_link *links; /* by rank; this rank's own is unused */
    struct gw__process_watch process_watch;
    struct gw_error error; /* the result of `check` */
    unsigned files;        /* reserved descriptors */
    bool over;       /* aborted, here or by a peer: the lanes are closed */
    bool wants_sent; /* the user waits for slices to be sent */
    uint64_t spin_ns;
    struct gw__crowd crowd;
    int epoll_fd; /* an epoll set of all descriptors of this wire */
};

static inline struct gw__socket *gw__socket_of(struct gw__wire *wire)
{
    return (struct gw__socket *)wire;
}

/* ---- socket_address.c ---- */

/* Reads rank `rank`'s address; it must be of the same wire as `mine`. */
GW_MUST_CHECK enum gw_err
gw__socket_address_read(const struct gw__address *address, unsigned rank,
                        const struct gw__socket_address *mine,
                        struct gw__socket_address *theirs,
                        struct gw_error *why);

/* ---- socket_door.c ---- */

/* Listens at the address `own`, and sets its port; over tcp also at its local
 * name. */
GW_MUST_CHECK enum gw_err gw__socket_door_open(struct gw__socket_door *door,
                                               struct gw__socket_address *own,
                                               struct gw_error *why);
void gw__socket_door_close(struct gw__socket_door *door);
/* A new connection that has greeted as *rank for *lane; -1: none. A connection
 * with another greeting is closed at once, a silent one after a second, if its
 * place is needed. */
int gw__socket_door_admit(struct gw__socket *s, uint32_t *rank, uint32_t *lane);
/* Reads on. False: the connection has ended or failed. */
bool gw__socket_greeting_read(int fd, unsigned char *greeting,
                              unsigned *received);

/* ---- socket_hosts.c ---- */

/* Over tcp, when all addresses are known: which peers are connected by Unix
 * sockets; and sets wire.host_ranks. */
void gw__socket_find_hosts(struct gw__socket *s,
                           const struct gw__address *table);

/* ---- socket_out.c ---- */

/* Queues a slice and sends what the kernel takes. */
GW_MUST_CHECK enum gw_err gw__socket_out_add(struct gw__socket *s,
                                             unsigned peer, unsigned lane,
                                             const struct gw__header *header,
                                             const void *data, bool copy);
/* Sends as much as the kernel takes. `again`: asks it also if no event has
 * reported that it takes more. True: `sent` has grown. */
bool gw__socket_out_push(struct gw__socket *s, unsigned peer, unsigned lane,
                         bool again);
/* Stops reading the memory of all slices. */
void gw__socket_out_drop(struct gw__socket_out *out);

/* ---- socket_in.c ---- */

/* GW_OK: the next slice is in in->view. GW_PENDING: not yet, or the connection
 * has ended. Other errors: malformed, with a fact in *why. */
GW_MUST_CHECK enum gw_err gw__socket_in_pull(struct gw__socket *s,
                                             unsigned peer, unsigned lane,
                                             struct gw_error *why);
/* Frees the slice at the head. */
void gw__socket_in_release(struct gw__socket_in *in);
/* May there be a slice that `pull` has not seen? */
bool gw__socket_in_ready(const struct gw__socket_in *in);

/* ---- the ops ---- */

enum gw_err gw__socket_connect(struct gw__wire *wire,
                               const struct gw__address *table,
                               uint64_t deadline_ns, struct gw_error *why);
enum gw_err gw__socket_send(struct gw__wire *wire, unsigned peer,
                            const struct gw__header *header, const void *data,
                            bool copy);
uint64_t gw__socket_sends_done(struct gw__wire *wire, unsigned peer);
void gw__socket_expect(struct gw__wire *wire, unsigned peer,
                       const struct gw__header *header, void *place);
enum gw_err gw__socket_peek(struct gw__wire *wire, unsigned peer,
                            struct gw__slice_view *view);
void gw__socket_release(struct gw__wire *wire, unsigned peer);
void gw__socket_wait(struct gw__wire *wire, uint64_t ns);
enum gw_err gw__socket_check(struct gw__wire *wire, struct gw_error *why);
void gw__socket_abort(struct gw__wire *wire, const struct gw_error *error);
void gw__socket_close(struct gw__wire *wire);
bool gw__socket_lost(struct gw__wire *wire, unsigned peer);

/* ---- between the files ---- */

/* Sends what the lanes of `peer` have queued, as gw__socket_out_push. */
bool gw__socket_push(struct gw__socket *s, unsigned peer, bool again);
/* Sends a note to `peer`. False: the connection does not accept it. */
bool gw__socket_notify(struct gw__socket *s, unsigned peer,
                       struct gw__control_message *control);
/* Reads the notes of `peer`. */
void gw__socket_receive(struct gw__socket *s, unsigned peer);
/* Records the processes that have ended. */
void gw__socket_receive_ends(struct gw__socket *s);
/* The link is broken: `check` will return the reason. */
enum gw_err gw__socket_lose(struct gw__socket *s, unsigned peer,
                            const char *fact);
/* Adds a connection of `peer` to the epoll set: a lane, or the notes if
 * lane == lanes. */
GW_MUST_CHECK bool gw__socket_listen(struct gw__socket *s, int fd,
                                     unsigned peer, unsigned lane);
/* Adds a descriptor whose events only end the sleep. */
GW_MUST_CHECK bool gw__socket_listen_any(struct gw__socket *s, int fd);
/* Sleeps until there is an event, or for `ns`. True: there is one. */
bool gw__socket_doze(struct gw__socket *s, uint64_t ns);
/* Frees the resources of gw__socket_open. */
void gw__socket_free(struct gw__socket *s);

#endif
