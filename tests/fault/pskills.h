/* SPDX-License-Identifier: MIT
 *
 * The counter oracle of the parameter server, with real processes. A parent
 * starts controllers, servers and workers, each by executing itself again, and
 * injects faults. All share one board in memory, which outlives killed
 * processes:
 *
 *     worker   life 7, counter 12:   sent 31   acknowledged 29
 *              before a push `sent` grows, after its end `acknowledged`
 *     parent   pulls the stored value:
 *                  acknowledged before the pull <= stored <= sent after it
 *
 * Every life of a worker has counters of its own. So for a living worker with
 * nothing under way the sums are exactly equal. Only a dead worker leaves a
 * gap, of the pushes that were under way. A stored value never decreases.
 * Workers check the same: with nothing under way they pull the acknowledged
 * sums, even while other processes are dead or paused.
 *
 *   pskills.c          the faults
 *   pskills_cluster.c  starting, hitting and mending processes
 *   pskills_observer.c the observer, and the possible victims
 *   pskills_common.c   code for all processes
 *   pskills_check.c    the oracle, and the measured times
 *   pskills_points.c  deaths at failpoints instead of random faults
 *   pskills_server.c, pskills_worker.c, pskills_controller.c   the processes
 */
#ifndef PSKILLS_H
#define PSKILLS_H

#include <base/failpoint.h>
#include <cluster/messages/protocol.h>
#include <gradwire/ps.h>

#include <stdatomic.h>
#include <sys/types.h>

/* The program exists in two sizes: pskills, and pskills_scale, which has as many
 * processes as one machine can bear, and calm ones; other sizes for trials are
 * set by -DSCALE_WORKERS=N and -DSCALE_SERVERS=N. */
#ifndef SCALE_WORKERS
#define SCALE_WORKERS 128
#endif
#ifndef SCALE_SERVERS
#define SCALE_SERVERS 64
#endif

#ifdef PSKILLS_SCALE
enum {
    WORKERS = SCALE_WORKERS,
    SERVERS_MAX = SCALE_SERVERS + 2,
    SERVERS_LEAST = SCALE_SERVERS,
    SLOTS = 2 * SCALE_SERVERS,
    KEYS = 2 * SLOTS,
    LIVES_MAX = 256,
    REQUESTS_MAX = 8, /* of a worker, in a round */
    BATCH = 8,        /* processes that start at once */
    ROUND_US = 1000000,
    TICK_US = 50000
};
#else
enum {
    WORKERS = 3,
    SERVERS_MAX = 8, /* at a time */
    SERVERS_LEAST = 4,
    SLOTS = 16,
    KEYS = 4 * SLOTS, /* a life */
    LIVES_MAX = 2048,
    REQUESTS_MAX = 24,
    BATCH = 8,
    ROUND_US = 1000, /* the longest pause of a worker after a round */
    TICK_US = 2000   /* between two looks at orders */
};
#endif

enum {
    BOARD_FD = 3,
    CONTROLLERS = 3,
    REPLICAS = 3,
    SAMPLES_MAX = 1 << 16,
    /* Nodes; workers begin at 0. */
    CHECKER = 30 + WORKERS,
    FIRST_SERVER = 32 + WORKERS,
    AGGREGATOR = FIRST_SERVER + SERVERS_MAX,
    OBSERVER = AGGREGATOR + 1,
    FIRST_CONTROLLER = AGGREGATOR + 2,
    ENDPOINT_ROOM = 64,
    PATH_ROOM = 256,
    TEXT_ROOM = 240
};

/* The action at a failpoint of one process, and the failpoints that it has
 * reached since. */
struct failpoint_command {
    char text[48];
    _Atomic unsigned issued, applied;
    _Atomic uint32_t reached[GW__FAILPOINTS];
};

enum server_state {
    SERVER_EMPTY,
    SERVER_STARTING,
    SERVER_SERVING,
    SERVER_LEFT
};

struct server_process {
    /* Orders. */
    _Atomic bool down[GW_PS_NODES]; /* nodes it receives nothing from */
    _Atomic bool leave;
    struct failpoint_command command;
    /* Reports of the process. */
    _Atomic int state;
    _Atomic uint64_t
        declared_dead;          /* number of restarts as a new incarnation */
    _Atomic uint64_t freeze_ns; /* the longest of this life */
    _Atomic uint64_t moved, takeovers, duplicates, refused; /* of all lives */
    struct {
        _Atomic uint64_t role, committed, last, rows;
    } slots[SLOTS];
};

struct worker_process {
    _Atomic bool down[GW_PS_NODES];
    _Atomic bool ready;    /* it has begun to push */
    _Atomic uint64_t held; /* the value of `hold` at which it rests */
};

struct life {
    _Atomic uint64_t sent[KEYS], acked[KEYS];
};

/* The acknowledgements of a slot, as seen by the workers. */
struct ack_monitor {
    _Atomic uint64_t since_ns; /* the time of a fault of its primary; 0: none */
    _Atomic uint64_t acked_ns; /* of the first push sent after that; 0: none */
    _Atomic uint64_t last_ns, gap_ns; /* acknowledgements; the longest gap */
};

struct board {
    uint64_t token, seed;
    char directory[PATH_ROOM];
    char raft[CONTROLLERS][32];
    char wire[8];
    bool no_dedupe;      /* servers skip the deduplication */
    bool works_in_items; /* workers also work in items */
    bool aggregate;      /* and send by an aggregator that one of them hosts */
    struct failpoint_command commands[CONTROLLERS];
    _Atomic uint64_t hold; /* workers must rest; 0: they work */
    _Atomic uint64_t pushes, own_pulls;
    struct server_process servers[SERVERS_MAX];
    struct worker_process workers[WORKERS];
    struct ack_monitor ack_monitors[SLOTS];
    struct life lives[LIVES_MAX];
    char wrong[TEXT_ROOM]; /* the first error of any process; "": none */
};
extern struct board *board;

/* ---- for all processes: pskills_common.c ---- */

void endpoint_of(unsigned node, char out[ENDPOINT_ROOM]);
/* Controllers, by node and endpoint. */
struct addresses {
    char own[ENDPOINT_ROOM];
    char controllers[CONTROLLERS][ENDPOINT_ROOM];
};
void addresses_of(unsigned node, struct addresses *addresses);
/* Key `k` of a life; its slot is k % SLOTS. */
uint64_t key_of(unsigned life, unsigned k);
enum gw_err open_counters(struct gw_ps *ps, unsigned *table,
                          struct gw_error *why);
struct gw_ps_config client_config(unsigned node, struct addresses *addresses);
void nap_us(uint64_t us);
/* Reports the error, also on the board, and ends the process. */
_Noreturn void give_up(const char *format, ...) GW_PRINTF(1, 2);
extern void (*at_give_up)(void); /* the parent's */
/* Another table, whose rows are pushed in work items. */
enum { ITEM_GROUP = 1 };
enum gw_err open_items(struct gw_ps *ps, unsigned *table, struct gw_error *why);
void draw_random(void *out, size_t bytes);
uint64_t now_plus_ms(uint64_t ms);
/* A log of faults and route changes, printed after an error. */
void diary(const char *format, ...) GW_PRINTF(1, 2);

/* ---- processes ---- */

void apply_failpoint_command(struct failpoint_command *mine);
int controller_main(unsigned number);
int server_main(unsigned number);
int worker_main(unsigned number, unsigned life);

/* ---- the parent's: pskills_cluster.c ---- */

enum hit { HIT_NONE, HIT_DOWN, HIT_PAUSED, HIT_CUT };

/* Used only by the parent's only thread. */
struct cluster {
    pid_t controllers[CONTROLLERS], servers[SERVERS_MAX], workers[WORKERS];
    unsigned life[WORKERS]; /* of the current worker */
    unsigned lives;         /* begun so far */
    enum hit hit[SERVERS_MAX];
    uint64_t mend_ns[SERVERS_MAX];       /* when the fault ends */
    uint64_t fresh_ns[SERVERS_MAX];      /* its end, or the start */
    uint64_t controller_ns[CONTROLLERS]; /* when it starts again */
    uint64_t elected_ns;                 /* controllers have a leader again */
    uint64_t worker_ns[WORKERS];         /* likewise */
    uint64_t worker_cut_ns[WORKERS];     /* when its cut ends */
    bool leaving[SERVERS_MAX];
    bool doomed[SERVERS_MAX]; /* it will die at a failpoint */
    unsigned declared_dead_workers;
};
extern struct cluster cluster;

void cluster_open(const char *wire, uint64_t seed);
void cluster_start(unsigned servers);
void cluster_stop(void);
/* Ends faults that are due, and reaps dead processes. */
void cluster_tick(void);
void cluster_start_server(unsigned number);
void cluster_start_worker(unsigned number);
void cluster_kill_server(unsigned number, bool reported);
void cluster_kill_worker(unsigned number);
void cluster_kill_controller(unsigned number);
void cluster_pause_server(unsigned number);
void cluster_mend_all(void);
bool cluster_is_calm(void);     /* no faults, and no process is missing */
unsigned cluster_servers(void); /* running and not leaving */

/* ---- pskills_observer.c ---- */

void observer_start(unsigned servers);
void observer_stop(void);
/* Gives up when a slot has lost its last replica. */
void observer_check(void);
/* Reports as certain that its process has ended. */
void observer_report_lost(unsigned node);
/* The newest update that the observer has received. */
void cluster_update(struct gw__membership_update *update);
/* All slots have all their replicas, and nothing is under way. */
bool cluster_is_whole(void);
/* Does every slot keep an undisturbed replica in sync without this one? */
bool cluster_may_lose(unsigned number);
void cluster_await_whole(void);

/* ---- pskills_points.c ---- */

/* A death at each failpoint of slice `part` of `of`. Returns the exit
 * status. */
int test_failpoints(unsigned part, unsigned of);

/* ---- pskills_check.c ---- */

struct samples {
    const char *what;
    unsigned count;
    double ms[SAMPLES_MAX];
};
extern struct samples kills_calm, kills_all, kills_unreported, freezes, gaps;

void ack_monitor_begin(unsigned server, uint64_t now_ns, bool calm,
                       bool reported);
void ack_monitor_collect(void);
bool ack_monitor_is_open(void);
void ack_monitor_disturb(void); /* another fault: open ones are not calm now */
void moves_begin(void);
void moves_end(void);
/* Workers rest; all sums are compared. */
void check_sums(void);
void print_samples(void);
/* True if all limits were kept. */
bool marks_are_kept(void);
extern unsigned checks;
extern uint64_t sums_compared, gaps_of_the_dead;

#endif
