/* SPDX-License-Identifier: MIT
 *
 * The elastic ring: all-reduces among members that may die, hang, be cut off,
 * leave and join. No contribution is lost or counted twice.
 *
 * The ring is a replicated state machine. Its log is the results of its ops.
 * Every member applies them in order to its own state (parameters, the
 * optimiser's memory, counters, a pool of data shards), by the same function,
 * so that all states are equal after equal ops. So a member is one loop:
 *
 *     gw_ring_join(&config, &ring, &why);          copies the state, if needed
 *     while (!done(state)) {
 *         gw_ring_begin(ring, &turn, &why);        the op, and our place in it
 *         compute(state, turn.place, gradient);
 *         gw_ring_allreduce(ring, &call, &result, &why);   applied to the state
 *     }
 *     gw_ring_leave(ring, &why);
 *
 * gradwire-protocol(7) describes the reaction to a death: the survivors agree
 * for each op whether the dead member's contribution counts (FORWARD) or not
 * (EXCLUDE). All of them return the same bits, and the result lists its
 * contributors.
 *
 * A joiner copies the state and the newest results from a member in the
 * background, and is then admitted between two ops. A member that was declared
 * dead while it was paused or cut off receives GW_ECLOSED. Its state is
 * invalid; it destroys the ring and joins again.
 *
 * Members are numbered by node, below 64; a set of nodes is a 64-bit mask. A
 * ring belongs to one thread. A second thread, the library's own, sends
 * heartbeats and reports and connects to peers while the first computes.
 */
#ifndef GRADWIRE_RING_H
#define GRADWIRE_RING_H

#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_ring;
struct gw_suspicion;

enum {
    GW_RING_NODES = 64,
    GW_RING_CONTROLLERS = 7,
    GW_RING_CONTROLLER = 63, /* first controller; the others count down */
    GW_RING_ANY = 255
};

/* The result of an op. */
struct gw_ring_result {
    uint64_t op;
    uint64_t epoch;   /* of the view in which it was completed */
    unsigned tag;     /* as in the call */
    const void *data; /* belongs to the ring; valid until the next op */
    size_t count;
    enum gw_dtype type;
    enum gw_redop redop;
    uint64_t contributors; /* a set of nodes */
    /* The members at the beginning of the op, by their places: `place` i
     * of a turn is origin[i]. Places follow seniority, whatever the order
     * of the ring is. */
    unsigned initial_count;
    unsigned initial_members[GW_RING_NODES];
};

/* A place where all members hold, for an experiment that repeats exactly. */
struct gw_ring_hold {
    uint64_t op;
    /* True: in the op, before transfer `transfer` (from 0) in the order of its
     * plan, counted among those of `chunk` (GW_NONE: among all), until a member
     * is lost. Without such a transfer, at the end of the op. False: before the
     * op, until the ring has `size` members. */
    bool cut;
    uint32_t chunk, transfer;
    unsigned size; /* members of the ring from then on */
};

/* The configuration of a member. */
struct gw_ring_config {
    unsigned node; /* or GW_RING_ANY: the controllers choose */
    /* The address of this process for control messages: "ipc://@name",
     * "tcp://host:*". */
    const char *endpoint;
    uint64_t token; /* of the run; the same for all members */
    /* Distinguishes this process, by its upper 40 bits, from others that
     * have had its node number; 0: a random number. */
    uint64_t process;
    unsigned controller_count;
    unsigned controllers[GW_RING_CONTROLLERS]; /* their nodes */
    const char *controller_endpoints[GW_RING_CONTROLLERS];
    /* The data wire: as in struct gw_comm_config, with its defaults. */
    const char *wire;   /* "shm", "ipc", "tcp"; default "shm" */
    size_t slice_bytes; /* default: the choice of the wire */
    unsigned lanes;     /* connections per peer; default: the wire's */
    const char *interface, *key_file;
    bool insecure;
    struct gw_sink *events;   /* used under a lock; NULL: none */
    unsigned join_timeout_ms; /* limit of gw_ring_join; 0: no limit */
    /* The bounds of the number of members; 0: no bound. With fewer than
     * `min_size` gw_ring_begin waits for joiners, from the second op on
     * after a loss; a ring of `max_size` admits no joiner. All members
     * must have the same bounds. */
    unsigned min_size, max_size;
    /* Limit of the wait for joiners when they are too few, and for
     * controllers; 0: no limit. */
    unsigned patience_ms;
    /* Experiments from the start: link profiles per node [GW_RING_NODES],
     * as by gw_ring_emulate_link (NULL: none), and a pace, as by
     * gw_ring_pace. */
    const struct gw_link_profile *links;
    uint64_t pace_ns;
    /* In order of their ops, which differ; the same for all members. They must
     * outlive the ring. */
    const struct gw_ring_hold *holds;
    unsigned hold_count;
    /* A suspicion policy, which must outlive the ring. NULL: built-in. */
    const struct gw_suspicion *suspicion;
    /* All-reduce algorithms for ops that no death disturbs; the same for all
     * members. They must outlive the ring. The first one that has a plan for
     * the number of members is used; without one, and for recoveries, the ring
     * makes its own plan. Their plans must not use scratch, and must add each
     * chunk in one order on all ranks. */
    const struct gw_algo *const *algos;
    unsigned algo_count; /* 0: the ring's own plan */
    /* The same for calls of gw_ring_run that name no algorithm. They can be for
     * several collectives. Their plans can use scratch; then the sums of an
     * all-reduce can have different bits on different ranks. Without a plan the
     * library chooses an algorithm. */
    const struct gw_algo *const *run_algos;
    unsigned run_algo_count;

    /* The state. Only `apply` may change it, by a result. It is called in
     * the order of ops: in gw_ring_allreduce, and in gw_ring_join for
     * results that a joiner copies. */
    void *context;
    void *state;
    size_t state_bytes;
    void (*apply)(void *context, const struct gw_ring_result *result);
    /* Called when the status changes, in the library's thread. It must be
     * fast and may only call gw_ring_status. NULL: none. */
    void (*on_status)(void *context);
};

/* Joins the ring: registers, copies the state if the ring is already running,
 * and waits for the admission. The first members wait until the supervisor of
 * the run admits them together. While it waits *ring is already set, for
 * gw_ring_interrupt and gw_ring_status; NULL after a failure. GW_ETIMEOUT,
 * GW_EINTR. GW_EINVAL: the ring has `max_size` members. GW_EUNREACH: no
 * controllers for `patience_ms`. GW_ECLOSED: all members with the state are
 * dead; a process that joins again begins a new ring with the initial state. */
GW_API GW_MUST_CHECK enum gw_err
gw_ring_join(const struct gw_ring_config *config, struct gw_ring **ring,
             struct gw_error *why);
/* Joins the ring of a cluster of hosts that the environment names, as elastic
 * jobs do: GW_CONTROLLERS=tcp://HOST:PORT,... (of `psnode controller --ring`)
 * and GW_CLUSTER, its --cluster. The controllers choose the node. This process
 * listens at the address that leads to them, or at that of GW_INTERFACE.
 * GRADWIRE_KEY, GW_INSECURE and GW_WIRE as for gw_comm_from_env. Of *config it
 * uses wire, slices, key, timeout and the fields of the state. The bounds are
 * GW_MIN_SIZE, GW_MAX_SIZE and GW_PATIENCE (a duration, default 10m), where
 * *config has none. Under `ringctl up N exec` the environment names the run
 * instead, and ringctl chooses the node and the wire. Errors of gw_ring_join and
 * gw_launch_detect. */
GW_API GW_MUST_CHECK enum gw_err
gw_ring_from_env(const struct gw_ring_config *config, struct gw_ring **ring,
                 struct gw_error *why);
/* Leaves the ring without notice, as if the process had died, and frees it.
 * NULL is allowed. */
GW_API void gw_ring_destroy(struct gw_ring **ring);
/* Leaves the ring permanently, between ops. Its contributions count. GW_EINVAL:
 * it is the last member. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_leave(struct gw_ring *ring,
                                               struct gw_error *why);
/* Makes all current and later waits return GW_EINTR. Any thread or signal
 * handler may call it. */
GW_API void gw_ring_interrupt(struct gw_ring *ring);

/* Sets a new address or size of the state, which there is the state after the
 * last result. It may be called in `apply` or between ops, by all members after
 * the same op. A joiner whose state has another size than its ring's receives
 * GW_EMISMATCH from gw_ring_join. */
GW_API void gw_ring_state(struct gw_ring *ring, void *state, size_t bytes);

/* A member's data about the next op. */
struct gw_ring_turn {
    uint64_t op;
    uint64_t epoch;
    /* The members that take part, as far as is known. Joiners may still be
     * added at the end; dead members will be missing from the contributors
     * of the result. */
    unsigned initial_count;
    unsigned initial_members[GW_RING_NODES];
    unsigned place; /* of this member */
};
/* Begins the next op: adopts views and admits joiners. It waits when this needs
 * controllers. GW_ECLOSED, GW_EINTR. GW_ETIMEOUT: fewer members than `min_size`
 * for `patience_ms`. GW_EUNREACH: no controllers for that time. The calls below
 * return GW_EUNREACH too. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_begin(struct gw_ring *ring,
                                               struct gw_ring_turn *turn,
                                               struct gw_error *why);

/* An all-reduce of the ring. */
struct gw_ring_call {
    const void *in; /* must not change until the call returns */
    void *out;      /* may be `in`; NULL: only `apply` gets the result */
    size_t count;
    enum gw_dtype type;
    enum gw_redop op;
    unsigned tag; /* for `apply` */
};
/* Runs the current op (or the next one); all members must make the same call.
 * It returns when the op is complete here and applied. GW_ECLOSED: this process
 * is not a member any more; the sentence has the reason. GW_EINTR;
 * GW_EMISMATCH: members made different calls. */
GW_API GW_MUST_CHECK enum gw_err
gw_ring_allreduce(struct gw_ring *ring, const struct gw_ring_call *call,
                  struct gw_ring_result *result, struct gw_error *why);

/* Runs any collective among the members of the current view. `call.root` is a
 * place in it (gw_ring_begin), which equals the rank while the order of the
 * ring is unchanged. The collective is confirmed by an op of its own before it
 * returns. If the view changes in between it is repeated from the inputs, so
 * they must not overlap `out`. Blocks are by rank of the ring in which it was
 * done; initial_members of *result has these members by rank. GW_ELOST: the root
 * is dead. The result is not applied to the state. So no joiner is admitted
 * between a collective and the next all-reduce, since the state is a joiner's
 * only knowledge. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_run(struct gw_ring *ring,
                                             const struct gw_call *call,
                                             struct gw_ring_result *result,
                                             struct gw_error *why);

/* ---- looking at it ---- */

/* The progress of a program, which only the program knows. */
struct gw_ring_progress {
    uint64_t step;                          /* training steps in the state */
    uint64_t data_epoch;                    /* from 0 */
    double loss;                            /* of the newest step; NaN: none */
    uint64_t samples_lost, samples_doubled; /* found by the program; 0 */
    bool done;                              /* its work is complete */
};
/* Reports the progress of this member: events of a step and its loss, and, in a
 * program that `ringctl up N exec` has started, what ringctl and ringtop show.
 * Optional. By the thread of the ring, after an op. */
GW_API void gw_ring_report(struct gw_ring *ring,
                           const struct gw_ring_progress *progress);

/* The times of the last recovery, from the detection of the loss on this
 * member. */
struct gw_ring_times {
    uint64_t frozen_ns;      /* all transfers had stopped; 0: no recovery */
    uint64_t decided_ns;     /* the decision and all reports were received */
    uint64_t reconnected_ns; /* connected to the others again */
    uint64_t resumed_ns;     /* the open ops were complete */
};

/* The chunks in a recovery plan for one op. Each chunk counts once:
 *   spread   a complete copy survived
 *   redone   a partial sum with the dead member's data was discarded, at least
 *            in part
 *   kept     a partial sum is continued
 *   fresh    there were only the inputs */
struct gw_ring_chunks {
    uint64_t epoch; /* of the ring; 0: none */
    uint64_t op;
    unsigned spread, redone, kept, fresh;
};
enum { GW_RING_CHUNKS = 8 };

/* The status of a member. */
struct gw_ring_status {
    unsigned node;
    bool member;
    bool parked; /* cut off from the majority of the controllers */
    bool gone;
    uint64_t epoch, ring_epoch;
    unsigned size;
    int rank; /* -1: not in the ring */
    unsigned nodes[GW_RING_NODES];
    uint64_t op; /* current or next */
    /* "compute", "reduce", "gather", "flush", "recover", "join" */
    const char *phase;
    int waits_for; /* a node, or -1 */
    uint64_t ops_done;
    uint64_t ops_forward, ops_exclude; /* decided */
    /* Recovery plans are of the whole ring: all survivors count the same
     * chunks. */
    uint64_t chunks_spread, chunks_kept, chunks_fresh, chunks_redone;
    struct gw_ring_chunks chunks[GW_RING_CHUNKS]; /* newest plans first */
    uint64_t recoveries;
    struct gw_ring_times last;
    /* By the contributor sets: contributions of surviving members that are
     * in no result; and contributions that were refused since they would
     * count twice. */
    uint64_t lost, doubled;
    unsigned held; /* newest hold that was reached, from 1; 0: none */
    uint64_t joined_stall_ns; /* delay of a step by the last admission */
    /* Chained over op, contributors and result. Of a result above 64 KiB
     * 64 cache lines count, others in each op. */
    uint64_t digest;
    char text[200]; /* the last problem, or "" */
    /* The algorithm of undisturbed ops in this view, of `run_algos` if there
     * are any; "": built-in. */
    char algo[40];
};
/* Reads the status of a member. Any thread may call it. */
GW_API void gw_ring_status(struct gw_ring *ring, struct gw_ring_status *status);
/* Checks that the states of all members are equal, by an op of its own, in
 * which each member contributes its digest and a hash of its whole state.
 * GW_EWRONG: the sentence names the nodes that differ from most. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_check(struct gw_ring *ring,
                                               struct gw_error *why);

/* ---- experiments ---- */

/* Sets the link profile from node `from` to this member. */
GW_API void gw_ring_emulate_link(struct gw_ring *ring, unsigned from,
                                 const struct gw_link_profile *profile);
/* Sets the slow motion: every chunk takes `ns` nanoseconds; 0: off. */
GW_API void gw_ring_pace(struct gw_ring *ring, uint64_t ns);

/* ---- order ---- */

/* Requests an order of the ring: these nodes first, in this order, then the
 * others in their current order. It also applies to later joiners, which
 * otherwise come last. The member that admits joiners applies it between two
 * ops, so all members should request the same order. `count` 0: any order. Any
 * thread may call it. GW_EINVAL: a node occurs twice, or is not below
 * GW_RING_NODES. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_order(struct gw_ring *ring,
                                               const unsigned *nodes,
                                               unsigned count,
                                               struct gw_error *why);

/* ---- data shards ---- */

/* A pool of data shards that is part of the state. A shard is leased for one
 * op. Place i of an op has the i-th shard that is not done in this data epoch.
 * The shards of the contributors are done, the others return to the pool, so
 * each shard is used exactly once per epoch, whichever members die or join.
 * `uses` counts the uses for a check. It is flat memory of
 * gw_shards_bytes(count) bytes inside the state. */
struct gw_shards {
    uint32_t count, done;
    uint64_t epoch;
    uint64_t lost, doubled; /* found at the ends of epochs; 0 if right */
    uint32_t first;         /* not done */
    uint32_t reserved;
    __extension__ uint8_t uses[]; /* in this epoch */
};
/* Returns the bytes of a pool of `count` shards. */
GW_API size_t gw_shards_bytes(uint32_t count);
/* Initialises a pool: epoch 0, no shard done. */
GW_API void gw_shards_init(struct gw_shards *shards, uint32_t count);
/* Returns the shard of place `place`; GW_NONE: fewer shards are left in this
 * epoch. */
GW_API uint32_t gw_shards_of(const struct gw_shards *shards, unsigned place);
/* Marks the shards of the contributors as done, after an op in which every
 * place used its shard. When all are done the next epoch begins. */
GW_API void gw_shards_complete(struct gw_shards *shards,
                               const struct gw_ring_result *result);

#ifdef __cplusplus
}
#endif
#endif
