/* SPDX-License-Identifier: MIT
 *
 * See ps_group.h.
 */
#include "ps_group.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct gw_error why;

void ps_group_command(struct ps_group *c,
                      const struct gw__clock_command *command)
{
    uint8_t bytes[GW__CLOCK_COMMAND_MAX];
    struct gw__clock_command copy;
    size_t used = gw__clock_encode(command, bytes, sizeof bytes);
    ck_assert_uint_gt(used, 0);
    ck_assert_int_eq(gw__clock_decode(bytes, used, &copy, &why), GW_OK);
    ck_assert_msg(gw__clock_apply(c->clock, &copy, &why) == GW_OK, "%s",
                  why.text);
}

void ps_group_send_alive(struct ps_group *c)
{
    struct gw__clock_command command = {.kind = GW__CLOCK_WORKERS};
    for (unsigned i = 0; i < GROUP; i++)
        if (c->hands[i].alive)
            command.alive[command.count++] =
                (struct gw__alive){i, c->hands[i].incarnation};
    ps_group_command(c, &command);
    ck_assert(gw__clock_knows(c->clock, command.alive, command.count));
}

void ps_group_add(struct ps_group *c, unsigned i)
{
    c->hands[i] =
        (struct hand){.alive = true, .incarnation = ++c->incarnations};
}

void ps_group_request(struct ps_group *c, unsigned i)
{
    struct hand *hand = &c->hands[i];
    double epoch = (double)hand->work.epoch;
    const struct gw__clock_command command = {.kind = GW__CLOCK_NEXT,
                                              .who = {i, hand->incarnation},
                                              .number = hand->number,
                                              .sum = 2.0 * (EPOCHS - epoch),
                                              .weight = 2};
    ps_group_command(c, &command);
}

static unsigned find_grant(const struct ps_group *c, struct gw__work_item item)
{
    for (unsigned g = 0; g < c->grant_count; g++)
        if (c->grants[g].item.node == item.node &&
            c->grants[g].item.incarnation == item.incarnation &&
            c->grants[g].item.clock == item.clock)
            return g;
    ck_abort_msg("worker %u had no unit %llu", item.node,
                 (unsigned long long)item.clock);
}

static void check_commit(struct ps_group *c,
                         const struct gw__round_commit *commit)
{
    int part = -1;
    ck_assert_uint_eq(commit->number, c->checked + 1);
    c->checked++;
    for (unsigned u = 0; u < commit->apply; u++) {
        unsigned g = find_grant(c, commit->items[u]);
        const struct gw_ps_work *work = &c->grants[g].work;
        ck_assert(!c->grants[g].closed && !c->grants[g].dropped);
        c->grants[g].closed = true;
        c->times[work->epoch][work->batch][work->part]++;
        c->applied++;
        if (commit->apply > 1) { /* a round is in part order */
            ck_assert_int_gt((int)work->part, part);
            part = (int)work->part;
        }
    }
    for (unsigned u = 0; u < commit->drop; u++) {
        unsigned g = find_grant(c, commit->items[commit->apply + u]);
        ck_assert(!c->grants[g].closed && !c->grants[g].dropped);
        c->grants[g].dropped = true;
        c->dropped++;
    }
}

static void check_commits(struct ps_group *c)
{
    while (c->checked < gw__clock_closed(c->clock)) {
        const struct gw__round_commit *commit =
            gw__clock_round_commit(c->clock, c->checked + 1);
        ck_assert_ptr_nonnull(commit);
        check_commit(c, commit);
    }
    if (gw_rng_below(&c->rng, 8) == 0)
        ps_group_command(c, &(struct gw__clock_command){.kind = GW__CLOCK_PRUNE,
                                                        .number = c->checked});
}

static void receive(struct ps_group *c, unsigned i)
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
    ck_assert_uint_le(hand->work.closed, c->checked);
    ck_assert_uint_lt(c->grant_count, 4096);
    unsigned *parts = &c->parts[hand->work.epoch][hand->work.batch];
    ck_assert(*parts == 0 || *parts == hand->work.parts);
    ck_assert_uint_lt(hand->work.part, hand->work.parts);
    *parts = hand->work.parts;
    c->grants[c->grant_count].item =
        (struct gw__work_item){i, hand->incarnation, hand->number};
    c->grants[c->grant_count].work = hand->work;
    c->grant_count++;
}

void ps_group_receive(struct ps_group *c)
{
    check_commits(c);
    for (unsigned i = 0; i < GROUP; i++)
        if (c->hands[i].alive)
            receive(c, i);
}

bool ps_group_is_done(const struct ps_group *c)
{
    unsigned done = 0, alive = 0;
    for (unsigned i = 0; i < GROUP; i++)
        alive += c->hands[i].alive,
            done += c->hands[i].alive && c->hands[i].done;
    return alive > 0 && done == alive;
}

/* A random worker takes a step: it dies, comes back, finishes or requests. */
void ps_group_step(struct ps_group *c, unsigned deaths)
{
    unsigned i = (unsigned)gw_rng_below(&c->rng, GROUP);
    struct hand *hand = &c->hands[i];
    unsigned chance = (unsigned)gw_rng_below(&c->rng, 100);
    if (!hand->alive) {
        if (chance < 30) {
            ps_group_add(c, i);
            ps_group_send_alive(c);
        }
    } else if (chance < deaths) {
        hand->alive = false;
        ps_group_send_alive(c);
    } else if (hand->holds && chance < 70) {
        hand->holds = false;
        hand->number++;
        ps_group_request(c, i);
    } else {
        ps_group_request(c, i); /* a repeated request is harmless */
    }
    ps_group_receive(c);
}

/* Replaces the clock with a saved and loaded copy, which must behave the
 * same. */
static void copy(struct ps_group *c)
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

void ps_group_begin(struct ps_group *c, uint64_t seed, struct gw_ps_mode mode,
                    unsigned workers)
{
    ps_group_begin_parts(c, seed, mode, workers, PARTS);
}

static void begin(struct ps_group *c, uint64_t seed, struct gw_ps_mode mode,
                  struct gw_ps_plan plan)
{
    memset(c, 0, sizeof *c);
    gw_rng_seed(&c->rng, seed);
    ck_assert_int_eq(gw__clock_new(&c->clock, &why), GW_OK);
    ps_group_command(c, &(struct gw__clock_command){.kind = GW__CLOCK_PLAN,
                                                    .mode = mode,
                                                    .plan = plan});
    for (unsigned i = 0; i < plan.workers; i++)
        ps_group_add(c, i);
    ps_group_send_alive(c);
}

void ps_group_begin_parts(struct ps_group *c, uint64_t seed,
                          struct gw_ps_mode mode, unsigned workers,
                          unsigned parts)
{
    begin(c, seed, mode,
          (struct gw_ps_plan){.epochs = EPOCHS,
                              .batches = BATCHES,
                              .parts = parts,
                              .workers = workers});
}

void ps_group_begin_until(struct ps_group *c, uint64_t seed,
                          struct gw_ps_mode mode, unsigned workers,
                          double until)
{
    begin(c, seed, mode,
          (struct gw_ps_plan){.epochs = EPOCHS,
                              .batches = BATCHES,
                              .parts = PARTS,
                              .workers = workers,
                              .has_until = true,
                              .until = until});
}

void ps_group_run(struct ps_group *c, uint64_t seed, struct gw_ps_mode mode,
                  unsigned deaths)
{
    ps_group_begin(c, seed, mode, 3);
    ps_group_end(c, seed, deaths);
}

void ps_group_end(struct ps_group *c, uint64_t seed, unsigned deaths)
{
    struct gw_ps_clock_status status;
    ps_group_end_status(c, seed, deaths, &status);
}

void ps_group_end_status(struct ps_group *c, uint64_t seed, unsigned deaths,
                         struct gw_ps_clock_status *status)
{
    for (unsigned t = 0; !ps_group_is_done(c); t++) {
        ck_assert_msg(t < 200000, "seed %llu: never done",
                      (unsigned long long)seed);
        ps_group_step(c, deaths);
        if (gw_rng_below(&c->rng, 20) == 0)
            copy(c);
    }
    gw__clock_status(c->clock, status);
    ck_assert_uint_eq(status->work_items, c->applied);
    ck_assert_uint_eq(status->parts_begun,
                      status->work_items + status->skipped);
    gw__clock_destroy(&c->clock);
}
