/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starting a run. Its supervisor is a process of its own that outlives the
 * command which started it; whoever wants something of it attaches
 * (common/attach.h). supervisor.c tells how it works.
 */
#ifndef RINGCTL_SUPERVISOR_H
#define RINGCTL_SUPERVISOR_H

#include <gradwire/gradwire.h>

enum { RUN_NAME_MAX = 32, RUN_RANKS_MAX = 48, RUN_CONTROLLERS_MAX = 5 };

enum work_kind {
    WORK_NONE,  /* the ring is idle: members tick */
    WORK_TRAIN, /* a model on LibSVM rows */
    WORK_OPS    /* all-reduces whose results prove themselves */
};

/* What the members do. Begin with a copy of work_defaults. As a request
 * (attach.h) it is {"verb": "train", "model": "lr", "file": "...", "options":
 * {"test": "...", "epochs": 5, "batch": 32, "rate": 0.5, "momentum": 0.9,
 * "l2": 1e-4}}, every option being optional; "model": "ops" has no file and the
 * options "bytes" and "count". */
struct work_options {
    enum work_kind kind;
    /* WORK_TRAIN. Files are looked up from where `up` was typed (a client
     * elsewhere sends a whole path), then in $GRADWIRE_DATA. */
    const char *model; /* "lr", "softmax" */
    const char *file;
    const char *test; /* NULL: none */
    unsigned epochs;
    unsigned batch; /* rows of a member in a step: of a shard */
    double rate, momentum, l2;
    /* WORK_OPS */
    uint64_t bytes, count; /* of each; how many, 0: for ever */
};
extern const struct work_options work_defaults;

struct run_options {
    const char *name; /* NULL: a short word that no living run has */
    unsigned ranks;
    unsigned controllers; /* 1 (in the supervisor), 3 or 5 processes; 0: 1 */
    const char *wire;     /* "shm", "ipc", "tcp"; NULL: "shm" */
    uint64_t seed;
    uint64_t pace_ns;
    const char *command; /* what was typed, for run.json; NULL: "" */
    struct work_options work;
    /* Of the parameter server; not yet: 0, 0, NULL. */
    unsigned servers, replicas;
    const char *mode;
    /* The name that it got; out. */
    char run[RUN_NAME_MAX];
};

/* Starts a run and returns when its first members stand in the ring:
 * attach_open(options->run) works from then on. GW_EINVAL: an option, or a run
 * of that name lives; GW_EDATA: the reader's sentence about the data;
 * GW_EUNREACH, GW_ESYS: what the supervisor says that it failed by. Nothing is
 * left running on failure. */
GW_MUST_CHECK enum gw_err supervisor_start(struct run_options *options,
                                           struct gw_error *why);

/* The processes of a run are this same program, started anew with a hidden
 * first word. main asks before anything else: true when argv[1] is such a word;
 * then the process has lived its life, and *status is what main returns. */
bool internal_main(int argc, char **argv, int *status);

#define SUPERVISOR_WORD "--internal-supervisor"
#define NODE_WORD       "--internal-node"
#define CONTROLLER_WORD "--internal-controller"
int supervisor_main(int argc, char **argv);
int node_main(int argc, char **argv);
int controller_main(int argc, char **argv);

#endif
