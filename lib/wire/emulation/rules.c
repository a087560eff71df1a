/* SPDX-License-Identifier: MIT
 *
 * The table of link profiles, and the due times of messages (rules.h).
 *
 * There are almost never any profiles, so each of the questions asked for every
 * slice (is there a profile? is the link down? has anything changed?) is one
 * atomic word. A lock guards the profiles and the random generator. It is taken
 * only while there are profiles.
 *
 * A link is a pipe that carries one message after the other: a message enters
 * it after its delay, jitter and resend, when the previous one has passed, and
 * then takes bytes/rate and the pace. So a stream keeps its order whatever the
 * random numbers are, delays overlap, and times at a rate add up.
 */
#include "rules.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { NS_OF_US = 1000, PARTS = 1000000 };
_Static_assert(GW__RULE_NODES == 64, "a bit a node");

static const uint64_t resend_least_ns = 2 * 1000000U;

struct gw__rules {
    _Atomic bool quiet;
    _Atomic uint64_t down; /* nodes as bits */
    _Atomic uint64_t changes;
    pthread_mutex_t lock; /* guards all that follows */
    struct gw__rule links[GW__RULE_NODES];
    uint64_t pace_ns;
    struct gw_rng chance;
};

enum gw_err gw__rules_new(uint64_t seed, struct gw__rules **made,
                          struct gw_error *why)
{
    struct gw__rules *rules = calloc(1, sizeof *rules);
    *made = rules;
    if (!rules)
        return gw_fail(why, GW_ENOMEM, "link rules");
    pthread_mutex_init(&rules->lock, NULL);
    gw_rng_seed(&rules->chance, seed);
    atomic_store(&rules->quiet, true);
    return GW_OK;
}

void gw__rules_destroy(struct gw__rules **rules)
{
    if (*rules)
        pthread_mutex_destroy(&(*rules)->lock);
    free(*rules);
    *rules = NULL;
}

static bool is_nothing(const struct gw__rule *rule)
{
    return !rule->delay_us && !rule->jitter_us && !rule->rate &&
           !rule->loss_ppm && !rule->down;
}

/* A thread that sees the new count also sees the new profiles. */
static void publish(struct gw__rules *rules)
{
    bool quiet = rules->pace_ns == 0;
    uint64_t down = 0;
    for (unsigned node = 0; node < GW__RULE_NODES; node++) {
        quiet &= is_nothing(&rules->links[node]);
        down |= (uint64_t)rules->links[node].down << node;
    }
    atomic_store(&rules->down, down);
    atomic_store(&rules->quiet, quiet);
    atomic_fetch_add(&rules->changes, 1);
}

void gw__rules_set(struct gw__rules *rules, unsigned from,
                   const struct gw__rule *rule)
{
    if (from >= GW__RULE_NODES)
        return;
    pthread_mutex_lock(&rules->lock);
    rules->links[from] = *rule;
    publish(rules);
    pthread_mutex_unlock(&rules->lock);
}

void gw__rules_pace(struct gw__rules *rules, uint64_t ns)
{
    pthread_mutex_lock(&rules->lock);
    rules->pace_ns = ns;
    publish(rules);
    pthread_mutex_unlock(&rules->lock);
}

bool gw__rules_quiet(const struct gw__rules *rules)
{
    return atomic_load_explicit(&rules->quiet, memory_order_acquire);
}

bool gw__rules_down(const struct gw__rules *rules, unsigned from)
{
    uint64_t down = atomic_load_explicit(&rules->down, memory_order_acquire);
    return from < GW__RULE_NODES && (down >> from & 1);
}

uint64_t gw__rules_changes(const struct gw__rules *rules)
{
    return atomic_load_explicit(&rules->changes, memory_order_acquire);
}

/* The effect of the profile and of chance on one message. */
struct fate {
    bool lost;
    uint64_t delay_ns, jitter_ns;
    uint64_t rate;
    uint64_t pace_ns;
};

static struct fate draw_fate(struct gw__rules *rules, unsigned from)
{
    static const struct gw__rule none;
    pthread_mutex_lock(&rules->lock);
    const struct gw__rule *rule =
        from < GW__RULE_NODES ? &rules->links[from] : &none;
    struct gw_rng *chance = &rules->chance;
    uint64_t jitter_ns = (uint64_t)rule->jitter_us * NS_OF_US;
    struct fate fate = {
        .lost = rule->loss_ppm && gw_rng_below(chance, PARTS) < rule->loss_ppm,
        .delay_ns = (uint64_t)rule->delay_us * NS_OF_US,
        .jitter_ns = jitter_ns ? gw_rng_below(chance, jitter_ns + 1) : 0,
        .rate = rule->rate,
        .pace_ns = rules->pace_ns};
    pthread_mutex_unlock(&rules->lock);
    return fate;
}

static uint64_t resend_ns(const struct fate *fate)
{
    uint64_t ns = 2 * fate->delay_ns;
    return ns > resend_least_ns ? ns : resend_least_ns;
}

static uint64_t bytes_ns(size_t bytes, uint64_t rate)
{
    return rate ? (uint64_t)((double)bytes * 1e9 / (double)rate) : 0;
}

uint64_t gw__rules_due(struct gw__rules *rules, unsigned from,
                       struct gw__due *due, uint64_t sent_ns, size_t bytes,
                       bool may_lose, bool chunk)
{
    struct fate fate = draw_fate(rules, from);
    if (fate.lost && may_lose)
        return UINT64_MAX;
    uint64_t at_ns = sent_ns ? sent_ns : gw_now_ns();
    at_ns += fate.delay_ns + fate.jitter_ns;
    if (fate.lost)
        at_ns += resend_ns(&fate);
    if (at_ns < due->last_ns)
        at_ns = due->last_ns;
    at_ns += bytes_ns(bytes, fate.rate);
    if (chunk)
        at_ns += fate.pace_ns;
    due->last_ns = at_ns;
    return at_ns;
}
