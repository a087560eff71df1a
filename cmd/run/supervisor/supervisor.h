/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starting a run. Its supervisor is a separate process that outlives the
 * command which started it. Clients attach to it (common/rpc_client.h).
 * supervisor.c describes how it works.
 */
#ifndef RINGCTL_SUPERVISOR_H
#define RINGCTL_SUPERVISOR_H

#include "common/run_folder.h"

#include <gradwire/gradwire.h>

enum {
    /* Of a ring: tests/scale.bats kills members of rings of this size. One of
     * 256 starts in 5 s on 2 cores, but declares members dead meanwhile. */
    RUN_RANKS_MAX = 128,
    RUN_SMALL_RING = 64,  /* what a ring of fewer members can grow to */
    RUN_WORKERS_MAX = 32, /* of parameter servers */
    RUN_SERVERS_MAX = 24,
    RUN_SLOTS_MAX = 64,
    RUN_CONTROLLERS_MAX = 5,
    RUN_SETTINGS_MAX = 512 /* with the end */
};

/* The members that a ring of so many can have. They have room for blocks of all
 * of them. */
static inline unsigned run_ring_most(unsigned ranks)
{
    return ranks > RUN_SMALL_RING ? RUN_RANKS_MAX : RUN_SMALL_RING;
}

enum work_kind {
    WORK_NONE,   /* idle: members of a ring tick, workers wait */
    WORK_TRAIN,  /* a model */
    WORK_OPS,    /* rings: collectives with self-checking results */
    WORK_PROGRAM /* rings: each member is a user's program */
};

/* The value of a number that is not given: the ring's or the model's own
 * default applies. A real number that is not given is NaN. */
#define WORK_UNSET UINT32_MAX

/* The members' work. Begin with a copy of work_defaults, in which nothing is
 * given. As a request (attach.h) it is {"verb": "train", "model": "lr", "file":
 * "...", "options": {"test": "...", "epochs": 5, "batch": 32, "rate": 0.5,
 * "momentum": 0.9, "l2": 1e-4}}. Every option is optional. "model": "ops" has
 * no file and the options "bytes" and "count". Parameter servers also have the
 * options "mode", "parts", "settings" and "snapshot". */
struct work_options {
    enum work_kind kind;
    /* WORK_TRAIN. Files are looked up from the directory of `up` (a client
     * elsewhere sends a full path), then in $GRADWIRE_DATA. */
    const char *model;   /* rings: "lr", "softmax"; parameter servers: a task of
                          gradwire/train.h */
    const char *network; /* of the task net: its NET; else NULL */
    const char *file;
    const char *test; /* NULL: none */
    unsigned epochs;
    unsigned batch; /* rings: rows of one member per step, a shard; parameter
                       servers: rows of all workers, in all parts */
    double rate, momentum, l2;
    const char *until; /* a stop rule (until.h); NULL: none */
    /* Of parameter servers alone. */
    const char *mode; /* "bsp", "ssp:2", "asp", "kofn:3"; NULL: "bsp" */
    unsigned parts;   /* per batch; 0: one per worker at the beginning */
    /* "rate=0.5 l1=1e-3 half=1": see settings.h. The members above take
     * precedence. */
    const char *settings;
    const char *snapshot; /* a directory, written after the training */
    /* WORK_OPS */
    uint64_t bytes, count; /* of each; how many, 0: no end */
    /* WORK_PROGRAM: the words of the program, as an array of JSON. */
    const char *program;
};
extern const struct work_options work_defaults;

/* A run is a ring, or, with `servers`, a parameter server. */
struct run_options {
    const char *name;     /* NULL: a short word that is not in use */
    unsigned ranks;       /* members of the ring; workers of the servers */
    unsigned controllers; /* 1 (in the supervisor), 3 or 5 processes; 0: 1 */
    const char *wire;     /* "shm", "ipc", "tcp"; NULL: "shm" */
    uint64_t seed;
    uint64_t pace_ns;
    const char *command; /* as typed, for run.json; NULL: "" */
    const char *line;    /* as a line of a script, for `commands`; NULL: none */
    struct work_options work;
    /* Of parameter servers. */
    unsigned servers;         /* 0: a ring */
    unsigned replicas;        /* of each slot; 0: 3, or as many as servers */
    unsigned slots;           /* 0: 64 */
    const char *restore;      /* a snapshot's directory to begin from; NULL */
    const char *straggler;    /* a plug-in, by its full path; NULL */
    const char *placement;    /* a plug-in that places slots; NULL: even */
    const char *slot_weights; /* for it: a file of one number per slot; NULL */
    /* A topology that sets the links; NULL: none. */
    const char *topo;
    /* A plug-in for suspicion in a ring; NULL: none. */
    const char *suspicion;
    /* Algorithms of the ring (run/ring_algos.h), by full paths; NULL: none. */
    const char *algos;
    const char *collective; /* of ops, and of `algos`; NULL: allreduce */
    const char *lockstep;   /* a schedule of faults (run/lockstep.h); NULL: time
                             decides */
    /* Output: the run's name and its process. */
    char run[RUN_NAME_MAX];
    pid_t supervisor;
};

/* Starts a run. Returns when its first members are in the ring, or all servers,
 * workers and slots are in their places; rpc_client_open(options->run) works
 * from then on. GW_EINVAL: an invalid option, or a run of that name is alive.
 * GW_EDATA: the reader's sentence about the data. GW_EUNREACH, GW_ESYS: the
 * supervisor's error. On failure no process is left. */
GW_MUST_CHECK enum gw_err supervisor_start(struct run_options *options,
                                           struct gw_error *why);

/* The processes of a run are this same program with a hidden first word. main
 * calls this first. True when argv[1] is such a word: the process has then run
 * to its end, and main returns *status. */
bool internal_main(int argc, char **argv, int *status);

#define SUPERVISOR_WORD "--internal-supervisor"
#define NODE_WORD       "--internal-node"
#define CONTROLLER_WORD "--internal-controller"
int node_main(int argc, char **argv);
int controller_main(int argc, char **argv);

#endif
