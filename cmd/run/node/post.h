/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a supervisor and its children say to each other, over one inherited
 * SOCK_SEQPACKET socket each: whole messages, in order, and the end of either
 * side is seen by the other.
 *
 *     supervisor -> child   BIRTH   who it is, once
 *                           ORDERS  all that is wanted of it, as a whole, again
 *                                   whenever a part has changed: an order that
 *                                   did not fit is simply sent later
 *     child -> supervisor   NOTE    how it stands, as a whole, likewise
 *                           EVENTS  a row of struct gw_event
 *                           LAST    one struct gw_error: why it ends
 *
 * Structs travel as they are: both ends are the same program.
 */
#ifndef POST_H
#define POST_H

#include "run/supervisor/supervisor.h"

#include <cluster/controller/controller.h>
#include <cluster/registry/command.h>
#include <gradwire/train.h>

#include <sys/types.h>

enum {
    POST_FD = 3, /* in every child */
    EXEC_FAILED = 127,
    POST_BYTES_MAX = 1 << 16,
    POST_EVENTS_MAX = 512, /* in a message */
    FILE_MAX = 4096,
    ENDPOINT_MAX = 108,
    SERVER_NODE = 32, /* of server 0; the others count up */
    OBSERVER_NODE = 56,
    CONTROLLER_NODE = 63 /* of controller 0; the others count down */
};

enum post_kind {
    POST_BIRTH = 1,
    POST_ORDERS,
    POST_NOTE,
    POST_EVENTS,
    POST_LAST,
    POST_KNOWN, /* what it knows, as text (cluster/describe.h) */
    POST_KINDS
};

/* ---- orders ---- */

/* Work, numbered so that all begin the same; 0: none. */
struct work_order {
    uint64_t id;
    enum work_kind kind;
    char model[16], network[FILE_MAX], file[FILE_MAX], test[FILE_MAX];
    unsigned epochs, batch;
    bool on_demand; /* a ring: the rows stay in their file */
    double rate, momentum, l2;
    double until; /* as until.h has it */
    uint64_t bytes, count;
    /* of parameter servers */
    char settings[RUN_SETTINGS_MAX]; /* all that was given, in order */
    struct gw_ps_mode mode;
    unsigned parts;   /* 0: as many as there are workers */
    unsigned workers; /* with how many it begins */
};

/* Which events are wanted. */
enum event_level {
    EVENTS_RARE,  /* members, views, failures, decisions, recoveries */
    EVENTS_OPS,   /* and ops, steps, losses */
    EVENTS_CHUNKS /* and every chunk */
};

struct orders {
    struct work_order work; /* the newest */
    uint64_t pace_ns, slow_ns;
    double clock_rate; /* 1: as it should */
    enum event_level events;
    uint64_t describe; /* to tell what it knows; counts: once each */
    bool leave;        /* politely, at the next boundary */
    bool end;          /* at once: the run is over */
    /* Of a worker of parameter servers: it is to look at the finished model;
     * and to do this errand for all, which it has not told of yet. */
    bool judge;
    struct errand_order {
        uint64_t id; /* 0: none */
        enum errand_kind { ERRAND_SNAPSHOT, ERRAND_MODE } kind;
        char directory[FILE_MAX]; /* SNAPSHOT */
        struct gw_ps_mode mode;   /* MODE */
    } errand;
    /* Of the links that lead to the child, by node; and, for a controller,
     * those that lead away from it and are down, as bits. */
    struct gw_ring_link links[GW_RING_NODES];
    uint64_t severed;
    struct gw__order order; /* of the ring */
};

/* ---- birth ---- */

struct birth {
    enum gw__role role;
    unsigned number;  /* node; or which controller */
    uint64_t process; /* see struct gw_ring_config */
    uint64_t token, seed;
    unsigned controllers;
    unsigned servers; /* of the run, at first; 0: it is a ring */
    char wire[8];
    /* of a member of a ring */
    char suspicion[FILE_MAX]; /* ""; a plug-in */
    /* of a server */
    char restore[FILE_MAX];   /* ""; a snapshot to begin from */
    char straggler[FILE_MAX]; /* ""; a plug-in */
    /* of a controller */
    char directory[FILE_MAX];
    char raft[RUN_CONTROLLERS_MAX][32];
    struct orders orders; /* the first */
};

/* ---- notes ---- */

enum node_stage {
    STAGE_JOINING,
    STAGE_MEMBER,
    STAGE_LEFT /* politely; the process is about to end */
};

/* What a finished model is worth, by all rows; NaN: there are none. */
struct score {
    double train_loss, train_accuracy, test_loss, test_accuracy;
    char quality[16]; /* what the accuracies are: "accuracy", "rmse", "first" */
    uint64_t digest;
    uint64_t ns; /* from the first step that this node saw to the last */
};

/* Samples of a data epoch that this process has learnt from. */
struct epoch_note {
    uint64_t epoch, units;
    struct gw_unit_sums sums;
};
enum { EPOCHS_NOTED = 4 };

/* A worker of parameter servers. */
struct worker_note {
    bool computing; /* else it waits for its next unit */
    struct gw_ps_work unit;
    uint64_t units;             /* finished, by this process */
    uint64_t worked_ns;         /* since its first unit was asked for */
    uint64_t model_keys;        /* all that there can be */
    uint64_t unit_keys;         /* of the newest unit */
    uint64_t data_bytes;        /* of training rows, read to learn from */
    struct gw_ps_counts counts; /* of this connection */
    struct epoch_note
        epochs[EPOCHS_NOTED]; /* epoch e at e modulo their count */
    struct {
        uint64_t id; /* that was ordered; 0: none yet */
        enum gw_err code;
        char text[160];
    } errand;
};

struct node_note {
    /* of a member of a ring and of a worker of parameter servers */
    enum node_stage stage;
    struct gw_ring_status ring; /* `phase` is not valid here: */
    char phase[16];
    uint64_t work; /* that it is at */
    bool done, diverged;
    bool until; /* a ring: the stop rule has ended it */
    uint64_t step, data_epoch;
    double loss;                            /* of the newest step; NaN */
    uint64_t samples_lost, samples_doubled; /* found by the shards */
    uint64_t sums_lost, sums_doubled;       /* found by the oracle of ops */
    uint64_t data_bytes; /* of rows, read on demand to learn from */
    uint64_t rejoined;   /* times, in this process */
    uint64_t events_dropped;
    bool scored;
    struct score score;
    struct worker_note worker;
    /* of a server */
    struct gw_ps_server_status server;
    /* of a controller */
    struct gw__controller_status controller;
    char text[200]; /* trouble; "" */
};

/* ---- sending ---- */

/* "ipc://@gradwire-<uid>-<token>-<who>"; abstract: it leaves no file. */
void post_endpoint(uint64_t token, const char *who, char out[ENDPOINT_MAX]);
void post_endpoint_of(uint64_t token, unsigned node, char out[ENDPOINT_MAX]);

/* GW_PENDING: no room now (never when `wait`); GW_ECLOSED: nobody listens. */
enum gw_err post_send(int fd, enum post_kind kind, const void *data,
                      size_t bytes, bool wait);
/* A child: waits 20 ms at most for orders, for its eventfd, and, if it is
 * `blocked`, for room; then obeys all of them. Ends it without a supervisor.
 */
void orders_await(int wake_fd, bool blocked,
                  void (*obey)(void *context, const struct orders *orders),
                  void *context);
/* A child: what its drivers know, and `more`, to the supervisor. */
void post_known(const char *more);
/* One message into `buffer` (POST_BYTES_MAX, aligned for the structs above).
 * GW_OK; GW_PENDING: none now; GW_ECLOSED: the other end is gone; GW_EDATA: it
 * was no message of ours, and is dropped. */
GW_MUST_CHECK enum gw_err post_receive(int fd, void *buffer,
                                       enum post_kind *kind, size_t *bytes);

/* Between fork and exec: becomes this same program, started again, with `fd` as
 * its POST_FD; `silent`: without the terminal. Or leaves with EXEC_FAILED. */
_Noreturn void post_become(int fd, bool silent, char *const *arguments);
/* A child's first act: dies with `parent`, takes its birth. False: the parent
 * has gone meanwhile, or what came is no birth. */
GW_MUST_CHECK bool post_born(int argc, char **argv, struct birth *birth);

#endif
