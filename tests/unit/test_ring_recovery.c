/* SPDX-License-Identifier: MIT
 *
 * A ring all-reduce in which any member, or any two, die at any moment. The
 * survivors decide, plan, verify and recover, and end with every contributor
 * counted once and the bits of a clean run. The losses and repeated work are
 * those predicted by a model of sets: FORWARD in (p-2) of 2(p-1) moments, a
 * quarter of the chunks redone.
 */
#include "simring.h"

#include <stdio.h>

Suite *suite_ring_recovery(void);

static struct simring simring;

/* Runs in lock-step up to `step`. */
static void run_to(unsigned count, unsigned step)
{
    simring_begin(&simring, count);
    for (unsigned s = 0; s < step; s++)
        for (unsigned c = 0; c < count; c++)
            ck_assert(simring_hop_once(&simring, c, s));
}

static unsigned missing_copies(void)
{
    unsigned missing = 0;
    for (unsigned rank = 0; rank < simring.survivor_count; rank++)
        for (unsigned c = 0; c < simring.count; c++)
            missing += !gw__contributor_sets_final(
                &simring.members[simring.survivors[rank]].sets, c);
    return missing;
}

START_TEST(a_ring_without_losses_is_the_clean_run)
{
    for (unsigned p = 2; p <= SIMRING_MOST; p++) {
        run_to(p, 2 * (p - 1));
        simring_lose(&simring, 0);
        ck_assert_int_eq(simring.decision.fate, GW__FORWARD);
        ck_assert_uint_eq(simring.recovery.plan->transfer_count, 0);
        simring_check(&simring, "clean");
        simring_end(&simring);
    }
}
END_TEST

/* Each chunk counts once; with FORWARD every chunk was complete somewhere. */
static void check_counts(unsigned p, const char *what)
{
    const struct gw__recovery *r = &simring.recovery;
    unsigned sum =
        r->chunks_spread + r->chunks_redone + r->chunks_kept + r->chunks_fresh;
    ck_assert_msg(sum == p, "%s: %u chunks of %u", what, sum, p);
    ck_assert_msg((r->chunks_spread == p) ==
                      (simring.decision.fate == GW__FORWARD),
                  "%s: %u chunks spread", what, r->chunks_spread);
}

START_TEST(any_member_at_any_step)
{
    char what[64];
    for (unsigned p = 2; p <= 8; p++)
        for (unsigned x = 0; x < p; x++)
            for (unsigned step = 0; step <= 2 * (p - 1); step++) {
                snprintf(what, sizeof what, "%u of %u dies at step %u", x, p,
                         step);
                run_to(p, step);
                simring_lose(&simring, 1U << x);
                unsigned missing = missing_copies();
                size_t transfers = simring.recovery.plan->transfer_count;
                check_counts(p, what);
                if (simring.decision.fate == GW__FORWARD)
                    ck_assert_msg(transfers == missing, "%s: %zu for %u", what,
                                  transfers, missing);
                else
                    ck_assert_msg(transfers <= 2 * p * (p - 2), "%s: %zu", what,
                                  transfers);
                ck_assert_uint_le(simring.recovery.plan->steps, 2 * (p - 1));
                simring_finish(&simring, 0);
                simring_check(&simring, what);
                simring_end(&simring);
            }
}
END_TEST

/* One line of the table: over all members and the 2(p-1) steps. */
struct table_row {
    double forward; /* share of the moments */
    double redone;  /* of the chunks */
    double kept;    /* of the additions done, unless FORWARD */
};

static struct table_row measure(unsigned p)
{
    unsigned moments = 0, forwards = 0, redone = 0, done = 0, kept = 0;
    for (unsigned x = 0; x < p; x++)
        for (unsigned step = 0; step < 2 * (p - 1); step++, moments++) {
            run_to(p, step);
            simring_lose(&simring, 1U << x);
            redone += simring.recovery.chunks_redone;
            if (simring.decision.fate == GW__FORWARD)
                forwards++;
            else {
                done += p * step;
                kept += simring.recovery.sums_kept;
            }
            simring_end(&simring);
        }
    return (struct table_row){.forward = (double)forwards / moments,
                              .redone = (double)redone / (moments * p),
                              .kept = (double)kept / done};
}

START_TEST(a_third_to_a_half_goes_forward_and_a_quarter_is_redone)
{
    static const struct {
        unsigned p;
        double forward, redone;
    } table[] = {{4, 0.333, 0.25}, {8, 0.429, 0.25}, {16, 0.467, 0.25}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct table_row line = measure(table[i].p);
        double p = table[i].p;
        ck_assert_double_eq_tol(line.forward, table[i].forward, 0.0005);
        ck_assert_double_eq_tol(line.forward, (p - 2) / (2 * (p - 1)), 1e-12);
        ck_assert_double_eq_tol(line.redone, table[i].redone, 1e-12);
        /* The neighbour of the dead member still has the partial sum of a chunk
         * that is redone. So 1/3, 1/2 and 7/12 of all additions are kept; a
         * restart from the inputs would keep .29, .34 and .35. */
        ck_assert_double_eq_tol(line.kept, 2 / 3.0 - 4 / (3 * p), 1e-12);
    }
}
END_TEST

/* ---- two deaths ---- */

static void two_deaths(unsigned p, unsigned x, unsigned step, unsigned y)
{
    char what[80];
    unsigned later = 0, steps = 0;
    do {
        snprintf(what, sizeof what, "%u of %u dies at %u, %u after %u more", x,
                 p, step, y, later);
        run_to(p, step);
        simring_lose(&simring, 1U << x);
        steps = simring.recovery.plan->steps;
        for (unsigned s = 0; s < later; s++)
            simring_do_step(&simring, s);
        simring_lose(&simring, 1U << y);
        simring_finish(&simring, 0);
        simring_check(&simring, what);
        simring_end(&simring);
    } while (later++ < steps);
    run_to(p, step);
    simring_lose(&simring, 1U << x | 1U << y);
    simring_finish(&simring, 0);
    simring_check(&simring, "both at once");
    simring_end(&simring);
}

START_TEST(any_two_members_at_any_two_moments)
{
    for (unsigned p = 3; p <= 5; p++)
        for (unsigned x = 0; x < p; x++)
            for (unsigned y = 0; y < p; y++)
                for (unsigned step = 0; x != y && step <= 2 * (p - 1); step++)
                    two_deaths(p, x, step, y);
}
END_TEST

/* ---- no lock-step ---- */

/* The chunks have done different numbers of hops; one or two members may not
 * have begun. */
static void run_partly(struct gw_rng *rng, unsigned count)
{
    simring_begin(&simring, count);
    for (unsigned i = 0; i < count; i++)
        simring.members[i].begun = gw_rng_below(rng, 8) > 0;
    bool late = gw_rng_below(rng, 2);
    for (unsigned c = 0; c < count; c++) {
        uint64_t hops = gw_rng_below(rng, 2 * count - 1);
        if (late && hops < count) /* makes FORWARD frequent enough */
            hops = count;
        for (unsigned s = 0; s < hops; s++)
            if (!simring_hop_once(&simring, c, s))
                break;
    }
}

/* Each chunk's transfers in order, but some chunks further than others, and
 * none past a sleeping member. */
static void recover_partly(struct gw_rng *rng)
{
    const struct gw_plan *p = simring.recovery.plan;
    unsigned most[SIMRING_MOST];
    for (unsigned c = 0; c < simring.count; c++)
        most[c] = (unsigned)gw_rng_below(rng, p->steps + 1);
    for (unsigned s = 0; s < p->steps; s++)
        for (size_t t = p->step_begin[s]; t < p->step_begin[s + 1]; t++)
            if (s < most[p->transfers[t].chunk] &&
                !simring_do_transfer(&simring, &p->transfers[t]))
                most[p->transfers[t].chunk] = 0;
}

static unsigned some_survivors(struct gw_rng *rng)
{
    unsigned dead = 0;
    for (unsigned n = 1 + (unsigned)gw_rng_below(rng, 2); n > 0; n--)
        dead |= 1U << gw_rng_below(rng, simring.count);
    for (unsigned i = 0; i < simring.count; i++)
        if (simring.members[i].alive && !(dead >> i & 1))
            return dead;
    return 0; /* at least one must survive */
}

START_TEST(any_members_whatever_has_come_how_far)
{
    enum { RUNS = 3000 };
    unsigned fates[GW__FATES] = {0};
    char what[32];
    for (unsigned seed = 1; seed <= RUNS; seed++) {
        struct gw_rng rng;
        gw_rng_seed(&rng, seed);
        snprintf(what, sizeof what, "seed %u", seed);
        run_partly(&rng, 2 + (unsigned)gw_rng_below(&rng, 7));
        for (uint64_t deaths = 1 + gw_rng_below(&rng, 3); deaths > 0;
             deaths--) {
            bool last = deaths == 1;
            unsigned sleeper = 1U << gw_rng_below(&rng, 2 * simring.count);
            simring_lose_asleep(&simring, some_survivors(&rng),
                                last ? 0 : sleeper);
            fates[simring.decision.fate]++;
            if (!last)
                recover_partly(&rng);
        }
        simring_finish(&simring, 0);
        simring_check(&simring, what);
        simring_end(&simring);
    }
    ck_assert_uint_gt(fates[GW__FORWARD], 500);
    ck_assert_uint_gt(fates[GW__EXCLUDE], 500);
}
END_TEST

/* ---- invalid cases ---- */

static enum gw_err make(uint64_t target, unsigned chunks, struct gw_error *why)
{
    const struct gw__places places = {3, (const unsigned[]){3, 4, 5}};
    const struct gw__held_chunk nothing[2] = {{.final = false}};
    struct gw__holdings two;
    const struct gw__holdings *held[2] = {&two, NULL};
    gw__holdings_pack(&two, &places, nothing, 2);
    struct gw__recovery recovery;
    const struct gw__recovery_case c = {.ranks = 2,
                                        .nodes = (unsigned[]){3, 4},
                                        .held = held,
                                        .chunks = chunks,
                                        .target = node_set(target),
                                        .initial_count = 3,
                                        .initial_members =
                                            (unsigned[]){3, 4, 5}};
    enum gw_err err = gw__recovery_make(&c, &recovery, why);
    if (!err)
        gw__recovery_fini(&recovery);
    return err;
}

START_TEST(senseless_cases_are_refused)
{
    struct gw_error why;
    ck_assert_int_eq(make(8 | 16, 2, &why), GW_OK);
    ck_assert_int_eq(make(8 | 16, 3, &why), GW_EMISMATCH);
    ck_assert_str_eq(why.text, "node 3 has 2 chunks of 3 members, but others "
                               "have 3 chunks of other members");
    ck_assert_int_eq(make(8, 2, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "node 4 is alive, but its data is excluded");
    ck_assert_int_eq(make(8 | 16 | 32, 2, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "the data of node 5 is included, but no final "
                               "copy of chunk 0 survives");
    ck_assert_int_eq(make(8 | 16, 0, &why), GW_EINVAL);
}
END_TEST

/* ---- contributor sets ---- */

START_TEST(contributor_sets_count_each_once)
{
    struct gw__contributor_sets l;
    struct gw_error why;
    gw__contributor_sets_begin(&l, 12, 3, 2,
                               &(struct gw_nodes){{0x3c}}); /* nodes 2 to 5 */
    ck_assert_int_eq(
        gw__contributor_sets_add(&l, 1, &(struct gw_nodes){{0x14}}, &why),
        GW_OK);
    ck_assert_int_eq(
        gw__contributor_sets_add(&l, 1, &(struct gw_nodes){{0x34}}, &why),
        GW_EWRONG);
    ck_assert_str_eq(why.text,
                     "op 12, chunk 1: node 2, 4 would be counted twice");
    ck_assert_int_eq(
        gw__contributor_sets_add(&l, 1, &(struct gw_nodes){{0x42}}, &why),
        GW_EWRONG);
    ck_assert_str_eq(why.text, "op 12, chunk 1: node 1, 6 must not be counted");
    ck_assert_int_eq(
        gw__contributor_sets_replace(&l, 0, &(struct gw_nodes){{0x7c}}, &why),
        GW_EWRONG);
    ck_assert_uint_eq(node_bits(l.sets[1]), 0x1c);
    ck_assert(!gw__contributor_sets_final(&l, 1));
    ck_assert_int_eq(
        gw__contributor_sets_add(&l, 1, &(struct gw_nodes){{0x20}}, &why),
        GW_OK);
    ck_assert(gw__contributor_sets_final(&l, 1) &&
              !gw__contributor_sets_complete(&l));
    gw__contributor_sets_freeze(&l);
    ck_assert_int_eq(
        gw__contributor_sets_replace(&l, 0, &(struct gw_nodes){{0x3c}}, &why),
        GW_ECLOSED);
    ck_assert_str_eq(why.text, "op 12 waits for a decision");
    const struct gw__places places = {4, (const unsigned[]){2, 3, 4, 5}};
    struct gw__holdings held;
    gw__contributor_sets_report(&l, &places, &held);
    struct gw__held_chunk chunk = gw__holdings_of(&held, &places, 0);
    ck_assert(!chunk.final);
    ck_assert_uint_eq(node_bits(chunk.set), 0); /* a bare input */
    chunk = gw__holdings_of(&held, &places, 1);
    ck_assert(chunk.final);
    ck_assert_uint_eq(node_bits(chunk.set), 0x3c);
    const struct gw_nodes target = node_set(0x18);
    const struct gw_nodes start[2] = {{{8}}, {{8}}};
    gw__contributor_sets_retarget(&l, &target, start);
    ck_assert_int_eq(
        gw__contributor_sets_replace(&l, 0, &(struct gw_nodes){{0x18}}, &why),
        GW_OK);
    ck_assert_int_eq(
        gw__contributor_sets_add(&l, 1, &(struct gw_nodes){{0x10}}, &why),
        GW_OK);
    ck_assert(gw__contributor_sets_complete(&l));
}
END_TEST

START_TEST(the_only_contributor_is_final_at_once)
{
    struct gw__contributor_sets l;
    struct gw__holdings held;
    gw__contributor_sets_begin(&l, 0, 3, 1, &(struct gw_nodes){{8}});
    const struct gw__places places = {1, (const unsigned[]){3}};
    gw__contributor_sets_report(&l, &places, &held);
    struct gw__held_chunk chunk = gw__holdings_of(&held, &places, 0);
    ck_assert(chunk.final);
    ck_assert_uint_eq(node_bits(chunk.set), 8);
}
END_TEST

Suite *suite_ring_recovery(void)
{
    Suite *suite = suite_create("ring_recovery");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_ring_without_losses_is_the_clean_run);
    tcase_add_test(t, any_member_at_any_step);
    tcase_add_test(t, a_third_to_a_half_goes_forward_and_a_quarter_is_redone);
    tcase_add_test(t, any_two_members_at_any_two_moments);
    tcase_add_test(t, any_members_whatever_has_come_how_far);
    tcase_add_test(t, senseless_cases_are_refused);
    tcase_add_test(t, contributor_sets_count_each_once);
    tcase_add_test(t, the_only_contributor_is_final_at_once);
    suite_add_tcase(suite, t);
    return suite;
}
