/* SPDX-License-Identifier: MIT
 *
 * The elastic ring: all-reduces among members that may die, hang, be cut off,
 * leave and join, without losing or doubling anybody's contribution.
 *
 * The ring is a replicated state machine. Its log are the results of its ops;
 * every member applies them in order to a state of its own (parameters, the
 * optimiser's memory, counters, a pool of data shards), by the same function,
 * so that all states are equal after equal ops. A member is therefore one loop:
 *
 *     gw_ring_join(&config, &ring, &why);          state copied, if it is late
 *     while (!done(state)) {
 *         gw_ring_begin(ring, &turn, &why);        op, and our place in it
 *         compute(state, turn.place, gradient);
 *         gw_ring_allreduce(ring, &call, &result, &why);   applied to the state
 *     }
 *     gw_ring_leave(ring, &why);
 *
 * What happens when somebody dies in between is told in gradwire-protocol(7):
 * the survivors agree, per op, whether the dead member's contribution counts
 * (FORWARD) or not (EXCLUDE); all of them return the same bits, and the result
 * says whose data is in it.
 *
 * A joiner copies state and newest results from a member in the background,
 * then is admitted between two ops. A member that was convicted while it slept,
 * or was cut off and lost its seat, gets GW_ECLOSED: its state is worthless; it
 * destroys the ring and joins again.
 *
 * Members are numbered by node, below 64; a set of nodes is a 64-bit mask. One
 * thread uses a ring; a second one, the library's own, keeps beating, reporting
 * and meeting while the first computes.
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
    GW_RING_CONTROLLER = 63, /* the first `psnode controller`; the others count
                                down */
    GW_RING_ANY = 255
};

/* The result of an op. */
struct gw_ring_result {
    uint64_t op;
    uint64_t epoch;   /* of the view in which it was completed */
    unsigned tag;     /* as in the call */
    const void *data; /* the ring's; until the next op */
    size_t count;
    enum gw_dtype type;
    enum gw_redop redop;
    uint64_t contributors;
    /* The members with which it began, by their places: `place` i of a turn is
     * origin[i]. Places follow seniority, whatever the order of the ring. */
    unsigned origin_count;
    unsigned origin[GW_RING_NODES];
};

struct gw_ring_config {
    unsigned node;        /* or GW_RING_ANY: the controllers choose */
    const char *endpoint; /* where this process listens for control messages:
                             "ipc://@name", "tcp://host:*" */
    uint64_t token;       /* of the run; the same everywhere */
    /* Tells this process from others that have had its node number, by its
     * upper 40 bits, to those who watch over them; 0: drawn. */
    uint64_t process;
    unsigned controller_count;
    unsigned controllers[GW_RING_CONTROLLERS];             /* their nodes, */
    const char *controller_endpoints[GW_RING_CONTROLLERS]; /* and endpoints */
    /* The data wire: see struct gw_comm_config. */
    const char *wire;
    size_t slice_bytes;
    unsigned lanes;
    const char *interface, *key_file;
    bool insecure;
    struct gw_sink *events; /* used under a lock by both threads; NULL: none */
    unsigned join_timeout_ms; /* to become a member; 0: no limit */
    /* How many members there are to be; 0: no bound. With fewer than `min_size`
     * gw_ring_begin waits for joiners, from the second op on after a loss; a
     * ring of `max_size` lets nobody in. All members say the same. */
    unsigned min_size, max_size;
    unsigned patience_ms; /* waits no longer for joiners, when they are too few,
                             or for controllers; 0: no limit */
    /* Experiments that hold from the start, as by gw_ring_rule of each node
     * [GW_RING_NODES] (NULL: none) and gw_ring_pace. */
    const struct gw_ring_link *links;
    uint64_t pace_ns;
    /* Whom this member suspects, instead of the built-in rule; must outlive the
     * ring. NULL: none. */
    const struct gw_suspicion *suspicion;

    /* The state, and how a result changes it: nothing else may. `apply` is
     * called in the order of ops, in gw_ring_allreduce, and in gw_ring_join for
     * results that a joiner copies. */
    void *context;
    void *state;
    size_t state_bytes;
    void (*apply)(void *context, const struct gw_ring_result *result);
    /* Something that gw_ring_status tells has changed; in the library's thread;
     * must be quick and call nothing here but gw_ring_status. NULL: none. */
    void (*on_status)(void *context);
};

/* Becomes a member: registers, copies the state if the ring runs already, waits
 * to be admitted. The first members wait until somebody (a run's supervisor)
 * admits them together. GW_ETIMEOUT, GW_EINTR; GW_EINVAL: it has `max_size`
 * members; GW_EUNREACH: no controllers for `patience_ms`. GW_ECLOSED: all
 * members that had the state are dead; who joins again begins the ring anew,
 * with the initial state. While it waits *ring is there already, for
 * gw_ring_interrupt and gw_ring_status; NULL after a failure. */
GW_API GW_MUST_CHECK enum gw_err
gw_ring_join(const struct gw_ring_config *config, struct gw_ring **ring,
             struct gw_error *why);
/* Joins the ring of a cluster of hosts that the environment names, as elastic
 * jobs do: GW_CONTROLLERS=tcp://HOST:PORT,... (where `psnode controller --ring`
 * runs) and GW_CLUSTER, its --cluster. The controllers choose the number; this
 * process listens at the address that leads to them, or at that of
 * GW_INTERFACE. GRADWIRE_KEY, GW_INSECURE and GW_WIRE as for gw_comm_from_env.
 * Of *config count wire, slices, key, timeout and what concerns the state; the
 * bounds are GW_MIN_SIZE, GW_MAX_SIZE and GW_PATIENCE (a duration; 10m), where
 * *config has none. Errors of gw_ring_join and gw_place_here. */
GW_API GW_MUST_CHECK enum gw_err
gw_ring_from_env(const struct gw_ring_config *config, struct gw_ring **ring,
                 struct gw_error *why);
/* Leaves without a word, as if it had died; NULL allowed. */
GW_API void gw_ring_destroy(struct gw_ring **ring);
/* Between ops: leaves for good. What it contributed counts. GW_EINVAL: it is
 * the last member. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_leave(struct gw_ring *ring,
                                               struct gw_error *why);
/* Makes whatever waits return GW_EINTR, now and from then on. From any thread
 * or signal handler. */
GW_API void gw_ring_interrupt(struct gw_ring *ring);

/* The state lies elsewhere from now on, or has another size; what is there is
 * the state after the last result. In `apply`, or between ops; by all members
 * after the same op. A joiner whose state has another size than its ring's gets
 * GW_EMISMATCH from gw_ring_join. */
GW_API void gw_ring_state(struct gw_ring *ring, void *state, size_t bytes);

/* What a member knows before it computes. */
struct gw_ring_turn {
    uint64_t op;
    uint64_t epoch;
    /* Who takes part, as far as is known: joiners may yet be added at its end,
     * the dead will be missing from the result's contributors. */
    unsigned origin_count;
    unsigned origin[GW_RING_NODES];
    unsigned place; /* ours */
};
/* Begins the next op: views are adopted, joiners admitted. Waits when that
 * takes controllers. GW_ECLOSED, GW_EINTR; GW_ETIMEOUT: fewer members than
 * `min_size` for `patience_ms`; GW_EUNREACH: no controllers for so long, also
 * by the calls below. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_begin(struct gw_ring *ring,
                                               struct gw_ring_turn *turn,
                                               struct gw_error *why);

struct gw_ring_call {
    const void *in; /* unchanged until the call returns */
    void *out;      /* may be `in`; NULL: apply sees the result, nobody else */
    size_t count;
    enum gw_dtype type;
    enum gw_redop op;
    unsigned tag; /* for `apply` */
};
/* The op that was begun (or the next one): all members call the same. Returns
 * when it is complete here and applied. GW_ECLOSED: no member any more, with
 * the reason; GW_EINTR; GW_EMISMATCH: members called different things. */
GW_API GW_MUST_CHECK enum gw_err
gw_ring_allreduce(struct gw_ring *ring, const struct gw_ring_call *call,
                  struct gw_ring_result *result, struct gw_error *why);

/* Any collective among the members of the present view, `call.root` being a
 * place in it (gw_ring_begin; the rank as long as the order of the ring has not
 * changed). It is confirmed by an op of its own before it
 * returns; when the view changes in between it is done again, from the inputs,
 * so they must not lie in `out`. Blocks are by rank of the view in which it
 * was confirmed, which *result reports (origin: node by rank). GW_ELOST: the root is gone. Not
 * applied to the state: so nobody is admitted between a collective and the next
 * all-reduce, since a joiner has only the state to see where all are. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_run(struct gw_ring *ring,
                                             const struct gw_call *call,
                                             struct gw_ring_result *result,
                                             struct gw_error *why);

/* ---- looking at it ---- */

/* How long the last recovery took, since the ring's loss was noticed here. */
struct gw_ring_times {
    uint64_t frozen_ns;  /* nothing moved any more; 0: none yet */
    uint64_t decided_ns; /* the decision and all reports were here */
    uint64_t met_ns;     /* joined to the others anew */
    uint64_t resumed_ns; /* the open ops were complete */
};

/* What a recovery's plan for one op found. Each chunk counts once: a complete
 * copy survived; what the lost one is in was thrown away, at least in part; a
 * partial sum is carried on; there was nothing but the inputs. */
struct gw_ring_chunks {
    uint64_t epoch; /* the ring's; 0: none */
    uint64_t op;
    unsigned spread, redone, kept, fresh;
};
enum { GW_RING_CHUNKS = 8 };

struct gw_ring_status {
    unsigned node;
    bool member;
    bool parked; /* cut off from the controllers' majority */
    bool gone;
    uint64_t epoch, ring_epoch;
    unsigned size;
    int rank; /* -1: not in it */
    unsigned nodes[GW_RING_NODES];
    uint64_t op;       /* under way, or next */
    const char *phase; /* "compute", "reduce", "gather", "flush", "recover",
                          "join" */
    int waits_for;     /* a node, or -1 */
    uint64_t ops_done;
    uint64_t ops_forward, ops_exclude; /* decided */
    /* Plans are of the ring as a whole: all survivors count the same chunks. */
    uint64_t chunks_spread, chunks_kept, chunks_fresh, chunks_redone;
    struct gw_ring_chunks chunks[GW_RING_CHUNKS]; /* the newest plans first */
    uint64_t recoveries;
    struct gw_ring_times last;
    /* By the ledgers: contributions of members that took part and survived and
     * are in no result; and that were refused since they would count twice. */
    uint64_t lost, doubled;
    uint64_t joined_stall_ns; /* of the last admission: what it cost the step */
    uint64_t digest; /* chained over op, contributors and result, of which above
                        64 KiB 64 cache lines count, others in each op */
    char text[200];  /* the last sentence about trouble, or "" */
};
/* From any thread. */
GW_API void gw_ring_status(struct gw_ring *ring, struct gw_ring_status *status);
/* Are the states of all members equal? An op of the ring's own, in which each
 * gives its digest and a hash of all of its state. GW_EWRONG names the nodes
 * that differ from most. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_check(struct gw_ring *ring,
                                               struct gw_error *why);

/* ---- experiments ---- */

/* What the link from node `from` to this member does to what comes over it. */
struct gw_ring_link {
    uint32_t delay_us, jitter_us;
    uint64_t rate; /* bytes a second; 0: no limit */
    uint32_t loss_ppm;
    bool down;
};
GW_API void gw_ring_rule(struct gw_ring *ring, unsigned from,
                         const struct gw_ring_link *rule);
/* Every chunk takes so long; 0: as fast as it goes. */
GW_API void gw_ring_pace(struct gw_ring *ring, uint64_t ns);

/* ---- order ---- */

/* The order that the ring is to have: these nodes first, in this order, then
 * the others as they are. It holds for later joiners, too, which without it come
 * last. The member that admits applies it, at the next boundary at which it may
 * admit, so all members should be given the same. `count` 0: any order. From any
 * thread. GW_EINVAL: a node is named twice, or is not below GW_RING_NODES. */
GW_API GW_MUST_CHECK enum gw_err gw_ring_order(struct gw_ring *ring,
                                               const unsigned *nodes,
                                               unsigned count,
                                               struct gw_error *why);

/* ---- data shards ---- */

/* A pool of data shards that is part of the state: a shard is a lease for one
 * op. Place i of an op has the i-th shard that is not done in this data epoch;
 * the shards of the contributors are done, the others go back, so each is used
 * exactly once an epoch, whoever dies or joins. `uses` counts, for the audit.
 * Flat memory of gw_shards_bytes(count), to lie inside the state. */
struct gw_shards {
    uint32_t count, done;
    uint64_t epoch;
    uint64_t lost, doubled; /* found at the ends of epochs; right: 0 */
    uint32_t first;         /* not done */
    uint32_t reserved;
    __extension__ uint8_t uses[]; /* in this epoch */
};
GW_API size_t gw_shards_bytes(uint32_t count);
GW_API void gw_shards_init(struct gw_shards *shards, uint32_t count);
/* The shard of place `place`; GW_NONE: fewer are left in this epoch. */
GW_API uint32_t gw_shards_of(const struct gw_shards *shards, unsigned place);
/* After an op in which every place used its shard. When all are done the next
 * epoch begins. */
GW_API void gw_shards_settle(struct gw_shards *shards,
                             const struct gw_ring_result *result);

#ifdef __cplusplus
}
#endif
#endif
