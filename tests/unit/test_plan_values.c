/* SPDX-License-Identifier: MIT
 *
 * Symbolic execution against a naive reference: bit masks for all chunks at
 * once, transfer by transfer, must find the same first fault in the same place
 * on thousands of random plans.
 */
#include <gradwire/plan.h>

#include <check.h>
#include <string.h>

Suite *suite_plan_values(void);

enum { RANKS = 4, CHUNKS = 16, NOTHING = -1, SUMS = RANKS };

struct witness {
    unsigned now[RANKS][CHUNKS], next[RANKS][CHUNKS];
    int written[RANKS]
               [CHUNKS]; /* in this step: NOTHING, SUMS, or the rank whose
                                   value replaces it */
};

static void witness_step(struct witness *w)
{
    memcpy(w->now, w->next, sizeof w->now);
    memset(w->written, NOTHING, sizeof w->written);
}

/* The fault of one transfer, by the definitions of the header. */
static enum gw_fault witness_transfer(struct witness *w,
                                      const struct gw_transfer *x)
{
    unsigned sent = w->now[x->src][x->chunk];
    unsigned *into = &w->next[x->dst][x->chunk];
    int *written = &w->written[x->dst][x->chunk];
    bool replaces = x->action == GW_REPLACE;
    if (*written != NOTHING &&
        (replaces || (*written != SUMS && *written >= x->src)))
        return GW_FAULT_CONFLICT;
    if (*written == NOTHING)
        *written = replaces ? x->src : SUMS;
    if (!sent)
        return GW_FAULT_ABSENT;
    if (x->action == GW_REPLACE)
        *into = 0;
    if (*into & sent)
        return GW_FAULT_DOUBLE;
    *into |= sent;
    return GW_FAULT_NONE;
}

/* Runs the plan; on a fault *at is the transfer's number. */
static enum gw_fault witness(const struct gw_plan *plan, size_t *at)
{
    struct witness w = {0};
    bool reduces = gw_collective_reduces(plan->collective);
    for (unsigned r = 0; r < plan->ranks; r++)
        for (unsigned c = 0; c < plan->chunks; c++)
            if (gw_plan_holds(plan, r, c))
                w.next[r][c] = reduces ? 1U << r : 1;
    for (unsigned s = 0; s < plan->steps; s++) {
        witness_step(&w);
        for (*at = plan->step_begin[s]; *at < plan->step_begin[s + 1]; ++*at) {
            enum gw_fault fault = witness_transfer(&w, &plan->transfers[*at]);
            if (fault != GW_FAULT_NONE)
                return fault;
        }
    }
    for (unsigned r = 0; r < plan->ranks; r++)
        for (unsigned c = 0; c < plan->chunks; c++)
            if (gw_plan_wants(plan, r, c) &&
                w.next[r][c] != (reduces ? (1U << plan->ranks) - 1 : 1))
                return GW_FAULT_INCOMPLETE;
    return GW_FAULT_NONE;
}

static struct gw_plan *random_plan(struct gw_rng *rng)
{
    static const enum gw_collective kinds[] = {
        GW_BROADCAST, GW_REDUCE,    GW_ALLREDUCE,      GW_GATHER,
        GW_SCATTER,   GW_ALLGATHER, GW_REDUCE_SCATTER, GW_ALLTOALL};
    enum gw_collective kind = kinds[gw_rng_below(rng, 8)];
    unsigned ranks = 2 + (unsigned)gw_rng_below(rng, 2);
    unsigned chunks = kind == GW_ALLTOALL ? ranks * ranks
                      : kind >= GW_GATHER ? ranks
                                          : 1;
    struct gw_builder *b;
    struct gw_plan *plan;
    ck_assert_int_eq(gw_builder_new(kind, ranks, chunks, 0, &b, NULL), GW_OK);
    for (uint64_t i = gw_rng_below(rng, 3 * ranks); i > 0; i--) {
        unsigned src = (unsigned)gw_rng_below(rng, ranks);
        unsigned away = 1 + (unsigned)gw_rng_below(rng, ranks - 1);
        if (gw_rng_below(rng, 3))
            gw_builder_step(b);
        gw_builder_add(b, src, (src + away) % ranks,
                       (unsigned)gw_rng_below(rng, chunks),
                       gw_rng_below(rng, 4) ? GW_ADD : GW_REPLACE);
    }
    ck_assert_int_eq(gw_builder_finish(&b, &plan, NULL), GW_OK);
    return plan;
}

START_TEST(agrees_with_a_naive_execution)
{
    enum { ROUNDS = 40000 };
    const uint64_t seed = 7;
    unsigned seen[GW_FAULT_SHAPE + 1] = {0};
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (int i = 0; i < ROUNDS; i++) {
        struct gw_plan *plan = random_plan(&rng);
        struct gw_verdict v;
        size_t at = 0;
        enum gw_fault fault = witness(plan, &at);
        enum gw_err err = gw_plan_verify(plan, 0, &v, NULL);
        enum gw_fault reported =
            v.fault == GW_FAULT_DEADLOCK ? GW_FAULT_NONE : v.fault;
        const struct gw_transfer *x = &plan->transfers[at];
        bool same = reported == fault && (err == GW_OK) == !v.fault;
        if (fault != GW_FAULT_NONE && fault != GW_FAULT_INCOMPLETE)
            same = same && v.src == x->src && v.dst == x->dst &&
                   v.chunk == x->chunk && at < plan->step_begin[v.step] &&
                   at >= plan->step_begin[v.step - 1];
        ck_assert_msg(same, "seed %llu round %d: %s, not %s: %s",
                      (unsigned long long)seed, i, gw_fault_name(v.fault),
                      gw_fault_name(fault), v.sentence);
        seen[fault]++;
        gw_plan_destroy(&plan);
    }
    for (int f = GW_FAULT_NONE; f <= GW_FAULT_CONFLICT; f++)
        ck_assert_msg(f == GW_FAULT_PORTS || seen[f] > 50, "fault %d: %u", f,
                      seen[f]);
}
END_TEST

Suite *suite_plan_values(void)
{
    Suite *suite = suite_create("plan_values");
    TCase *t = tcase_create("all");
    tcase_add_test(t, agrees_with_a_naive_execution);
    suite_add_tcase(suite, t);
    return suite;
}
