/* SPDX-License-Identifier: MIT
 *
 * Injects faults into a cluster of parameter servers, drawn by a seed, while
 * workers push, and compares all sums repeatedly: see pskills.h.
 *
 *   pskills [--marks|--no-dedupe|--aggregate|--kills] BLOWS SEED [shm|ipc|tcp]
 *   pskills --failpoints PARTS PART [shm|ipc|tcp]
 *
 * Exit status 1 if a sum is wrong, something hangs or, with --marks, a step
 * exceeds its limit. --no-dedupe: servers count repeated pushes again, which
 * the oracle must detect.
 */
#include "pskills.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUND = 20, PATIENCE_MS = 120000 };

static struct gw_rng rng;

enum blow {
    KILL,            /* reported by the observer */
    KILL_UNREPORTED, /* not reported */
    KILL_ALONE,      /* without other faults, until all slots answer */
    PAUSE,           /* 100 ms to 1.5 s: some beyond the lease */
    KILL_WORKER,
    CUT_SERVERS, /* two servers lose one or both directions */
    CUT_WORKER,  /* likewise a worker and a server */
    CUT_OFF,     /* a server loses all controllers */
    KILL_CONTROLLER,
    MOVE, /* a server comes or goes, without other faults */
    MOVE_AMID,
    BLOWS
};
static const struct {
    const char *name;
    unsigned weight;
} blows[BLOWS] = {
    [KILL] = {"kills of servers amid others", 14},
    [KILL_UNREPORTED] = {"unreported kills", 5},
    [KILL_ALONE] = {"kills of servers alone", 12},
    [PAUSE] = {"pauses", 20},
    [KILL_WORKER] = {"kills of workers", 12},
    [CUT_SERVERS] = {"cuts between servers", 10},
    [CUT_WORKER] = {"cuts of workers", 8},
    [CUT_OFF] = {"cuts from the controllers", 5},
    [KILL_CONTROLLER] = {"kills of controllers", 6},
    [MOVE] = {"moves alone", 4},
    [MOVE_AMID] = {"moves amid others", 4},
};
static unsigned blow_counts[BLOWS];

static unsigned below(unsigned bound)
{
    return (unsigned)gw_rng_below(&rng, bound);
}

static void go_on_ms(unsigned ms)
{
    uint64_t until_ns = now_plus_ms(ms);
    do {
        cluster_tick();
        ack_monitor_collect();
        nap_us(2000);
    } while (gw_now_ns() < until_ns);
}

/* ---- victims ---- */

/* A serving server without a fault; SERVERS_MAX: none. */
static unsigned draw_server(void)
{
    unsigned found[SERVERS_MAX], count = 0;
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        if (cluster.servers[i] > 0 && !cluster.leaving[i] &&
            cluster.hit[i] == HIT_NONE &&
            atomic_load(&board->servers[i].state) == SERVER_SERVING)
            found[count++] = i;
    return count ? found[below(count)] : SERVERS_MAX;
}

/* A server that may be lost; waits until there is one. */
static unsigned await_victim(void)
{
    uint64_t deadline_ns = now_plus_ms(PATIENCE_MS);
    for (;;) {
        unsigned number = draw_server();
        if (number < SERVERS_MAX && cluster_may_lose(number))
            return number;
        if (gw_now_ns() > deadline_ns) {
            fprintf(stderr, "pskills: no server may be lost since 120 s\n");
            cluster_await_whole();
        }
        go_on_ms(5);
    }
}

/* ---- faults ---- */

static void kill_server(enum blow blow)
{
    bool alone = blow == KILL_ALONE, reported = blow != KILL_UNREPORTED;
    if (alone)
        cluster_await_whole();
    unsigned number = await_victim();
    go_on_ms(below(20)); /* a random moment */
    if (cluster.servers[number] <= 0 || cluster.hit[number] != HIT_NONE)
        return;
    ack_monitor_begin(number, gw_now_ns(), alone, reported);
    cluster_kill_server(number, reported);
    cluster.mend_ns[number] = now_plus_ms(100 + below(700));
    uint64_t deadline_ns = now_plus_ms(PATIENCE_MS);
    while (alone && ack_monitor_is_open()) {
        if (gw_now_ns() > deadline_ns)
            give_up("server %u was killed, and a slot of it takes no push",
                    number);
        nap_us(1000);
    }
}

static void pause_server(void)
{
    unsigned number = await_victim();
    cluster_pause_server(number);
    cluster.mend_ns[number] = now_plus_ms(100 + below(1400));
}

static void kill_worker(void)
{
    unsigned number = below(WORKERS);
    if (cluster.workers[number] == 0)
        return;
    cluster_kill_worker(number);
    cluster.worker_ns[number] = now_plus_ms(below(300));
}

/* Either of them may be declared dead. */
static void cut_servers(void)
{
    unsigned one = await_victim(), other = draw_server();
    if (other >= SERVERS_MAX || other == one || !cluster_may_lose(other))
        return;
    unsigned ways = 1 + below(3);
    cluster.hit[one] = cluster.hit[other] = HIT_CUT;
    cluster.mend_ns[one] = cluster.mend_ns[other] =
        now_plus_ms(50 + below(1000));
    diary("servers %u and %u are cut, ways %u", one, other, ways);
    if (ways & 1)
        atomic_store(&board->servers[one].down[FIRST_SERVER + other], true);
    if (ways & 2)
        atomic_store(&board->servers[other].down[FIRST_SERVER + one], true);
}

static void cut_worker(void)
{
    unsigned number = below(WORKERS), server = await_victim();
    unsigned ways = 1 + below(3);
    if (cluster.workers[number] == 0 || cluster.worker_cut_ns[number])
        return;
    cluster.hit[server] = HIT_CUT;
    cluster.mend_ns[server] = cluster.worker_cut_ns[number] =
        now_plus_ms(50 + below(1000));
    diary("worker %u and server %u are cut, ways %u", number, server, ways);
    if (ways & 1)
        atomic_store(&board->servers[server].down[number], true);
    if (ways & 2)
        atomic_store(&board->workers[number].down[FIRST_SERVER + server], true);
}

static void cut_off(void)
{
    unsigned number = await_victim();
    cluster.hit[number] = HIT_CUT;
    cluster.mend_ns[number] = now_plus_ms(50 + below(1000));
    diary("server %u hears no controller", number);
    for (unsigned c = 0; c < CONTROLLERS; c++)
        atomic_store(&board->servers[number].down[FIRST_CONTROLLER + c], true);
}

/* One at a time. */
static void kill_controller(void)
{
    unsigned number = below(CONTROLLERS);
    for (unsigned c = 0; c < CONTROLLERS; c++)
        if (cluster.controllers[c] == 0)
            return;
    cluster_kill_controller(number);
    cluster.controller_ns[number] = now_plus_ms(100 + below(400));
}

static void move_slots(bool alone)
{
    if (alone) {
        cluster_await_whole();
        moves_begin();
    }
    unsigned servers = cluster_servers(), number = 0;
    if (servers <= SERVERS_LEAST || (servers < SERVERS_MAX && below(2))) {
        while (number < SERVERS_MAX &&
               (cluster.servers[number] > 0 || cluster.hit[number] != HIT_NONE))
            number++;
        if (number < SERVERS_MAX)
            cluster_start_server(number);
    } else {
        number = await_victim();
        cluster.leaving[number] = true;
        diary("server %u is to leave", number);
        atomic_store(&board->servers[number].leave, true);
    }
    if (alone) {
        cluster_await_whole();
        nap_us(60000); /* servers report every 50 ms */
        moves_end();
    }
}

static void strike(enum blow blow)
{
    blow_counts[blow]++;
    if (blow != KILL_ALONE)
        ack_monitor_disturb();
    switch (blow) {
    case KILL:
    case KILL_UNREPORTED:
    case KILL_ALONE:
        kill_server(blow);
        break;
    case PAUSE:
        pause_server();
        break;
    case KILL_WORKER:
        kill_worker();
        break;
    case CUT_SERVERS:
        cut_servers();
        break;
    case CUT_WORKER:
        cut_worker();
        break;
    case CUT_OFF:
        cut_off();
        break;
    case KILL_CONTROLLER:
        kill_controller();
        break;
    case MOVE:
    case MOVE_AMID:
        move_slots(blow == MOVE);
        break;
    case BLOWS:
        break;
    }
}

static enum blow draw_blow(void)
{
    unsigned sum = 0;
    for (unsigned b = 0; b < BLOWS; b++)
        sum += blows[b].weight;
    unsigned at = below(sum), blow = 0;
    while (at >= blows[blow].weight)
        at -= blows[blow++].weight;
    return (enum blow)blow;
}

/* ---- the last replicas ---- */

/* Servers leave until their number equals that of the replicas; then they die
 * one by one, so that each replica of every slot must serve its values. */
static void end_servers(void)
{
    check_sums();
    for (unsigned i = 0; i < SERVERS_MAX && cluster_servers() > REPLICAS; i++)
        if (cluster.servers[i] > 0) {
            cluster.leaving[i] = true;
            atomic_store(&board->servers[i].leave, true);
            cluster_await_whole();
        }
    check_sums();
    for (unsigned i = 0; i < SERVERS_MAX && cluster_servers() > 1; i++)
        if (cluster.servers[i] > 0) {
            cluster_kill_server(i, true);
            cluster.hit[i] = HIT_NONE; /* it does not come back */
            check_sums();
        }
}

/* ---- summary ---- */

static uint64_t sum_of(size_t offset)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        sum += atomic_load(
            (_Atomic uint64_t *)(void *)((char *)&board->servers[i] + offset));
    return sum;
}
#define SUM_OF(field)                                                          \
    ((unsigned long long)sum_of(offsetof(struct server_process, field)))

static void report(unsigned count, double seconds)
{
    printf("%u blows in %.0f s:", count, seconds);
    for (unsigned b = 0; b < BLOWS; b++)
        printf("%s %u %s", b ? "," : "", blow_counts[b], blows[b].name);
    printf("\n%llu pushes, %llu pulls of own counters, %u checks with %llu "
           "sums, all as acknowledged; %u lives of workers, %llu counters of "
           "the dead with pushes under way\n",
           (unsigned long long)atomic_load(&board->pushes),
           (unsigned long long)atomic_load(&board->own_pulls), checks,
           (unsigned long long)sums_compared, cluster.lives,
           (unsigned long long)gaps_of_the_dead);
    printf("%llu servers and %u workers were declared dead while they slept or "
           "were cut off; %llu takeovers, %llu slots moved, %llu pushes came "
           "twice, %llu were refused\n",
           SUM_OF(declared_dead), cluster.declared_dead_workers,
           SUM_OF(takeovers), SUM_OF(moved), SUM_OF(duplicates),
           SUM_OF(refused));
    print_samples();
}

struct plan {
    unsigned count;
    uint64_t seed;
    const char *wire;
    bool marks;
    bool no_dedupe, aggregate;
    bool kills;  /* only kills of servers, and a check after each */
    bool points; /* deaths at failpoints instead */
};

static int run_points(const struct plan *plan)
{
    printf("pskills: failpoints, part %llu of %u\n",
           (unsigned long long)plan->seed, plan->count);
    cluster_open(plan->wire, plan->seed);
    board->works_in_items = true;
    cluster_start(SERVERS_LEAST);
    check_sums();
    int status = test_failpoints((unsigned)plan->seed, plan->count);
    cluster_stop();
    return status;
}

static int run(const struct plan *plan)
{
    uint64_t began_ns = gw_now_ns();
    printf("pskills: %u blows, seed %llu, %s\n", plan->count,
           (unsigned long long)plan->seed, plan->wire);
    fflush(stdout);
    gw_rng_seed(&rng, plan->seed);
    cluster_open(plan->wire, plan->seed);
    board->no_dedupe = plan->no_dedupe;
    board->aggregate = plan->aggregate;
    cluster_start(SERVERS_LEAST);
    check_sums();
    for (unsigned i = 1; i <= plan->count; i++) {
        strike(plan->kills ? KILL : draw_blow());
        go_on_ms(below(200));
        if (i % ROUND && !plan->kills)
            continue;
        cluster_mend_all();
        check_sums();
        if (i % (5 * ROUND) == 0)
            fprintf(stderr, "pskills: %u blows, %.0f s\n", i,
                    (double)(gw_now_ns() - began_ns) / 1e9);
    }
    cluster_mend_all();
    if (!plan->kills)
        end_servers();
    cluster_stop();
    report(plan->count, (double)(gw_now_ns() - began_ns) / 1e9);
    if (plan->marks && !marks_are_kept()) {
        printf("it took longer than promised\n");
        return 1;
    }
    return 0;
}

/* ---- the process ---- */

static int be(const char *role, unsigned number, unsigned life)
{
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED,
                 BOARD_FD, 0);
    if (board == MAP_FAILED)
        return 1;
    if (strcmp(role, "controller") == 0)
        return controller_main(number);
    return strcmp(role, "server") == 0 ? server_main(number)
                                       : worker_main(number, life);
}

static int usage(void)
{
    fprintf(stderr, "usage: pskills [--marks|--no-dedupe|--aggregate|--kills] "
                    "BLOWS SEED [shm|ipc|tcp]\n"
                    "       pskills --failpoints PARTS PART [shm|ipc|tcp]\n");
    return 64;
}

int main(int argc, char **argv)
{
    struct plan plan = {.wire = "shm"};
    if (argc == 5 && strcmp(argv[1], "--as") == 0)
        return be(argv[2], (unsigned)strtoul(argv[3], NULL, 10),
                  (unsigned)strtoul(argv[4], NULL, 10));
    if (argc > 1 && *argv[1] == '-') {
        plan.marks = strcmp(argv[1], "--marks") == 0;
        plan.no_dedupe = strcmp(argv[1], "--no-dedupe") == 0;
        plan.aggregate = strcmp(argv[1], "--aggregate") == 0;
        plan.points = strcmp(argv[1], "--failpoints") == 0;
        plan.kills = strcmp(argv[1], "--kills") == 0;
        if (!plan.marks && !plan.no_dedupe && !plan.aggregate && !plan.points &&
            !plan.kills)
            return usage();
        argc--;
        argv++;
    }
    if (argc < 3 || argc > 4)
        return usage();
    plan.count = (unsigned)strtoul(argv[1], NULL, 10);
    plan.seed = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        plan.wire = argv[3];
    return plan.points ? run_points(&plan) : run(&plan);
}
