/* SPDX-License-Identifier: MIT
 *
 * The loop that every kernel is: at each step a pair of vectors, or two pairs,
 * from every source in turn, joined in registers, and stored to every
 * destination. A rule says what is done; its functions are constants that the
 * compiler inlines, so that a kernel calls nothing.
 */
#ifndef GW__FOLD_LOOP_H
#define GW__FOLD_LOOP_H

#include "coll/fold.h"
#include "coll/fold_shape.h"

struct rule {
    enum { SELDOM, OFTEN } use; /* OFTEN: worth loops of its own */
    enum shape shape;
    vec (*open)(vec);                  /* of each source */
    vec (*join)(vec, vec);             /* result so far, next source */
    vec (*close)(vec, unsigned ranks); /* of the result */
};

INLINE void open_pair(struct rule rule, struct pair *x, const char *source)
{
    get(source, rule.shape, x);
    x->a = rule.open(x->a);
    x->b = rule.open(x->b);
}

INLINE void join_pair(struct rule rule, struct pair *x, const char *source)
{
    struct pair next;
    open_pair(rule, &next, source);
    x->a = rule.join(x->a, next.a);
    x->b = rule.join(x->b, next.b);
}

INLINE void close_pair(struct rule rule, struct pair *x, unsigned ranks)
{
    x->a = rule.close(x->a, ranks);
    x->b = rule.close(x->b, ranks);
    pack(rule.shape, x);
}

/* Folds `pairs` (1 or 2) at offset `at`. */
INLINE void fold_step(const struct gw__fold_job *job, struct rule rule,
                      unsigned pairs, size_t at)
{
    size_t second = at + pair_bytes(rule.shape);
    bool two = pairs == 2;
    struct pair x, y = {{0}, {0}};
    open_pair(rule, &x, (const char *)job->sources[0] + at);
    if (two)
        open_pair(rule, &y, (const char *)job->sources[0] + second);
#pragma GCC unroll 4
    for (unsigned i = 1; i < job->source_count; i++) {
        join_pair(rule, &x, (const char *)job->sources[i] + at);
        if (two)
            join_pair(rule, &y, (const char *)job->sources[i] + second);
    }
    close_pair(rule, &x, job->ranks);
    if (two)
        close_pair(rule, &y, job->ranks);
    unsigned i = 0;
    for (; i < job->streamed; i++) {
        put_past((char *)job->dests[i] + at, rule.shape, &x);
        if (two)
            put_past((char *)job->dests[i] + second, rule.shape, &y);
    }
    for (; i < job->dest_count; i++) {
        put((char *)job->dests[i] + at, rule.shape, &x);
        if (two)
            put((char *)job->dests[i] + second, rule.shape, &y);
    }
}

/* As far as whole steps go; returns how far. */
INLINE size_t fold_steps(const struct gw__fold_job *job, struct rule rule,
                         unsigned pairs)
{
    size_t bytes = pairs * pair_bytes(rule.shape);
    size_t at = job->begin;
    for (; job->end - at >= bytes; at += bytes)
        fold_step(job, rule, pairs, at);
    return at;
}

/* The same for few arrays, their number known to the compiler: it keeps their
 * addresses in registers. */
INLINE size_t fold_few(const struct gw__fold_job *job, struct rule rule,
                       unsigned source_count, unsigned dest_count)
{
    const void *sources[4];
    void *dests[2];
#pragma GCC unroll 4
    for (unsigned i = 0; i < source_count; i++)
        sources[i] = job->sources[i];
#pragma GCC unroll 2
    for (unsigned i = 0; i < dest_count; i++)
        dests[i] = job->dests[i];
    struct gw__fold_job few = {
        .sources = sources,
        .dests = dests,
        .source_count = source_count,
        .dest_count = dest_count,
        .ranks = job->ranks,
        .begin = job->begin,
        .end = job->end,
    };
    return fold_steps(&few, rule, 2);
}

/* For arrays in the caches: more in flight at once. Where a grain holds two
 * pairs the last loop of `fold` is as wide already. */
INLINE size_t fold_near(const struct gw__fold_job *job, struct rule rule)
{
    if (rule.use == OFTEN)
        switch (job->source_count * 100 + job->dest_count) {
        case 201:
            return fold_few(job, rule, 2, 1);
        case 202:
            return fold_few(job, rule, 2, 2);
        case 301:
            return fold_few(job, rule, 3, 1);
        case 401:
            return fold_few(job, rule, 4, 1);
        }
    return pair_bytes(rule.shape) < GW__FOLD_GRAIN ? job->begin
                                                   : fold_steps(job, rule, 2);
}

/* From memory, a grain, two cache lines, of each source in turn comes in
 * fastest (tests/bench/fold.c; prefetching and working in pages both lost).
 * That loop also does what wider steps leave. */
INLINE void fold(const struct gw__fold_job *job, struct rule rule)
{
    enum { NEAR_BYTES = 1 << 20 };
    struct gw__fold_job rest = *job;
    if (!rest.streamed && rest.end - rest.begin <= NEAR_BYTES)
        rest.begin = fold_near(&rest, rule);
    fold_steps(&rest, rule, pair_bytes(rule.shape) < GW__FOLD_GRAIN ? 2 : 1);
    if (rest.streamed)
        stream_end();
}

#endif
