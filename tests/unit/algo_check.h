/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests of algorithms: make a plan, verify it, and count the
 * messages and chunks that each rank sends. Sizes are in chunks, not bytes: a
 * test defines how many chunks the formula's n is.
 */
#ifndef ALGO_CHECK_H
#define ALGO_CHECK_H

#include <gradwire/plan.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Every p up to here, then some: powers of two, their neighbours, primes. */
enum { ALL_RANKS = 33 };
static const unsigned some_ranks[] = {48,  61,  63,  64,  65,  96,
                                      100, 127, 128, 129, 251, 256};
enum { SOME_RANKS = sizeof some_ranks / sizeof *some_ranks };

/* Of one rank. */
struct sent {
    size_t messages; /* (step, receiver) pairs */
    size_t chunks;
};

struct tally {
    struct sent most; /* the largest of each over the ranks */
    struct sent least;
    struct sent all;
};

static inline unsigned log2_floor(unsigned p)
{
    unsigned k = 0;
    while (p >>= 1)
        k++;
    return k;
}

static inline unsigned log2_ceil(unsigned p)
{
    return log2_floor(p) + ((p & (p - 1)) != 0);
}

static inline struct gw_plan *algo_plan(const struct gw_algo *algo,
                                        const struct gw_algo_args *args)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err =
        gw_plan_make(algo->collective, algo->name, args, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s p=%u: %s", algo->name, args->ranks,
                  why.text);
    ck_assert_uint_eq(plan->chunks, algo->chunks(args));
    return plan;
}

static inline void check_verifies(const struct gw_plan *plan)
{
    struct gw_verdict verdict = {0};
    struct gw_error why = {0};
    enum gw_err err = gw_plan_verify(plan, 1, &verdict, &why);
    ck_assert_msg(err == GW_OK, "%s p=%u: %s %s\n%s", plan->algo, plan->ranks,
                  why.text, verdict.sentence, verdict.history);
}

static inline void tally_step(const struct gw_plan *plan, unsigned step,
                              unsigned *seen, struct sent *of)
{
    for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
         i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        unsigned *link = &seen[t->src * plan->ranks + t->dst];
        of[t->src].messages += *link != step + 1;
        of[t->src].chunks++;
        *link = step + 1;
    }
}

static inline struct tally tally(const struct gw_plan *plan)
{
    unsigned p = plan->ranks;
    unsigned *seen = calloc((size_t)p * p, sizeof *seen);
    struct sent *of = calloc(p, sizeof *of);
    ck_assert(seen && of);
    for (unsigned step = 0; step < plan->steps; step++)
        tally_step(plan, step, seen, of);
    struct tally sum = {.least = of[0]};
    for (unsigned r = 0; r < p; r++) {
        sum.all.messages += of[r].messages;
        sum.all.chunks += of[r].chunks;
#define MORE(a, b) ((a) > (b) ? (a) : (b))
#define LESS(a, b) ((a) < (b) ? (a) : (b))
        sum.most.messages = MORE(sum.most.messages, of[r].messages);
        sum.most.chunks = MORE(sum.most.chunks, of[r].chunks);
        sum.least.messages = LESS(sum.least.messages, of[r].messages);
        sum.least.chunks = LESS(sum.least.chunks, of[r].chunks);
#undef MORE
#undef LESS
    }
    free(seen);
    free(of);
    return sum;
}

/* Chunks ascend on every link within a step. Then each wait of a run is for
 * something that comes before it in (step, chunk), so that no size of buffers
 * can deadlock it. */
static inline void check_ascending(const struct gw_plan *plan)
{
    size_t links = (size_t)plan->ranks * plan->ranks;
    uint64_t *last = calloc(links, sizeof *last);
    ck_assert_ptr_nonnull(last);
    for (unsigned step = 0; step < plan->steps; step++)
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            uint64_t place = ((uint64_t)(step + 1) << 32) | t->chunk;
            uint64_t *link = &last[t->src * plan->ranks + t->dst];
            ck_assert_msg(place > *link, "%s p=%u step %u: %u>%u c%u",
                          plan->algo, plan->ranks, step + 1, (unsigned)t->src,
                          (unsigned)t->dst, (unsigned)t->chunk);
            *link = place;
        }
    free(last);
}

/* The price counts the same, in bytes: a chunk is one element of 8. */
static inline void check_price(const struct gw_plan *plan, struct tally t)
{
    enum { ELEM_BYTES = 8 };
    static const struct gw_cost_model model = {1, 1, 1};
    struct gw_price price;
    struct gw_error why;
    size_t count = plan->collective == GW_ALLREDUCE ? plan->chunks : 1;
    enum gw_err err =
        gw_plan_price(plan, count, ELEM_BYTES, &model, &price, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    ck_assert_uint_eq(price.rounds, plan->steps);
    ck_assert_uint_eq(price.messages, t.all.messages);
    ck_assert_uint_eq(price.bytes, t.all.chunks * ELEM_BYTES);
    ck_assert_uint_eq(price.rank_messages_max, t.most.messages);
    ck_assert_uint_eq(price.rank_bytes_max, t.most.chunks * ELEM_BYTES);
}

/* The plan verifies, cannot deadlock, and is priced as it is counted here. */
static inline struct tally check_plan(const struct gw_plan *plan)
{
    struct tally t = tally(plan);
    check_ascending(plan);
    check_verifies(plan);
    check_price(plan, t);
    return t;
}

/* The i-th transfer of `step`, from 0, is chunk `chunk` from `src` to `dst`. */
static inline void check_transfer(const struct gw_plan *plan, unsigned step,
                                  size_t i, unsigned src, unsigned dst,
                                  unsigned chunk)
{
    const struct gw_transfer *t = &plan->transfers[plan->step_begin[step] + i];
    ck_assert_msg(t->src == src && t->dst == dst && t->chunk == chunk,
                  "%s: %u>%u c%u, not %u>%u c%u", plan->algo, (unsigned)t->src,
                  (unsigned)t->dst, (unsigned)t->chunk, src, dst, chunk);
}

/* The algorithm is documented, and is direct exactly if `direct`, a list of
 * names with a comma before and after each, contains it. */
static inline void check_described(const struct gw_algo *algo,
                                   const char *direct)
{
    char name[64];
    snprintf(name, sizeof name, ",%s,", algo->name);
    ck_assert_msg(algo->direct == (strstr(direct, name) != NULL), "%s", name);
    ck_assert_msg(algo->summary && algo->formula && algo->source, "%s", name);
    ck_assert_msg(strlen(algo->summary) < 64, "%s", name);
}

#endif
