/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A simulated parameter server: workers that push and pull, servers with
 * replicated slots, and the controllers that place them. Every node is the
 * library's own object code: the data path (ps/server.h, ps/worker.h), the
 * member machine that registers, sends HELLO and receives leases
 * (cluster/member.h), the controllers' service (cluster/service.h). Only the
 * controllers' log is an oracle (simcluster/common/sim_consensus.h).
 *
 *   ps_simcluster.c one network per seed, and its required end
 *   sim_member.c a node's control side: its member machine
 *   sim_message.c the data path's messages in messages of the simulator
 *   server.c   a server around its machine
 *   worker.c   a worker around its machine, and its pushes and pulls
 *   pushes.c   each push: sent, acknowledged, and its effect
 *   primaries.c the primaries of each slot: none, one, or two at once
 *   balance.c  slots that move by load
 *   ps_events.c events, for ringtop
 *   kind.c     it is one of the kinds of `ringctl sim`
 *
 * Every push has a key of its own and adds one to it. So in the end each key
 * shows how often its push counted: an acknowledged push with 0 is lost, one
 * with 2 is doubled.
 *
 * Node numbers: workers, servers, controllers.
 */
#ifndef SIMCLUSTER_SERVERS_PS_SIMCLUSTER_H
#define SIMCLUSTER_SERVERS_PS_SIMCLUSTER_H

#include "sim_message.h"
#include "simcluster/common/lives.h"
#include "simcluster/common/member_machine.h"

#include <cluster/routes/slot_load.h>
#include <gradwire/event.h>
#include <ps/client/worker.h>
#include <ps/server/server.h>
#include <sim/campaign.h>

#include <string.h>

enum {
    /* All nodes together are at most GW__NODES_MAX. */
    PS_SIMCLUSTER_WORKERS = 192,
    PS_SIMCLUSTER_SERVERS = 128,
    PS_SIMCLUSTER_CONTROLLERS = 5,
    PS_SIMCLUSTER_NODES = GW__NODES_MAX,
    PS_SIMCLUSTER_SLOTS = 2 * PS_SIMCLUSTER_SERVERS,
    PS_SIMCLUSTER_READINGS = 9,
    /* Up to so many servers there are 8 slots, and everything is checked after
     * each input; more servers have two slots each, and what an input cannot
     * have changed is checked every millisecond. */
    PS_SIMCLUSTER_FEW = 6,
    PS_SIMCLUSTER_PUSHES = 65536,     /* of all workers, */
    PS_SIMCLUSTER_PUSHES_EACH = 8192, /* and at most of one */
    PS_SIMCLUSTER_TABLE = 0,
    PS_SIMCLUSTER_TIMER = 8 /* the member machine has the lower ones */
};

/* The parameters of a run. */
struct ps_simcluster_params {
    unsigned workers, servers, replicas, controllers;
    bool ack_primary;
    bool hot_keys; /* accesses to slots follow Zipf's law */
    bool by_load;  /* slots move by load (cluster/slot_load.h) */
    bool silent;   /* a death is noticed only by the silence */
    bool no_dedupe, no_lease, no_fencing; /* disabled rules */
    bool unordered; /* calm: a late message is overtaken */
    bool calm;      /* only the given faults occur */
    uint64_t for_ns;
};

struct ps_simcluster_push {
    uint64_t key;
    uint64_t sent_ns, acked_ns; /* 0: not */
    uint16_t slot, server;      /* that acknowledged it */
    uint8_t counted;            /* how often, at the end; */
    bool read;                  /* if it has been read */
};

/* The serving of a slot. */
struct ps_simcluster_primary {
    unsigned by;       /* the last one: a node */
    bool ever, vacant; /* had a server; has none now */
    bool two;          /* now */
    uint64_t since_ns; /* begin of no server, */
    uint64_t two_ns;   /* or of two */
};

struct ps_simcluster_met {
    uint64_t sent, acked, lost, doubled, stale, pulls;
    uint64_t refused, fenced;
    uint64_t two;       /* times that a slot had two primaries at once */
    uint64_t two_ns;    /* the longest of them */
    uint64_t takeovers; /* slots with another server after a death */
    /* Of the slot that was without a server for the longest time: */
    uint64_t detect_ns, promote_ns;
    uint64_t failover_ns;
    uint64_t push_bytes, replica_bytes;
    uint64_t epochs, terms, leaders, slots_lost;
    uint64_t plans; /* by load */
    double uneven;  /* the largest load of a server over the mean, of pushes in
                       the last third; the worst of all runs */
};

struct ps_simcluster {
    struct sim_consensus consensus;
    struct ps_simcluster_params params;
    struct chance chance;
    struct gw__sim *sim;
    struct gw_sink *sink;
    unsigned workers, servers, controllers, replicas, slots;
    uint64_t fault_end_ns, limit_ns, check_ns;
    bool over;
    struct lives lives;

    struct gw__server *server_cores[PS_SIMCLUSTER_SERVERS];
    struct gw__worker *worker_cores[PS_SIMCLUSTER_WORKERS];
    void *members[PS_SIMCLUSTER_NODES]; /* the member machines' states */

    unsigned push_count[PS_SIMCLUSTER_WORKERS];
    unsigned newest[PS_SIMCLUSTER_WORKERS]; /* acknowledged, plus 1; 0: none */
    unsigned pushes_most;                   /* of each worker */
    struct ps_simcluster_push *pushes[PS_SIMCLUSTER_WORKERS];
    bool finished
        [PS_SIMCLUSTER_WORKERS]; /* it has read all its pushes at the end */

    struct ps_simcluster_primary primaries[PS_SIMCLUSTER_SLOTS];
    bool serving[PS_SIMCLUSTER_SLOTS][PS_SIMCLUSTER_SERVERS];
    uint64_t serving_ns; /* when all servers were last asked */
    uint64_t confirmed_ns[PS_SIMCLUSTER_NODES]; /* the last time */
    unsigned leader;       /* the last one of the controllers */
    uint64_t epoch, terms; /* of all slots, at the last check */
    bool reported_here
        [PS_SIMCLUSTER_NODES]; /* the state reported by ps_events.c */
    struct gw__id reported[PS_SIMCLUSTER_NODES];
    uint8_t reported_roles[PS_SIMCLUSTER_SLOTS][PS_SIMCLUSTER_SERVERS];
    uint64_t reported_epoch;

    struct gw__slot_load load;
    uint64_t load_ns; /* when its window began */

    char violation[300];          /* the first; "" */
    struct ps_simcluster_met met; /* since the last fetch */
};

static inline uint64_t ps_simcluster_draw(struct ps_simcluster *f,
                                          uint64_t least, uint64_t most)
{
    return chance_draw(&f->chance, least, most);
}

static inline unsigned ps_simcluster_nodes(const struct ps_simcluster *f)
{
    return f->workers + f->servers + f->controllers;
}

static inline unsigned first_controller(const struct ps_simcluster *f)
{
    return f->workers + f->servers;
}

static inline bool is_server(const struct ps_simcluster *f, unsigned node)
{
    return node >= f->workers && node < first_controller(f);
}

static inline struct gw__server *server_at(const struct ps_simcluster *f,
                                           unsigned node)
{
    return f->server_cores[node - f->workers];
}

/* "w0", "s2", "c1", as ringctl names them. Valid for the next few calls. */
const char *ps_simcluster_name(const struct ps_simcluster *cluster,
                               unsigned node);
/* All faults are over, and no new pushes begin. */
static inline bool ps_simcluster_is_late(const struct ps_simcluster *f)
{
    return gw__sim_now(f->sim) > f->fault_end_ns;
}
/* Records the first violation. */
GW_PRINTF(2, 3)
void ps_simcluster_violation(struct ps_simcluster *cluster, const char *format,
                             ...);
/* Starts again after a while, as the same process. */
void ps_simcluster_restart(struct ps_simcluster *cluster, unsigned node);
/* The current network. */
struct ps_simcluster *ps_simcluster_running(void);

/* ---- sim_member.c ---- */

/* A node that is not a controller. */
struct sim_member {
    struct ps_simcluster *cluster;
    unsigned node;
    struct gw__id incarnation;
    uint64_t now_ns; /* its clock */
    struct gw_rng rng;
    void *member; /* the machine's state */
    bool registered, gone, has_update, has_lease;
    unsigned answered; /* tag of the last successful command */
    struct gw__membership_update update;
    struct mailbox box; /* for the data path */
};

/* A step begins. */
void sim_member_wake(struct sim_member *member, const struct gw__input *input,
                     const struct gw__actions *actions);
void sim_member_start(struct sim_member *member, const struct gw__input *input,
                      enum gw__role role);
/* Handles an input that is not the data path's. Sets `has_news` and
 * `has_lease`. */
void sim_member_step(struct sim_member *member, const struct gw__input *input);
void sim_member_request(struct sim_member *member,
                        const struct gw__command *command, unsigned tag);
/* Sends a message of the data path, whose context is the seat. */
void sim_member_send(void *member, const struct gw__message_out *message);

/* ---- the machines ---- */

const struct gw__machine_kind *server_kind(void), *worker_kind(void);
/* Adds the counters of a server to `met`, at the end of its life. */
void server_count(struct ps_simcluster *cluster, unsigned node);

/* ---- pushes.c ---- */

static inline uint64_t push_key(const struct ps_simcluster *f, unsigned worker,
                                unsigned push)
{
    return f->pushes[worker][push].key;
}
/* A new push, or UINT_MAX: there are too many. */
unsigned push_begin(struct ps_simcluster *cluster, unsigned worker,
                    const struct gw__routes *routes);
void push_acked(struct ps_simcluster *cluster, unsigned worker, unsigned push,
                unsigned server);
/* A worker has pulled a value whose push was acknowledged. */
void push_pulled(struct ps_simcluster *cluster, unsigned worker, unsigned push,
                 float value);
/* At the end. */
void push_read(struct ps_simcluster *cluster, unsigned worker, unsigned push,
               float value);
bool push_slot_is_lost(const struct ps_simcluster *cluster, unsigned slot);
/* Checks the effect of all pushes. */
void pushes_check(struct ps_simcluster *cluster);

/* ---- primaries.c ---- */

/* `node` is the one whose state may have changed. */
void primaries_check(struct ps_simcluster *cluster, unsigned node);
/* After an entry of the log. */
void primaries_entry(struct ps_simcluster *cluster);

/* ---- balance.c ---- */

/* Plays a run's supervisor: measures the load, and sends the placement of slots
 * to the controllers. A worker does it here; `tag` is that of the answer. */
void balance_check(struct sim_member *member, unsigned tag);

/* ---- ps_events.c ---- */

void ps_simcluster_report_update(struct ps_simcluster *cluster);
void ps_simcluster_report_roles(struct ps_simcluster *cluster);
void ps_simcluster_report_failure(struct ps_simcluster *cluster, unsigned node);
/* For a controller whose log is libraft's; the context is the farm. */
void ps_simcluster_report_controller(void *context,
                                     const struct gw_event *event);

GW_MUST_CHECK enum gw_err ps_simcluster_open(struct ps_simcluster *cluster,
                                             struct gw_error *why);
void ps_simcluster_close(struct ps_simcluster *cluster);
void ps_simcluster_campaign(struct ps_simcluster *cluster, uint64_t seed,
                            struct gw_sink *sink,
                            struct gw__campaign *campaign);

#endif
