/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The messages between a supervisor and its children, over one inherited
 * SOCK_SEQPACKET socket per child: whole messages, in order. Each side notices
 * the end of the other.
 *
 *     supervisor -> child   BIRTH   its identity, once
 *                           ORDERS  all orders as a whole, again after each
 *                                   change; later if there is no room
 *     child -> supervisor   NOTE    its status as a whole, likewise
 *                           EVENTS  a row of struct gw_event
 *                           LAST    one struct gw_error: the cause of its end
 *                           KNOWN   its state as text
 *
 * Structs travel as they are: both ends are the same program. A node that
 * becomes the user's program (node_program.c) continues with the messages of
 * ring/supervised/supervised.h, on the same socket.
 */
#ifndef CHILD_CHANNEL_H
#define CHILD_CHANNEL_H

#include "run/lockstep.h"
#include "run/supervisor/supervisor.h"

#include <cluster/controller/controller.h>
#include <cluster/registry/command.h>
#include <gradwire/train.h>
#include <ring/supervised/supervised.h>

#include <sys/types.h>

enum {
    CHILD_CHANNEL_FD = 3, /* in every child */
    EXEC_FAILED = 127,
    CHILD_CHANNEL_BYTES_MAX = 1 << 16,
    CHILD_CHANNEL_EVENTS_MAX = 512, /* per message */
    FILE_MAX = 4096,
    ENDPOINT_MAX = 108,
    SERVER_NODE = 32, /* of server 0; the others count up */
    AGGREGATOR_NODE = 57,
    CONTROLLER_NODE = GW_RING_CONTROLLER, /* of controller 0; the others count
                                             down */
    OBSERVER_NODE = CONTROLLER_NODE - 7
};

enum child_channel_kind {
    CHILD_CHANNEL_CHILD_CONFIG = 1,
    CHILD_CHANNEL_DESIRED_STATE,
    CHILD_CHANNEL_STATUS,
    CHILD_CHANNEL_EVENTS,
    CHILD_CHANNEL_EXIT,
    CHILD_CHANNEL_KNOWN, /* its state, as text (cluster/describe.h) */
    /* of a user's program */
    CHILD_CHANNEL_PROGRAM_ORDERS = GW__SUPERVISED_ORDERS,
    CHILD_CHANNEL_PROGRAM_STATUS = GW__SUPERVISED_STATUS,
    CHILD_CHANNEL_PROGRAM_EVENTS = GW__SUPERVISED_EVENTS,
    CHILD_CHANNEL_KINDS
};

/* ---- orders ---- */

/* Work, numbered so that all members begin the same; 0: none. */
struct work_order {
    uint64_t id;
    enum work_kind kind;
    char model[16], network[FILE_MAX], file[FILE_MAX], test[FILE_MAX];
    unsigned epochs, batch;
    bool on_demand; /* a ring: the rows stay in their file */
    double rate, momentum, l2;
    double until; /* see until.h */
    uint64_t bytes, count;
    /* Of all ops of the ring (run/ring_algos.h), whatever the kind is. */
    enum gw_collective collective;
    bool whole;
    unsigned members; /* of the ring at first: so many blocks are `bytes` */
    char program[FILE_MAX]; /* its words, as an array of JSON */
    /* of parameter servers */
    char settings[RUN_SETTINGS_MAX]; /* all given settings, in order */
    struct gw_ps_mode mode;
    unsigned parts;   /* 0: one per worker */
    unsigned workers; /* at the beginning */
};

/* Which events to send. */
enum event_level {
    EVENTS_RARE,  /* members, views, failures, decisions, recoveries */
    EVENTS_OPS,   /* and ops, steps, losses */
    EVENTS_CHUNKS /* and every chunk */
};

struct desired_state {
    struct work_order work; /* the newest */
    uint64_t pace_ns, slow_ns;
    double clock_rate; /* 1: correct */
    enum event_level events;
    uint64_t describe; /* counts requests to describe its state */
    bool leave;        /* in order, at the next boundary */
    bool end;          /* at once: the run is over */
    /* For a worker of parameter servers: it scores the finished model, and
     * executes this errand, unless it has already reported its end. */
    bool evaluates;
    struct directive_order {
        uint64_t id; /* 0: none */
        enum directive_kind { DIRECTIVE_SNAPSHOT, DIRECTIVE_MODE } kind;
        char directory[FILE_MAX]; /* SNAPSHOT */
        struct gw_ps_mode mode;   /* MODE */
    } directive;
    /* Of the links to the child, by node; and, for a controller, the links from
     * it that are down, as bits. */
    struct gw_link_profile links[GW_RING_NODES];
    struct gw_nodes severed;
    struct gw__order order; /* of the ring */
};

/* ---- the birth message ---- */

struct child_config {
    enum gw__role role;
    unsigned number;  /* node; or which controller */
    uint64_t process; /* see struct gw_ring_config */
    uint64_t token, seed;
    unsigned controllers;
    unsigned servers; /* of the run, at first; 0: a ring */
    char wire[8];
    /* of a member of a ring */
    char suspicion[FILE_MAX]; /* ""; a plug-in */
    char algos[FILE_MAX];     /* ""; run/ring_algos.h */
    bool lockstep;            /* after the work no more ops, and these holds: */
    unsigned hold_count;
    struct gw_ring_hold holds[LOCKSTEP_MAX];
    /* of a server */
    char restore[FILE_MAX];   /* ""; a snapshot to begin from */
    char straggler[FILE_MAX]; /* ""; a plug-in */
    /* of a controller */
    char directory[FILE_MAX];
    char raft[RUN_CONTROLLERS_MAX][32];
    struct desired_state desired; /* the first */
};

/* ---- notes ---- */

enum node_stage {
    STAGE_JOINING,
    STAGE_MEMBER,
    STAGE_LEFT /* in order; the process is about to end */
};

/* The score of a finished model on all rows; NaN: none. */
struct score {
    double train_loss, train_accuracy, test_loss, test_accuracy;
    char quality[16]; /* kind of accuracy: "accuracy", "rmse", "first" */
    uint64_t digest;
    uint64_t ns; /* from this node's first step to its last */
};

/* Samples of a data epoch that this process has trained on. */
struct epoch_status {
    uint64_t epoch, items;
    struct gw_sample_sums sums;
};
enum { EPOCHS_REPORTED = 4 };

/* A worker of parameter servers. */
struct worker_status {
    bool computing; /* else it waits for its next item */
    struct gw_ps_work work_item;
    uint64_t items;             /* finished, by this process */
    uint64_t worked_ns;         /* since it first asked for an item */
    uint64_t model_keys;        /* the possible number */
    uint64_t item_keys;         /* of the newest item */
    uint64_t data_bytes;        /* of training rows, read for training */
    struct gw_ps_counts counts; /* of this connection */
    struct epoch_status
        epochs[EPOCHS_REPORTED]; /* epoch e at e modulo their count */
    struct {
        uint64_t id; /* that was ordered; 0: none yet */
        enum gw_err code;
        char text[160];
    } directive;
};

struct node_status {
    /* of a member of a ring and of a worker of parameter servers */
    enum node_stage stage;
    struct gw_ring_status ring; /* `phase` is not valid here: */
    char phase[16];
    uint64_t work; /* the current work */
    bool done, diverged;
    bool until; /* a ring: the stop rule has ended it */
    uint64_t step, data_epoch;
    double loss;                            /* of the newest step; NaN */
    uint64_t samples_lost, samples_doubled; /* found by the shards */
    /* found by the oracle of ops; wrong: elements of results */
    uint64_t sums_lost, sums_doubled, wrong;
    uint64_t data_bytes; /* of rows, read on demand for training */
    uint64_t rejoined;   /* how often, in this process */
    uint64_t events_dropped;
    bool scored;
    struct score score;
    struct worker_status worker;
    /* of a server */
    struct gw_ps_server_status server;
    /* of a controller */
    struct gw__controller_status controller;
    char text[200]; /* trouble; "" */
};

/* ---- sending ---- */

/* "ipc://@gradwire-<uid>-<token>-<who>"; abstract: it leaves no file. */
void child_channel_endpoint(uint64_t token, const char *who,
                            char out[ENDPOINT_MAX]);
void child_channel_endpoint_of(uint64_t token, unsigned node,
                               char out[ENDPOINT_MAX]);

/* GW_PENDING: no room now (never when `wait`); GW_ECLOSED: the other end is
 * gone. */
enum gw_err child_channel_send(int fd, enum child_channel_kind kind,
                               const void *data, size_t bytes, bool wait);
/* ---- status_bytes.c: of a status only the used slots and workers ---- */

void node_status_copy(struct node_status *to, const struct node_status *from);
/* Returns the bytes; 0: they do not fit one message. */
size_t node_status_pack(const struct node_status *status,
                        char out[CHILD_CHANNEL_BYTES_MAX]);
/* False: malformed; then *status may have changed. */
GW_MUST_CHECK bool node_status_unpack(const char *data, size_t bytes,
                                      struct node_status *status);
/* Sends it as child_channel_send. One thread of a process may call it. */
enum gw_err child_channel_send_status(int fd, const struct node_status *status,
                                      bool wait);

/* For a child: waits at most `most_ms` for orders, for its eventfd, and, if it is
 * `blocked`, for room; then obeys all orders. Ends the process without a
 * supervisor. */
void desired_state_await(int wake_fd, int most_ms, bool blocked,
                         void (*obey)(void *context,
                                      const struct desired_state *desired),
                         void *context);
/* For a child: sends the state of its drivers, and `more`, to the supervisor.
 */
void child_channel_known(const char *more);
/* Receives one message into `buffer` (CHILD_CHANNEL_BYTES_MAX, aligned for the
 * structs above). GW_PENDING: none now. GW_ECLOSED: the other end is gone.
 * GW_EDATA: an invalid message, which is dropped. */
GW_MUST_CHECK enum gw_err child_channel_receive(int fd, void *buffer,
                                                enum child_channel_kind *kind,
                                                size_t *bytes);

/* Between fork and exec: executes this program again, with `fd` as its
 * CHILD_CHANNEL_FD; `silent`: without the terminal. Exits with EXEC_FAILED on
 * failure. */
_Noreturn void child_channel_become(int fd, bool silent,
                                    char *const *arguments);
/* The first step of a child: it dies with `parent` and receives its birth
 * message. False: the parent has gone meanwhile, or the message is invalid. */
GW_MUST_CHECK bool child_channel_open(int argc, char **argv,
                                      struct child_config *config);

#endif
