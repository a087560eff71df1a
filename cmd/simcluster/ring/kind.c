/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ring as one of the kinds of cluster of `ringctl sim`
 * (simcluster/common/kind.h).
 */
#include "simcluster/common/kind.h"
#include "ring_simcluster.h"
#include "simcluster/common/rafts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SET_TEXT = 4 * NODES_MOST + 1 };

static const struct field fields[] = {
    {"crashes", NULL, FIELD_INTEGER, 0, false},
    {"ops", NULL, FIELD_INTEGER, 0, false},
    {"transfers", NULL, FIELD_INTEGER, 0, false},
    {"views", NULL, FIELD_INTEGER, 0, false},
    {"forward", NULL, FIELD_INTEGER, 0, false},
    {"exclude", NULL, FIELD_INTEGER, 0, false},
    {"spread", NULL, FIELD_INTEGER, 0, false},
    {"kept", NULL, FIELD_INTEGER, 0, false},
    {"redone", NULL, FIELD_INTEGER, 0, false},
    {"fresh", NULL, FIELD_INTEGER, 0, false},
    {"suspicions", NULL, FIELD_INTEGER, 0, false},
    {"false_suspicions", "false", FIELD_INTEGER, 0, false},
    {"shaken", NULL, FIELD_INTEGER, 0, false},
    {"wronged", NULL, FIELD_INTEGER, 0, false},
    {"detected", NULL, FIELD_INTEGER, 0, false},
    {"detect_ms", NULL, FIELD_REAL, 3, false},
    {"detect_least_ms", NULL, FIELD_REAL, 3, true},
    {"detect_most_ms", NULL, FIELD_REAL, 3, true},
    {"recovered", NULL, FIELD_INTEGER, 0, false},
    {"recover_ms", NULL, FIELD_REAL, 3, false},
    {"recover_most_ms", NULL, FIELD_REAL, 3, true},
    {"overcounted", NULL, FIELD_INTEGER, 0, false},
    {"at_node", NULL, FIELD_INTEGER, 0, false},
    {"at_op", NULL, FIELD_INTEGER, 0, false},
    {"at_chunk", NULL, FIELD_INTEGER, 0, false},
    {"member", NULL, FIELD_INTEGER, 0, false},
    {"counts", NULL, FIELD_INTEGER, 0, false},
    {"has", NULL, FIELD_TEXT, 0, false},
    {"wants", NULL, FIELD_TEXT, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static enum gw_err check_request(const struct simcluster_request *request,
                                 struct gw_error *why)
{
    const char *without = request->without;
    if (request->nodes == 1 || request->nodes > MEMBERS_MOST)
        return gw_fail(why, GW_EINVAL,
                       "a ring must have 2 to %d members, not %u, because "
                       "the list of members is one message",
                       MEMBERS_MOST, request->nodes);
    if (request->servers || request->replicas || request->controllers ||
        request->ack_primary || request->placement)
        return gw_fail(
            why, GW_EINVAL,
            "a ring has no servers, replicas, placements or acknowledgements, "
            "and determines its number of controllers");
    if (without && request->raft && strcmp(without, "disk") == 0)
        return GW_OK;
    if (without && strcmp(without, ring_simcluster_kind.checks) != 0)
        return gw_fail(why, GW_EINVAL,
                       "unknown rule \"%.40s\" of a ring; use %s, or with "
                       "--raft disk",
                       without, ring_simcluster_kind.checks);
    return GW_OK;
}

/* Members are named by their numbers. With a given schedule the number of
 * members is known; the supervisor and the controllers follow. */
static void groups(const struct simcluster_request *request,
                   struct simcluster_group groups[SIMCLUSTER_GROUPS])
{
    unsigned members = request->nodes ? request->nodes : CALM_MEMBERS;
    if (request->calm)
        groups[0] =
            (struct simcluster_group){'c', members + 1, request->raft ? 3 : 1};
}

/* The transfers that the busiest rank sends or receives. */
static unsigned busiest(const struct gw_plan *plan)
{
    unsigned most = 0, sends[MEMBERS_MOST] = {0}, receives[MEMBERS_MOST] = {0};
    for (size_t i = 0; i < plan->transfer_count; i++) {
        const struct gw_transfer *x = &plan->transfers[i];
        unsigned sent = ++sends[x->src], received = ++receives[x->dst];
        if (most < sent || most < received)
            most++;
    }
    return most;
}

/* The simulated members have room for so many transfers. A view has no more
 * members than the cluster. */
static enum gw_err choose_plans(struct simcluster *w,
                                const struct simcluster_request *request,
                                struct gw_error *why)
{
    unsigned all = request->nodes ? request->nodes : DRAWN_MOST;
    gw__chosen_plans_init(&w->chosen, request->algos, request->algo_count);
    for (unsigned members = 2; members <= all; members++) {
        const struct gw_plan *plan = gw__chosen_plan(&w->chosen, members);
        if (plan && busiest(plan) > TRANSFERS_MOST)
            return gw_fail(why, GW_ENOTSUP,
                           "--algo: plan %s has %u transfers at one of %u "
                           "members; the simulation supports at most %d",
                           plan->algo, busiest(plan), members, TRANSFERS_MOST);
    }
    return GW_OK;
}

static void close_ring(void *simcluster)
{
    struct simcluster *w = simcluster;
    gw__chosen_plans_fini(&w->chosen);
    simcluster_close(simcluster);
    free(simcluster);
}

static enum gw_err open_ring(const struct simcluster_request *request,
                             void **simcluster, struct gw_error *why)
{
    struct simcluster *w;
    if (check_request(request, why))
        return why->code;
    w = malloc(sizeof *w);
    if (!w)
        return gw_fail(why, GW_ENOMEM, "a ring");
    simcluster_open(w, request->nodes);
    if (choose_plans(w, request, why) ||
        (request->raft && rafts_open(&w->consensus.rafts, why))) {
        close_ring(w);
        return why->code;
    }
    *simcluster = w;
    bool disk = request->without && strcmp(request->without, "disk") == 0;
    w->any_epoch = request->without && !disk;
    if (disk)
        rafts_break_disks(w->consensus.rafts);
    w->params = (struct simcluster_params){.members = request->nodes,
                                           .calm = request->calm,
                                           .silent = request->silent,
                                           .unordered = request->unordered,
                                           .suspicion = request->suspicion,
                                           .for_ns = request->for_ns};
    *simcluster = w;
    return GW_OK;
}

static void campaign_of(void *simcluster, uint64_t seed, struct gw_sink *sink,
                        struct gw__campaign *campaign)
{
    struct simcluster *w = simcluster;
    w->sink = sink;
    simcluster_campaign(w, seed, campaign);
}

/* ---- the measurements ---- */

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double mean_ms(const struct times *times)
{
    return times->count ? ms(times->sum_ns) / (double)times->count
                        : (double)NAN;
}

/* "0 2 3" */
static const char *set_text(const struct gw_nodes *set, char out[SET_TEXT])
{
    size_t used = 0;
    out[0] = 0;
    for (unsigned node = 0; node < NODES_MOST && used < SET_TEXT; node++)
        if (gw__nodes_has(set, node))
            used += (size_t)snprintf(out + used, SET_TEXT - used, "%s%u",
                                     used ? " " : "", node);
    return out;
}

/* Appends the members of a row in their order. */
struct row {
    union value *at;
};

static void put_number(struct row *row, uint64_t number)
{
    (row->at++)->integer = (int64_t)number;
}

static void put_ms(struct row *row, double number)
{
    (row->at++)->real = number;
}

static void put_times(struct row *row, const struct times *times)
{
    put_number(row, times->count);
    put_ms(row, mean_ms(times));
}

static void put_wrong(struct row *row, const struct measures *m)
{
    static char has[SET_TEXT], wants[SET_TEXT];
    const struct wrong *wrong = &m->wrong;
    put_number(row, m->found && wrong->counted >
                                    gw__nodes_has(&wrong->wants, wrong->who));
    put_number(row, wrong->node);
    put_number(row, wrong->op);
    put_number(row, wrong->chunk);
    put_number(row, wrong->who);
    put_number(row, wrong->counted);
    (row->at++)->text = m->found ? set_text(&wrong->has, has) : NULL;
    (row->at++)->text = m->found ? set_text(&wrong->wants, wants) : NULL;
}

static void measured(void *simcluster, union value *values)
{
    struct simcluster *w = simcluster;
    const struct measures *m = &w->measures;
    struct row row = {values};
    put_number(&row, m->crashes);
    put_number(&row, m->ops);
    put_number(&row, m->transfers);
    put_number(&row, w->met.admits + w->met.reorders + w->met.removals);
    put_number(&row, w->met.forwards);
    put_number(&row, w->met.excludes);
    put_number(&row, m->spread);
    put_number(&row, m->kept);
    put_number(&row, m->redone);
    put_number(&row, m->fresh);
    put_number(&row, m->suspicions);
    put_number(&row, m->false_suspicions);
    put_number(&row, m->shaken);
    put_number(&row, m->wronged);
    put_times(&row, &m->detected);
    put_ms(&row, ms(m->detected.least_ns));
    put_ms(&row, ms(m->detected.most_ns));
    put_times(&row, &m->recovered);
    put_ms(&row, ms(m->recovered.most_ns));
    put_wrong(&row, m);
    memset(&w->met, 0, sizeof w->met);
    memset(&w->measures, 0, sizeof w->measures);
}

const struct simcluster_kind ring_simcluster_kind = {
    .name = "ring",
    .summary = "members of an elastic ring, which all-reduce",
    .checks = "epoch-check",
    .fields = fields,
    .field_count = FIELDS,
    .spare =
        "cluster seeds hash nodes lost messages faults wants has counts member "
        "at_chunk at_op at_node overcounted recovered detected wronged "
        "shaken fresh redone kept spread ops transfers crashes views "
        "suspicions false_suspicions recover_ms detect_ms",
    .open = open_ring,
    .groups = groups,
    .close = close_ring,
    .campaign = campaign_of,
    .measured = measured,
};
