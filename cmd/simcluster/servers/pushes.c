/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The effect of each push. During a run a worker may notice that a push is
 * missing or counts twice; at the end all are read.
 */
#include "ps_simcluster.h"

/* Slot k has a share of 1 / (k + 1). */
static unsigned hot_slot(uint64_t hash, unsigned slots)
{
    double sum = 0, share = (double)(hash >> 11) * 0x1p-53;
    for (unsigned k = 0; k < slots; k++)
        sum += 1.0 / (k + 1);
    share *= sum;
    unsigned slot = 0;
    while (slot + 1 < slots && (share -= 1.0 / (slot + 1)) >= 0)
        slot++;
    return slot;
}

/* Each push has its own key; a hot key is chosen in its slot. */
static uint64_t new_key(const struct ps_simcluster *f, unsigned worker,
                        unsigned push, const struct gw__routes *routes)
{
    unsigned words[] = {worker, push, 0};
    uint64_t key = gw_hash(words, 2 * sizeof *words, 11);
    if (!f->params.hot_keys)
        return key;
    unsigned slot = hot_slot(gw_hash(words, sizeof words, 13), f->slots);
    while (gw__route_slot(routes, &routes->tables[PS_SIMCLUSTER_TABLE], key) !=
           slot) {
        words[2]++;
        key = gw_hash(words, sizeof words, 11);
    }
    return key;
}

unsigned push_begin(struct ps_simcluster *f, unsigned worker,
                    const struct gw__routes *routes)
{
    unsigned push = f->push_count[worker];
    if (push == f->pushes_most)
        return UINT32_MAX;
    f->push_count[worker]++;
    uint64_t key = new_key(f, worker, push, routes);
    f->pushes[worker][push] = (struct ps_simcluster_push){
        .key = key,
        .sent_ns = gw__sim_now(f->sim),
        .slot = (uint16_t)gw__route_slot(
            routes, &routes->tables[PS_SIMCLUSTER_TABLE], key)};
    f->met.sent++;
    f->met.push_bytes += sizeof(uint64_t) + sizeof(float); /* key and value */
    return push;
}

void push_acked(struct ps_simcluster *f, unsigned worker, unsigned push,
                unsigned server)
{
    struct ps_simcluster_push *p = &f->pushes[worker][push];
    p->acked_ns = gw__sim_now(f->sim);
    p->server = (uint16_t)server;
    f->newest[worker] = push + 1;
    f->met.acked++;
}

void push_pulled(struct ps_simcluster *f, unsigned worker, unsigned push,
                 float value)
{
    const struct ps_simcluster_push *p = &f->pushes[worker][push];
    f->met.pulls++;
    if (value >= 1)
        return;
    f->met.stale++;
    ps_simcluster_violation(
        f,
        "push %u of %s to slot %u, acknowledged at %.1f ms by %s, "
        "is not seen by a pull at %.1f ms",
        push, ps_simcluster_name(f, worker), p->slot, (double)p->acked_ns / 1e6,
        ps_simcluster_name(f, p->server), (double)gw__sim_now(f->sim) / 1e6);
}

void push_read(struct ps_simcluster *f, unsigned worker, unsigned push,
               float value)
{
    struct ps_simcluster_push *p = &f->pushes[worker][push];
    p->counted = (uint8_t)value;
    p->read = true;
}

bool push_slot_is_lost(const struct ps_simcluster *f, unsigned slot)
{
    const struct gw__slot_route *route =
        &f->consensus.truth->routes.slots[slot];
    return route->term > 0 && route->primary == GW__NO_NODE;
}

/* ---- at the end ---- */

static void check_push(struct ps_simcluster *f, unsigned worker, unsigned push)
{
    const struct ps_simcluster_push *p = &f->pushes[worker][push];
    bool lost = p->acked_ns && p->counted == 0;
    if (!p->read && !push_slot_is_lost(f, p->slot))
        return;
    if (p->counted > 1) {
        f->met.doubled++;
        ps_simcluster_violation(f, "push %u of %s to slot %u counts %u times",
                                push, ps_simcluster_name(f, worker), p->slot,
                                p->counted);
    }
    f->met.lost += lost;
    if (!lost || push_slot_is_lost(f, p->slot)) /* no server was left */
        return;
    ps_simcluster_violation(
        f,
        "push %u of %s to slot %u, acknowledged at %.1f ms by %s, "
        "is lost",
        push, ps_simcluster_name(f, worker), p->slot, (double)p->acked_ns / 1e6,
        ps_simcluster_name(f, p->server));
}

/* Compares the servers by the pushes of the last third. */
static void measure_balance(struct ps_simcluster *f)
{
    uint64_t of[PS_SIMCLUSTER_NODES] = {0}, all = 0, most = 0;
    for (unsigned w = 0; w < f->workers; w++)
        for (unsigned i = 0; i < f->push_count[w]; i++) {
            const struct ps_simcluster_push *p = &f->pushes[w][i];
            if (!p->acked_ns || p->sent_ns < f->fault_end_ns / 3 * 2)
                continue;
            of[p->server]++;
            all++;
        }
    for (unsigned n = 0; n < PS_SIMCLUSTER_NODES; n++)
        most = of[n] > most ? of[n] : most;
    double uneven = all ? (double)most * f->servers / (double)all : 0;
    f->met.uneven = uneven > f->met.uneven ? uneven : f->met.uneven;
}

/* In the order in which they were sent, so that the first is reported. */
void pushes_check(struct ps_simcluster *f)
{
    measure_balance(f);
    unsigned at[PS_SIMCLUSTER_WORKERS] = {0};
    for (;;) {
        unsigned next = f->workers;
        uint64_t least = UINT64_MAX;
        for (unsigned w = 0; w < f->workers; w++)
            if (at[w] < f->push_count[w] &&
                f->pushes[w][at[w]].sent_ns < least) {
                next = w;
                least = f->pushes[w][at[w]].sent_ns;
            }
        if (next == f->workers)
            return;
        check_push(f, next, at[next]++);
    }
}
