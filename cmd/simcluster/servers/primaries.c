/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The primaries of each slot, checked after every input: a server that has the
 * slot, is awake, and believes by its own clock that it may serve. Terms and
 * leases must prevent two at once. A time without any, in which the last one
 * was declared dead, is a failover:
 *
 *     none serves ........ declared dead .. another one serves
 *                  detect            promote
 */
#include "ps_simcluster.h"

/* ---- decisions of the controllers ---- */

static void record_confirmed(struct ps_simcluster *f, uint64_t now_ns)
{
    for (unsigned node = 0; node < first_controller(f); node++) {
        const struct gw__member *m = &f->consensus.truth->members[node];
        if (m->state != GW__CONFIRMED_DEAD)
            f->confirmed_ns[node] = 0;
        else if (!f->confirmed_ns[node])
            f->confirmed_ns[node] = now_ns;
    }
}

static uint64_t sum_of_terms(const struct gw__routes *routes)
{
    uint64_t sum = 0;
    for (unsigned slot = 0; slot < routes->slot_count; slot++)
        sum += routes->slots[slot].term;
    return sum;
}

void primaries_entry(struct ps_simcluster *f)
{
    const struct gw__registry *truth = f->consensus.truth;
    uint64_t terms = sum_of_terms(&truth->routes);
    record_confirmed(f, gw__sim_now(f->sim));
    f->met.epochs += truth->view.epoch - f->epoch;
    f->met.terms += terms - f->terms;
    f->epoch = truth->view.epoch;
    f->terms = terms;
    ps_simcluster_report_update(f);
}

/* ---- primaries ---- */

static bool is_serving(const struct ps_simcluster *f, unsigned node,
                       unsigned slot)
{
    const struct gw__server *core = server_at(f, node);
    return core && gw__sim_up(f->sim, node) && !gw__sim_paused(f->sim, node) &&
           gw__server_serves(core, slot, gw__sim_clock(f->sim, node));
}

/* Returns the number of primaries, and one of them. */
static unsigned serves(const struct ps_simcluster *f, unsigned slot,
                       unsigned *who)
{
    unsigned count = 0;
    for (unsigned i = 0; i < f->servers; i++) {
        if (!f->serving[slot][i])
            continue;
        if (count++ == 0 || f->workers + i != f->primaries[slot].by)
            *who = f->workers + i;
    }
    return count;
}

static void served_again(struct ps_simcluster *f,
                         struct ps_simcluster_primary *s, uint64_t now_ns)
{
    uint64_t confirmed_ns = f->confirmed_ns[s->by];
    if (!confirmed_ns || confirmed_ns < s->since_ns)
        return; /* it was moved, or slept */
    f->met.takeovers++;
    if (now_ns - s->since_ns <= f->met.failover_ns)
        return;
    f->met.failover_ns = now_ns - s->since_ns;
    f->met.detect_ns = confirmed_ns - s->since_ns;
    f->met.promote_ns = now_ns - confirmed_ns;
}

static void check_duplicate(struct ps_simcluster *f, unsigned slot,
                            unsigned count, unsigned who, uint64_t now_ns)
{
    struct ps_simcluster_primary *s = &f->primaries[slot];
    if (count > 1 && !s->two) {
        s->two_ns = now_ns;
        f->met.two++;
        ps_simcluster_violation(
            f,
            "slot %u has two primaries at %.1f ms: %s and %s both "
            "serve it",
            slot, (double)now_ns / 1e6, ps_simcluster_name(f, s->by),
            ps_simcluster_name(f, who));
    }
    s->two = count > 1;
    if (s->two && now_ns - s->two_ns > f->met.two_ns)
        f->met.two_ns = now_ns - s->two_ns;
}

static void check_slot(struct ps_simcluster *f, unsigned slot, uint64_t now_ns)
{
    struct ps_simcluster_primary *s = &f->primaries[slot];
    unsigned who = 0, count = serves(f, slot, &who);
    if (s->ever)
        check_duplicate(f, slot, count, who, now_ns);
    if (count == 0) {
        if (s->ever && !s->vacant)
            s->since_ns = now_ns;
        s->vacant = true;
        return;
    }
    if (s->ever && s->vacant)
        served_again(f, s, now_ns);
    s->ever = true;
    s->vacant = false;
    s->by = who;
}

/* Asks one server about all slots; checks those for which its answer is new. */
static void request_server(struct ps_simcluster *f, unsigned node,
                           uint64_t now_ns)
{
    unsigned i = node - f->workers;
    for (unsigned slot = 0; slot < f->slots; slot++) {
        bool serves_it = is_serving(f, node, slot);
        if (serves_it == f->serving[slot][i])
            continue;
        f->serving[slot][i] = serves_it;
        check_slot(f, slot, now_ns);
    }
}

static void check_few(struct ps_simcluster *f, uint64_t now_ns)
{
    for (unsigned slot = 0; slot < f->slots; slot++) {
        for (unsigned i = 0; i < f->servers; i++)
            f->serving[slot][i] = is_serving(f, f->workers + i, slot);
        check_slot(f, slot, now_ns);
    }
}

/* A lease may also end at other servers, which is noticed later. */
static void check_many(struct ps_simcluster *f, unsigned node, uint64_t now_ns)
{
    if (is_server(f, node))
        request_server(f, node, now_ns);
    if (now_ns < f->serving_ns + MS)
        return;
    f->serving_ns = now_ns;
    for (unsigned i = 0; i < f->servers; i++)
        request_server(f, f->workers + i, now_ns);
}

void primaries_check(struct ps_simcluster *f, unsigned node)
{
    uint64_t now_ns = gw__sim_now(f->sim);
    if (f->servers <= PS_SIMCLUSTER_FEW)
        check_few(f, now_ns);
    else
        check_many(f, node, now_ns);
    if (f->consensus.leader != f->leader &&
        f->consensus.leader < GW__NODES_MAX) {
        f->leader = f->consensus.leader;
        f->met.leaders++;
    }
    ps_simcluster_report_roles(f);
}
