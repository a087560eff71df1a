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
#ifndef TESTS_RING_CREW_H
#define TESTS_RING_CREW_H

#include <cluster/controller/controller.h>
#include <cluster/session/session.h>
#include <gradwire/ring.h>

#include <check.h>
#include <stdatomic.h>
#include <sys/types.h>

enum {
    CREW_SEATS = 8,
    CREW_NODES = 31,
    CREW_OPS = 1 << 16,
    CREW_CONTROLLER = 63,
    CREW_SUPERVISOR = 62,
    CREW_AFTER = 20 /* ops that are done after the wish to end */
};

enum crew_state {
    CREW_WAITS,
    CREW_JOINS,
    CREW_MEMBER,
    CREW_DONE,
    CREW_LEFT,
    CREW_GAVE_UP, /* because of the plan's bounds; `text` has the reason */
    CREW_FAILED
};

/* A member's record of an op. */
struct crew_record {
    uint64_t contributors, digest;
};

/* A process, in memory shared by all. Its node is its number, unless the plan
 * leaves the choice to the controllers. */
struct crew_seat {
    _Atomic int state;
    _Atomic bool go, leaves;
    _Atomic uint64_t ops;      /* done in this life */
    _Atomic uint64_t op;       /* under way */
    _Atomic uint64_t epoch;    /* of the newest result */
    _Atomic uint64_t epoch_ns; /* when its first result came */
    _Atomic unsigned lives;    /* number of times it has joined */
    uint64_t first_op;         /* of the newest life */
    struct gw_ring_status status;
    uint64_t events[GW_EVENT_KINDS]; /* emitted in the newest life */
    uint64_t told_dead;              /* nodes that its events reported dead */
    char text[600];
    struct crew_record records[CREW_OPS];
};

struct crew_shared {
    _Atomic bool wants_end, released;
    struct crew_seat seats[CREW_SEATS];
};

struct crew;

struct crew_plan {
    unsigned members;  /* members that the supervisor admits together */
    unsigned seats;    /* processes; those above `members` join on request */
    const char *wire;  /* NULL: shm */
    size_t count;      /* elements; 0: varies by op */
    size_t blob_bytes; /* size of the state, without its head */
    uint64_t think_us; /* between ops */
    uint64_t pace_ns;  /* of each chunk */
    uint64_t rate;     /* bytes a second from node 0 to node 1; 0: all */
    bool rejoins;      /* after it was declared dead */
    bool any;          /* controllers number the later joiners */
    unsigned least, most, patience_ms; /* bounds; 0: none */
    /* Called in a member, before it joins and before each op; NULL: no call. */
    void (*before)(struct crew *crew);
    /* Replaces the all-reduces; NULL: all-reduces. */
    enum gw_err (*turn)(struct crew *crew, struct gw_ring *ring,
                        struct gw_error *why);
};

/* The state of a member. */
struct crew_head {
    uint64_t ops, end_op, sum;
    unsigned char blob[];
};

struct crew {
    struct crew_plan plan;
    uint64_t token;
    uint64_t seed; /* of the test, for its messages; 0: none */
    struct crew_shared *shared;
    pid_t pids[CREW_SEATS];
    char directory[64];
    struct gw__controller *controller;
    struct gw__session supervisor;
    /* Under the supervisor's lock: the newest ring epoch, and its arrival
     * time. */
    uint64_t ring_epoch, news_ns;
    bool admitted;
    /* In a member: */
    unsigned seat, node; /* equal, unless the controllers chose the node */
    struct crew_head *head;
    int64_t *in, *out;
};

/* Starts processes, then controller and supervisor; the first members join. */
void ring_crew_start(struct crew *crew, const struct crew_plan *plan);
/* Ends all processes, in whatever state they are. */
void crew_stop(struct crew *crew);

void crew_go(struct crew *crew, unsigned seat);
/* Sends SIGKILL, waits for the end, and lets the supervisor report it. Returns
 * the time of the kill. */
uint64_t crew_kill(struct crew *crew, unsigned seat);
/* Without a report by the supervisor: the members have to notice. */
uint64_t crew_kill_unseen(struct crew *crew, unsigned seat);
/* The supervisor reports that the process has ended by itself, if it is in the
 * ring. */
void ring_crew_accuse(struct crew *crew, unsigned seat);
bool crew_lives(const struct crew *crew, unsigned seat);
struct crew_seat *crew_seat(const struct crew *crew, unsigned seat);

/* ---- ring_crew_wait.c ---- */

/* Each waits for a condition; the test fails after 15 s. */
void crew_await_ops(struct crew *crew, unsigned seat, uint64_t ops);
void crew_await_all(struct crew *crew, uint64_t ops);
void crew_await_state(struct crew *crew, unsigned seat, enum crew_state state);
void crew_await_size(struct crew *crew, unsigned members);
/* Waits until all living members have a result of a later epoch. Returns the
 * time of the last of them. */
uint64_t crew_await_epoch(struct crew *crew, uint64_t epoch);

/* All living members end at the same op. Compares their states and records. */
void ring_crew_end(struct crew *crew);

/* ---- ring_crew_member.c ---- */

_Noreturn void crew_member(struct crew *crew, unsigned seat);
/* One all-reduce of the oracle, and its check. */
enum gw_err crew_turn(struct crew *crew, struct gw_ring *ring,
                      struct gw_error *why);
/* 4^i summed over these. */
int64_t crew_digits(uint64_t nodes);

#endif
