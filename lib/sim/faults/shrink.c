/* SPDX-License-Identifier: MIT
 *
 * Shrinks a failing schedule. First by delta debugging: the schedule is divided
 * into n parts, and each is left out in turn. If the run still fails, the
 * reduced schedule is the new start; if no part can be left out, the parts
 * become smaller, down to single faults. Then each fault is simplified: fewer
 * nodes, no crash inside a step, shorter, later, rounder. A candidate always
 * stays within the profile (a crash within `down_most`, a healing fault before
 * `end_ns`). Otherwise it could fail for a reason that no real seed can have.
 */
#include "sim/campaign.h"

struct shrink {
    const struct gw__campaign *campaign;
    uint64_t seed;
    struct gw__faults *best;
    struct gw_error *failure;
    unsigned runs, runs_most;
    enum gw_err err; /* a run that could not start */
    struct gw_error why;
};

/* Runs the candidate; if it fails, it becomes the best schedule. */
static bool try_schedule(struct shrink *shrink,
                         const struct gw__faults *candidate)
{
    struct gw__trial trial;
    if (shrink->err || shrink->runs == shrink->runs_most)
        return false;
    shrink->runs++;
    shrink->err = gw__campaign_try(shrink->campaign, shrink->seed, candidate,
                                   &trial, &shrink->why);
    if (shrink->err || !trial.failure.code)
        return false;
    *shrink->best = *candidate;
    *shrink->failure = trial.failure;
    return true;
}

/* Without the faults from `begin` to `end`. */
static bool try_without(struct shrink *shrink, size_t begin, size_t end)
{
    struct gw__faults candidate = {0};
    for (size_t i = 0; i < shrink->best->count; i++)
        if (i < begin || i >= end)
            candidate.items[candidate.count++] = shrink->best->items[i];
    return try_schedule(shrink, &candidate);
}

/* Without one of `parts` equal parts. */
static bool try_parts(struct shrink *shrink, size_t parts)
{
    size_t count = shrink->best->count;
    for (size_t i = 0; i < parts; i++)
        if (try_without(shrink, i * count / parts, (i + 1) * count / parts))
            return true;
    return false;
}

static bool remove_faults(struct shrink *shrink)
{
    size_t before = shrink->best->count, parts = 1;
    while (parts <= shrink->best->count)
        if (try_parts(shrink, parts))
            parts = parts > 3 ? parts - 1 : 2;
        else if (parts == shrink->best->count)
            break;
        else
            parts = 2 * parts < shrink->best->count ? 2 * parts
                                                    : shrink->best->count;
    return shrink->best->count < before;
}

static bool is_allowed(const struct shrink *shrink,
                       const struct gw__faults *faults,
                       const struct gw__fault *fault)
{
    const struct gw__fault_profile *profile = &shrink->campaign->faults;
    if (profile->heals && fault->at_ns + fault->for_ns > profile->end_ns)
        return false;
    if (gw__fault_verbs[fault->kind].operand == GW__OF_LINK &&
        !gw__fault_joins(fault, profile->nodes))
        return false;
    return fault->kind != GW__CRASH ||
           gw__faults_down(faults, fault) < profile->down_most;
}

/* With fault `i` replaced by `other`. */
static bool try_fault(struct shrink *shrink, size_t i,
                      const struct gw__fault *other)
{
    struct gw__faults candidate = *shrink->best;
    candidate.items[i] = *other;
    return is_allowed(shrink, &candidate, &candidate.items[i]) &&
           try_schedule(shrink, &candidate);
}

/* Removes nodes from one of the fault's two sets, at least one remains. */
static bool fewer_nodes(struct shrink *shrink, size_t i, bool to)
{
    unsigned nodes = shrink->campaign->faults.nodes;
    struct gw_nodes all = gw__nodes_first(nodes);
    bool better = false;
    for (unsigned node = 0; node < nodes; node++) {
        struct gw__fault fault = shrink->best->items[i];
        struct gw_nodes *set = to ? &fault.to : &fault.nodes;
        struct gw_nodes without = gw__nodes_and(*set, all);
        bool has = gw__nodes_has(&without, node);
        gw__nodes_remove(&without, node);
        if (!has || gw__nodes_is_empty(without))
            continue;
        *set = without;
        better |= try_fault(shrink, i, &fault);
    }
    return better;
}

static bool simpler(struct shrink *shrink, size_t i)
{
    struct gw__fault fault = shrink->best->items[i];
    enum gw__fault_operand operand = gw__fault_verbs[fault.kind].operand;
    bool better = false;
    if (operand != GW__OF_NONE)
        better |= fewer_nodes(shrink, i, false);
    if (operand == GW__OF_LINK)
        better |= fewer_nodes(shrink, i, true);
    fault = shrink->best->items[i];
    if (fault.both_ways) {
        struct gw__fault back = fault;
        fault.both_ways = back.both_ways = false;
        back.nodes = fault.to;
        back.to = fault.nodes;
        better |= try_fault(shrink, i, &fault) || try_fault(shrink, i, &back);
    }
    fault = shrink->best->items[i];
    if (fault.kind == GW__CRASH && fault.after != GW__AT_ONCE) {
        fault.after = GW__AT_ONCE;
        better |= try_fault(shrink, i, &fault);
    }
    return better;
}

enum { STEP_LEAST_NS = 50000 }; /* a smaller difference is not worth a run */

/* Tries the second and the first half of its time. */
static bool shorter(struct shrink *shrink, size_t i)
{
    bool better = false, again = true;
    while (again && shrink->best->items[i].for_ns > STEP_LEAST_NS) {
        struct gw__fault early = shrink->best->items[i];
        early.for_ns /= 2;
        struct gw__fault late = early;
        late.at_ns += late.for_ns;
        again = try_fault(shrink, i, &late) || try_fault(shrink, i, &early);
        better |= again;
    }
    return better;
}

/* Moves it as close to the end of all faults as possible. */
static bool later(struct shrink *shrink, size_t i)
{
    bool better = false;
    const struct gw__fault *best = &shrink->best->items[i];
    uint64_t end_ns = shrink->campaign->faults.end_ns;
    uint64_t its_end_ns = best->at_ns + best->for_ns;
    uint64_t room_ns = end_ns > its_end_ns ? end_ns - its_end_ns : 0;
    for (; room_ns > STEP_LEAST_NS; room_ns /= 2) {
        struct gw__fault fault = *best;
        fault.at_ns += room_ns;
        better |= try_fault(shrink, i, &fault);
    }
    return better;
}

/* Rounds times to values that a person would write. */
static void rounder(struct shrink *shrink, size_t i)
{
    static const uint64_t units[] = {10000000, 1000000, 100000, 10000, 1000};
    for (unsigned field = 0; field < 2; field++)
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            struct gw__fault fault = shrink->best->items[i];
            uint64_t *ns = field ? &fault.at_ns : &fault.for_ns;
            uint64_t unit = units[u], rest = *ns % unit;
            if (rest == 0)
                break;
            *ns += unit - rest;
            if (try_fault(shrink, i, &fault))
                break;
            *ns -= *ns > unit ? unit : 0;
            if (try_fault(shrink, i, &fault))
                break;
        }
}

enum gw_err gw__campaign_shrink(const struct gw__campaign *campaign,
                                uint64_t seed, struct gw__faults *faults,
                                struct gw_error *failure, unsigned *runs,
                                struct gw_error *why)
{
    struct shrink shrink = {
        .campaign = campaign,
        .seed = seed,
        .best = faults,
        .failure = failure,
        .runs_most = campaign->runs_most ? campaign->runs_most : 1000,
    };
    bool better = true;
    while (better && !shrink.err && shrink.runs < shrink.runs_most) {
        better = remove_faults(&shrink);
        for (size_t i = 0; i < faults->count; i++) {
            better |= simpler(&shrink, i);
            better |= shorter(&shrink, i);
            better |= later(&shrink, i);
        }
    }
    for (size_t i = 0; i < faults->count; i++)
        rounder(&shrink, i);
    *runs = shrink.runs;
    return shrink.err ? gw_fail(why, shrink.err, "%s", shrink.why.text) : GW_OK;
}
