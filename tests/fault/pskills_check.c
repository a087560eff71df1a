/* SPDX-License-Identifier: MIT
 *
 * The oracle of pskills.h, and the measured times.
 */
#include "pskills.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t rest_ns = 120000000000, alike_ns = 60000000000;
static const double kill_p50_ms = 150, kill_p99_ms = 300, freeze_max_ms = 50;

struct samples kills_calm = {.what = "kill, alone"},
               kills_all = {.what = "kill, amid others"},
               kills_unreported = {.what = "kill, unreported"},
               freezes = {.what = "slot frozen by a move"},
               gaps = {.what = "a slot's longest silence in a move"};
unsigned checks;
uint64_t sums_compared, gaps_of_the_dead;

static void add(struct samples *samples, uint64_t ns)
{
    if (samples->count < SAMPLES_MAX)
        samples->ms[samples->count++] = (double)ns / 1e6;
}

/* ---- from a kill to the first acknowledgement ---- */

static struct samples *open_for[SLOTS]; /* NULL: not open */

void ack_monitor_begin(unsigned server, uint64_t now_ns, bool calm,
                       bool reported)
{
    struct gw__membership_update update;
    cluster_update(&update);
    for (unsigned s = 0; s < SLOTS; s++)
        if (update.routes.slots[s].primary == FIRST_SERVER + server) {
            open_for[s] = !reported ? &kills_unreported
                          : !calm   ? &kills_all
                                    : &kills_calm;
            atomic_store(&board->ack_monitors[s].acked_ns, 0);
            atomic_store(&board->ack_monitors[s].since_ns, now_ns);
        }
}

void ack_monitor_collect(void)
{
    for (unsigned s = 0; s < SLOTS; s++) {
        struct ack_monitor *monitor = &board->ack_monitors[s];
        uint64_t acked_ns = atomic_load(&monitor->acked_ns);
        if (!open_for[s] || acked_ns == 0)
            continue;
        add(open_for[s], acked_ns - atomic_load(&monitor->since_ns));
        atomic_store(&monitor->since_ns, 0);
        open_for[s] = NULL;
    }
}

bool ack_monitor_is_open(void)
{
    ack_monitor_collect();
    for (unsigned s = 0; s < SLOTS; s++)
        if (open_for[s])
            return true;
    return false;
}

void ack_monitor_disturb(void)
{
    ack_monitor_collect();
    for (unsigned s = 0; s < SLOTS; s++)
        if (open_for[s] == &kills_calm)
            open_for[s] = &kills_all;
}

/* ---- moves ---- */

static uint64_t frozen_ns[SERVERS_MAX]; /* before them */

void moves_begin(void)
{
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        frozen_ns[i] = atomic_load(&board->servers[i].freeze_ns);
    for (unsigned s = 0; s < SLOTS; s++) { /* forget earlier gaps */
        atomic_store(&board->ack_monitors[s].last_ns, 0);
        atomic_store(&board->ack_monitors[s].gap_ns, 0);
    }
}

/* Servers report only their longest freeze, so shorter ones do not count. */
void moves_end(void)
{
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        uint64_t now_ns = atomic_load(&board->servers[i].freeze_ns);
        if (now_ns > frozen_ns[i])
            add(&freezes, now_ns);
    }
    for (unsigned s = 0; s < SLOTS; s++)
        add(&gaps, atomic_load(&board->ack_monitors[s].gap_ns));
}

/* ---- the oracle ---- */

static uint64_t least[LIVES_MAX][KEYS]; /* the least stored value */

static bool is_alive(unsigned life)
{
    for (unsigned i = 0; i < WORKERS; i++)
        if (cluster.workers[i] > 0 && cluster.life[i] == life)
            return true;
    return false;
}

static void hold_workers(void)
{
    uint64_t hold = ++checks, deadline_ns = gw_now_ns() + rest_ns;
    atomic_store(&board->hold, hold);
    for (unsigned i = 0; i < WORKERS; i++)
        while (atomic_load(&board->workers[i].held) != hold) {
            cluster_tick();
            ack_monitor_collect();
            if (gw_now_ns() > deadline_ns)
                give_up("worker %u waits for its pushes since 120 s", i);
            nap_us(1000);
        }
}

static void compare(unsigned life, const float *stored)
{
    const struct life *l = &board->lives[life];
    bool alive = is_alive(life);
    for (unsigned k = 0; k < KEYS; k++) {
        uint64_t sent = atomic_load(&l->sent[k]);
        uint64_t acked = atomic_load(&l->acked[k]);
        if (acked < least[life][k])
            acked = least[life][k];
        uint64_t is =
            stored[k] >= 0 ? (uint64_t)llroundf(stored[k]) : UINT64_MAX;
        if (is < acked || is > sent || (alive && sent != acked))
            give_up("wrong sum: life %u (%s), counter %u of slot %u: %g is "
                    "stored, %llu acknowledged or seen, %llu sent",
                    life, alive ? "alive" : "dead", k, k % SLOTS,
                    (double)stored[k], (unsigned long long)acked,
                    (unsigned long long)sent);
        least[life][k] = is;
        gaps_of_the_dead += sent != acked;
    }
    sums_compared += KEYS;
}

static void compare_all(void)
{
    struct addresses addresses;
    struct gw_ps_config config = client_config(CHECKER, &addresses);
    struct gw_ps *ps;
    struct gw_error why;
    unsigned table;
    config.timeout_ms = 120000;
    config.connect_ms = 120000;
    enum gw_err err = gw_ps_connect(&config, &ps, &why);
    if (!err)
        err = open_counters(ps, &table, &why);
    gaps_of_the_dead = 0;
    for (unsigned life = 0; !err && life < cluster.lives; life++) {
        uint64_t keys[KEYS];
        float stored[KEYS];
        for (unsigned k = 0; k < KEYS; k++)
            keys[k] = key_of(life, k);
        err = gw_ps_pull(ps, table, keys, KEYS, stored, NULL, &why);
        if (!err)
            compare(life, stored);
    }
    if (err)
        give_up("the pull of all counters: %s", why.text);
    gw_ps_close(&ps);
}

/* The replicas in sync have the same log and equally many rows. */
static bool is_alike(unsigned slot, const struct gw__slot_route *route)
{
    uint64_t last[REPLICAS + 1], rows[REPLICAS + 1];
    for (unsigned i = 0; i < route->count && i <= REPLICAS; i++) {
        unsigned number = route->replica[i] - FIRST_SERVER;
        if (number >= SERVERS_MAX)
            return false;
        const struct server_process *s = &board->servers[number];
        last[i] = atomic_load(&s->slots[slot].last);
        rows[i] = atomic_load(&s->slots[slot].rows);
        if (atomic_load(&s->slots[slot].committed) != last[i] ||
            last[i] != last[0] || rows[i] != rows[0])
            return false;
    }
    return true;
}

static void await_alike(void)
{
    uint64_t deadline_ns = gw_now_ns() + alike_ns;
    struct gw__membership_update update;
    for (unsigned s = 0; s < SLOTS; s++) {
        cluster_update(&update);
        while (!is_alike(s, &update.routes.slots[s])) {
            cluster_tick();
            if (gw_now_ns() > deadline_ns)
                give_up("slot %u: its replicas differ, with no push under way",
                        s);
            nap_us(5000);
            cluster_update(&update);
        }
    }
}

void check_sums(void)
{
    cluster_await_whole();
    hold_workers();
    await_alike();
    compare_all();
    for (unsigned s = 0; s < SLOTS; s++)
        atomic_store(&board->ack_monitors[s].last_ns, 0);
    atomic_store(&board->hold, 0);
}

/* ---- summary ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(struct samples *s)
{
    if (s->count == 0)
        return;
    qsort(s->ms, s->count, sizeof *s->ms, by_size);
    printf("  %-36s %5u  p50 %7.2f  p90 %7.2f  p99 %7.2f  max %7.2f ms\n",
           s->what, s->count, s->ms[s->count / 2], s->ms[s->count * 9 / 10],
           s->ms[s->count * 99 / 100], s->ms[s->count - 1]);
}

void print_samples(void)
{
    print(&kills_calm);
    print(&kills_all);
    print(&kills_unreported);
    print(&freezes);
    print(&gaps);
}

/* `s` must be sorted. */
bool marks_are_kept(void)
{
    const struct samples *k = &kills_calm, *f = &freezes;
    return k->count > 0 && k->ms[k->count / 2] <= kill_p50_ms &&
           k->ms[k->count * 99 / 100] <= kill_p99_ms && f->count > 0 &&
           f->ms[f->count - 1] <= freeze_max_ms;
}
