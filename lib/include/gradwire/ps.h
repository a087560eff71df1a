/* SPDX-License-Identifier: MIT
 *
 * The parameter server: tables of rows under 64-bit keys, spread
 * over servers by slots, replicated, and changed by the pushes of workers.
 *
 *     gw_ps_connect(&config, &ps, &why);
 *     gw_ps_table(ps, &table_config, &table, &why);
 *     while (gw_ps_next(ps, 0, &work, &why) == GW_OK && !work.done) {
 *         keys = ... of the samples of this unit of work
 *         gw_ps_pull(ps, table, keys, count, weights, NULL, &why);
 *         compute gradients
 *         gw_ps_push(ps, table, keys, count, gradients, NULL, &why);
 *     }
 *     gw_ps_close(&ps);
 *
 * Slots. A key belongs to one of `slots` slots, by hash (sparse tables) or by
 * range (dense ones). Each slot has a primary, which serves it, and secondaries
 * that hold the same. A push counts exactly once, whatever dies, hangs, moves
 * or is sent again; it is acknowledged when all replicas in sync hold it.
 *
 * Units of work and clocks. Tables belong to a group, and a group has one
 * clock, one mode and one plan of work. gw_ps_next says "my last unit is done"
 * and asks for the next one. What a worker pushes in between belongs to the
 * unit: it is held back and applied as a whole, on all servers alike, when the
 * clock closes it; if the worker dies before, it never happened and another
 * worker gets the unit. What is closed, and when the next unit is granted, is
 * the mode's:
 *
 *     bsp      a round closes when all its parts are done; they are added in
 *              the order of parts, so with a number of parts that is given the
 *              result is the same bits for any number of workers and servers,
 *              and after any death
 *     kofn:K   a round closes when K parts are done; later ones of that round
 *              are dropped, and counted
 *     ssp:S    a unit closes when it is done; a worker may be S clocks ahead of
 *              the slowest
 *     asp      a unit closes when it is done; nobody waits
 *
 * A pull in a unit sees all that was closed when the unit was granted. Pushes
 * outside of units (before the first gw_ps_next, or in a group without one) are
 * applied at once, one by one.
 *
 * One thread uses a gw_ps; different ones may be used at the same time.
 */
#ifndef GRADWIRE_PS_H
#define GRADWIRE_PS_H

#include <gradwire/control.h>
#include <gradwire/event.h>
#include <gradwire/ps_mode.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tables ---- */

GW_API const char *gw_ps_updater_name(enum gw_ps_updater updater);

/* ---- links: experiments ---- */

/* What the link from some node to this process does to what comes over it,
 * control messages and data alike; as struct gw_ring_link. */
struct gw_ps_link {
    uint32_t delay_us, jitter_us;
    uint64_t rate; /* bytes a second; 0: no limit */
    uint32_t loss_ppm;
    bool down;
};

/* ---- the client ---- */

struct gw_ps;
struct gw_ps_handle {
    uint64_t id;
}; /* of a request under way; 0: none */

struct gw_ps_config {
    unsigned node;        /* or GW_PS_ANY: the controllers choose */
    const char *endpoint; /* where this process listens for control messages */
    uint64_t token;       /* of the run */
    unsigned controller_count;
    unsigned controllers[GW_PS_CONTROLLERS];             /* their nodes, */
    const char *controller_endpoints[GW_PS_CONTROLLERS]; /* and endpoints */
    const char *wire; /* "shm", "ipc", "tcp"; NULL: "shm" */
    const char *interface, *key_file;
    bool insecure;
    unsigned connect_ms; /* to become a member and learn the routes; 0: 10 s */
    unsigned timeout_ms; /* a request without an answer; 0: no limit */
    uint64_t seed;
    struct gw_sink *events; /* used in calls only; not owned; NULL: none */
    /* Experiments: each turns one idea off. */
    bool no_key_cache; /* key lists travel with every request */
    bool no_place;     /* shm: values are copied, never read in place */
    bool no_bundle;    /* each slot of a push or pull is a message of its own;
                          else all slots of a server, and small requests of
                          one call to it, are coalesced into one message */
    bool ask_routes;   /* controllers are asked before each push and pull */
    /* Filters of what is pushed (not with the updater assign). What they keep
     * travels when the client closes, or with a push of no keys. */
    bool half;         /* values travel as f16 */
    float top_share;   /* 0 < share < 1: only the largest |values| of a
                          push travel, the rest is kept and added to the
                          next push of the key (error feedback); 0: all */
    float significant; /* rows whose max |value| is below this wait in the
                          same way; 0: none */
    /* Experiments that hold from the start, as by gw_ps_link of each node
     * [GW_PS_NODES] (NULL: none) and gw_ps_pace. */
    const struct gw_ps_link *links;
    uint64_t pace_ns;
};

/* GW_ETIMEOUT: no controller answered, or there are no servers; says which. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_connect(const struct gw_ps_config *config, struct gw_ps **ps,
              struct gw_error *why);
/* Leaves politely: undone units return to the pool. NULL allowed. Buffers of
 * requests under way are the caller's again. */
GW_API void gw_ps_close(struct gw_ps **ps);
/* Leaves without a word, as if the process had died. */
GW_API void gw_ps_abandon(struct gw_ps **ps);
/* Makes whatever waits return GW_EINTR, now and from then on. From any thread
 * or signal handler. */
GW_API void gw_ps_interrupt(struct gw_ps *ps);
GW_API unsigned gw_ps_node(const struct gw_ps *ps);

/* The table of that name: makes it when there is none. GW_EMISMATCH: it exists
 * with another width or updater; GW_EINVAL, GW_ENOMEM: too many. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_table(struct gw_ps *ps, const struct gw_ps_table_config *config,
            unsigned *table, struct gw_error *why);
/* Its number and form; GW_EINVAL: there is none of that name. It waits for
 * nothing, and says like all others when this client is no worker any more
 * (GW_ECLOSED) or was interrupted. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_find(struct gw_ps *ps, const char *name,
                                            unsigned *table,
                                            struct gw_ps_table_config *config,
                                            struct gw_error *why);

/* Adds `count` rows of the table's width, values[i * width ...], to the rows of
 * keys[i], by the table's updater. Keys of one push are distinct (GW_EINVAL
 * else, from the servers).
 * With `handle` NULL it returns when the push is acknowledged; else at once,
 * and keys and values belong to the library until gw_ps_wait.
 * Values in gw_alloc memory are read in place (shm). GW_ENUMERIC: a NaN or an
 * infinity; nothing of the push was applied, and it is counted. GW_ETIMEOUT
 * names the servers that it waits for. GW_ECLOSED: this worker was convicted.
 */
GW_API GW_MUST_CHECK enum gw_err gw_ps_push(struct gw_ps *ps, unsigned table,
                                            const uint64_t *keys, size_t count,
                                            const float *values,
                                            struct gw_ps_handle *handle,
                                            struct gw_error *why);
/* Copies the rows of `keys` to values[i * width ...]. A key that was never
 * pushed has its initial value. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_pull(struct gw_ps *ps, unsigned table, const uint64_t *keys, size_t count,
           float *values, struct gw_ps_handle *handle, struct gw_error *why);
/* Push, then pull of the same keys, in one request; outside of units the pull
 * sees the push. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_push_pull(struct gw_ps *ps, unsigned table, const uint64_t *keys,
                size_t count, const float *values, float *out,
                struct gw_ps_handle *handle, struct gw_error *why);
/* Until the request has ended; *handle becomes none. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_wait(struct gw_ps *ps, struct gw_ps_handle *handle, struct gw_error *why);

/* ---- units of work ---- */

/* What there is to do: `epochs` times `batches` batches, each in `parts` parts
 * (what a round of bsp and kofn consists of). `workers` must have asked before
 * the first unit is granted. Nothing of it is known to the servers but the
 * numbers. */
struct gw_ps_plan {
    uint64_t epochs;  /* 0: without end */
    uint64_t batches; /* of an epoch; 0: no plan: a round has one part for each
                         worker that has asked */
    uint32_t parts;   /* to 64; 0: as many as workers when the batch begins */
    uint32_t workers; /* at least; 0: 1 */
    /* The plan ends after the first epoch whose mean (gw_ps_report) is below
     * `until`. */
    bool has_until;
    double until;
};

struct gw_ps_work {
    bool done; /* there is no more: the rest is not valid */
    uint64_t epoch, batch;
    unsigned part, parts;
    uint64_t clock;     /* of this worker: units it has finished */
    uint64_t closed;    /* closings that its pulls see */
    uint64_t staleness; /* clocks that it is ahead of the slowest */
    uint64_t waited_ns;
};

/* Sets mode and plan of a group; the first to say so counts, the same again is
 * fine, with any number of workers. GW_EMISMATCH: it has another plan. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_plan(struct gw_ps *ps, unsigned group,
                                            const struct gw_ps_mode *mode,
                                            const struct gw_ps_plan *plan,
                                            struct gw_error *why);
/* Changes the mode from the next unit on. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_mode(struct gw_ps *ps, unsigned group,
                                            const struct gw_ps_mode *mode,
                                            struct gw_error *why);
/* What the unit under way comes to, for the plan's `until`: a sum (of losses)
 * and its weight (samples). It goes with the next gw_ps_next, and counts if the
 * unit does. GW_EINVAL: not finite, or the weight below 0. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_report(struct gw_ps *ps, unsigned group,
                                              double sum, double weight,
                                              struct gw_error *why);
/* Waits for all pushes under way; the last unit is done; the next one is
 * granted as soon as the mode allows. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_next(struct gw_ps *ps, unsigned group,
                                            struct gw_ps_work *work,
                                            struct gw_error *why);
/* Until `count` workers have come here with this number. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_barrier(struct gw_ps *ps,
                                               uint64_t number, unsigned count,
                                               struct gw_error *why);
/* All servers write what they hold, as a consistent cut, into `directory` of
 * theirs; pushes go on. gradwire-snapshot(5) has the format. The mark
 * that parts what is in it from what comes later goes through one group's
 * clock: of the group that this worker has units of, else of group 0. For that
 * group it is a cut between two closings; of other groups, and of pushes
 * outside of units, each slot has what it had when the mark came to it. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_snapshot(struct gw_ps *ps, const char *directory, struct gw_error *why);

/* The link from node `from` to this client obeys *link from now on. By one
 * thread at a time, whichever. */
GW_API void gw_ps_link(struct gw_ps *ps, unsigned from,
                       const struct gw_ps_link *link);
/* Slow motion: every message takes so long; 0: as fast as it goes. As
 * gw_ps_link. */
GW_API void gw_ps_pace(struct gw_ps *ps, uint64_t ns);

/* What this client has done. */
struct gw_ps_counts {
    uint64_t pushes, pulls, push_keys, pull_keys;
    uint64_t bytes_sent, bytes_received;
    uint64_t bytes_in_place; /* of bytes_sent, handed over where they lie: over
                                shm read there by the server, over ipc and tcp
                                sent by libzmq without a copy of ours */
    uint64_t bytes_gathered; /* values copied into the order of the slots, or
                                to f16, before they were handed over */
    uint64_t retries, refusals, key_lists_sent, key_lists_cached;
    uint64_t rows_held_back; /* by filters */
    uint64_t waited_ns;      /* in gw_ps_next, for others */
    uint64_t messages_sent;  /* on the data path, with bundles as one */
    uint64_t messages_saved; /* that no_bundle would have sent as well */
    uint64_t routes_asked, routes_ns; /* with ask_routes: times, how long */
};
GW_API void gw_ps_get_counts(const struct gw_ps *ps,
                             struct gw_ps_counts *counts);

/* ---- the server ---- */

struct gw_ps_server;

struct gw_ps_server_config {
    unsigned node;
    const char *endpoint;
    uint64_t token;
    unsigned controller_count;
    unsigned controllers[GW_PS_CONTROLLERS];
    const char *controller_endpoints[GW_PS_CONTROLLERS];
    const char *wire, *interface, *key_file;
    bool insecure;
    uint64_t seed;
    struct gw_sink *events; /* used under a lock; NULL: none */
    const char *restore;    /* a snapshot's directory to begin from; NULL */
    /* That apply and gather: 0: 1; at most 64. Large pushes and pulls are cut
     * into pieces; the bits are those of one thread. */
    unsigned threads;
    /* With 2 threads or more (GW_EINVAL else): pushes outside of units to
     * tables that add, or learn by sgd or adagrad, in slots of one replica, are
     * applied several at a time, on the same rows, without locks. Each float is
     * read and written as a whole, in no order with others: of two pushes that
     * change the same float at the same time one may be lost there, though both
     * are acknowledged, so sums may fall short; nothing else. A pull may see
     * some floats of a push that is not acknowledged yet, and not others. All
     * other pushes, and units, are applied as without it. */
    bool hogwild;
    bool ack_primary;           /* acknowledge before the secondaries have it */
    bool no_dedupe, no_fencing; /* experiments: what goes wrong */
    bool no_bundle; /* small letters of one turn to the same node travel as a
                       message each; else all behind the first one together */
    /* GW_PS_CALLBACK: changes `row` (width floats, then `state_floats` of its
     * own) by `gradient`. From the server's threads. */
    void *context;
    void (*update)(void *context, float *row, const float *gradient,
                   unsigned width);
    unsigned state_floats;
    void (*on_status)(void *context); /* something of the status has changed */
    /* Experiments that hold from the start, as by gw_ps_server_link of each
     * node [GW_PS_NODES] (NULL: none) and gw_ps_server_pace. */
    const struct gw_ps_link *links;
    uint64_t pace_ns;
    /* Asked after each round of a clock that is here; NULL: nobody. */
    const struct gw_straggler *straggler;
};

/* One slot, as the server holds it. */
enum gw_ps_role {
    GW_PS_NOT_HERE,
    GW_PS_PRIMARY,
    GW_PS_SECONDARY,
    GW_PS_LEARNER
};

struct gw_ps_slot_status {
    enum gw_ps_role role;
    uint64_t term, last, committed; /* of its log */
    uint64_t rows, bytes;
    uint64_t keys;    /* of pulls and pushes that it has answered as primary */
    uint64_t traffic; /* bytes of those keys and their values */
};

struct gw_ps_worker_status {
    unsigned node;
    uint64_t clock;
    uint64_t nans; /* its pushes that were refused for NaNs: by this server,
                      and by its own library, as it has told this server */
};

struct gw_ps_server_status {
    bool member, lease, parked;
    uint64_t epoch;
    unsigned slot_count, primaries;
    struct gw_ps_slot_status slots[GW_PS_SLOTS_MAX];
    uint64_t pushes, pulls, push_keys, pull_keys;
    uint64_t duplicates, refused, nans, dropped; /* of pushes; nans: of all
                                                    workers, as above */
    uint64_t fenced; /* words of a primary that had been replaced: refused */
    uint64_t staged; /* units held back */
    uint64_t takeovers, moved; /* slots */
    uint64_t freeze_ns_max;    /* how long a moving slot was not served */
    uint64_t messages_sent;    /* on the data path, with bundles as one */
    uint64_t messages_saved;   /* by bundles */
    /* Of groups whose clock is here. */
    struct gw_ps_clock_status {
        bool here;
        struct gw_ps_mode mode;
        struct gw_ps_plan plan;
        uint64_t epoch, batch, closed;
        unsigned parts; /* of that batch, */
        bool begun;     /* of which some are dealt */
        uint64_t
            dealt; /* parts of all batches begun: end as units or skipped */
        uint64_t units, skipped, dropped, redone;
        uint64_t parts_dropped; /* of the skipped: by the death of a worker */
        uint64_t staleness[GW_PS_STALENESS_MAX + 1];
        unsigned worker_count;
        struct gw_ps_worker_status workers[GW_PS_NODES];
        bool done;
        bool until; /* the plan's stop rule has ended it */
    } clocks[GW_PS_GROUPS_MAX];
    char text[200]; /* trouble; "" */
};

/* Registers, serves in threads of its own. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_server_start(const struct gw_ps_server_config *config,
                   struct gw_ps_server **server, struct gw_error *why);
/* Hands its slots over to others and leaves; GW_EINVAL: it is the last. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_server_leave(struct gw_ps_server *server,
                                                    struct gw_error *why);
/* Ends without a word. NULL allowed. */
GW_API void gw_ps_server_destroy(struct gw_ps_server **server);
/* From any thread. */
GW_API void gw_ps_server_get_status(struct gw_ps_server *server,
                                    struct gw_ps_server_status *status);
/* As gw_ps_link and gw_ps_pace, of a server. */
GW_API void gw_ps_server_link(struct gw_ps_server *server, unsigned from,
                              const struct gw_ps_link *link);
GW_API void gw_ps_server_pace(struct gw_ps_server *server, uint64_t ns);
/* GW_OK while it serves; GW_ECLOSED: convicted, with the reason. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_server_error(struct gw_ps_server *server,
                                                    struct gw_error *why);

/* ---- a whole cluster in this process: for examples, lessons and tests ---- */

struct gw_ps_local;

struct gw_ps_local_config {
    unsigned servers;  /* 0: 1 */
    unsigned replicas; /* of each slot; 0: 1 */
    unsigned slots;    /* 0: GW_PS_SLOTS_MAX */
    const char *wire;  /* NULL: "shm" */
    uint64_t seed;
    /* What each server begins with, but for node, endpoint, token and
     * controllers; NULL: all zero. */
    const struct gw_ps_server_config *server;
};

/* One controller and the servers, in threads of this process; its log lies in a
 * directory of its own under $TMPDIR until it is stopped. Returns when all
 * slots are placed. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_local_start(const struct gw_ps_local_config *config,
                  struct gw_ps_local **local, struct gw_error *why);
/* NULL allowed. Clients are closed before. */
GW_API void gw_ps_local_stop(struct gw_ps_local **local);
/* What one more client of it needs: each gets a number of its own, from 0 to 31
 * and then from 0 again. The strings are the cluster's. */
GW_API void gw_ps_local_client(struct gw_ps_local *local,
                               struct gw_ps_config *config);
/* One more server; its number. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_local_add(struct gw_ps_local *local,
                                                 unsigned *number,
                                                 struct gw_error *why);
/* Server `number` ends without a word, and the controllers know it. */
GW_API void gw_ps_local_kill(struct gw_ps_local *local, unsigned number);
/* NULL: there is none of that number, or no more. */
GW_API struct gw_ps_server *gw_ps_local_server(struct gw_ps_local *local,
                                               unsigned number);

#ifdef __cplusplus
}
#endif
#endif
