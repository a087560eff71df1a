/* SPDX-License-Identifier: MIT
 *
 * Members of a ring die in the middle of an op, one or two at a time, at random
 * moments. The survivors have equal results with the same contributors, each
 * counted once, and continue. GRADWIRE_TEST_VERBOSE prints the times of
 * recovery; GRADWIRE_SEED sets the first seed.
 */
#include "ring_members.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Suite *suite_ring_death(void);

static struct ring_members members;
static struct gw_rng rng;
static uint64_t seed;

static void teardown(void)
{
    members_stop(&members);
}

static uint64_t first_seed(void)
{
    const char *text = getenv("GRADWIRE_SEED");
    return text ? strtoull(text, NULL, 10) : gw_now_ns() % 1000000;
}

static void nap_us(uint64_t us)
{
    struct timespec t = {.tv_nsec = (long)us * 1000};
    nanosleep(&t, NULL);
}

static uint64_t newest_epoch(void)
{
    gw__session_lock(&members.supervisor);
    uint64_t epoch = members.supervisor.update.view.epoch;
    gw__session_unlock(&members.supervisor);
    return epoch;
}

/* ---- times of recovery ---- */

static void print_times(const char *what, uint64_t killed_ns,
                        uint64_t resumed_ns)
{
    if (!getenv("GRADWIRE_TEST_VERBOSE"))
        return;
    gw__session_lock(&members.supervisor);
    uint64_t view_ns = members.update_ns;
    gw__session_unlock(&members.supervisor);
    printf("%s: seed %" PRIu64 ", %u members: view after %" PRIu64
           " us, resumed after %" PRIu64 " us\n",
           what, seed, members.plan.members, (view_ns - killed_ns) / 1000,
           (resumed_ns - killed_ns) / 1000);
    fflush(stdout);
}

/* The counters of one survivor. */
static void print_end(void)
{
    unsigned i = 0;
    while (i < members.plan.processes && !members_is_alive(&members, i))
        i++;
    const struct gw_ring_status *s = &member_process(&members, i)->status;
    if (getenv("GRADWIRE_TEST_VERBOSE"))
        printf("  forward %" PRIu64 ", exclude %" PRIu64
               ", chunks spread %" PRIu64 ", kept %" PRIu64 ", fresh %" PRIu64
               ", redone %" PRIu64 "\n",
               s->ops_forward, s->ops_exclude, s->chunks_spread, s->chunks_kept,
               s->chunks_fresh, s->chunks_redone);
}

static void expect_same_plans(const struct gw_ring_chunks *a,
                              const struct gw_ring_chunks *b)
{
    for (unsigned i = 0; i < GW_RING_CHUNKS && a[i].epoch; i++)
        for (unsigned k = 0; k < GW_RING_CHUNKS && b[k].epoch; k++)
            if (a[i].epoch == b[k].epoch && a[i].op == b[k].op)
                ck_assert_msg(memcmp(&a[i], &b[k], sizeof *a) == 0,
                              "op %" PRIu64 " of epoch %" PRIu64
                              ": %u spread, %u redone, %u kept, %u fresh; "
                              "elsewhere %u, %u, %u, %u; seed %" PRIu64,
                              a[i].op, a[i].epoch, a[i].spread, a[i].redone,
                              a[i].kept, a[i].fresh, b[k].spread, b[k].redone,
                              b[k].kept, b[k].fresh, seed);
}

/* The survivors of a death have made the same plans. */
static void check_plans(void)
{
    for (unsigned i = 0; i < members.plan.processes; i++)
        for (unsigned k = 0; k < i; k++)
            if (members_is_alive(&members, i) && members_is_alive(&members, k))
                expect_same_plans(member_process(&members, i)->status.chunks,
                                  member_process(&members, k)->status.chunks);
}

/* ---- deaths ---- */

static unsigned draw_living(void)
{
    unsigned number;
    do
        number = (unsigned)gw_rng_below(&rng, members.plan.processes);
    while (!members_is_alive(&members, number));
    return number;
}

static void kill_at_random(const char *what, unsigned deaths)
{
    uint64_t epoch = newest_epoch(), killed_ns = 0;
    nap_us(gw_rng_below(&rng, 5000));
    for (unsigned i = 0; i < deaths; i++) {
        if (i > 0)
            nap_us(gw_rng_below(&rng, 8000));
        killed_ns = members_kill(&members, draw_living());
    }
    members_await_size(&members, members.plan.members - deaths);
    print_times(what, killed_ns,
                members_await_epoch(&members, epoch + deaths - 1));
}

static void one_ring(const char *wire, unsigned deaths)
{
    gw_rng_seed(&rng, seed);
    struct members_plan plan = {.members = deaths + 2 +
                                           (unsigned)gw_rng_below(&rng, 3),
                                .wire = wire,
                                .count = gw_rng_below(&rng, 3) ? 0 : 1 << 16,
                                .pace_ns = gw_rng_below(&rng, 3) ? 0 : 1000000};
    plan.processes = plan.members;
    ring_members_start(&members, &plan);
    members.seed = seed;
    members_await_all(&members, 5 + gw_rng_below(&rng, 20));
    kill_at_random(wire, deaths);
    ring_members_end(&members);
    print_end();
    check_plans();
}

START_TEST(one_of_some)
{
    static const char *const wires[] = {"shm", "shm", "shm", "ipc", "tcp"};
    seed = first_seed() + (uint64_t)_i;
    one_ring(wires[_i % 5], 1);
}
END_TEST

START_TEST(two_of_some)
{
    seed = first_seed() + 100 + (uint64_t)_i;
    one_ring(_i % 3 ? "shm" : "ipc", 2);
}
END_TEST

START_TEST(until_one_is_left)
{
    const struct members_plan plan = {.members = 4, .processes = 4};
    seed = first_seed() + 200;
    gw_rng_seed(&rng, seed);
    ring_members_start(&members, &plan);
    members.seed = seed;
    for (unsigned left = 4; left > 1; left--) {
        members_await_all(&members, 5);
        uint64_t epoch = newest_epoch();
        uint64_t killed_ns = members_kill(&members, draw_living());
        members_await_size(&members, left - 1);
        print_times("until one is left", killed_ns,
                    members_await_epoch(&members, epoch));
    }
    ring_members_end(&members);
}
END_TEST

/* ---- events ---- */

static uint64_t count_events(enum gw_event_kind kind)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < members.plan.processes; i++)
        if (members_is_alive(&members, i))
            sum += member_process(&members, i)->events[kind];
    return sum;
}

/* A recovery goes from one thread of a member to the other at most twice: to
 * control with the loss, and back to main with all addresses. Once more, if
 * control knows first and has to stop main. True: a main thread knew first. */
static bool check_hops(void)
{
    bool first = false;
    for (unsigned i = 0; i < members.plan.processes; i++) {
        unsigned hops = member_process(&members, i)->hops;
        if (!members_is_alive(&members, i))
            continue;
        ck_assert_msg(hops <= 3, "member %u: %u hops", i, hops);
        first |= hops == 2;
    }
    return first;
}

/* One member emits the events of the whole ring, whichever is the first. True:
 * a main thread knew first. */
static bool one_death(unsigned victim)
{
    const struct members_plan plan = {.members = 4, .processes = 4};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    members_kill_unreported(&members, victim);
    members_await_size(&members, 3);
    ring_members_end(&members);
    const struct gw_ring_status *s =
        &member_process(&members, victim ? 0 : 1)->status;
    uint64_t decided = s->ops_forward + s->ops_exclude;
    ck_assert_uint_eq(s->epoch, 2);
    ck_assert_uint_eq(s->recoveries, 1);
    ck_assert_uint_ge(decided, 1);
    ck_assert_uint_eq(count_events(GW_EV_EPOCH), victim ? 2 : 1);
    ck_assert_uint_eq(count_events(GW_EV_DECISION), decided);
    ck_assert_uint_eq(member_process(&members, victim ? 0 : 1)->reported_dead,
                      1ULL << victim);
    ck_assert_uint_ge(count_events(GW_EV_FAILURE), 1);
    ck_assert_uint_gt(s->last.decided_ns, s->last.frozen_ns);
    ck_assert_uint_gt(s->last.reconnected_ns, s->last.decided_ns);
    ck_assert_uint_ge(s->last.resumed_ns, s->last.reconnected_ns);
    return check_hops();
}

/* On a busy machine the control threads may know of one death first. */
START_TEST(the_events_of_a_death)
{
    unsigned tries = 0;
    while (!one_death(_i ? 0 : 2)) {
        members_stop(&members);
        ck_assert_uint_lt(++tries, 5);
    }
}
END_TEST

/* All members compute for long when one dies. None is interrupted, and the
 * events are correct. */
START_TEST(while_all_compute)
{
    const struct members_plan plan = {
        .members = 3, .processes = 3, .think_us = 150000};
    ring_members_start(&members, &plan);
    members_await_all(&members, 1);
    uint64_t epoch = newest_epoch();
    members_kill(&members, 1);
    members_await_size(&members, 2);
    members_await_epoch(&members, epoch);
}
END_TEST

/* ---- stopped, not dead ---- */

/* The member is silent but its end is not reported. The observers have it
 * declared dead, and when it resumes it comes back as a new incarnation. */
START_TEST(a_member_that_slept_until_declared_dead_comes_back)
{
    const struct members_plan plan = {
        .members = 4, .processes = 4, .rejoins = true, .blob_bytes = 100000};
    ring_members_start(&members, &plan);
    members_await_all(&members, 20);
    uint64_t begin_ns = gw_now_ns();
    kill(members.pids[1], SIGSTOP);
    members_await_size(&members, 3);
    members_await_ops(&members, 0,
                      atomic_load(&member_process(&members, 0)->ops) + 20);
    print_times("stopped", begin_ns, gw_now_ns());
    kill(members.pids[1], SIGCONT);
    members_await_size(&members, 4);
    while (atomic_load(&member_process(&members, 1)->lives) < 2)
        nap_us(1000);
    members_await_ops(&members, 1, 5);
    ring_members_end(&members);
}
END_TEST

Suite *suite_ring_death(void)
{
    Suite *suite = suite_create("ring death");
    TCase *tcase = tcase_create("deaths");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, one_of_some, 0, 30);
    tcase_add_loop_test(tcase, two_of_some, 0, 6);
    tcase_add_test(tcase, until_one_is_left);
    tcase_add_loop_test(tcase, the_events_of_a_death, 0, 2);
    tcase_add_test(tcase, while_all_compute);
    tcase_add_test(tcase, a_member_that_slept_until_declared_dead_comes_back);
    suite_add_tcase(suite, tcase);
    return suite;
}
