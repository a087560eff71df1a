/* SPDX-License-Identifier: MIT
 *
 * The loop of every kernel. Each step loads a pair of vectors, or two pairs,
 * from every source in turn, combines them in registers, and stores to every
 * destination. The end does the same with less than a pair, and touches no byte
 * outside the arrays. A rule defines the operation; its functions are constants
 * that the compiler inlines, so that a kernel makes no calls.
 */
#ifndef GW__REDUCE_LOOP_H
#define GW__REDUCE_LOOP_H

#include "reduce.h"
#include "reduce_shape.h"

struct rule {
    enum { SELDOM, OFTEN } use; /* OFTEN: worth loops of its own */
    enum shape shape;
    vec (*open)(vec);                  /* of each source */
    vec (*join)(vec, vec);             /* result so far, next source */
    vec (*close)(vec, unsigned ranks); /* of the result */
};

INLINE void raise_pair(struct rule rule, struct pair *x)
{
    x->a = rule.open(x->a);
    x->b = rule.open(x->b);
}

INLINE void open_pair(struct rule rule, struct pair *x, const char *source)
{
    get(source, rule.shape, x);
    raise_pair(rule, x);
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

/* Reduces `pairs` (1 or 2) at offset `at`. */
INLINE void reduce_step(const struct gw__reduce_job *job, struct rule rule,
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

/* Reduces the last bytes, less than a pair, at offset `at`. */
INLINE void reduce_part(const struct gw__reduce_job *job, struct rule rule,
                        size_t at)
{
    size_t bytes = job->end - at;
    struct pair x, next;
    get_part((const char *)job->sources[0] + at, rule.shape, bytes, &x);
    raise_pair(rule, &x);
    for (unsigned i = 1; i < job->source_count; i++) {
        get_part((const char *)job->sources[i] + at, rule.shape, bytes, &next);
        raise_pair(rule, &next);
        x.a = rule.join(x.a, next.a);
        x.b = rule.join(x.b, next.b);
    }
    close_pair(rule, &x, job->ranks);
    for (unsigned i = 0; i < job->dest_count; i++)
        put_part((char *)job->dests[i] + at, rule.shape, bytes, &x);
}

/* Runs all whole steps from `at`; returns where they end. */
INLINE size_t reduce_steps(const struct gw__reduce_job *job, struct rule rule,
                           unsigned pairs, size_t at)
{
    size_t bytes = pairs * pair_bytes(rule.shape);
    for (; job->end - at >= bytes; at += bytes)
        reduce_step(job, rule, pairs, at);
    return at;
}

/* The same for few arrays, with a number known to the compiler: it keeps their
 * addresses in registers. */
INLINE size_t reduce_few(const struct gw__reduce_job *job, struct rule rule,
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
    struct gw__reduce_job few = {
        .sources = sources,
        .dests = dests,
        .source_count = source_count,
        .dest_count = dest_count,
        .ranks = job->ranks,
        .end = job->end,
    };
    return reduce_steps(&few, rule, 2, job->begin);
}

/* For arrays in the caches: more loads in flight. */
INLINE size_t reduce_near(const struct gw__reduce_job *job, struct rule rule)
{
    if (rule.use == OFTEN)
        switch (job->source_count * 100 + job->dest_count) {
        case 201:
            return reduce_few(job, rule, 2, 1);
        case 202:
            return reduce_few(job, rule, 2, 2);
        case 301:
            return reduce_few(job, rule, 3, 1);
        case 401:
            return reduce_few(job, rule, 4, 1);
        }
    return reduce_steps(job, rule, 2, job->begin);
}

/* From memory, loading a grain of two cache lines from each source in turn is
 * fastest (tests/bench/reduce.c; prefetching and working in pages both lost).
 * Returns the end of the whole pairs. */
INLINE size_t reduce_pairs(const struct gw__reduce_job *job, struct rule rule)
{
    enum { NEAR_BYTES = 1 << 20, GRAIN_BYTES = 128 };
    size_t at = job->begin;
    if (!job->streamed && job->end - at <= NEAR_BYTES)
        at = reduce_near(job, rule);
    else if (pair_bytes(rule.shape) < GRAIN_BYTES)
        at = reduce_steps(job, rule, 2, at);
    at = reduce_steps(job, rule, 1, at);
    if (job->streamed)
        stream_end();
    return at;
}

#endif
