/* SPDX-License-Identifier: MIT
 *
 * The verbs wire from inside: RDMA over libibverbs and librdmacm.
 *
 *   verbs_open.c     the device, its resources, and the address
 *   verbs_device.c   which address, port and device to use
 *   verbs_connect.c  connects the peers
 *   verbs_event.c    events of the connection manager
 *   verbs_data.c     slices: send, peek, release, room and credits
 *   verbs_memory.c   registered memory, cached
 *   verbs_queue.c    the queue pairs and their completions
 *   verbs_control.c  notes between ranks: loss, abort, goodbye
 *   verbs_wait.c     sleeping until something changes
 *   verbs_siw.c      a workaround for one device
 *   verbs_none.c     replaces all of them where the libraries are missing
 *
 * Between two ranks there is one reliable connected queue pair. Each rank has a
 * landing zone for each peer, a ring of `zone_bytes` that only this peer may
 * write into, and the peer has a stage of the same size. A slice is at the same
 * offset in both. One RDMA write carries the header and the data after it. The
 * header comes from the stage, and so do the data, unless they are in
 * registered memory and are read in place. The write's immediate value is the
 * offset, in grains of 64 bytes. The receiver uses the slice where it has
 * landed.
 *
 *     stage   | h data | h |        | h data |     data of gw_alloc
 *                  |     |  \____________________________/
 *                  v     v                |
 *     zone    | h data | h  data          |
 *
 * iWARP has no immediate value: there a small message follows the write on the
 * same queue pair, and so it arrives after the data.
 *
 * Room in the zone is returned by CREDIT notes. A message is sent only if the
 * receiver has posted a receive for it: its queue has room for WINDOW_SLICES
 * slices and for the few notes that can be in flight.
 */
#ifndef GW__VERBS_H
#define GW__VERBS_H

#include "wire/process_watch.h"
#include "wire/wire.h"
#include "wire/zmq/frame.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

enum {
    GW__VERBS_SLICE_BYTES = 256 << 10,
    GW__VERBS_SLICE_BYTES_MAX = 64 << 20,
    GW__VERBS_WINDOW_SLICES = 64,
    /* At most a quarter of the zone or of the window is released without a
     * CREDIT. */
    GW__VERBS_CREDIT_PARTS = 4,
    /* All zones of a rank together, about, and the maximum of one unless the
     * slices need more: four slices always fit. */
    GW__VERBS_ZONES_BYTES = 16 << 20,
    GW__VERBS_ZONE_BYTES_MAX = 4 << 20,
    GW__VERBS_ZONE_SLICES = 4,
    GW__VERBS_GRAIN = 64,
    /* Larger slices that are not to be copied are done when they have arrived.
     */
    GW__VERBS_COPIED_BYTES = 16 << 10,
    GW__VERBS_CONTROLS = 16,     /* the most in flight to a peer */
    GW__VERBS_CONTROLS_KEPT = 2, /* of them, for a goodbye or an abort */
    GW__VERBS_CONTROL_ROOM = (GW__CONTROL_BYTES_MAX + 63) / 64 * 64,
    GW__VERBS_RECEIVES = GW__VERBS_WINDOW_SLICES + 24,
    GW__VERBS_REGIONS_MAX = 64,
    GW__VERBS_MAGIC = 0x31767767, /* "gwv1" */
};

/* The address blob: where a rank listens. */
struct gw__verbs_endpoint_address {
    uint32_t magic;
    uint16_t port; /* host order */
    uint16_t iwarp;
    struct gw__process_watch_id process;
    unsigned char token[GW__TOKEN_BYTES]; /* random: a peer must know it */
    char host[48];                        /* numeric, terminated */
};

/* Exchanged while connecting, in at most 56 bytes. */
struct gw__verbs_greeting {
    uint32_t magic;
    uint16_t from, to;
    unsigned char token[GW__TOKEN_BYTES]; /* the receiver's own */
    uint64_t zone;                        /* where the receiver may write */
    uint32_t rkey;
    uint32_t zone_grains;
};
_Static_assert(sizeof(struct gw__verbs_greeting) <= 56, "private data");

enum gw__verbs_state { GW__VERBS_UP, GW__VERBS_CLOSED, GW__VERBS_LOST };

struct gw__verbs_link {
    struct rdma_cm_id *id;
    bool greeted; /* this end has connected and sent HELLO */
    bool joined;  /* both ends are ready and have received HELLO */
    struct gw__verbs_endpoint_address address;

    enum gw__verbs_state state;
    bool disconnected;
    uint64_t ended_ns; /* when its process was found dead; 0 */
    uint64_t due;      /* VERBS_CLOSED: slices that it sent in all */

    unsigned char *zone, *staging;
    struct ibv_mr *zone_mr;
    uint64_t remote_zone;
    uint32_t remote_key;
    unsigned char *receives; /* room for RECEIVES notes */
    unsigned char *controls; /* room for NOTES notes */
    bool control_busy[GW__VERBS_CONTROLS];
    unsigned busy_controls;

    uint64_t sent;
    uint64_t
        completed; /* of them, arrived; the queue pair does not read them */
    uint64_t
        released_by_peer; /* of them, released by the peer as far as known */
    /* The offset where the slice ends in an endless ring, and whether its
     * buffer waits for its completion; both by slice number. */
    uint64_t end_of[GW__VERBS_WINDOW_SLICES];
    bool borrowed[GW__VERBS_WINDOW_SLICES];

    uint64_t arrived;
    uint32_t grain_of[GW__VERBS_WINDOW_SLICES]; /* by slice number */
    uint64_t received;                          /* slices released */
    uint64_t credited; /* of them, reported to the peer */
    uint64_t uncredited_bytes;
    bool credit_due; /* no note was free for it */
    bool held;       /* there is a view */
    struct gw__header header;
    struct gw__slice_view view;

    /* There are slices to receive, or room or buffers, since the user looked.
     */
    bool in_changed, out_changed;
    /* Successful completions as signs of life, and a probe in flight. */
    uint64_t signs, signs_seen, sign_ns;
    bool probing, nudging;
};

struct gw__verbs_region {
    uint32_t id;
    uint64_t used;
    const unsigned char *base;
    size_t bytes;
    struct ibv_mr *mr; /* NULL: it could not be registered */
};

struct gw__verbs {
    struct gw__wire wire;
    struct gw__verbs_endpoint_address address;
    struct rdma_event_channel *events;
    struct rdma_cm_id *listener;
    struct ibv_context *device; /* the listener's */
    bool iwarp;
    struct ibv_pd *domain;
    struct ibv_comp_channel *bell;
    struct ibv_cq *queue;
    bool armed; /* the bell will ring for the next completion */
    size_t slice_bytes, zone_bytes;
    unsigned char *memory; /* all zones, then all stages and notes */
    size_t memory_bytes;
    struct ibv_mr *local_mr; /* of the stages and notes */
    struct gw__verbs_region regions[GW__VERBS_REGIONS_MAX];
    unsigned region_count;
    uint64_t region_uses;
    uint64_t region_generation; /* when all of them were last found to exist */
    struct gw__verbs_link *links; /* by rank; this rank's own is unused */
    struct gw__process_watch process_watch;
    struct gw_error error;   /* the result of `check` */
    struct gw_error refusal; /* the result of `connect` */
    bool abort_reported;     /* by a peer, and not yet acted upon */
    bool over;               /* aborted, here or by a peer */
    bool state_changed;      /* a loss or an abort, since the user looked */
    uint64_t spin_ns;
    int epoll_fd; /* an epoll set of all descriptors of this wire */
};

static inline struct gw__verbs *gw__verbs_of(struct gw__wire *wire)
{
    return (struct gw__verbs *)wire;
}

/* Bytes that a slice takes in zone and stage. */
static inline size_t gw__verbs_need(size_t bytes)
{
    size_t grain = GW__VERBS_GRAIN;
    return sizeof(struct gw__header) + (bytes + grain - 1) / grain * grain;
}

/* ---- verbs_device.c ---- */

/* Binds verbs->listener to the address that `interface` names (an address, a
 * network interface or an RDMA device), or, if it is NULL, to the first address
 * of an active RDMA port. GW_ENOTSUP: there is none here. */
GW_MUST_CHECK enum gw_err gw__verbs_bind(struct gw__verbs *verbs,
                                         const char *interface,
                                         struct gw_error *why);

/* ---- verbs_siw.c ---- */

/* Call it before any other object is made on the device. */
void gw__verbs_lay_over(struct ibv_context *device,
                        const struct ibv_device_attr *what);

/* ---- verbs_memory.c ---- */

/* Registers the memory if it is not registered, and returns its key. False: the
 * data must be copied. */
bool gw__verbs_key(struct gw__verbs *verbs, const void *data, size_t bytes,
                   uint32_t *key);
void gw__verbs_forget(struct gw__verbs *verbs);
/* Deregisters the regions freed since the last call, and so unpins their pages.
 */
void gw__verbs_drop_freed(struct gw__verbs *verbs);
/* Zones, stages and notes of all links. */
GW_MUST_CHECK enum gw_err gw__verbs_make_memory(struct gw__verbs *verbs,
                                                struct gw_error *why);
void gw__verbs_free_memory(struct gw__verbs *verbs);

/* ---- the ops ---- */

enum gw_err gw__verbs_connect(struct gw__wire *wire,
                              const struct gw__address *table,
                              uint64_t deadline_ns, struct gw_error *why);
enum gw_err gw__verbs_send(struct gw__wire *wire, unsigned peer,
                           const struct gw__header *header, const void *data,
                           bool copy);
uint64_t gw__verbs_sends_done(struct gw__wire *wire, unsigned peer);
enum gw_err gw__verbs_peek(struct gw__wire *wire, unsigned peer,
                           struct gw__slice_view *view);
void gw__verbs_release(struct gw__wire *wire, unsigned peer);
void gw__verbs_wait(struct gw__wire *wire, uint64_t ns);
enum gw_err gw__verbs_check(struct gw__wire *wire, struct gw_error *why);
void gw__verbs_abort(struct gw__wire *wire, const struct gw_error *error);
void gw__verbs_close(struct gw__wire *wire);
bool gw__verbs_lost(struct gw__wire *wire, unsigned peer);

/* ---- between the files ---- */

/* Processes completions. False: there were none. */
bool gw__verbs_progress(struct gw__verbs *verbs);
/* Processes the events of the connection manager. */
void gw__verbs_receive_events(struct gw__verbs *verbs);
/* Records the processes that have ended. */
void gw__verbs_receive_ends(struct gw__verbs *verbs);
/* Makes the link's queue pair and posts all its receives. */
GW_MUST_CHECK enum gw_err gw__verbs_make_queue(struct gw__verbs *verbs,
                                               unsigned peer,
                                               struct gw_error *why);
/* Handles a HELLO of the peer. */
void gw__verbs_receive_hello(struct gw__verbs *verbs, unsigned peer);
/* Writes to peers that may not have noticed the HELLO. */
void gw__verbs_nudge(struct gw__verbs *verbs);
/* Handles a note of `peer`. */
void gw__verbs_receive_control(struct gw__verbs *verbs, unsigned peer,
                               const void *message, size_t bytes);
/* Sends a note to `peer`. False: too many are in flight. */
bool gw__verbs_notify(struct gw__verbs *verbs, unsigned peer,
                      struct gw__control_message *control);
/* Sends the peer a CREDIT note for all released slices. */
void gw__verbs_send_credit(struct gw__verbs *verbs, unsigned peer);
/* Arms the bell and sleeps until there is an event, or for `ns`. */
void gw__verbs_doze(struct gw__verbs *verbs, uint64_t ns);
/* The link is broken: `check` will return the reason. */
enum gw_err gw__verbs_lose(struct gw__verbs *verbs, unsigned peer,
                           const char *fact);
/* Acts upon a peer's abort. */
void gw__verbs_end_all(struct gw__verbs *verbs);
/* Frees the resources of gw__verbs_open. */
void gw__verbs_free(struct gw__verbs *verbs);

/* The posting itself, in verbs_queue.c; 0 or an errno. */
int gw__verbs_post_slice(struct gw__verbs *verbs, unsigned peer,
                         uint64_t offset, const void *borrowed, uint32_t bytes,
                         uint32_t key);
int gw__verbs_post_control(struct gw__verbs *verbs, unsigned peer,
                           unsigned place, size_t bytes);
/* The peer's device answers a probe; a nudge only arrives. */
int gw__verbs_post_probe(struct gw__verbs *verbs, unsigned peer);
int gw__verbs_post_nudge(struct gw__verbs *verbs, unsigned peer);

#endif
