/* SPDX-License-Identifier: MIT
 *
 * A simulated parameter server: servers and workers, each the library's own
 * machine (ps/server.h, ps/worker.h), on a network that loses, duplicates,
 * delays and reorders messages. They crash, are cut off and are paused. One
 * node, the warden, replaces the controllers: it places the slots by the
 * library's own rules (cluster/route.h), declares nodes dead, and grants
 * leases. The controllers have a simulation of their own.
 *
 *   warden.c   members, places of slots, leases
 *   server.c   a server around its machine
 *   worker.c   a worker around its machine, and its load
 *   oracle.c   invariants, and conditions at the end
 *   world.c    one network per seed
 *   main.c     many seeds
 *
 * Every worker has counters of its own, keys that only it pushes to: by ones,
 * so that the stored value is the number of pushes counted. And all workers
 * share one plan of units, each of which adds one to its own key and to a key
 * that all share.
 */
#ifndef TESTS_SIM_PS_WORLD_H
#define TESTS_SIM_PS_WORLD_H

#include <ps/client/worker.h>
#include <ps/server/server.h>
#include <sim/campaign.h>
#include <world/common/chance.h>
#include <world/servers/sim_message.h>

#include <string.h>

enum {
    WARDEN = 0,
    SERVERS_MOST = 4,
    WORKERS_MOST = 3,
    NODES_MOST = 1 + SERVERS_MOST + WORKERS_MOST,
    SLOTS = 6,
    COUNTERS = 12,
    BATCHES = 4,
    PARTS = 3,
    UNITS = BATCHES * PARTS,
    COUNT_TABLE = 0,
    UNIT_TABLE = 1,
    COUNT_GROUP = 1,
    UNIT_GROUP = 0,
    OPS = 3 /* of a worker, under way */
};

/* The pushes and pulls of a worker's node, by all its processes. */
struct ledger {
    uint64_t sent[COUNTERS], acked[COUNTERS], seen[COUNTERS];
};

struct world {
    const char *broken; /* the rule that servers break; "" */
    struct chance chance;
    struct gw__sim *sim;
    unsigned servers, workers, replicas;
    struct gw_ps_mode mode;
    uint64_t fault_end_ns, limit_ns, look_ns;
    bool over, lost;
    struct gw__routes routes; /* the warden's */
    struct ledger ledgers[WORKERS_MOST];
    bool finished[WORKERS_MOST]; /* it has read its counters at the end */
    bool units_read;             /* a worker has read all units, at the end */
    /* Owned by the machines; freed when a node restarts. */
    struct gw__server *server_cores[SERVERS_MOST];
    struct gw__worker *worker_cores[WORKERS_MOST];
    struct {
        uint64_t seeds, pushes, pulls, units, moves, convictions, lost;
    } met;
};

static inline uint64_t draw(struct world *w, uint64_t least, uint64_t most)
{
    return chance_draw(&w->chance, least, most);
}

static inline bool is_server(const struct world *w, unsigned node)
{
    return node > WARDEN && node <= w->servers;
}

static inline unsigned worker_index(const struct world *w, unsigned node)
{
    return node - 1 - w->servers;
}

/* Whether nodes must be done: no faults come any more. */
static inline bool is_late(const struct world *w, uint64_t now_ns)
{
    return now_ns > w->fault_end_ns;
}

/* ---- messages outside the data path ---- */

enum talk { TALK_HELLO = 1, TALK_LEASE, TALK_NEWS, TALK_PROPOSE };

struct hello {
    uint64_t talk;
    uint64_t sent_ns;
    uint64_t version; /* of the bulletin that it has */
};

struct lease {
    uint64_t talk;
    uint64_t sent_ns, lease_ns;
};

struct bulletin {
    uint64_t talk;
    uint64_t version;
    unsigned crew_count;
    struct {
        unsigned node;
        enum gw__role role;
        uint64_t incarnation;
    } crew[NODES_MOST];
    struct gw__routes routes;
};

struct proposal {
    uint64_t talk, term;
    uint32_t kind; /* enum gw__command_kind */
    uint32_t slot, node, zero;
};

enum { HELLO_MS = 30, LEASE_MS = 120, SILENCE_MS = 260 };

/* ---- a member of any role ---- */

struct member {
    struct world *cluster;
    unsigned node;
    uint64_t incarnation, now_ns, hello_ns, lease_until_ns;
    struct mailbox box;                  /* for the data path */
    struct bulletin bulletin;            /* the newest */
    struct gw__membership_update update; /* the same, as the machines take it */
};

void member_start(struct member *member, const struct gw__input *input,
                  struct world *cluster);
/* True: there is a new bulletin. */
bool member_bulletin(struct member *member, const struct gw__input *input);
void member_hello(struct member *member);
/* Messages of the data path; their context is the member. */
void member_send(void *member, const struct gw__message_out *message);

/* ---- the machines ---- */

const struct gw__machine_kind *warden_kind(void), *server_kind(void),
    *worker_kind(void);
/* The routes place every slot. */
bool warden_is_whole(const struct world *cluster);

/* ---- oracle.c ---- */

GW_PRINTF(2, 3)
void oracle_fail(struct world *cluster, const char *format, ...);
/* A worker has read its counters; `low`: acknowledged when it asked. */
void oracle_counters(struct world *cluster, unsigned worker,
                     const uint64_t low[COUNTERS],
                     const float values[COUNTERS]);
/* A worker was granted a unit and pulled the shared key. */
void oracle_granted(struct world *cluster, const struct gw_ps_work *work,
                    float shared);
/* All units, at the end. */
void oracle_units(struct world *cluster, const float values[UNITS + 1]);
/* Are all replicas in sync equal? Only when nothing is under way. */
bool oracle_replicas_agree(struct world *cluster);
bool oracle_is_done(struct world *cluster);

uint64_t counter_key(unsigned worker, unsigned counter);
uint64_t unit_key(unsigned unit); /* UNITS: the shared one */

/* The world of the current network. START does not pass it: a pointer would
 * differ in each run, and so would the digest. */
struct world *simcluster_running(void);
void simcluster_open(struct world *cluster);
void simcluster_close(struct world *cluster);
void simcluster_campaign(struct world *cluster, uint64_t seed,
                         struct gw__campaign *campaign);

#endif
