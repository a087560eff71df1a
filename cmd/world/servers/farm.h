/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A simulated parameter server: workers that push and pull, servers with
 * replicated slots, and the controllers that place them. Every node is the
 * library's own object code: the data path (ps/server.h, ps/worker.h), the
 * member machine that registers, sends HELLO and receives leases
 * (cluster/member.h), the controllers' service (cluster/service.h). Only the
 * controllers' log is an oracle (world/common/agreed.h).
 *
 *   farm.c     one network per seed, and its required end
 *   seat.c     a node's control side: its member machine
 *   parcel.c   the data path's messages in messages of the simulator
 *   server.c   a server around its machine
 *   worker.c   a worker around its machine, and its pushes and pulls
 *   pushes.c   each push: sent, acknowledged, and its effect
 *   serving.c  the primaries of each slot: none, one, or two at once
 *   balance.c  slots that move by load
 *   tell.c     events, for ringtop
 *   kind.c     it is one of the worlds of `ringctl sim`
 *
 * Every push has a key of its own and adds one to it. So in the end each key
 * shows how often its push counted: an acknowledged push with 0 is lost, one
 * with 2 is doubled.
 *
 * Node numbers: workers, servers, controllers.
 */
#ifndef WORLD_SERVERS_FARM_H
#define WORLD_SERVERS_FARM_H

#include "parcel.h"
#include "world/common/inner.h"
#include "world/common/lives.h"

#include <cluster/routes/slot_load.h>
#include <gradwire/event.h>
#include <ps/client/worker.h>
#include <ps/server/server.h>
#include <sim/campaign.h>

#include <string.h>

enum {
    FARM_WORKERS = 4,
    FARM_SERVERS = 6,
    FARM_CONTROLLERS = 5,
    FARM_NODES = FARM_WORKERS + FARM_SERVERS + FARM_CONTROLLERS,
    FARM_SLOTS = 8,
    FARM_PUSHES = 8192, /* per worker */
    FARM_TABLE = 0,
    FARM_TIMER = 8 /* the member machine has the lower ones */
};

/* The parameters of a run. */
struct farm_asked {
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

struct farm_push {
    uint64_t key;
    uint64_t sent_ns, acked_ns; /* 0: not */
    uint8_t slot, server;       /* that acknowledged it */
    uint8_t counted;            /* how often, at the end; */
    bool read;                  /* if it has been read */
};

/* The serving of a slot. */
struct farm_serving {
    unsigned by;       /* the last one: a node */
    bool ever, nobody; /* had a server; has none now */
    bool two;          /* now */
    uint64_t since_ns; /* begin of no server, */
    uint64_t two_ns;   /* or of two */
};

struct farm_met {
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

struct farm {
    struct agreed agreed;
    struct farm_asked asked;
    struct chance chance;
    struct gw__sim *sim;
    struct gw_sink *sink;
    unsigned workers, servers, controllers, replicas;
    uint64_t fault_end_ns, limit_ns, look_ns;
    bool over;
    struct lives lives;

    struct gw__server *server_cores[FARM_SERVERS];
    struct gw__worker *worker_cores[FARM_WORKERS];
    void *members[FARM_NODES]; /* the member machines' states */

    unsigned push_count[FARM_WORKERS];
    unsigned newest[FARM_WORKERS]; /* acknowledged, plus 1; 0: none */
    struct farm_push pushes[FARM_WORKERS][FARM_PUSHES];
    bool finished[FARM_WORKERS]; /* it has read all its pushes at the end */

    struct farm_serving serving[FARM_SLOTS];
    uint64_t convicted_ns[FARM_NODES]; /* the last time */
    unsigned leader;                   /* the last one of the controllers */
    uint64_t epoch, terms;             /* of all slots, at the last check */
    bool told_here[FARM_NODES];        /* the state reported by tell.c */
    struct gw__id told[FARM_NODES];
    uint8_t told_roles[FARM_SLOTS][FARM_SERVERS];
    uint64_t told_epoch;

    struct gw__slot_load load;
    uint64_t load_ns; /* when its window began */

    char violation[300]; /* the first; "" */
    struct farm_met met; /* since the last fetch */
};

static inline uint64_t farm_draw(struct farm *f, uint64_t least, uint64_t most)
{
    return chance_draw(&f->chance, least, most);
}

static inline unsigned farm_nodes(const struct farm *f)
{
    return f->workers + f->servers + f->controllers;
}

static inline unsigned first_controller(const struct farm *f)
{
    return f->workers + f->servers;
}

static inline bool is_server(const struct farm *f, unsigned node)
{
    return node >= f->workers && node < first_controller(f);
}

static inline struct gw__server *server_at(const struct farm *f, unsigned node)
{
    return f->server_cores[node - f->workers];
}

/* "w0", "s2", "c1", as ringctl names them. Valid for the next few calls. */
const char *farm_name(const struct farm *farm, unsigned node);
/* All faults are over, and no new pushes begin. */
static inline bool farm_is_late(const struct farm *f)
{
    return gw__sim_now(f->sim) > f->fault_end_ns;
}
/* Records the first violation. */
GW_PRINTF(2, 3)
void farm_violation(struct farm *farm, const char *format, ...);
/* Starts again after a while, as the same process. */
void farm_restart(struct farm *farm, unsigned node);
/* The current network. */
struct farm *farm_running(void);

/* ---- seat.c ---- */

/* A node that is not a controller. */
struct seat {
    struct farm *farm;
    unsigned node;
    struct gw__id incarnation;
    uint64_t now_ns; /* its clock */
    struct gw_rng rng;
    void *member; /* the machine's state */
    bool registered, gone, has_news, has_lease;
    unsigned answered; /* tag of the last successful command */
    struct gw__membership_update update;
    struct mailbox box; /* for the data path */
};

/* A step begins. */
void seat_wake(struct seat *seat, const struct gw__input *input,
               const struct gw__actions *actions);
void seat_start(struct seat *seat, const struct gw__input *input,
                enum gw__role role);
/* Handles an input that is not the data path's. Sets `has_news` and
 * `has_lease`. */
void seat_step(struct seat *seat, const struct gw__input *input);
void seat_ask(struct seat *seat, const struct gw__command *command,
              unsigned tag);
/* Sends a message of the data path, whose context is the seat. */
void seat_send(void *seat, const struct gw__message_out *message);

/* ---- the machines ---- */

const struct gw__machine_kind *server_kind(void), *worker_kind(void);
/* Adds the counters of a server to `met`, at the end of its life. */
void server_count(struct farm *farm, unsigned node);

/* ---- pushes.c ---- */

static inline uint64_t push_key(const struct farm *f, unsigned worker,
                                unsigned push)
{
    return f->pushes[worker][push].key;
}
/* A new push, or UINT_MAX: there are too many. */
unsigned push_begin(struct farm *farm, unsigned worker,
                    const struct gw__routes *routes);
void push_acked(struct farm *farm, unsigned worker, unsigned push,
                unsigned server);
/* A worker has pulled a value whose push was acknowledged. */
void push_seen(struct farm *farm, unsigned worker, unsigned push, float value);
/* At the end. */
void push_read(struct farm *farm, unsigned worker, unsigned push, float value);
bool push_slot_is_lost(const struct farm *farm, unsigned slot);
/* Checks the effect of all pushes. */
void pushes_judge(struct farm *farm);

/* ---- serving.c ---- */

void serving_look(struct farm *farm);
/* After an entry of the log. */
void serving_entry(struct farm *farm);

/* ---- balance.c ---- */

/* Plays a run's supervisor: measures the load, and sends the placement of slots
 * to the controllers. A worker does it here; `tag` is that of the answer. */
void balance_look(struct seat *seat, unsigned tag);

/* ---- tell.c ---- */

void farm_tell_news(struct farm *farm);
void farm_tell_roles(struct farm *farm);
void farm_tell_failure(struct farm *farm, unsigned node);
/* For a controller whose log is libraft's; the context is the farm. */
void farm_tell_controller(void *context, const struct gw_event *event);

GW_MUST_CHECK enum gw_err farm_open(struct farm *farm, struct gw_error *why);
void farm_close(struct farm *farm);
void farm_campaign(struct farm *farm, uint64_t seed, struct gw_sink *sink,
                   struct gw__campaign *campaign);

#endif
