/* SPDX-License-Identifier: MIT
 *
 * One life of a worker: see pskills.h. In each round it pushes small integers
 * to some of its counters, in requests of a few keys, all under way at once.
 * Then it waits for all of them, and sometimes pulls and checks the counters.
 */
#include "pskills.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { REQUEST_KEYS = 6, VALUE_MAX = 3, EXIT_DECLARED_DEAD = 3 };

struct request {
    struct gw_ps_handle handle;
    uint64_t sent_ns;
    unsigned count, number[REQUEST_KEYS]; /* of counters */
    uint64_t keys[REQUEST_KEYS];
    float values[REQUEST_KEYS];
};

struct worker {
    struct gw_ps *ps;
    unsigned number, life, table, items;
    uint64_t keys[KEYS];
    struct gw_rng rng;
    struct request requests[REQUESTS_MAX];
};

/* ---- links: on a thread of their own, since the other one waits ---- */

static void *obey(void *context)
{
    struct worker *w = context;
    bool down[GW_PS_NODES] = {false};
    for (;;) {
        for (unsigned node = 0; node < GW_PS_NODES; node++) {
            bool wanted = atomic_load(&board->workers[w->number].down[node]);
            if (wanted != down[node])
                gw_ps_emulate_link(w->ps, node,
                                   &(struct gw_link_profile){.down = wanted});
            down[node] = wanted;
        }
        nap_us(TICK_US);
    }
    return NULL;
}

/* ---- acknowledgements ---- */

static void record_ack(unsigned slot, uint64_t sent_ns, uint64_t now_ns)
{
    struct ack_monitor *monitor = &board->ack_monitors[slot];
    uint64_t since_ns = atomic_load(&monitor->since_ns), none = 0;
    if (since_ns && sent_ns > since_ns)
        atomic_compare_exchange_strong(&monitor->acked_ns, &none, now_ns);
    uint64_t last_ns = atomic_exchange(&monitor->last_ns, now_ns);
    if (last_ns && now_ns > last_ns &&
        now_ns - last_ns > atomic_load(&monitor->gap_ns))
        atomic_store(&monitor->gap_ns, now_ns - last_ns);
}

/* A worker that was cut off for long is declared dead: this life ends. */
static int ends(const struct worker *w, enum gw_err err,
                const struct gw_error *why)
{
    if (err != GW_ECLOSED)
        give_up("worker %u, life %u: %s", w->number, w->life, why->text);
    return EXIT_DECLARED_DEAD;
}

/* ---- a round ---- */

static unsigned draw(struct worker *w)
{
    unsigned order[KEYS], used = 0, count = 0;
    for (unsigned k = 0; k < KEYS; k++) {
        unsigned other = (unsigned)gw_rng_below(&w->rng, k + 1);
        order[k] = order[other];
        order[other] = k;
    }
    unsigned wanted = SLOTS + (unsigned)gw_rng_below(&w->rng, KEYS - SLOTS);
    while (used < wanted && count < REQUESTS_MAX) {
        struct request *r = &w->requests[count++];
        r->count = 1 + (unsigned)gw_rng_below(&w->rng, REQUEST_KEYS);
        if (r->count > wanted - used)
            r->count = wanted - used;
        for (unsigned i = 0; i < r->count; i++) {
            r->number[i] = order[used++];
            r->keys[i] = w->keys[r->number[i]];
            r->values[i] = (float)(1 + gw_rng_below(&w->rng, VALUE_MAX));
        }
    }
    return count;
}

static enum gw_err send(struct worker *w, struct request *r,
                        struct gw_error *why)
{
    struct life *life = &board->lives[w->life];
    for (unsigned i = 0; i < r->count; i++)
        atomic_fetch_add(&life->sent[r->number[i]], (uint64_t)r->values[i]);
    r->sent_ns = gw_now_ns();
    return gw_ps_push(w->ps, w->table, r->keys, r->count, r->values, &r->handle,
                      why);
}

static enum gw_err await(struct worker *w, struct request *r,
                         struct gw_error *why)
{
    struct life *life = &board->lives[w->life];
    enum gw_err err = gw_ps_wait(w->ps, &r->handle, why);
    uint64_t now_ns = gw_now_ns();
    if (err)
        return err;
    for (unsigned i = 0; i < r->count; i++) {
        atomic_fetch_add(&life->acked[r->number[i]], (uint64_t)r->values[i]);
        record_ack(r->number[i] % SLOTS, r->sent_ns, now_ns);
    }
    atomic_fetch_add(&board->pushes, 1);
    return GW_OK;
}

static enum gw_err push_some(struct worker *w, struct gw_error *why)
{
    unsigned count = draw(w);
    enum gw_err err = GW_OK;
    for (unsigned i = 0; !err && i < count; i++)
        err = send(w, &w->requests[i], why);
    for (unsigned i = 0; !err && i < count; i++)
        err = await(w, &w->requests[i], why);
    return err;
}

/* With nothing under way, the stored values equal the acknowledged ones. */
static enum gw_err pull_own(struct worker *w, struct gw_error *why)
{
    const struct life *life = &board->lives[w->life];
    float stored[KEYS];
    enum gw_err err =
        gw_ps_pull(w->ps, w->table, w->keys, KEYS, stored, NULL, why);
    for (unsigned k = 0; !err && k < KEYS; k++) {
        unsigned long long acked = atomic_load(&life->acked[k]);
        if (stored[k] < (float)acked || stored[k] > (float)acked)
            give_up("worker %u, life %u pulled %g of counter %u (slot %u) "
                    "where %llu were acknowledged and nothing is under way",
                    w->number, w->life, (double)stored[k], k, k % SLOTS, acked);
    }
    atomic_fetch_add(&board->own_pulls, 1);
    return err;
}

/* The previous item is done, and committed for all slots. */
static enum gw_err do_item(struct worker *w, struct gw_error *why)
{
    struct gw_ps_work work;
    struct gw_ps_handle handle;
    float ones[SLOTS];
    for (unsigned s = 0; s < SLOTS; s++)
        ones[s] = 1;
    enum gw_err err = gw_ps_next(w->ps, ITEM_GROUP, &work, why);
    if (!err)
        err = gw_ps_push(w->ps, w->items, w->keys, SLOTS, ones, &handle, why);
    return err ? err : gw_ps_wait(w->ps, &handle, why);
}

static void rest(const struct worker *w)
{
    uint64_t hold = atomic_load(&board->hold);
    while (hold) {
        atomic_store(&board->workers[w->number].held, hold);
        nap_us(500);
        hold = atomic_load(&board->hold);
    }
}

int worker_main(unsigned number, unsigned life)
{
    static struct worker w;
    struct addresses addresses;
    struct gw_error why;
    pthread_t links;
    struct gw_ps_config config = client_config(number, &addresses);
    w.number = number;
    w.life = life;
    gw_rng_seed(&w.rng, board->seed ^ (uint64_t)life << 32);
    for (unsigned k = 0; k < KEYS; k++)
        w.keys[k] = key_of(life, k);
    config.connect_ms = 120000;
    enum gw_err err = gw_ps_connect(&config, &w.ps, &why);
    if (!err)
        err = open_counters(w.ps, &w.table, &why);
    if (!err && board->works_in_items)
        err = open_items(w.ps, &w.items, &why);
    if (!err && pthread_create(&links, NULL, obey, &w) != 0)
        give_up("worker %u: no thread", number);
    atomic_store(&board->workers[number].ready, true);
    while (!err) {
        rest(&w);
        err = push_some(&w, &why);
        if (!err && board->works_in_items)
            err = do_item(&w, &why);
        if (!err && gw_rng_below(&w.rng, 8) == 0)
            err = pull_own(&w, &why);
        nap_us(gw_rng_below(&w.rng, ROUND_US));
    }
    return ends(&w, err, &why);
}
