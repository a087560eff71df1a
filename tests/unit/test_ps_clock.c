/* SPDX-License-Identifier: MIT
 *
 * The clock of a group, as a specification: whatever workers come, die and come
 * back, each unit of the plan is closed exactly once; bsp closes in the order
 * of parts; ssp keeps its bound; kofn drops what is late, once.
 */
#include <ps/clock.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CREW = 6, EPOCHS = 3, BATCHES = 5, PARTS = 4 };

/* A worker as it sees itself. */
struct hand {
    bool alive, holds, done;
    uint64_t incarnation, number;
    struct gw_ps_work work;
};

struct crew {
    struct gw__clock *clock;
    struct gw_rng rng;
    struct hand hands[CREW];
    uint64_t incarnations;
    /* What each process worked on, by its number: from what it was granted. */
    struct {
        struct gw__unit unit;
        struct gw_ps_work work;
        bool closed, dropped;
    } given[4096];
    unsigned given_count;
    uint64_t looked; /* closings up to here */
    unsigned times[EPOCHS][BATCHES][PARTS];
    uint64_t applied, dropped;
    uint64_t order; /* of bsp: the newest batch closed, counted through */
};

static struct gw_error why;

static void command(struct crew *c, const struct gw__clock_command *command)
{
    uint8_t bytes[GW__CLOCK_COMMAND_MAX];
    struct gw__clock_command copy;
    size_t used = gw__clock_encode(command, bytes, sizeof bytes);
    ck_assert_uint_gt(used, 0);
    ck_assert_int_eq(gw__clock_decode(bytes, used, &copy, &why), GW_OK);
    ck_assert_msg(gw__clock_apply(c->clock, &copy, &why) == GW_OK, "%s",
                  why.text);
}

static void tell_alive(struct crew *c)
{
    struct gw__clock_command say = {.kind = GW__CLOCK_WORKERS};
    for (unsigned i = 0; i < CREW; i++)
        if (c->hands[i].alive)
            say.alive[say.count++] =
                (struct gw__alive){i, c->hands[i].incarnation};
    command(c, &say);
    ck_assert(gw__clock_knows(c->clock, say.alive, say.count));
}

static void come(struct crew *c, unsigned i)
{
    c->hands[i] =
        (struct hand){.alive = true, .incarnation = ++c->incarnations};
}

static void ask(struct crew *c, unsigned i)
{
    struct hand *hand = &c->hands[i];
    const struct gw__clock_command say = {.kind = GW__CLOCK_NEXT,
                                          .who = {i, hand->incarnation},
                                          .number = hand->number};
    command(c, &say);
}

static unsigned find_given(const struct crew *c, struct gw__unit unit)
{
    for (unsigned g = 0; g < c->given_count; g++)
        if (c->given[g].unit.node == unit.node &&
            c->given[g].unit.incarnation == unit.incarnation &&
            c->given[g].unit.clock == unit.clock)
            return g;
    ck_abort_msg("worker %u had no unit %llu", unit.node,
                 (unsigned long long)unit.clock);
}

static void take_closing(struct crew *c, const struct gw__closing *closing)
{
    int part = -1;
    ck_assert_uint_eq(closing->number, c->looked + 1);
    c->looked++;
    for (unsigned u = 0; u < closing->apply; u++) {
        unsigned g = find_given(c, closing->units[u]);
        const struct gw_ps_work *work = &c->given[g].work;
        ck_assert(!c->given[g].closed && !c->given[g].dropped);
        c->given[g].closed = true;
        c->times[work->epoch][work->batch][work->part]++;
        c->applied++;
        if (closing->apply > 1) { /* a round: in the order of parts */
            ck_assert_int_gt((int)work->part, part);
            part = (int)work->part;
        }
    }
    for (unsigned u = 0; u < closing->drop; u++) {
        unsigned g = find_given(c, closing->units[closing->apply + u]);
        ck_assert(!c->given[g].closed && !c->given[g].dropped);
        c->given[g].dropped = true;
        c->dropped++;
    }
}

static void look(struct crew *c)
{
    while (c->looked < gw__clock_closed(c->clock)) {
        const struct gw__closing *closing =
            gw__clock_closing(c->clock, c->looked + 1);
        ck_assert_ptr_nonnull(closing);
        take_closing(c, closing);
    }
    if (gw_rng_below(&c->rng, 8) == 0)
        command(c, &(struct gw__clock_command){.kind = GW__CLOCK_PRUNE,
                                               .number = c->looked});
}

static void receive(struct crew *c, unsigned i)
{
    struct hand *hand = &c->hands[i];
    if (hand->holds ||
        gw__clock_granted(c->clock, (struct gw__alive){i, hand->incarnation},
                          hand->number, &hand->work) != GW_OK)
        return;
    hand->done = hand->work.done;
    hand->holds = !hand->done;
    if (!hand->holds)
        return;
    ck_assert_uint_le(hand->work.closed, c->looked);
    ck_assert_uint_lt(c->given_count, 4096);
    c->given[c->given_count].unit =
        (struct gw__unit){i, hand->incarnation, hand->number};
    c->given[c->given_count].work = hand->work;
    c->given_count++;
}

static void hear(struct crew *c)
{
    look(c);
    for (unsigned i = 0; i < CREW; i++)
        if (c->hands[i].alive)
            receive(c, i);
}

static bool all_done(const struct crew *c)
{
    unsigned done = 0, alive = 0;
    for (unsigned i = 0; i < CREW; i++) {
        alive += c->hands[i].alive;
        done += c->hands[i].alive && c->hands[i].done;
    }
    return alive > 0 && done == alive;
}

/* Somebody does something. */
static void turn(struct crew *c, unsigned deaths)
{
    unsigned i = (unsigned)gw_rng_below(&c->rng, CREW);
    struct hand *hand = &c->hands[i];
    unsigned chance = (unsigned)gw_rng_below(&c->rng, 100);
    if (!hand->alive) {
        if (chance < 30) {
            come(c, i);
            tell_alive(c);
        }
    } else if (chance < deaths) {
        hand->alive = false;
        tell_alive(c);
    } else if (hand->holds && chance < 70) {
        hand->holds = false;
        hand->number++;
        ask(c, i);
    } else {
        ask(c, i); /* again: no harm */
    }
    hear(c);
}

/* Copies the clock by its bytes now and then: nobody notices. */
static void copy(struct crew *c)
{
    struct gw__clock *other;
    size_t bytes = gw__clock_save(c->clock, NULL, 0);
    uint8_t *room = malloc(bytes);
    ck_assert_ptr_nonnull(room);
    ck_assert_uint_eq(gw__clock_save(c->clock, room, bytes), bytes);
    ck_assert_int_eq(gw__clock_new(&other, &why), GW_OK);
    ck_assert_int_eq(gw__clock_load(other, room, bytes, false, &why), GW_OK);
    gw__clock_destroy(&c->clock);
    c->clock = other;
    free(room);
}

static void begin(struct crew *c, uint64_t seed, struct gw_ps_mode mode,
                  unsigned workers)
{
    memset(c, 0, sizeof *c);
    gw_rng_seed(&c->rng, seed);
    ck_assert_int_eq(gw__clock_new(&c->clock, &why), GW_OK);
    command(c, &(struct gw__clock_command){.kind = GW__CLOCK_PLAN,
                                           .mode = mode,
                                           .plan = {.epochs = EPOCHS,
                                                    .batches = BATCHES,
                                                    .parts = PARTS,
                                                    .workers = workers}});
    for (unsigned i = 0; i < workers; i++)
        come(c, i);
    tell_alive(c);
}

static void run(struct crew *c, uint64_t seed, struct gw_ps_mode mode,
                unsigned deaths)
{
    begin(c, seed, mode, 3);
    for (unsigned t = 0; !all_done(c); t++) {
        ck_assert_msg(t < 200000, "seed %llu: never done",
                      (unsigned long long)seed);
        turn(c, deaths);
        if (gw_rng_below(&c->rng, 20) == 0)
            copy(c);
    }
    gw__clock_destroy(&c->clock);
}

static const struct gw_ps_mode bsp = {GW_PS_BSP, 0}, asp = {GW_PS_ASP, 0};

static void check_once(const struct crew *c, uint64_t seed)
{
    for (unsigned e = 0; e < EPOCHS; e++)
        for (unsigned b = 0; b < BATCHES; b++)
            for (unsigned p = 0; p < PARTS; p++)
                ck_assert_msg(c->times[e][b][p] == 1,
                              "seed %llu: part %u of batch %u of epoch %u "
                              "closed %u times",
                              (unsigned long long)seed, p, b, e,
                              c->times[e][b][p]);
}

START_TEST(each_unit_closes_once)
{
    static struct crew c;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        run(&c, seed, bsp, seed % 3 ? 8 : 0);
        check_once(&c, seed);
        run(&c, seed, asp, seed % 3 ? 8 : 0);
        check_once(&c, seed);
        run(&c, seed, (struct gw_ps_mode){GW_PS_SSP, (unsigned)(seed % 4)},
            seed % 3 ? 8 : 0);
        check_once(&c, seed);
    }
}
END_TEST

START_TEST(kofn_closes_k_and_drops_the_late)
{
    static struct crew c;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        run(&c, seed, (struct gw_ps_mode){GW_PS_KOFN, 3}, seed % 3 ? 8 : 0);
        for (unsigned e = 0; e < EPOCHS; e++)
            for (unsigned b = 0; b < BATCHES; b++) {
                unsigned closed = 0;
                for (unsigned p = 0; p < PARTS; p++) {
                    ck_assert_uint_le(c.times[e][b][p], 1);
                    closed += c.times[e][b][p];
                }
                ck_assert_uint_eq(closed, 3);
            }
    }
}
END_TEST

START_TEST(ssp_keeps_its_bound)
{
    for (unsigned bound = 0; bound <= 4; bound++) {
        static struct crew c;
        begin(&c, 40 + bound, (struct gw_ps_mode){GW_PS_SSP, bound}, 3);
        for (unsigned i = 0; i < 3; i++)
            ask(&c, i);
        for (unsigned t = 0; t < 4000 && !all_done(&c); t++) {
            turn(&c, 0);
            uint64_t low = UINT64_MAX, high = 0;
            for (unsigned i = 0; i < 3; i++) {
                uint64_t at = c.hands[i].number;
                low = at < low ? at : low;
                if (c.hands[i].holds && at > high)
                    high = at;
                ck_assert(!c.hands[i].holds ||
                          c.hands[i].work.staleness <= bound);
            }
            ck_assert(high <= low + bound);
        }
        gw__clock_destroy(&c.clock);
    }
}
END_TEST

/* The mode may change at any time, and still each unit closes once. */
START_TEST(modes_change)
{
    static struct crew c;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        begin(&c, seed, bsp, 3);
        for (unsigned t = 0; !all_done(&c); t++) {
            ck_assert_msg(t < 200000, "seed %llu", (unsigned long long)seed);
            turn(&c, 4);
            if (gw_rng_below(&c.rng, 15) == 0) {
                command(&c, &(struct gw__clock_command){
                                .kind = GW__CLOCK_MODE,
                                .mode = {gw_rng_below(&c.rng, 2) ? GW_PS_BSP
                                                                 : GW_PS_SSP,
                                         2}});
                hear(&c);
            }
        }
        check_once(&c, seed);
        gw__clock_destroy(&c.clock);
    }
}
END_TEST

/* Without a plan: a round is one unit of each worker that has asked. */
START_TEST(rounds_without_a_plan)
{
    static struct crew c;
    struct gw_ps_work work;
    memset(&c, 0, sizeof c);
    ck_assert_int_eq(gw__clock_new(&c.clock, &why), GW_OK);
    command(&c,
            &(struct gw__clock_command){.kind = GW__CLOCK_PLAN,
                                        .mode = bsp,
                                        .plan = {.parts = 1, .workers = 2}});
    come(&c, 0);
    come(&c, 1);
    tell_alive(&c);
    struct gw__alive zero = {0, c.hands[0].incarnation},
                     one = {1, c.hands[1].incarnation};
    ask(&c, 0);
    ck_assert_int_eq(gw__clock_granted(c.clock, zero, 0, &work), GW_PENDING);
    ask(&c, 1);
    ck_assert_int_eq(gw__clock_granted(c.clock, zero, 0, &work), GW_OK);
    ck_assert_int_eq(gw__clock_granted(c.clock, one, 0, &work), GW_OK);
    c.hands[0].number = 1;
    ask(&c, 0);
    ck_assert_int_eq(gw__clock_granted(c.clock, zero, 1, &work), GW_PENDING);
    char text[200];
    gw__clock_waits_for(c.clock, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "worker 1"));
    /* The death of the one that is waited for ends the round. */
    c.hands[1].alive = false;
    tell_alive(&c);
    ck_assert_int_eq(gw__clock_granted(c.clock, zero, 1, &work), GW_OK);
    gw__clock_destroy(&c.clock);
}
END_TEST

START_TEST(barriers)
{
    static struct crew c;
    begin(&c, 1, asp, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(gw__clock_barrier(c.clock, 7), GW_PENDING);
        for (unsigned twice = 0; twice < 2; twice++)
            command(&c, &(struct gw__clock_command){
                            .kind = GW__CLOCK_BARRIER,
                            .who = {i, c.hands[i].incarnation},
                            .number = 7,
                            .count = 3});
    }
    ck_assert_int_eq(gw__clock_barrier(c.clock, 7), GW_OK);
    gw__clock_destroy(&c.clock);
}
END_TEST

START_TEST(refusals_change_nothing)
{
    static struct crew c;
    begin(&c, 1, bsp, 1);
    size_t bytes = gw__clock_save(c.clock, NULL, 0);
    uint8_t *before = malloc(bytes), *after = malloc(bytes);
    ck_assert(before && after);
    gw__clock_save(c.clock, before, bytes);
    const struct gw__clock_command wrong[] = {
        {.kind = GW__CLOCK_NEXT, .who = {0, 99}},
        {.kind = GW__CLOCK_NEXT, .who = {0, 1}, .number = 1},
        {.kind = GW__CLOCK_PLAN, .mode = bsp, .plan = {.parts = 0}},
        {.kind = GW__CLOCK_PLAN, .mode = bsp, .plan = {.parts = 2}},
        {.kind = GW__CLOCK_MODE, .mode = {GW_PS_KOFN, PARTS + 1}},
        {.kind = GW__CLOCK_MODE, .mode = {GW_PS_KOFN, 0}},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_ne(gw__clock_apply(c.clock, &wrong[i], &why), GW_OK);
        ck_assert_uint_eq(gw__clock_save(c.clock, after, bytes), bytes);
        ck_assert_mem_eq(before, after, bytes);
    }
    /* Bytes that are cut short anywhere are no clock. */
    struct gw__clock *other;
    ck_assert_int_eq(gw__clock_new(&other, &why), GW_OK);
    for (size_t cut = 0; cut < bytes; cut++)
        ck_assert_int_eq(gw__clock_load(other, before, cut, false, &why),
                         GW_EDATA);
    gw__clock_destroy(&other);
    gw__clock_destroy(&c.clock);
    free(before);
    free(after);
}
END_TEST

/* A restore: nobody of that time lives, and still each unit closes once. */
START_TEST(fresh_after_a_restore)
{
    static struct crew c;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        begin(&c, seed, seed % 2 ? bsp : asp, 3);
        for (unsigned t = 0; t < 30 + seed; t++)
            turn(&c, 4);
        size_t bytes = gw__clock_save(c.clock, NULL, 0);
        uint8_t *room = malloc(bytes);
        ck_assert_ptr_nonnull(room);
        gw__clock_save(c.clock, room, bytes);
        ck_assert_int_eq(gw__clock_load(c.clock, room, bytes, true, &why),
                         GW_OK);
        free(room);
        for (unsigned i = 0; i < CREW; i++)
            c.hands[i].alive = false;
        for (unsigned i = 0; i < 3; i++)
            come(&c, i);
        tell_alive(&c);
        for (unsigned t = 0; !all_done(&c); t++) {
            ck_assert_msg(t < 200000, "seed %llu", (unsigned long long)seed);
            turn(&c, 4);
        }
        check_once(&c, seed);
        gw__clock_destroy(&c.clock);
    }
}
END_TEST

Suite *suite_ps_clock(void);
Suite *suite_ps_clock(void)
{
    Suite *suite = suite_create("ps_clock");
    TCase *tcase = tcase_create("clock");
    tcase_add_test(tcase, each_unit_closes_once);
    tcase_add_test(tcase, kofn_closes_k_and_drops_the_late);
    tcase_add_test(tcase, ssp_keeps_its_bound);
    tcase_add_test(tcase, modes_change);
    tcase_add_test(tcase, rounds_without_a_plan);
    tcase_add_test(tcase, barriers);
    tcase_add_test(tcase, refusals_change_nothing);
    tcase_add_test(tcase, fresh_after_a_restore);
    suite_add_tcase(suite, tcase);
    return suite;
}
