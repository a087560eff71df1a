/* SPDX-License-Identifier: MIT
 *
 * Random fault schedules within a profile. The number of faults of each kind is
 * uniform between zero and the profile's maximum: schedules without whole kinds
 * find other bugs than those that mix everything ("swarm testing", Groce et
 * al., ISSTA 2012). Durations are uniform in their logarithm. Times are
 * integers of microseconds, for readability.
 */
#include "faults.h"

#include <assert.h>
#include <stdlib.h>

enum { US = 1000 };

struct draw {
    struct gw_rng rng;
    const struct gw__fault_profile *profile;
    struct gw__faults *faults;
};

static struct gw_nodes all_nodes(const struct draw *draw)
{
    return gw__nodes_first(draw->profile->nodes);
}

/* A random member of a set that is not empty. */
static struct gw_nodes draw_node(struct draw *draw, struct gw_nodes set)
{
    uint64_t skip = gw_rng_below(&draw->rng, gw__nodes_count(set));
    unsigned node = gw__nodes_next(&set, 0);
    for (; skip; skip--)
        node = gw__nodes_next(&set, node + 1);
    return gw__nodes_only(node);
}

/* A random part of the set. */
static struct gw_nodes draw_part(struct draw *draw, struct gw_nodes set)
{
    for (unsigned w = 0; w < GW__NODE_WORDS; w++)
        if (w == 0 || set.words[w])
            set.words[w] &= gw_rng_next(&draw->rng);
    return set;
}

/* From 1 us to `most_ns`, a whole number of microseconds. */
static uint64_t draw_ns(struct draw *draw, uint64_t most_ns)
{
    uint64_t most_us = most_ns / US;
    return US * (1 + (most_us ? gw_rng_below(&draw->rng, most_us) : 0));
}

/* Log-uniform: each doubling between the minimum and the maximum has the same
 * probability. */
static uint64_t draw_duration(struct draw *draw)
{
    uint64_t least_us = draw->profile->for_least_ns / US;
    uint64_t most_us = draw->profile->for_most_ns / US;
    uint64_t doublings = 1;
    least_us = least_us ? least_us : 1;
    while (doublings < 40 && least_us << doublings < most_us)
        doublings++;
    uint64_t base_us = least_us << gw_rng_below(&draw->rng, doublings);
    uint64_t us = base_us + gw_rng_below(&draw->rng, base_us);
    return US * (us < most_us || most_us < least_us ? us : most_us);
}

static void draw_times(struct draw *draw, struct gw__fault *fault)
{
    const struct gw__fault_profile *profile = draw->profile;
    uint64_t end_us = profile->end_ns / US;
    fault->at_ns = US * gw_rng_below(&draw->rng, end_us);
    fault->for_ns = draw_duration(draw);
    uint64_t rest_ns = US * end_us - fault->at_ns;
    bool ever = gw_rng_below(&draw->rng, 4) == 0;
    if (profile->heals && fault->for_ns > rest_ns)
        fault->for_ns = rest_ns;
    if (!profile->heals && ever)
        fault->for_ns = 0;
}

/* One link, all links of one node, the links between two groups, or all
 * links. */
static void draw_links(struct draw *draw, struct gw__fault *fault)
{
    enum { LINK, FROM_NODE, TO_NODE, PARTS, EVERYTHING, SHAPES };
    struct gw_nodes all = all_nodes(draw);
    uint64_t shape = gw_rng_below(&draw->rng, SHAPES);
    fault->both_ways = gw_rng_below(&draw->rng, 2);
    fault->nodes = draw_node(draw, all);
    fault->to = draw_node(draw, gw__nodes_minus(all, fault->nodes));
    if (shape == FROM_NODE)
        fault->to = GW__ALL_NODES;
    if (shape == TO_NODE)
        fault->nodes = GW__ALL_NODES;
    if (shape == PARTS) {
        struct gw_nodes others = gw__nodes_minus(all, fault->to);
        fault->nodes = gw__nodes_or(fault->nodes, draw_part(draw, others));
        fault->to = gw__nodes_minus(all, fault->nodes);
    }
    if (shape == EVERYTHING)
        fault->nodes = fault->to = GW__ALL_NODES;
    fault->both_ways |= shape == EVERYTHING;
}

/* Half of the delays are ranges, in which messages overtake. */
static void draw_amount(struct draw *draw, struct gw__fault *fault)
{
    const struct gw__fault_profile *profile = draw->profile;
    uint64_t thousandths = (uint64_t)(profile->chance_most * 1000);
    uint64_t chance = gw_rng_below(&draw->rng, thousandths + 1);
    uint64_t rate = gw_rng_below(&draw->rng, (uint64_t)profile->ppm_most + 1);
    bool odd = gw_rng_below(&draw->rng, 2);
    enum { AFTER_MOST = 5 };
    switch (fault->kind) {
    case GW__CRASH:
        fault->after = GW__AT_ONCE;
        if (odd)
            fault->after = (uint16_t)gw_rng_below(&draw->rng, AFTER_MOST + 1);
        break;
    case GW__DROP:
    case GW__DUP:
        fault->chance = (uint32_t)chance * 1000;
        break;
    case GW__DELAY:
        fault->most_ns = draw_ns(draw, profile->delay_most_ns);
        fault->least_ns = odd ? fault->most_ns : 0;
        break;
    case GW__CLOCK:
        fault->ppm = odd ? (int32_t)rate : -(int32_t)rate;
        break;
    default:
        break;
    }
}

static bool is_down_at(const struct gw__fault *fault, uint64_t ns)
{
    return fault->kind == GW__CRASH && fault->at_ns <= ns &&
           (fault->for_ns == 0 || ns - fault->at_ns < fault->for_ns);
}

/* The number of nodes that other crashes than `crash` keep down at this
 * time. */
static unsigned down_at(const struct gw__faults *faults,
                        const struct gw__fault *crash, uint64_t ns)
{
    unsigned down = 0;
    for (size_t i = 0; i < faults->count; i++)
        if (&faults->items[i] != crash && is_down_at(&faults->items[i], ns))
            down += gw__nodes_count(faults->items[i].nodes);
    return down;
}

/* The maximum is reached at the beginning of one of the crashes. */
unsigned gw__faults_down(const struct gw__faults *faults,
                         const struct gw__fault *crash)
{
    unsigned most = down_at(faults, crash, crash->at_ns);
    for (size_t i = 0; i < faults->count; i++) {
        uint64_t ns = faults->items[i].at_ns;
        unsigned down = is_down_at(crash, ns) ? down_at(faults, crash, ns) : 0;
        most = down > most ? down : most;
    }
    return most;
}

static void draw_fault(struct draw *draw, enum gw__fault_kind kind)
{
    struct gw__fault fault = {.kind = (uint8_t)kind};
    struct gw__faults *faults = draw->faults;
    const struct gw__fault_profile *profile = draw->profile;
    bool crash = kind == GW__CRASH;
    struct gw_nodes among = all_nodes(draw);
    bool of_link = gw__fault_verbs[kind].operand == GW__OF_LINK;
    if (crash)
        among = gw__nodes_and(among, profile->mortal);
    if (faults->count == GW__FAULTS_MAX || gw__nodes_is_empty(among) ||
        (of_link && profile->nodes < 2))
        return;
    draw_times(draw, &fault);
    if (of_link)
        draw_links(draw, &fault);
    else
        fault.nodes = draw_node(draw, among);
    draw_amount(draw, &fault);
    if (!crash || gw__faults_down(faults, &fault) < profile->down_most)
        faults->items[faults->count++] = fault;
}

/* By time, kind and duration, since qsort is not stable. */
static int compare_faults(const void *a, const void *b)
{
    const struct gw__fault *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->for_ns > y->for_ns) - (x->for_ns < y->for_ns);
}

void gw__faults_random(uint64_t seed, const struct gw__fault_profile *profile,
                       struct gw__faults *faults)
{
    static const enum gw__fault_kind kinds[] = {
        GW__CRASH, GW__PAUSE, GW__CUT, GW__DROP, GW__DUP, GW__DELAY, GW__CLOCK};
    struct draw draw = {.profile = profile, .faults = faults};
    assert(profile->nodes > 0 && profile->nodes <= GW__NODES_MAX);
    gw_rng_seed(&draw.rng, gw_hash("faults", 6, seed));
    faults->count = 0;
    if (profile->end_ns < US)
        return;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        uint64_t count =
            gw_rng_below(&draw.rng, profile->most[kinds[k]] + UINT64_C(1));
        for (uint64_t i = 0; i < count; i++)
            draw_fault(&draw, kinds[k]);
    }
    qsort(faults->items, faults->count, sizeof *faults->items, compare_faults);
}
