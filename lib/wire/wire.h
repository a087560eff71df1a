/* SPDX-License-Identifier: MIT
 *
 * The seam between the executor and the transports.
 *
 * A wire joins the ranks of one communicator, all to all. Per directed pair it
 * is a FIFO of slices: in order, none lost, none doubled. The receiver sees the
 * slice at the head of each link as a view of the bytes where they lie, works
 * straight out of it, and releases it. The sender's buffer belongs to the wire
 * until `sends_done` counts past it. Buffers are bounded: `send` answers
 * GW_PENDING when the link is full.
 *
 * Opening goes in two phases so that any means of exchange serves: `open` makes
 * the local end and its address, an opaque blob; the caller exchanges the
 * blobs (lib/wire/rendezvous/rendezvous.h, or a collective of the parent communicator);
 * `connect` joins the peers.
 *
 * Losing a peer is final. `peek` and `send` on that link answer GW_ELOST, or
 * GW_ECLOSED when the peer said goodbye; what it sent before is still
 * delivered. One rank's `abort` reaches all: their `check` answers its code and
 * sentence. Everything is called by one thread, and nothing blocks but `wait`
 * and `connect`.
 */
#ifndef GW__WIRE_H
#define GW__WIRE_H

#include <gradwire/base.h>
#include <gradwire/wire.h>

enum { GW__ADDRESS_MAX = 4096, GW__WIRE_PEERS_MAX = 1024 };

/* What every rank says it is calling: 24 bytes that travel with each slice, so
 * that a mismatch is an error that names both calls. */
struct gw__signature {
    uint8_t collective; /* enum gw_collective, or GW__P2P */
    uint8_t type;
    uint8_t op;
    uint8_t flags;
    uint32_t root;
    uint64_t count;
    uint64_t plan; /* hash: algorithm or the user's plan */
};
enum { GW__P2P = 200 };

/* Travels before each slice. */
struct gw__header {
    uint32_t epoch;
    uint32_t op;   /* number of the call in its communicator */
    uint32_t step; /* of the plan */
    uint32_t chunk;
    uint32_t slice; /* within the chunk */
    uint32_t bytes; /* of the slice's data; may be 0 */
    struct gw__signature call;
    uint64_t contributors; /* elastic calls: whose data is in it, as bits */
    uint64_t sent_ns;      /* when it left, where link rules may apply; or 0 */
};
_Static_assert(sizeof(struct gw__header) == 64, "header has no holes");

/* The slice at the head of a link. Valid until released. */
struct gw__slice_view {
    const struct gw__header *header;
    const void *data;
};

struct gw__address {
    size_t bytes;
    unsigned char blob[GW__ADDRESS_MAX];
};

struct gw__wire;

/* Shared memory offers more: every rank posts a small card that all can read
 * at once, and peers' gw_alloc memory can be mapped. NULL on other wires.
 * lib/coll/window/window.c is the user. */
struct gw__windows;

struct gw__wire_ops {
    const char *name;
    /* Bytes of a slice that this wire moves best. */
    size_t slice_bytes;
    enum gw_err (*connect)(struct gw__wire *, const struct gw__address *table,
                           uint64_t deadline_ns, struct gw_error *why);
    /* `copy`: the bytes are taken at once (the caller will overwrite them
     * before the peer reads). GW_OK, GW_PENDING when the link is full, or why
     * the link is gone. What is not copied may stand still until the caller
     * asks for `sends_done`, checks or waits. */
    enum gw_err (*send)(struct gw__wire *, unsigned peer,
                        const struct gw__header *, const void *data, bool copy);
    /* How many sends to `peer`, counted from the first, have given their
     * buffers back. Only grows. */
    uint64_t (*sends_done)(struct gw__wire *, unsigned peer);
    /* GW_OK: *view is the head. GW_PENDING: nothing there. */
    enum gw_err (*peek)(struct gw__wire *, unsigned peer,
                        struct gw__slice_view *view);
    void (*release)(struct gw__wire *, unsigned peer);
    /* Sleeps until something may have changed (a slice arrived, room, a buffer
     * given back, a peer lost, an abort) or `ns` have passed. Spins first where
     * that pays. */
    void (*wait)(struct gw__wire *, uint64_t ns);
    /* Cheap enough for every millisecond, not for every slice: looks for lost
     * peers and aborts. GW_OK, or the abort's code with its sentence in *why,
     * or GW_ELOST naming the peer. A peer that said goodbye is no error here.
     */
    enum gw_err (*check)(struct gw__wire *, struct gw_error *why);
    /* Tells all peers, at once and without waiting. When it returns, or when
     * `check` has answered a peer's abort, ipc, tcp and verbs no longer read
     * buffers that were lent to them. */
    void (*abort)(struct gw__wire *, const struct gw_error *error);
    /* Says goodbye, frees all; does not wait for peers longer than it takes to
     * hand over what they need (at most 200 ms for what is already sent; over
     * verbs a second, while it goes on arriving). */
    void (*close)(struct gw__wire *);
    struct gw__windows *(*windows)(struct gw__wire *);
    /* Is `peer` known to have ended or to be out of reach, without a goodbye?
     * NULL: only `peek` tells, when it has no slice of that peer left. */
    bool (*lost)(struct gw__wire *, unsigned peer);
};

struct gw__wire {
    const struct gw__wire_ops *ops;
    unsigned rank, size;
    struct gw__address address; /* to be given to the peers */
    bool told;    /* `check` found an abort: its sentence is a peer's own */
    bool spoiled; /* a slice was released that may have been overwritten, since
                     its sender had failed or left: `check` says who and why */
    bool hasty;   /* set before `close`: peers need nothing of this rank any
                     more, so that it waits for none of them */
    /* Not owned; NULL: none. Once it is true, `connect` gives up with GW_EINTR
     * and `wait` returns, both within 2 ms. */
    const _Atomic bool *interrupt;
};

/* Makes the local end. `config->wire` picks the transport; rank, size, lanes,
 * interface, key_file, insecure are read. */
GW_MUST_CHECK enum gw_err gw__wire_open(const struct gw_comm_config *config,
                                        struct gw__wire **wire,
                                        struct gw_error *why);
/* NULL allowed; nulls the pointer. */
void gw__wire_close(struct gw__wire **wire);

/* For those who implement a wire: is *interrupt set and true, and how much of
 * `ns` to sleep before looking again (all of it without `interrupt`). */
bool gw__wire_interrupted(const struct gw__wire *wire);
uint64_t gw__wire_nap_ns(const struct gw__wire *wire, uint64_t ns);

/* One opener a transport; gw__wire_open dispatches to them. */
GW_MUST_CHECK enum gw_err gw__shm_open(const struct gw_comm_config *config,
                                       struct gw__wire **wire,
                                       struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__zmq_open(const struct gw_comm_config *config,
                                       struct gw__wire **wire,
                                       struct gw_error *why);
/* GW_ENOTSUP: this build, or this host, has none. */
GW_MUST_CHECK enum gw_err gw__verbs_open(const struct gw_comm_config *config,
                                         struct gw__wire **wire,
                                         struct gw_error *why);
bool gw__verbs_is_built(void);

#endif
