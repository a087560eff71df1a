/* SPDX-License-Identifier: MIT
 *
 * The table of link profiles, and the due times of messages (link_profiles.h).
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
#include "link_profiles.h"

#include <base/link_profile.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { NS_OF_US = 1000, PARTS = 1000000 };

static const uint64_t resend_least_ns = 2 * 1000000U;

struct gw__link_profiles {
    _Atomic bool quiet;
    _Atomic uint64_t down[GW__NODE_WORDS]; /* a set of nodes */
    _Atomic uint64_t changes;
    pthread_mutex_t lock; /* guards all that follows */
    struct gw_link_profile links[GW__LINK_PROFILE_NODES];
    uint64_t pace_ns;
    struct gw_rng chance;
};

enum gw_err gw__link_profiles_new(uint64_t seed,
                                  struct gw__link_profiles **made,
                                  struct gw_error *why)
{
    struct gw__link_profiles *profiles = calloc(1, sizeof *profiles);
    *made = profiles;
    if (!profiles)
        return gw_fail(why, GW_ENOMEM, "link rules");
    pthread_mutex_init(&profiles->lock, NULL);
    gw_rng_seed(&profiles->chance, seed);
    atomic_store(&profiles->quiet, true);
    return GW_OK;
}

void gw__link_profiles_destroy(struct gw__link_profiles **profiles)
{
    if (*profiles)
        pthread_mutex_destroy(&(*profiles)->lock);
    free(*profiles);
    *profiles = NULL;
}

/* A thread that sees the new count also sees the new profiles. */
static void publish(struct gw__link_profiles *profiles)
{
    bool quiet = profiles->pace_ns == 0;
    struct gw_nodes down = {{0}};
    for (unsigned node = 0; node < GW__LINK_PROFILE_NODES; node++) {
        quiet &= gw__link_profile_is_none(&profiles->links[node]);
        if (profiles->links[node].down)
            gw__nodes_add(&down, node);
    }
    for (unsigned w = 0; w < GW__NODE_WORDS; w++)
        atomic_store(&profiles->down[w], down.words[w]);
    atomic_store(&profiles->quiet, quiet);
    atomic_fetch_add(&profiles->changes, 1);
}

void gw__link_profiles_set(struct gw__link_profiles *profiles, unsigned from,
                           const struct gw_link_profile *profile)
{
    if (from >= GW__LINK_PROFILE_NODES)
        return;
    pthread_mutex_lock(&profiles->lock);
    profiles->links[from] = *profile;
    publish(profiles);
    pthread_mutex_unlock(&profiles->lock);
}

void gw__link_profiles_pace(struct gw__link_profiles *profiles, uint64_t ns)
{
    pthread_mutex_lock(&profiles->lock);
    profiles->pace_ns = ns;
    publish(profiles);
    pthread_mutex_unlock(&profiles->lock);
}

bool gw__link_profiles_quiet(const struct gw__link_profiles *profiles)
{
    return atomic_load_explicit(&profiles->quiet, memory_order_acquire);
}

bool gw__link_profiles_down(const struct gw__link_profiles *profiles,
                            unsigned from)
{
    return from < GW__LINK_PROFILE_NODES &&
           atomic_load_explicit(&profiles->down[from / 64],
                                memory_order_acquire) >>
                   from % 64 &
               1;
}

uint64_t gw__link_profiles_changes(const struct gw__link_profiles *profiles)
{
    return atomic_load_explicit(&profiles->changes, memory_order_acquire);
}

/* The effect of the profile and of chance on one message. */
struct fate {
    bool lost;
    uint64_t delay_ns, jitter_ns;
    uint64_t rate;
    uint64_t pace_ns;
};

static struct fate draw_fate(struct gw__link_profiles *profiles, unsigned from)
{
    static const struct gw_link_profile none;
    pthread_mutex_lock(&profiles->lock);
    const struct gw_link_profile *profile =
        from < GW__LINK_PROFILE_NODES ? &profiles->links[from] : &none;
    struct gw_rng *chance = &profiles->chance;
    uint64_t jitter_ns = (uint64_t)profile->jitter_us * NS_OF_US;
    struct fate fate = {.lost = profile->loss_ppm &&
                                gw_rng_below(chance, PARTS) < profile->loss_ppm,
                        .delay_ns = (uint64_t)profile->delay_us * NS_OF_US,
                        .jitter_ns =
                            jitter_ns ? gw_rng_below(chance, jitter_ns + 1) : 0,
                        .rate = profile->rate,
                        .pace_ns = profiles->pace_ns};
    pthread_mutex_unlock(&profiles->lock);
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

uint64_t gw__link_profiles_due(struct gw__link_profiles *profiles,
                               unsigned from, struct gw__due *due,
                               uint64_t sent_ns, size_t bytes, bool may_lose,
                               bool chunk)
{
    struct fate fate = draw_fate(profiles, from);
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
