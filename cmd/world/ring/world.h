/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A simulated cluster with an elastic ring: controllers, whose log is an oracle
 * (world/common/agreed.h); a supervisor; and members with a toy data path,
 * which do one all-reduce after the other, are killed, cut off and put to
 * sleep, and join again. Everything that decides is the library's own object
 * code: registry, service, member machine, book, ledger and recovery plans.
 *
 *   node.c      a member or the supervisor: the machine, and what it tells
 *   ring.c      a member in the ring: views, flushes, one op after the other
 *   path.c      the toy data path: plans, transfer by transfer, by messages
 *   joiner.c    copying the state
 *   oracle.c    what must always hold
 *   measure.c   what a run was like, in numbers
 *   tell.c      what happens, as events
 *   kind.c      all this as a world of `ringctl sim`
 *   world.c     one network a seed, and how it has to end
 *
 * Node numbers: members, so that theirs are those of `ringctl up`; then the
 * supervisor, then controllers.
 */
#ifndef WORLD_RING_WORLD_H
#define WORLD_RING_WORLD_H

#include "world/common/inner.h"
#include "world/common/lives.h"

#include <gradwire/event.h>
#include <ring/op_table.h>
#include <ring/state_validity.h>
#include <sim/campaign.h>

#include <string.h>

enum {
    CONTROLLERS_MOST = 3,
    MEMBERS_MOST = 8,
    DRAWN_MOST = 6,   /* members of a seed, if nobody asks for more */
    CALM_MEMBERS = 4, /* the same, when a schedule is given */
    NODES_MOST = CONTROLLERS_MOST + 1 + MEMBERS_MOST,
    OPS_MOST = 1024,
    COMPLETIONS_MOST = 64, /* of an op, by whom ever */
    PLANS_MOST = 4096,
    TRANSFERS_MOST = 128
};

/* ---- the world ---- */

struct completion {
    unsigned node;
    struct gw__id incarnation;
    uint64_t contributors;
    uint64_t digest; /* of the state after it */
    uint64_t epoch;  /* in which it was completed */
};

struct made_plan {
    uint64_t ring_epoch, op, hash;
};

struct toy;

/* What must not be: whose data is in a value, and whose ought to be. */
struct wrong {
    unsigned node, chunk, who, counted; /* `who` counts so many times */
    uint64_t op, has, wants;            /* nodes as bits */
};

/* Times of something, in nanoseconds. */
struct times {
    uint64_t count, sum_ns, least_ns, most_ns;
};

/* A member that has crashed, or sleeps. */
struct wound {
    uint64_t at_ns; /* 0: none */
    struct gw__id incarnation;
    bool suspected;
};

/* What is measured over all seeds, until it is asked for. */
struct measures {
    uint64_t transfers;                    /* of chunks, between members */
    uint64_t crashes;                      /* of members */
    uint64_t ops;                          /* that somebody has completed */
    uint64_t spread, kept, redone, fresh;  /* chunks of recoveries */
    uint64_t suspicions, false_suspicions; /* of silence; of one that lives */
    uint64_t wronged; /* removed alive, without having asked for it */
    uint64_t shaken;  /* seeds with a false suspicion */
    struct times detected, recovered;
    bool found; /* a violation */
    struct wrong wrong;
    /* Of the seed under way. */
    bool shook;
    struct wound wounds[GW__NODES_MAX];
    struct gw__view view;   /* the newest, as it was seen */
    uint64_t recovering_ns; /* since a crash; 0: nothing to recover from */
    uint64_t ring_epoch;    /* in which it is recovered from, */
    uint64_t resumed;       /* and by whom, as bits */
};

/* By who runs it; zero: as the seed has it. */
struct world_asked {
    unsigned members;
    bool calm;      /* nothing happens but the faults that are given */
    bool silent;    /* nobody is told of a death */
    bool unordered; /* calm: messages overtake each other */
    const struct gw_suspicion *suspicion; /* of members; NULL: the rule */
    uint64_t for_ns;
};

struct world {
    struct agreed agreed; /* what the controllers have decided */
    struct world_asked asked;
    bool any_epoch; /* books do without their check of the epoch */
    uint64_t seed;
    struct chance chance;
    struct gw__sim *sim;
    unsigned controllers, members;
    unsigned first; /* members that the supervisor would like to begin with */
    bool all_join;  /* at the end everybody must be in the ring again */
    struct lives lives;
    bool raids; /* joiners are hit, and whoever might have given them the state
                 */
    uint64_t fault_end_ns, limit_ns, look_ns;
    bool over;
    bool shocks;
    bool eager; /* members do not wait until they have met */
    /* The order that the ring is to have. It changes now and then, by random
     * numbers of its own, and members hear of it late. */
    bool orders;
    struct gw_rng order_rng;
    struct gw__order order;
    uint64_t order_ns; /* when it changes next */

    /* oracle.c */
    unsigned completion_count[OPS_MOST];
    struct completion completions[OPS_MOST][COMPLETIONS_MOST];
    unsigned plan_count;
    struct made_plan plans[PLANS_MOST];
    uint64_t epoch, ring_epoch; /* of the log so far */
    unsigned ring_count;
    bool flushing;
    uint64_t marked_epoch, marked_op[NODES_MOST];

    /* For those who want to know what the seeds meet. */
    struct {
        uint64_t seeds, ops, forwards, excludes, admits, orders, removals,
            begun_anew, gone, inherited, lost;
    } met;
    struct measures measures; /* measure.c */
    struct gw_sink *sink;     /* of tell.c, or NULL */
};

/* ---- measure.c: what a run was like, in numbers ---- */

void measure_begin(struct world *world);
/* A node crashes, starts, is paused or goes on. */
void measure_life(struct world *world, unsigned node, enum gw__fault_kind what);
/* It is suspected: silent, or known to have ended. */
void measure_suspect(struct world *world, unsigned node,
                     struct gw__id incarnation, bool certain);
/* The log has a new view. */
void measure_view(struct world *world);
void measure_completed(const struct toy *toy, uint64_t op);
/* The first violation, if this is the first. */
void measure_wrong(struct world *world, const struct wrong *wrong);

/* ---- tell.c: what happens, as events ---- */

/* A member's: `value` as gradwire/event.h has it for the kind. */
struct told_event {
    enum gw_event_kind kind;
    uint32_t peer, op, step, chunk;
    int64_t value;
};
void tell(const struct toy *toy, const struct told_event *event);
/* Of the work in hand, what is kept and what is redone. */
void tell_recovery(const struct toy *toy, const struct gw__task *task,
                   const uint64_t *start);
/* Of a controller whose log is libraft's. */
void tell_controller(struct world *world, const struct gw_event *event);
/* Of the whole ring: the new view in the log, and what was decided. */
void tell_view(struct world *world);
void tell_decision(struct world *world, const struct gw__decision *decision);
void tell_missed(struct world *world, uint32_t by, unsigned node,
                 enum gw_evidence evidence);

/* The one whose network is being run. START does not bring it: a pointer would
 * be another one each time, and so would the hash of the run. */
struct world *world_running(void);
/* This node begins anew after a while, as the same process. */
void world_restart(struct world *world, unsigned node);
/* The ring has lost a member, or decided: the moment for another blow. */
void world_shock(struct world *world);
/* Somebody was admitted, who may not have the state yet. */
void world_raid(struct world *world);
void world_open(struct world *world);
void world_close(struct world *world);
/* For a campaign of this one seed. */
void world_campaign(struct world *world, uint64_t seed,
                    struct gw__campaign *campaign);

static inline unsigned supervisor_of(const struct world *w)
{
    return w->members;
}

static inline uint64_t supervisors(const struct world *w)
{
    return gw__first_nodes(w->members + 1) & ~gw__first_nodes(w->members);
}

static inline bool is_member(const struct world *w, unsigned node)
{
    return node < w->members;
}

static inline unsigned nodes_of(const struct world *w)
{
    return w->members + 1 + w->controllers;
}

static inline unsigned first_controller(const struct world *w)
{
    return w->members + 1;
}

static inline uint64_t world_draw(struct world *w, uint64_t least,
                                  uint64_t most)
{
    return chance_draw(&w->chance, least, most);
}

/* ---- values: digits in base 4 and a sum of hashes ---- */

__extension__ typedef unsigned __int128 wide;

struct amount {
    wide digits;  /* node i gives 4^i */
    uint64_t sum; /* and a number that knows op and chunk */
};

struct amount value_input(unsigned node, uint64_t op, unsigned chunk);
struct amount value_add(struct amount a, struct amount b);

/* ---- path.c: an op as a plan that is carried out ---- */

/* A transfer of ours, as sender and as receiver. */
struct sending {
    uint8_t to; /* nodes */
    uint8_t chunk, step, turn;
    bool captured, acked;
    uint64_t set; /* captured */
    struct amount value;
    uint64_t again_ns;
};

struct receiving {
    uint8_t from;
    uint8_t chunk, step, turn;
    bool adds, applied;
};

struct run {
    bool used;
    uint64_t op, ring_epoch;
    unsigned chunks;
    unsigned send_count, receive_count;
    uint64_t due_ns; /* if nothing comes, nothing is sent before; UINT64_MAX:
                        never */
    struct sending sends[TRANSFERS_MOST];
    struct receiving receives[TRANSFERS_MOST];
    struct amount values[GW__NODES_MAX]; /* [chunk] */
};

/* ---- joiner.c ---- */

struct state {
    bool known;
    uint64_t next; /* the state after op next - 1 */
    uint64_t digest;
    uint64_t epoch;                  /* in which that op was completed */
    struct gw__state_validity claim; /* a joiner's */
    bool over; /* the ring from which it comes is no more */
    uint64_t pull_ns;
    bool ready_said;
};

struct result {
    bool used;
    uint64_t op, contributors, hash;
    uint64_t digest, epoch; /* after it, and in which it was completed */
};

/* ---- a member (or the supervisor), as a machine ---- */

enum { TOY_TIMER = 8 };

struct toy {
    struct world *world;
    unsigned node;
    struct gw__id incarnation;
    uint64_t incarnation_low;
    uint64_t now_ns; /* its clock */
    struct gw_rng rng;
    const struct gw__actions *act;
    bool registered, gone, leaves;

    bool told;         /* something, since it was looked at last */
    bool wants_report; /* of this flush */
    uint64_t flush_epoch;
    bool has_pending; /* a view to be adopted */
    struct gw__view pending;
    uint64_t met_epoch; /* of ADDRESSES */
    unsigned ready;     /* joiners */

    bool in_ring; /* there is a book */
    bool sure;    /* it has the state that it begins its first op with */
    struct gw__op_table book;
    struct run runs[GW__OP_TABLE_OPS];
    struct result results[GW__OP_TABLE_OPS];
    struct state state;
    uint64_t compute_ns;    /* until when */
    uint64_t admit_tried;   /* for this op, and 1 */
    bool admits;            /* waits for how that ends */
    struct gw__order order; /* as it has heard last */
    uint64_t placed_op;     /* it computes for this op, and 1, */
    unsigned place;         /* in this place */
    uint64_t asked_epoch;   /* ADDRESS */
    uint64_t admit_ns;      /* the supervisor: not before */
    uint64_t accuse_ns;
    struct gw__view known; /* of the newest news */

    uint64_t timer_ns;
    _Alignas(16) uint8_t member[]; /* the member machine's state */
};

const struct gw__machine_kind *member_kind(void);

/* node.c */
void toy_ask(struct toy *toy, const struct gw__member_request *ask);
void toy_send(const struct toy *toy, unsigned node, const void *data,
              size_t bytes);
GW_PRINTF(2, 3)
void toy_fail(const struct toy *toy, const char *format, ...);

/* ring.c */
void ring_told(struct toy *toy, const struct gw__told *told);
/* Does what can be done now. */
void ring_work(struct toy *toy);
uint64_t ring_due(const struct toy *toy);
/* An op is complete here. */
void ring_completed(struct toy *toy, uint64_t op);

/* path.c */
enum toy_message { TOY_DATA = 128, TOY_ACK, TOY_PULL, TOY_STATE, TOY_NOTHING };
void path_start(struct toy *toy, const struct gw__task *task);
void path_data(struct toy *toy, unsigned from, const uint8_t *bytes,
               size_t count);
void path_ack(struct toy *toy, unsigned from, const uint8_t *bytes,
              size_t count);
void path_work(struct toy *toy);
uint64_t path_due(const struct toy *toy);

/* joiner.c */
void joiner_work(struct toy *toy);
uint64_t joiner_due(const struct toy *toy);
void joiner_pull(struct toy *toy, unsigned from, const uint8_t *bytes,
                 size_t count);
void joiner_state(struct toy *toy, unsigned from, uint64_t incarnation,
                  const uint8_t *bytes, size_t count);
void joiner_nothing(struct toy *toy, unsigned from, const uint8_t *bytes,
                    size_t count);
void joiner_news(struct toy *toy);

/* ---- oracle.c ---- */

void oracle_begin(struct world *world);
/* The value is that of exactly these nodes. */
void oracle_value(const struct toy *toy, uint64_t op, unsigned chunk,
                  uint64_t set, struct amount value);
/* One that the ledger refuses, where these nodes are to count. */
void oracle_refused(const struct toy *toy, uint64_t op, unsigned chunk,
                    uint64_t target, struct amount value);
void oracle_complete(const struct toy *toy, uint64_t op, uint64_t contributors,
                     uint64_t digest);
/* A joiner is about to take part with this state. */
void oracle_state(const struct toy *toy);
/* A joiner finds the state lost. */
void oracle_lost(const struct toy *toy);
/* The plan that it has made; verified when it is a new one. */
void oracle_plan(const struct toy *toy, const struct gw__task *task,
                 const struct gw__recovery *recovery);
/* After an entry of the log. */
void oracle_log(struct world *world);
/* Is the process of this member there still, or its later incarnation? */
bool oracle_lives(const struct world *world, const struct gw__ring_member *m);
bool oracle_active(const struct world *world, unsigned node,
                   struct gw__id incarnation);
/* After the last fault: does the ring go on? */
bool oracle_is_done(struct world *world);
/* It should. */
void oracle_not_done(struct world *world);

#endif
