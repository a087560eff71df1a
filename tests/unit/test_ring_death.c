/* SPDX-License-Identifier: MIT
 *
 * Members of a ring die in mid-op, one or two at a time, at random moments:
 * the survivors have equal results, each contributor once, the same
 * contributors at all, and go on. With GRADWIRE_TEST_VERBOSE it tells how long
 * that took; with GRADWIRE_SEED it begins with that seed.
 */
#include "ring_crew.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Suite *suite_ring_death(void);

static struct crew crew;
static struct gw_rng rng;
static uint64_t seed;

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
    pthread_mutex_lock(&crew.lock);
    uint64_t epoch = crew.news.view.epoch;
    pthread_mutex_unlock(&crew.lock);
    return epoch;
}

/* ---- how long it takes ---- */

struct tally {
    unsigned count;
    uint64_t view_us[64], resumed_us[64];
    uint64_t forward, exclude, redone, chunks;
};

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void note(struct tally *tally, uint64_t killed_ns, uint64_t resumed_ns)
{
    unsigned n = tally->count++ % 64;
    pthread_mutex_lock(&crew.lock);
    tally->view_us[n] = (crew.news_ns - killed_ns) / 1000;
    pthread_mutex_unlock(&crew.lock);
    tally->resumed_us[n] = (resumed_ns - killed_ns) / 1000;
}

static void note_end(struct tally *tally)
{
    for (unsigned i = 0; i < crew.plan.seats; i++) {
        const struct gw_ring_status *s = &crew_seat(&crew, i)->status;
        if (!crew_lives(&crew, i))
            continue;
        tally->forward += s->ops_forward;
        tally->exclude += s->ops_exclude;
        tally->redone += s->chunks_redone;
        tally->chunks += s->chunks_redone + s->chunks_spread + s->chunks_kept;
        return;
    }
}

static void tell(struct tally *tally, const char *what)
{
    unsigned n = tally->count < 64 ? tally->count : 64;
    if (!getenv("GRADWIRE_TEST_VERBOSE") || n == 0)
        return;
    qsort(tally->view_us, n, sizeof *tally->view_us, by_size);
    qsort(tally->resumed_us, n, sizeof *tally->resumed_us, by_size);
    printf("%s, %u: view p50 %" PRIu64 " us, most %" PRIu64
           "; resumed p50 %" PRIu64 " us, most %" PRIu64 "; ops forward %" PRIu64
           ", exclude %" PRIu64 "; redone %" PRIu64 " of %" PRIu64 " chunks\n",
           what, n, tally->view_us[n / 2], tally->view_us[n - 1],
           tally->resumed_us[n / 2], tally->resumed_us[n - 1], tally->forward,
           tally->exclude, tally->redone, tally->chunks);
}

/* ---- deaths ---- */

static unsigned draw_living(void)
{
    unsigned seat;
    do
        seat = (unsigned)gw_rng_below(&rng, crew.plan.seats);
    while (!crew_lives(&crew, seat));
    return seat;
}

static void kill_at_random(struct tally *tally, unsigned deaths)
{
    uint64_t epoch = newest_epoch(), killed_ns = 0;
    nap_us(gw_rng_below(&rng, 5000));
    for (unsigned i = 0; i < deaths; i++) {
        if (i > 0)
            nap_us(gw_rng_below(&rng, 8000));
        killed_ns = crew_kill(&crew, draw_living());
    }
    crew_await_size(&crew, crew.plan.members - deaths);
    uint64_t resumed_ns = crew_await_epoch(&crew, epoch + deaths - 1);
    note(tally, killed_ns, resumed_ns);
}

static void one_ring(struct tally *tally, const char *wire, unsigned deaths)
{
    gw_rng_seed(&rng, seed);
    struct crew_plan plan = {
        .members = deaths + 2 + (unsigned)gw_rng_below(&rng, 3),
        .wire = wire,
        .count = gw_rng_below(&rng, 3) ? 0 : 1 << 16};
    plan.seats = plan.members;
    if (getenv("GRADWIRE_TEST_VERBOSE")) {
        printf("seed %" PRIu64 ": %u members, %u die\n", seed, plan.members,
               deaths);
        fflush(stdout);
    }
    crew_start(&crew, &plan);
    crew_await_all(&crew, 5 + gw_rng_below(&rng, 20));
    kill_at_random(tally, deaths);
    crew_end(&crew);
    note_end(tally);
    crew_stop(&crew);
    seed++;
}

START_TEST(one_of_some)
{
    static const char *const wires[] = {"shm", "shm", "shm", "ipc", "tcp"};
    struct tally tally = {.count = 0};
    seed = first_seed() + (uint64_t)_i * 1000;
    for (unsigned i = 0; i < 6; i++)
        one_ring(&tally, wires[_i], 1);
    tell(&tally, wires[_i]);
}
END_TEST

START_TEST(two_of_some)
{
    struct tally tally = {.count = 0};
    seed = first_seed() + 10000;
    for (unsigned i = 0; i < 6; i++)
        one_ring(&tally, i % 3 ? "shm" : "ipc", 2);
    tell(&tally, "two deaths");
}
END_TEST

START_TEST(until_one_is_left)
{
    const struct crew_plan plan = {.members = 4, .seats = 4};
    struct tally tally = {.count = 0};
    seed = first_seed() + 20000;
    gw_rng_seed(&rng, seed);
    crew_start(&crew, &plan);
    for (unsigned left = 4; left > 1; left--) {
        uint64_t epoch = newest_epoch();
        crew_await_all(&crew, 5);
        uint64_t killed_ns = crew_kill(&crew, draw_living());
        crew_await_size(&crew, left - 1);
        note(&tally, killed_ns, crew_await_epoch(&crew, epoch));
    }
    crew_end(&crew);
    crew_stop(&crew);
    tell(&tally, "until one is left");
}
END_TEST

/* Everybody computes for long when one dies: nobody is asked to come back
 * sooner, and what is told on the way is right. */
START_TEST(while_all_compute)
{
    const struct crew_plan plan = {
        .members = 3, .seats = 3, .think_us = 150000};
    crew_start(&crew, &plan);
    crew_await_all(&crew, 1);
    uint64_t epoch = newest_epoch();
    crew_kill(&crew, 1);
    crew_await_size(&crew, 2);
    crew_await_epoch(&crew, epoch);
    atomic_store(&crew.shared->wants_end, true);
    crew_stop(&crew);
}
END_TEST

/* ---- stopped, not dead ---- */

/* Nobody knows that it has ended: it falls silent, is convicted by those who
 * miss it, and comes back as another when it wakes. */
START_TEST(who_slept_through_its_conviction_comes_back)
{
    const struct crew_plan plan = {
        .members = 4, .seats = 4, .rejoins = true, .blob_bytes = 100000};
    struct tally tally = {.count = 0};
    crew_start(&crew, &plan);
    crew_await_all(&crew, 20);
    uint64_t begin_ns = gw_now_ns();
    kill(crew.pids[1], SIGSTOP);
    crew_await_size(&crew, 3);
    crew_await_ops(&crew, 0, atomic_load(&crew_seat(&crew, 0)->ops) + 20);
    note(&tally, begin_ns, gw_now_ns());
    kill(crew.pids[1], SIGCONT);
    crew_await_size(&crew, 4);
    while (atomic_load(&crew_seat(&crew, 1)->lives) < 2)
        nap_us(1000);
    crew_await_ops(&crew, 1, 5);
    crew_end(&crew);
    crew_stop(&crew);
    tell(&tally, "stopped");
}
END_TEST

Suite *suite_ring_death(void)
{
    Suite *suite = suite_create("ring death");
    TCase *tcase = tcase_create("deaths");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, one_of_some, 0, 5);
    tcase_add_test(tcase, two_of_some);
    tcase_add_test(tcase, until_one_is_left);
    tcase_add_test(tcase, while_all_compute);
    tcase_add_test(tcase, who_slept_through_its_conviction_comes_back);
    suite_add_tcase(suite, tcase);
    return suite;
}
