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

struct kernel_op {
    enum { SELDOM, OFTEN } frequency; /* OFTEN: worth loops of its own */
    enum shape shape;
    vec (*open)(vec);                  /* of each source */
    vec (*join)(vec, vec);             /* result so far, next source */
    vec (*close)(vec, unsigned ranks); /* of the result */
};

INLINE void raise_pair(struct kernel_op op, struct pair *x)
{
    x->a = op.open(x->a);
    x->b = op.open(x->b);
}

INLINE void open_pair(struct kernel_op op, struct pair *x, const char *source)
{
    get(source, op.shape, x);
    raise_pair(op, x);
}

INLINE void join_pair(struct kernel_op op, struct pair *x, const char *source)
{
    struct pair next;
    open_pair(op, &next, source);
    x->a = op.join(x->a, next.a);
    x->b = op.join(x->b, next.b);
}

INLINE void close_pair(struct kernel_op op, struct pair *x, unsigned ranks)
{
    x->a = op.close(x->a, ranks);
    x->b = op.close(x->b, ranks);
    pack(op.shape, x);
}

/* Reduces `pairs` (1 or 2) at offset `at`. */
INLINE void reduce_step(const struct gw__reduce_args *args, struct kernel_op op,
                        unsigned pairs, size_t at)
{
    size_t second = at + pair_bytes(op.shape);
    bool two = pairs == 2;
    struct pair x, y = {{0}, {0}};
    open_pair(op, &x, (const char *)args->sources[0] + at);
    if (two)
        open_pair(op, &y, (const char *)args->sources[0] + second);
#pragma GCC unroll 4
    for (unsigned i = 1; i < args->source_count; i++) {
        join_pair(op, &x, (const char *)args->sources[i] + at);
        if (two)
            join_pair(op, &y, (const char *)args->sources[i] + second);
    }
    close_pair(op, &x, args->ranks);
    if (two)
        close_pair(op, &y, args->ranks);
    unsigned i = 0;
    for (; i < args->streamed; i++) {
        put_past((char *)args->dests[i] + at, op.shape, &x);
        if (two)
            put_past((char *)args->dests[i] + second, op.shape, &y);
    }
    for (; i < args->dest_count; i++) {
        put((char *)args->dests[i] + at, op.shape, &x);
        if (two)
            put((char *)args->dests[i] + second, op.shape, &y);
    }
}

/* Reduces the last bytes, less than a pair, at offset `at`. */
INLINE void reduce_part(const struct gw__reduce_args *args, struct kernel_op op,
                        size_t at)
{
    size_t bytes = args->end - at;
    struct pair x, next;
    get_part((const char *)args->sources[0] + at, op.shape, bytes, &x);
    raise_pair(op, &x);
    for (unsigned i = 1; i < args->source_count; i++) {
        get_part((const char *)args->sources[i] + at, op.shape, bytes, &next);
        raise_pair(op, &next);
        x.a = op.join(x.a, next.a);
        x.b = op.join(x.b, next.b);
    }
    close_pair(op, &x, args->ranks);
    for (unsigned i = 0; i < args->dest_count; i++)
        put_part((char *)args->dests[i] + at, op.shape, bytes, &x);
}

/* Runs all whole steps from `at`; returns where they end. */
INLINE size_t reduce_steps(const struct gw__reduce_args *args,
                           struct kernel_op op, unsigned pairs, size_t at)
{
    size_t bytes = pairs * pair_bytes(op.shape);
    for (; args->end - at >= bytes; at += bytes)
        reduce_step(args, op, pairs, at);
    return at;
}

/* The same for few arrays, with a number known to the compiler: it keeps their
 * addresses in registers. */
INLINE size_t reduce_few(const struct gw__reduce_args *args,
                         struct kernel_op op, unsigned source_count,
                         unsigned dest_count)
{
    const void *sources[4];
    void *dests[2];
#pragma GCC unroll 4
    for (unsigned i = 0; i < source_count; i++)
        sources[i] = args->sources[i];
#pragma GCC unroll 2
    for (unsigned i = 0; i < dest_count; i++)
        dests[i] = args->dests[i];
    struct gw__reduce_args few = {
        .sources = sources,
        .dests = dests,
        .source_count = source_count,
        .dest_count = dest_count,
        .ranks = args->ranks,
        .end = args->end,
    };
    return reduce_steps(&few, op, 2, args->begin);
}

/* For arrays in the caches: more loads in flight. */
INLINE size_t reduce_cached(const struct gw__reduce_args *args,
                            struct kernel_op op)
{
    if (op.frequency == OFTEN)
        switch (args->source_count * 100 + args->dest_count) {
        case 201:
            return reduce_few(args, op, 2, 1);
        case 202:
            return reduce_few(args, op, 2, 2);
        case 301:
            return reduce_few(args, op, 3, 1);
        case 401:
            return reduce_few(args, op, 4, 1);
        }
    return reduce_steps(args, op, 2, args->begin);
}

/* From memory, loading a grain of two cache lines from each source in turn is
 * fastest (tests/bench/reduce.c; prefetching and working in pages both lost).
 * Returns the end of the whole pairs. */
INLINE size_t reduce_pairs(const struct gw__reduce_args *args,
                           struct kernel_op op)
{
    enum { IN_CACHE_BYTES = 1 << 20, GRAIN_BYTES = 128 };
    size_t at = args->begin;
    if (!args->streamed && args->end - at <= IN_CACHE_BYTES)
        at = reduce_cached(args, op);
    else if (pair_bytes(op.shape) < GRAIN_BYTES)
        at = reduce_steps(args, op, 2, at);
    at = reduce_steps(args, op, 1, at);
    if (args->streamed)
        stream_end();
    return at;
}

#endif
