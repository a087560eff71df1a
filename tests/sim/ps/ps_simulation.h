/* SPDX-License-Identifier: MIT
 *
 * A simulated parameter server: servers and workers, each the library's own
 * machine (ps/server.h, ps/worker.h), on a network that loses, duplicates,
 * delays and reorders messages. They crash, are cut off and are paused. One
 * node, the consensus node, replaces the controllers: it places the slots by
 * the library's own rules (cluster/route.h), declares nodes dead, and grants
 * leases. The controllers have a simulation of their own.
 *
 *   consensus.c members, places of slots, leases
 *   server.c   a server around its machine
 *   worker.c   a worker around its machine, and its load
 *   oracle.c   invariants, and conditions at the end
 *   ps_simulation.c one network per seed
 *   main.c     many seeds
 *
 * Every worker has counters of its own, keys that only it pushes to: by ones,
 * so that the stored value is the number of pushes counted. And all workers
 * share one plan of items, each of which adds one to its own key and to a key
 * that all share.
 */
#ifndef TESTS_SIM_PS_SIMULATION_H
#define TESTS_SIM_PS_SIMULATION_H

#include <ps/client/worker.h>
#include <ps/server/server.h>
#include <sim/campaign.h>
#include <simcluster/common/chance.h>
#include <simcluster/servers/sim_message.h>

#include <string.h>

enum {
    CONSENSUS = 0,
    SERVERS_MOST = 4,
    WORKERS_MOST = 3,
    NODES_MOST = 1 + SERVERS_MOST + WORKERS_MOST,
    SLOTS = 6,
    COUNTERS = 12,
    BATCHES = 4,
    PARTS = 3,
    WORK_ITEMS = BATCHES * PARTS,
    COUNT_TABLE = 0,
    ITEM_TABLE = 1,
    COUNT_GROUP = 1,
    ITEM_GROUP = 0,
    OPS = 3 /* of a worker, under way */
};

/* The pushes and pulls of a worker's node, by all its processes. */
struct counters {
    uint64_t sent[COUNTERS], acked[COUNTERS], pulled[COUNTERS];
};

struct ps_simulation {
    const char *broken; /* the rule that servers break; "" */
    struct chance chance;
    struct gw__sim *sim;
    unsigned servers, workers, replicas;
    struct gw_ps_mode mode;
    uint64_t fault_end_ns, limit_ns, check_ns;
    bool over, lost;
    struct gw__routes routes; /* the consensus node's */
    struct counters counters[WORKERS_MOST];
    bool finished[WORKERS_MOST]; /* it has read its counters at the end */
    bool items_read;             /* a worker has read all items, at the end */
    /* Owned by the machines; freed when a node restarts. */
    struct gw__server *server_cores[SERVERS_MOST];
    struct gw__worker *worker_cores[WORKERS_MOST];
    struct {
        uint64_t seeds, pushes, pulls, items, moves, declared_dead, lost;
    } totals;
};

static inline uint64_t draw(struct ps_simulation *w, uint64_t least,
                            uint64_t most)
{
    return chance_draw(&w->chance, least, most);
}

static inline bool is_server(const struct ps_simulation *w, unsigned node)
{
    return node > CONSENSUS && node <= w->servers;
}

static inline unsigned worker_index(const struct ps_simulation *w,
                                    unsigned node)
{
    return node - 1 - w->servers;
}

/* Whether nodes must be done: no faults come any more. */
static inline bool is_late(const struct ps_simulation *w, uint64_t now_ns)
{
    return now_ns > w->fault_end_ns;
}

/* ---- messages outside the data path ---- */

enum sim_message_type {
    MESSAGE_HELLO = 1,
    MESSAGE_LEASE,
    MESSAGE_BULLETIN,
    MESSAGE_PROPOSE
};

struct hello {
    uint64_t type;
    uint64_t sent_ns;
    uint64_t version; /* of the bulletin that it has */
};

struct lease {
    uint64_t type;
    uint64_t sent_ns, lease_ns;
};

struct bulletin {
    uint64_t type;
    uint64_t version;
    unsigned member_count;
    struct {
        unsigned node;
        enum gw__role role;
        uint64_t incarnation;
    } members[NODES_MOST];
    size_t route_bytes;
    uint8_t routes[1024]; /* as bytes, since the struct is large */
};

struct proposal {
    uint64_t type, term;
    uint32_t kind; /* enum gw__command_kind */
    uint32_t slot, node, zero;
};

enum { HELLO_MS = 30, LEASE_MS = 120, SILENCE_MS = 260 };

/* ---- a member of any role ---- */

struct member {
    struct ps_simulation *cluster;
    unsigned node;
    uint64_t incarnation, now_ns, hello_ns, lease_until_ns;
    struct mailbox box;                  /* for the data path */
    struct bulletin bulletin;            /* the newest */
    struct gw__membership_update update; /* the same, as the machines take it */
};

void member_start(struct member *member, const struct gw__input *input,
                  struct ps_simulation *cluster);
/* True: there is a new bulletin. */
bool member_bulletin(struct member *member, const struct gw__input *input);
void member_hello(struct member *member);
/* Messages of the data path; their context is the member. */
void member_send(void *member, const struct gw__message_out *message);

/* ---- the machines ---- */

const struct gw__machine_kind *consensus_kind(void), *server_kind(void),
    *worker_kind(void);
/* The routes place every slot. */
bool consensus_is_whole(const struct ps_simulation *cluster);

/* ---- oracle.c ---- */

GW_PRINTF(2, 3)
void oracle_fail(struct ps_simulation *cluster, const char *format, ...);
/* A worker has read its counters; `low`: acknowledged when it asked. */
void oracle_counters(struct ps_simulation *cluster, unsigned worker,
                     const uint64_t low[COUNTERS],
                     const float values[COUNTERS]);
/* A worker was granted an item and pulled the shared key. */
void oracle_granted(struct ps_simulation *cluster,
                    const struct gw_ps_work *work, float shared);
/* All items, at the end. */
void oracle_items(struct ps_simulation *cluster,
                  const float values[WORK_ITEMS + 1]);
/* Are all replicas in sync equal? Only when nothing is under way. */
bool oracle_replicas_agree(struct ps_simulation *cluster);
bool oracle_is_done(struct ps_simulation *cluster);

uint64_t counter_key(unsigned worker, unsigned counter);
uint64_t item_key(unsigned item); /* WORK_ITEMS: the shared one */

/* The cluster of the current network. START does not pass it: a pointer would
 * differ in each run, and so would the digest. */
struct ps_simulation *simcluster_running(void);
void simcluster_open(struct ps_simulation *cluster);
void simcluster_close(struct ps_simulation *cluster);
void simcluster_campaign(struct ps_simulation *cluster, uint64_t seed,
                         struct gw__campaign *campaign);

#endif
