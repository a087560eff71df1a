/* SPDX-License-Identifier: MIT
 *
 * For tests of the ring: its members are processes that the test kills and
 * stops at will; a controller and a supervisor that admits the first members
 * run in the test's own process.
 *
 * The members' calls are an oracle: node i contributes 4^i to every element, so
 * in base 4 each digit of a sum counts how often a node is in it. Each member
 * checks each result against the contributors reported with it, and records
 * both; the test compares all records. One more element carries the test's wish
 * to end: it is summed like the others, so all members end at the same op.
 */
#ifndef TESTS_RING_MEMBERS_H
#define TESTS_RING_MEMBERS_H

#include "log_folder.h"

#include <cluster/controller/controller.h>
#include <cluster/session/session.h>
#include <gradwire/ring.h>

#include <check.h>
#include <stdatomic.h>
#include <sys/types.h>

enum {
    MEMBERS_PROCESSES = 8,
    MEMBERS_NODES = 31,
    MEMBERS_OPS = 1 << 16,
    MEMBERS_CONTROLLER = 63,
    MEMBERS_SUPERVISOR = 62,
    MEMBERS_AFTER = 20 /* ops that are done after the wish to end */
};

enum process_state {
    PROCESS_WAITING,
    PROCESS_JOINING,
    PROCESS_MEMBER,
    PROCESS_DONE,
    PROCESS_LEFT,
    PROCESS_GAVE_UP, /* because of the plan's bounds; `text` has the reason */
    PROCESS_FAILED
};

/* A member's record of an op. */
struct op_record {
    uint64_t contributors, digest;
};

/* A process, in memory shared by all. Its node is its number, unless the plan
 * leaves the choice to the controllers. */
struct member_process {
    _Atomic int state;
    _Atomic bool go, leaves;
    _Atomic uint64_t ops;      /* done in this life */
    _Atomic uint64_t op;       /* under way */
    _Atomic uint64_t epoch;    /* of the newest result */
    _Atomic uint64_t epoch_ns; /* when its first result came */
    _Atomic unsigned lives;    /* number of times it has joined */
    uint64_t first_op;         /* of the newest life */
    struct gw_ring_status status;
    unsigned hops;                   /* between threads, in the last recovery */
    uint64_t events[GW_EVENT_KINDS]; /* emitted in the newest life */
    uint64_t reported_dead;          /* nodes that its events reported dead */
    char text[600];
    struct op_record records[MEMBERS_OPS];
};

struct members_shared {
    _Atomic bool wants_end, released;
    struct member_process processes[MEMBERS_PROCESSES];
};

struct ring_members;

struct members_plan {
    unsigned members;   /* members that the supervisor admits together */
    unsigned processes; /* processes; those above `members` join on request */
    const char *wire;   /* NULL: shm */
    size_t count;       /* elements; 0: varies by op */
    size_t blob_bytes;  /* size of the state, without its head */
    uint64_t think_us;  /* between ops */
    uint64_t pace_ns;   /* of each chunk */
    uint64_t rate;      /* bytes a second from node 0 to node 1; 0: all */
    bool rejoins;       /* after it was declared dead */
    bool any;           /* controllers number the later joiners */
    unsigned least, most, patience_ms; /* bounds; 0: none */
    /* Called in a member, before it joins and before each op; NULL: no call. */
    void (*before)(struct ring_members *members);
    /* Replaces the all-reduces; NULL: all-reduces. */
    enum gw_err (*turn)(struct ring_members *members, struct gw_ring *ring,
                        struct gw_error *why);
};

/* The state of a member. */
struct member_state {
    uint64_t ops, end_op, sum;
    unsigned char blob[];
};

struct ring_members {
    struct members_plan plan;
    uint64_t token;
    uint64_t seed; /* of the test, for its messages; 0: none */
    struct members_shared *shared;
    pid_t pids[MEMBERS_PROCESSES];
    char directory[LOG_FOLDER_PATH];
    struct gw__controller *controller;
    struct gw__session supervisor;
    /* Under the supervisor's lock: the newest ring epoch, and its arrival
     * time. */
    uint64_t ring_epoch, update_ns;
    bool admitted;
    /* In a member: */
    unsigned number, node; /* equal, unless the controllers chose the node */
    struct member_state *head;
    int64_t *in, *out;
};

/* Starts processes, then controller and supervisor; the first members join. */
void ring_members_start(struct ring_members *members,
                        const struct members_plan *plan);
/* Ends all processes, in whatever state they are. */
void members_stop(struct ring_members *members);

void members_let_join(struct ring_members *members, unsigned number);
/* Sends SIGKILL, waits for the end, and lets the supervisor report it. Returns
 * the time of the kill. */
uint64_t members_kill(struct ring_members *members, unsigned number);
/* Without a report by the supervisor: the members have to notice. */
uint64_t members_kill_unreported(struct ring_members *members, unsigned number);
/* The supervisor reports that the process has ended by itself, if it is in the
 * ring. */
void members_report_end(struct ring_members *members, unsigned number);
bool members_is_alive(const struct ring_members *members, unsigned number);
struct member_process *member_process(const struct ring_members *members,
                                      unsigned number);

/* ---- ring_members_wait.c ---- */

/* Each waits for a condition; the test fails after 15 s. */
void members_await_ops(struct ring_members *members, unsigned number,
                       uint64_t ops);
void members_await_all(struct ring_members *members, uint64_t ops);
void members_await_state(struct ring_members *members, unsigned number,
                         enum process_state state);
void members_await_size(struct ring_members *members, unsigned size);
/* Waits until all living members have a result of a later epoch. Returns the
 * time of the last of them. */
uint64_t members_await_epoch(struct ring_members *members, uint64_t epoch);

/* All living members end at the same op. Compares their states and records. */
void ring_members_end(struct ring_members *members);

/* ---- ring_members_process.c ---- */

_Noreturn void member_main(struct ring_members *members, unsigned number);
/* One all-reduce of the oracle, and its check. */
enum gw_err members_run_op(struct ring_members *members, struct gw_ring *ring,
                           struct gw_error *why);
/* 4^i summed over these. */
int64_t members_digits(uint64_t nodes);

#endif
