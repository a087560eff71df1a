/* SPDX-License-Identifier: MIT
 *
 * The interface between the executor and the transports.
 *
 * A wire connects the ranks of one communicator, all to all. Each directed pair
 * of ranks has a link, a FIFO of slices: in order, without loss or duplicates.
 * The receiver sees the slice at the head of each link as a view of the bytes
 * in place, works directly on them, and releases the slice. The sender's buffer
 * belongs to the wire until `sends_done` counts past it. Buffers are bounded:
 * `send` returns GW_PENDING when the link is full.
 *
 * A wire opens in two phases, so that any means of exchange will do: `open`
 * makes the local end and its address, an opaque blob; the caller exchanges the
 * blobs (lib/wire/rendezvous/rendezvous.h, or a collective of the parent
 * communicator); `connect` connects the peers.
 *
 * The loss of a peer is final. `peek` and `send` on that link return GW_ELOST,
 * or GW_ECLOSED after the peer has closed; slices sent before are still
 * delivered. One rank's `abort` reaches all: their `check` returns its code and
 * message. One thread makes all calls, and only `wait` and `connect` block.
 */
#ifndef GW__WIRE_H
#define GW__WIRE_H

#include <gradwire/base.h>
#include <gradwire/wire.h>

enum {
    GW__ADDRESS_MAX = 4096,
    GW__WIRE_PEERS_MAX = 1024,
    GW__TIMEOUT_MS = 30000, /* without progress, if the caller sets no limit */
};

/* The call that a rank is executing: 24 bytes sent with each slice, so that a
 * mismatch becomes an error that names both calls. */
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

/* The step of a slice that has only its call: coll/mismatch.c. */
#define GW__PROBE UINT32_MAX
/* The step of a slice whose data is the set of the next slice's contributors:
 * coll/contributors.c. */
#define GW__SET_SLICE (UINT32_MAX - 1)

/* Sent before each slice. */
struct gw__header {
    uint32_t epoch;
    uint32_t op;   /* number of the call in its communicator */
    uint32_t step; /* of the plan */
    uint32_t chunk;
    uint32_t slice; /* within the chunk */
    uint32_t bytes; /* of the slice's data; may be 0 */
    struct gw__signature call;
    /* elastic calls: whose data it has (gw__nodes_pack) */
    uint64_t contributors;
    uint64_t sent_ns; /* send time, if link profiles may apply; or 0 */
};
_Static_assert(sizeof(struct gw__header) == 64, "header has no holes");

/* Is it the header of the slice that `expected` describes? The contributors and
 * the time may be any. */
bool gw__header_fits(const struct gw__header *header,
                     const struct gw__header *expected);

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

/* Shared memory offers more: each rank has a small control block that all ranks
 * can read at once, and peers' gw_alloc memory can be mapped. NULL on other
 * wires. lib/coll/window/window.c is the user. */
struct gw__windows;

struct gw__wire_ops {
    const char *name;
    /* The slice size in bytes that is best for this wire. */
    size_t slice_bytes;
    enum gw_err (*connect)(struct gw__wire *, const struct gw__address *table,
                           uint64_t deadline_ns, struct gw_error *why);
    /* `copy`: the bytes are copied at once (the caller will overwrite them
     * before the peer reads). GW_OK, GW_PENDING when the link is full, or the
     * error of the link. Slices sent without `copy` may make no progress until
     * the caller calls `sends_done`, `check` or `wait`. */
    enum gw_err (*send)(struct gw__wire *, unsigned peer,
                        const struct gw__header *, const void *data, bool copy);
    /* Number of sends to `peer`, from the first on, whose buffers are free
     * again. Only grows. */
    uint64_t (*sends_done)(struct gw__wire *, unsigned peer);
    /* The header of the next slice from `peer` will fit this one. Its data may
     * be received at `place`, and are then the view's; NULL: there is no place
     * for them. A hint before `peek`; it ends with the slice, and with the
     * wire. NULL: the wire does not use it. */
    void (*expect)(struct gw__wire *, unsigned peer, const struct gw__header *,
                   void *place);
    /* GW_OK: *view is the head. GW_PENDING: there is no slice. */
    enum gw_err (*peek)(struct gw__wire *, unsigned peer,
                        struct gw__slice_view *view);
    void (*release)(struct gw__wire *, unsigned peer);
    /* Sleeps until something may have changed (a slice, room, a buffer
     * returned, a peer lost, an abort) or `ns` have passed. Spins first where
     * that pays. */
    void (*wait)(struct gw__wire *, uint64_t ns);
    /* Looks for lost peers and aborts; cheap enough for every millisecond, not
     * for every slice. GW_OK, or the abort's code with its message in *why, or
     * GW_ELOST naming the peer. A peer that has closed is not an error here. */
    enum gw_err (*check)(struct gw__wire *, struct gw_error *why);
    /* Notifies all peers at once, without waiting. When it returns, or when
     * `check` has returned a peer's abort, ipc, tcp and verbs no longer read
     * buffers that were lent to them. */
    void (*abort)(struct gw__wire *, const struct gw_error *error);
    /* Sends a goodbye to the peers and frees all. It waits for peers only as
     * long as it takes to hand over data that they need, and at most
     * `linger_ns`; over zmq at most 2 s, over verbs a second, while data goes
     * on arriving. */
    void (*close)(struct gw__wire *);
    struct gw__windows *(*windows)(struct gw__wire *);
    /* Has `peer` ended or become unreachable without a goodbye? NULL: only
     * `peek` reports it, when there is no slice of that peer left. */
    bool (*lost)(struct gw__wire *, unsigned peer);
};

enum { GW__STOPPED_LINGER_NS = 200 * 1000000 };

struct gw__wire {
    const struct gw__wire_ops *ops;
    unsigned rank, size;
    struct gw__address address; /* to be sent to the peers */
    bool aborted_by_peer; /* `check` found an abort: the message is a peer's */
    /* A slice was released that may have been overwritten, since its sender had
     * failed or closed: `check` returns which and why. */
    bool read_raced;
    /* Set by `connect`: the ranks per host, if several hosts have the same
     * number, and the ranks of each follow one another; else 0. */
    unsigned host_ranks;
    /* The longest wait of `close` for peers that still need data of this rank.
     * 0: they need none any more. gw__wire_open sets it to the time after which
     * a call without progress fails: a peer that gets no CPU is late, not
     * gone. A peer that is seen stopped gets GW__STOPPED_LINGER_NS. */
    uint64_t linger_ns;
    /* Not owned; NULL: none. Once it is true, `connect` fails with GW_EINTR and
     * `wait` returns, both within 2 ms. */
    const _Atomic bool *interrupt;
};

/* Makes the local end. `config->wire` selects the transport; rank, size, lanes,
 * interface, key_file and insecure are read. */
GW_MUST_CHECK enum gw_err gw__wire_open(const struct gw_comm_config *config,
                                        struct gw__wire **wire,
                                        struct gw_error *why);
/* NULL is allowed; sets the pointer to NULL. */
void gw__wire_close(struct gw__wire **wire);

/* For implementations of a wire: is *interrupt set and true, and how much of
 * `ns` to sleep before the next check (all of it without `interrupt`). */
bool gw__wire_interrupted(const struct gw__wire *wire);
uint64_t gw__wire_nap_ns(const struct gw__wire *wire, uint64_t ns);

/* One opener per transport, called by gw__wire_open. */
GW_MUST_CHECK enum gw_err gw__shm_open(const struct gw_comm_config *config,
                                       struct gw__wire **wire,
                                       struct gw_error *why);
/* "ipc" and "tcp", with or without a key. */
GW_MUST_CHECK enum gw_err gw__socket_open(const struct gw_comm_config *config,
                                          struct gw__wire **wire,
                                          struct gw_error *why);
/* "zmq": ZeroMQ over TCP. With a key it also serves as "ipc" and "tcp" in a
 * build without a library for sealing. */
GW_MUST_CHECK enum gw_err gw__zmq_open(const struct gw_comm_config *config,
                                       struct gw__wire **wire,
                                       struct gw_error *why);
/* GW_ENOTSUP: this build or this host has no verbs. */
GW_MUST_CHECK enum gw_err gw__verbs_open(const struct gw_comm_config *config,
                                         struct gw__wire **wire,
                                         struct gw_error *why);
bool gw__verbs_is_built(void);

#endif
