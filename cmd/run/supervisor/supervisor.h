/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starting a run. Its supervisor is a process of its own that outlives the
 * command which started it; whoever wants something of it attaches
 * (common/attach.h). supervisor.c tells how it works.
 */
#ifndef RINGCTL_SUPERVISOR_H
#define RINGCTL_SUPERVISOR_H

#include "common/run_folder.h"

#include <gradwire/gradwire.h>

enum {
    RUN_RANKS_MAX = 48,   /* of a ring */
    RUN_WORKERS_MAX = 32, /* of parameter servers */
    RUN_SERVERS_MAX = 24,
    RUN_CONTROLLERS_MAX = 5,
    RUN_SETTINGS_MAX = 512 /* with the end */
};

enum work_kind {
    WORK_NONE,  /* idle: members of a ring tick, workers wait */
    WORK_TRAIN, /* a model */
    WORK_OPS    /* rings: all-reduces whose results prove themselves */
};

/* What a number is that nobody gave: the ring's or the model's own default
 * then. A real number that nobody gave is NaN. */
#define WORK_UNSAID UINT32_MAX

/* What the members do. Begin with a copy of work_defaults, in which nothing is
 * given. As a request (attach.h) it is {"verb": "train", "model": "lr", "file":
 * "...", "options": {"test": "...", "epochs": 5, "batch": 32, "rate": 0.5,
 * "momentum": 0.9, "l2": 1e-4}}, every option being optional; "model": "ops"
 * has no file and the options "bytes" and "count"; parameter servers know the
 * options "mode", "parts", "settings", "snapshot", too. */
struct work_options {
    enum work_kind kind;
    /* WORK_TRAIN. Files are looked up from where `up` was typed (a client
     * elsewhere sends a whole path), then in $GRADWIRE_DATA. */
    const char *model;   /* rings: "lr", "softmax"; parameter servers: a task of
                          gradwire/train.h */
    const char *network; /* of the task net: its NET; else NULL */
    const char *file;
    const char *test; /* NULL: none */
    unsigned epochs;
    unsigned batch; /* rings: rows of a member in a step, that is of a shard;
                       parameter servers: of all workers, in all parts */
    double rate, momentum, l2;
    const char *until; /* a stop rule (until.h); NULL: none */
    /* Of parameter servers alone. */
    const char *mode;     /* "bsp", "ssp:2", "asp", "kofn:3"; NULL: "bsp" */
    unsigned parts;       /* of a batch; 0: as many as there are workers when
                             it begins */
    const char *settings; /* "rate=0.5 l1=1e-3 half=1": see settings.h. May
                             name what is above, which counts for less */
    const char *snapshot; /* a directory: written when the training is done */
    /* WORK_OPS */
    uint64_t bytes, count; /* of each; how many, 0: for ever */
};
extern const struct work_options work_defaults;

/* A run is a ring, or, with `servers`, a parameter server. */
struct run_options {
    const char *name;     /* NULL: a short word that no living run has */
    unsigned ranks;       /* members of the ring; workers of the servers */
    unsigned controllers; /* 1 (in the supervisor), 3 or 5 processes; 0: 1 */
    const char *wire;     /* "shm", "ipc", "tcp"; NULL: "shm" */
    uint64_t seed;
    uint64_t pace_ns;
    const char *command; /* what was typed, for run.json; NULL: "" */
    struct work_options work;
    /* Of parameter servers. */
    unsigned servers;         /* 0: a ring */
    unsigned replicas;        /* of each slot; 0: 3, or as many as servers */
    unsigned slots;           /* 0: 64 */
    const char *restore;      /* a snapshot's directory to begin from; NULL */
    const char *straggler;    /* a plug-in, by its whole path; NULL */
    const char *placement;    /* a plug-in that places slots; NULL: even */
    const char *slot_weights; /* for it: a file of one number a slot; NULL */
    /* A topology whose ways the links follow; NULL: none. */
    const char *topo;
    /* A plug-in that members of a ring suspect by; NULL: none. */
    const char *suspicion;
    /* The name that it got, and the process that it ends with; out. */
    char run[RUN_NAME_MAX];
    pid_t supervisor;
};

/* Starts a run and returns when its first members stand in the ring, or all
 * servers, workers and slots are in their places:
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
