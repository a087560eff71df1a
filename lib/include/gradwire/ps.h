/* SPDX-License-Identifier: MIT
 *
 * The parameter server: tables of rows under 64-bit keys, distributed over
 * servers by slots, replicated, and changed by the pushes of workers.
 *
 *     gw_ps_connect(&config, &ps, &why);
 *     gw_ps_table(ps, &table_config, &table, &why);
 *     while (gw_ps_next(ps, 0, &work, &why) == GW_OK && !work.done) {
 *         keys = ... of the samples of this work item
 *         gw_ps_pull(ps, table, keys, count, weights, NULL, &why);
 *         compute gradients
 *         gw_ps_push(ps, table, keys, count, gradients, NULL, &why);
 *     }
 *     gw_ps_close(&ps);
 *
 * Slots. A key belongs to one of `slots` slots, by hash (sparse tables) or by
 * range (dense tables). Each slot has a primary, which serves it, and
 * secondaries with the same data. A push counts exactly once, whatever dies,
 * hangs, moves or is sent again. It is acknowledged when all replicas in sync
 * have it.
 *
 * Work items and clocks. Tables belong to a group, and a group has one clock,
 * one mode and one plan of work. gw_ps_next reports that the last work item is
 * done and requests the next one. The pushes of a work item are kept pending
 * and applied as a whole, on all servers alike, when the clock closes it. If
 * the worker dies before, they are dropped, and another worker receives the
 * work item. The mode defines when work items are closed and granted:
 *
 *     bsp      a round closes when all its parts are done; they are added in
 *              the order of parts, so for a given number of parts the result
 *              has the same bits for any number of workers and servers, and
 *              after any death
 *     kofn:K   a round closes when K parts are done; later ones of that round
 *              are dropped and counted
 *     ssp:S    a work item closes when done; a worker may be S clocks ahead
 *     asp      a work item closes when it is done; no worker waits
 *
 * A pull in a work item sees all that was closed when the work item was
 * granted. Pushes outside of work items (before the first gw_ps_next, or in a
 * group without one) are applied at once, one by one.
 *
 * A gw_ps belongs to one thread; several may be used at the same time.
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

/* Returns the name of an updater: "sgd". */
GW_API const char *gw_ps_updater_name(enum gw_ps_updater updater);

/* ---- the client ---- */

struct gw_ps;
/* A request in progress; id 0: none. */
struct gw_ps_handle {
    uint64_t id;
};

/* The configuration of a client. Its strings are copied. */
struct gw_ps_config {
    unsigned node;        /* or GW_PS_ANY: the controllers choose */
    const char *endpoint; /* of this process, for control messages */
    uint64_t token;       /* of the run */
    unsigned controller_count;
    unsigned controllers[GW_PS_CONTROLLERS]; /* their nodes */
    const char *controller_endpoints[GW_PS_CONTROLLERS];
    const char *wire;                 /* "shm", "ipc", "tcp"; default "shm" */
    const char *interface, *key_file; /* as in struct gw_comm_config */
    bool insecure;       /* tcp without a key outside of loopback */
    unsigned connect_ms; /* limit of gw_ps_connect; default 10 s */
    unsigned timeout_ms; /* limit of a request; 0: no limit */
    uint64_t seed;
    struct gw_sink *events; /* of the caller, used in calls; or NULL */
    /* Experiments: each turns one idea off. */
    bool no_key_cache; /* each request contains its key list */
    bool no_place;     /* shm: values are copied, never read in place */
    /* Each slot of a push or pull is a separate message. Without it those of
     * a server, and small requests of one call, are one message. */
    bool no_bundle;
    bool ask_routes; /* ask the controllers before each push and pull */
    bool aggregate;  /* through an aggregator of the host: gradwire-ps(3) */
    unsigned aggregate_us, aggregator_node; /* 0: 200 us; or GW_PS_ANY */
    /* Filters of pushes (not with the updater assign). Values that they
     * hold back are sent when the client closes, or with a push of no
     * keys. */
    bool half; /* values are sent as f16 */
    /* 0 < share < 1: only this share of a push, the values of largest
     * magnitude, is sent. The rest is added to the next push of the key
     * (error feedback). 0: all. */
    float top_share;
    /* Rows whose max |value| is below this are held back in the same way;
     * 0: none. */
    float significant;
    /* Experiments from the start: link profiles per node [GW_PS_NODES], as
     * by gw_ps_emulate_link (NULL: none), and a pace, as by gw_ps_pace. */
    const struct gw_link_profile *links;
    uint64_t pace_ns;
};

/* Connects a client: registers with the controllers and returns when every slot
 * can be reached. The caller frees *ps with gw_ps_close. GW_ETIMEOUT: no
 * controller answered, or there are no servers; the sentence names the cause.
 * On failure *ps is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_connect(const struct gw_ps_config *config, struct gw_ps **ps,
              struct gw_error *why);
/* Closes a client in an orderly way: held-back values are sent, and an
 * unfinished work item returns to the pool. Buffers of requests in progress
 * belong to the caller again. NULL is allowed. */
GW_API void gw_ps_close(struct gw_ps **ps);
/* Closes a client without notice, as if the process had died. */
GW_API void gw_ps_abandon(struct gw_ps **ps);
/* Makes all current and later waits return GW_EINTR. Any thread or signal
 * handler may call it. */
GW_API void gw_ps_interrupt(struct gw_ps *ps);
/* Returns the node number of this client. */
GW_API unsigned gw_ps_node(const struct gw_ps *ps);

/* Finds the table of that name, or creates it. GW_EMISMATCH: it exists with
 * another width or updater. GW_EINVAL: a wrong name (1 to 23 printable
 * characters without blanks), width, updater, group or number. GW_ENOMEM: too
 * many tables. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_table(struct gw_ps *ps, const struct gw_ps_table_config *config,
            unsigned *table, struct gw_error *why);
/* Finds the number and configuration of a table by its name, without waiting.
 * GW_EINVAL: an unknown name. GW_ECLOSED: this client is not a worker any more.
 * GW_EINTR: it was interrupted. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_find(struct gw_ps *ps, const char *name,
                                            unsigned *table,
                                            struct gw_ps_table_config *config,
                                            struct gw_error *why);

/* Pushes `count` rows of the table's width, values[i * width ...], for the keys
 * keys[i]; the table's updater applies them. The keys of one push are distinct
 * (otherwise GW_EINVAL from the servers). With `handle` NULL it returns when
 * the push is acknowledged; otherwise at once, and keys and values belong to
 * the library until gw_ps_wait. Values in gw_alloc memory are read in place
 * (shm). GW_ENUMERIC: a NaN or an infinity; nothing of the push was applied,
 * and it is counted. GW_ETIMEOUT: the sentence names the servers that did not
 * answer. GW_ECLOSED: this worker was declared dead. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_push(struct gw_ps *ps, unsigned table,
                                            const uint64_t *keys, size_t count,
                                            const float *values,
                                            struct gw_ps_handle *handle,
                                            struct gw_error *why);
/* Pulls the rows of `keys` into values[i * width ...]. A key that was never
 * pushed has its initial value. `handle` and errors as in gw_ps_push. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_pull(struct gw_ps *ps, unsigned table, const uint64_t *keys, size_t count,
           float *values, struct gw_ps_handle *handle, struct gw_error *why);
/* Pushes, then pulls the same keys, in one request. Outside of work items the
 * pull sees the push. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_push_pull(struct gw_ps *ps, unsigned table, const uint64_t *keys,
                size_t count, const float *values, float *out,
                struct gw_ps_handle *handle, struct gw_error *why);
/* Waits until a request has ended, and clears *handle. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_wait(struct gw_ps *ps, struct gw_ps_handle *handle, struct gw_error *why);

/* ---- work items ---- */

/* The work of a group: `epochs` times `batches` batches, each in `parts` parts
 * (of which a round of bsp and kofn consists). The first work item is granted
 * when `workers` workers have requested one. Servers know only the numbers. */
struct gw_ps_plan {
    uint64_t epochs; /* 0: without end */
    /* Batches per epoch; 0: no plan, a round has one part for each worker
     * that has requested one. */
    uint64_t batches;
    uint32_t parts;   /* at most GW_PS_NODES; 0: number of workers at first */
    uint32_t workers; /* at least; 0: 1 */
    /* The plan ends after the first epoch whose mean (gw_ps_report) is
     * below `until`. */
    bool has_until;
    double until;
};

/* A work item. */
struct gw_ps_work {
    bool done; /* the plan has ended: the other fields are not valid */
    uint64_t epoch, batch;
    unsigned part, parts;
    uint64_t clock;     /* of this worker: finished work items */
    uint64_t closed;    /* number of round commits that its pulls see */
    uint64_t staleness; /* clocks ahead of the slowest worker */
    uint64_t waited_ns;
};

/* Sets mode and plan of a group. The first call counts; the same plan may be
 * set again, with any number of workers. GW_EMISMATCH: it has another plan. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_plan(struct gw_ps *ps, unsigned group,
                                            const struct gw_ps_mode *mode,
                                            const struct gw_ps_plan *plan,
                                            struct gw_error *why);
/* Changes the mode from the next work item on. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_mode(struct gw_ps *ps, unsigned group,
                                            const struct gw_ps_mode *mode,
                                            struct gw_error *why);
/* Reports the result of the current work item, for the plan's `until`: a sum
 * (of losses) and its weight (samples). It is sent with the next gw_ps_next,
 * and counts if the work item does. GW_EINVAL: a number that is not finite, or
 * a weight below 0. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_report(struct gw_ps *ps, unsigned group,
                                              double sum, double weight,
                                              struct gw_error *why);
/* Finishes the current work item and waits for the next one, which the mode
 * grants. It first waits for all pushes in progress. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_next(struct gw_ps *ps, unsigned group,
                                            struct gw_ps_work *work,
                                            struct gw_error *why);
/* Waits until `count` workers have called it with this number, used once. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_barrier(struct gw_ps *ps,
                                               uint64_t number, unsigned count,
                                               struct gw_error *why);
/* Writes a snapshot: each server writes its slots, as a consistent cut, into
 * `directory` on its host, while pushes continue. gradwire-snapshot(5)
 * describes the format. A mark in one group's clock divides the snapshot from
 * later pushes: the group of this worker's work item, otherwise group 0. For
 * that group it is a cut between two round commits. Of other groups, and of
 * pushes outside of work items, each slot writes its state when the mark
 * arrives. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_snapshot(struct gw_ps *ps, const char *directory, struct gw_error *why);

/* Sets the link profile from node `from` to this client. Any thread may call
 * it, one at a time. */
GW_API void gw_ps_emulate_link(struct gw_ps *ps, unsigned from,
                               const struct gw_link_profile *profile);
/* Sets the slow motion: every message takes `ns` nanoseconds; 0: off. Threads
 * as for gw_ps_emulate_link. */
GW_API void gw_ps_pace(struct gw_ps *ps, uint64_t ns);

/* The counters of a client. */
struct gw_ps_counts {
    uint64_t pushes, pulls, push_keys, pull_keys;
    uint64_t bytes_sent, bytes_received;
    /* Of bytes_sent, those that were not copied: over shm read in place by
     * the server, over ipc and tcp the kernel reads it there. */
    uint64_t bytes_in_place;
    uint64_t bytes_gathered; /* first copied into slot order, or to f16 */
    uint64_t retries, refusals, key_lists_sent, key_lists_cached;
    uint64_t rows_held_back;              /* by filters */
    uint64_t waited_ns;                   /* in gw_ps_next */
    uint64_t messages_sent;               /* of data; a bundle is one */
    uint64_t messages_saved;              /* by bundles */
    uint64_t routes_requested, routes_ns; /* with ask_routes: count, time */
    uint64_t aggregator_sent, aggregator_saved, envelopes_refused;
};
/* Reads the counters of a client. */
GW_API void gw_ps_get_counts(const struct gw_ps *ps,
                             struct gw_ps_counts *counts);

/* ---- the server ---- */

struct gw_ps_server;

/* The configuration of a server. */
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
    const char *restore;    /* directory of a snapshot; NULL: none */
    /* Threads that apply and gather rows: at most 64, default 1. Large
     * pushes and pulls are split; the result has the bits of one
     * thread. */
    unsigned threads;
    /* With 2 threads or more (otherwise GW_EINVAL): pushes outside of work
     * items are applied several at a time, on the same rows, without
     * locks. This is for tables with add, sgd or adagrad, in slots of one
     * replica. Each float is read and written as a whole, in no order with
     * others. If two pushes change the same float at the same time, one
     * may be lost there, though both are acknowledged, so sums may be too
     * small. A pull may see some floats of a push that is not acknowledged
     * yet. All other pushes, and work items, are applied as without it. */
    bool hogwild;
    bool ack_primary;           /* acknowledge before secondaries have it */
    bool no_dedupe, no_fencing; /* experiments: show the failures */
    /* Small messages of one turn to the same node are sent one by one, not
     * as a bundle. */
    bool no_bundle;
    /* GW_PS_CALLBACK: changes `row` (width floats, then its own
     * `state_floats`) by `gradient`. Called from the server's threads. */
    void *context;
    void (*update)(void *context, float *row, const float *gradient,
                   unsigned width);
    unsigned state_floats;
    void (*on_status)(void *context); /* called when the status changes */
    /* Experiments from the start: link profiles per node [GW_PS_NODES], as
     * by gw_ps_server_emulate_link (NULL: none), and a pace, as by
     * gw_ps_server_pace. */
    const struct gw_link_profile *links;
    uint64_t pace_ns;
    /* Called after each round of a clock on this server; NULL: none. */
    const struct gw_straggler *straggler;
};

/* The role of a server for a slot. */
enum gw_ps_role {
    GW_PS_NOT_HERE,
    GW_PS_PRIMARY,
    GW_PS_SECONDARY,
    GW_PS_LEARNER
};

/* The status of a slot on a server. */
struct gw_ps_slot_status {
    enum gw_ps_role role;
    uint64_t term, last, committed; /* of its log */
    uint64_t rows, bytes;
    uint64_t keys;    /* of the pulls and pushes answered as primary */
    uint64_t traffic; /* bytes of those keys and their values */
};

/* The status of a worker at its clock. */
struct gw_ps_worker_status {
    unsigned node;
    uint64_t clock;
    uint64_t nans; /* pushes refused for NaNs, by server or worker */
};

/* The status of a server. */
struct gw_ps_server_status {
    bool member, lease, parked;
    uint64_t epoch;
    unsigned slot_count, primaries;
    struct gw_ps_slot_status slots[GW_PS_SLOTS_MAX];
    uint64_t pushes, pulls, push_keys, pull_keys;
    /* Of pushes; nans: of all workers, as above. */
    uint64_t duplicates, refused, nans, dropped;
    uint64_t fenced;           /* refused messages of a replaced primary */
    uint64_t staged;           /* work items with pending pushes */
    uint64_t takeovers, moved; /* slots */
    uint64_t freeze_ns_max;    /* longest pause of a moving slot */
    uint64_t messages_sent;    /* on the data path, a bundle is one */
    uint64_t messages_saved, envelopes_refused; /* by bundles; of aggregators */
    /* Of groups whose clock is on this server. */
    struct gw_ps_clock_status {
        bool here;
        struct gw_ps_mode mode;
        struct gw_ps_plan plan;
        uint64_t epoch, batch, closed;
        unsigned parts;       /* of that batch */
        bool begun;           /* some of them are assigned */
        uint64_t parts_begun; /* parts of all begun batches */
        uint64_t work_items, skipped, dropped, redone;
        uint64_t parts_dropped; /* skipped by the death of a worker */
        uint64_t staleness[GW_PS_STALENESS_MAX + 1];
        unsigned worker_count;
        struct gw_ps_worker_status workers[GW_PS_NODES];
        bool done;
        bool until; /* the plan's stop rule has ended it */
    } clocks[GW_PS_GROUPS_MAX];
    char text[200]; /* a problem; "": none */
};

/* Starts a server: registers it and serves in threads of its own. GW_EINVAL:
 * the configuration is wrong; GW_EDATA: the snapshot is wrong. On failure
 * *server is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_server_start(const struct gw_ps_server_config *config,
                   struct gw_ps_server **server, struct gw_error *why);
/* Hands all slots over to other servers and leaves. GW_EINVAL: it is the last
 * server. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_server_leave(struct gw_ps_server *server,
                                                    struct gw_error *why);
/* Ends a server without notice, and frees it. NULL is allowed. */
GW_API void gw_ps_server_destroy(struct gw_ps_server **server);
/* Reads the status of a server. Any thread may call it. */
GW_API void gw_ps_server_get_status(struct gw_ps_server *server,
                                    struct gw_ps_server_status *status);
/* Sets a link profile of a server, as gw_ps_emulate_link. */
GW_API void gw_ps_server_emulate_link(struct gw_ps_server *server,
                                      unsigned from,
                                      const struct gw_link_profile *profile);
/* Sets the slow motion of a server, as gw_ps_pace. */
GW_API void gw_ps_server_pace(struct gw_ps_server *server, uint64_t ns);
/* Returns GW_OK while the server serves. GW_ECLOSED: it was declared dead; the
 * sentence has the reason. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_server_error(struct gw_ps_server *server,
                                                    struct gw_error *why);

/* ---- a whole cluster in this process: for examples, lessons and tests ---- */

struct gw_ps_cluster;

/* The configuration of a cluster in one process. */
struct gw_ps_cluster_config {
    unsigned servers;  /* 0: 1 */
    unsigned replicas; /* per slot; 0: 1 */
    unsigned slots;    /* 0: GW_PS_SLOTS_DEFAULT */
    const char *wire;  /* NULL: "shm" */
    uint64_t seed;
    /* The configuration of each server, except node, endpoint, token and
     * controllers; NULL: all zero. */
    const struct gw_ps_server_config *server;
};

/* Starts one controller and the servers, in threads of this process, and
 * returns when all slots are placed. The controller's log is in a directory of
 * its own under $TMPDIR until gw_ps_cluster_stop. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_cluster_start(const struct gw_ps_cluster_config *config,
                    struct gw_ps_cluster **cluster, struct gw_error *why);
/* Stops the cluster. Clients must be closed before. NULL is allowed. */
GW_API void gw_ps_cluster_stop(struct gw_ps_cluster **cluster);
/* Fills in the configuration of one more client. Each client receives a node
 * number, from 0 to 31 and then from 0 again. The strings belong to the
 * cluster. */
GW_API void gw_ps_cluster_client(struct gw_ps_cluster *cluster,
                                 struct gw_ps_config *config);
/* Starts one more server and sets *number to its number. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_cluster_add(struct gw_ps_cluster *cluster, unsigned *number,
                  struct gw_error *why);
/* Ends server `number` without notice to its peers; controllers learn it. */
GW_API void gw_ps_cluster_kill(struct gw_ps_cluster *cluster, unsigned number);
/* Returns the server of that number; NULL: it does not exist or has ended. */
GW_API struct gw_ps_server *gw_ps_cluster_server(struct gw_ps_cluster *cluster,
                                                 unsigned number);

#ifdef __cplusplus
}
#endif
#endif
