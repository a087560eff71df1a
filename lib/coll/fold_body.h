/* SPDX-License-Identifier: MIT
 *
 * The kernels of gw_fold, as text: each fold_<isa>.c says what a vector is and
 * includes this once. Nothing here depends on the instruction set; the
 * including file gives
 *
 *     VECTOR_BYTES                    16, 32 or 64
 *     vec, pair, u8 ... f64, load ... fold_vector.h
 *     stream(p, v), stream_end()      stores past the caches, where there are
 *     below_f32(a, b), below_f64      a < b ? a : b, lane by lane: b if one is
 *                                     NaN
 *     f32_from_f16(p, pair), f16_from_f32(pair)
 *
 * A kernel is the loop `fold` with one `rule` inlined into it: how elements lie
 * in memory, how two are joined, and what happens to the sum at the end. The
 * constant function pointers of a rule vanish in the compiler.
 *
 * All levels give the same bits, whatever the length of their vectors:
 *  - each element is folded alone, in the order of the sources;
 *  - no kernel holds a product that is added to something, so there is nothing
 *    that a compiler could contract;
 *  - a NaN result is the one quiet NaN (sign 0, payload 0), whichever NaNs went
 *    in and in which order, and wherever inf - inf made it;
 *  - min and max are minimum and maximum of IEEE 754-2019: NaN if either is,
 *    and -0 < +0. So they commute, as sum and prod then do as well: ranks that
 *    fold the same two values in different order agree.
 */
/* What a pair, the unit of work, is in memory. f16 and bf16 are worked on as f32. */
enum shape {
    WHOLE, /* two vectors */
    F16,   /* one vector of f16 */
    BF16   /* one vector of bf16: lanes 0, 2, 4 ... in a, 1, 3, 5 ... in b */
};

#define HIGH_HALF 0xffff0000U

INLINE void f32_from_bf16(const char *p, struct pair *x)
{
    u32 both = (u32)load(p);
    x->a = (vec)(both << 16);
    x->b = (vec)(both & HIGH_HALF);
}

/* Rounds to nearest, ties to even, into the upper half of each lane. The only
 * NaN that comes here has no low bits, so it stays. */
INLINE u32 round_bf16(vec x)
{
    u32 bits = (u32)x;
    return bits + 0x7fff + ((bits >> 16) & 1);
}

INLINE vec bf16_from_f32(const struct pair *x)
{
    return (vec)((round_bf16(x->a) >> 16) | (round_bf16(x->b) & HIGH_HALF));
}

INLINE size_t pair_bytes(enum shape shape)
{
    return shape == WHOLE ? 2 * VECTOR_BYTES : VECTOR_BYTES;
}

INLINE void get(const char *p, enum shape shape, struct pair *x)
{
    switch (shape) {
    case WHOLE:
        x->a = load(p);
        x->b = load(p + VECTOR_BYTES);
        break;
    case F16:
        f32_from_f16(p, x);
        break;
    case BF16:
        f32_from_bf16(p, x);
        break;
    }
}

/* The pair as it lies in memory, in a or in both. */
INLINE void pack(enum shape shape, struct pair *x)
{
    if (shape == F16)
        x->a = f16_from_f32(x);
    else if (shape == BF16)
        x->a = bf16_from_f32(x);
}

INLINE void put(char *p, enum shape shape, const struct pair *x)
{
    store(p, x->a);
    if (shape == WHOLE)
        store(p + VECTOR_BYTES, x->b);
}

INLINE void put_past(char *p, enum shape shape, const struct pair *x)
{
    stream(p, x->a);
    if (shape == WHOLE)
        stream(p + VECTOR_BYTES, x->b);
}

struct rule {
    enum { SELDOM, OFTEN } use;
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

/* For arrays in the caches: more in flight at once. */
INLINE size_t fold_near(const struct gw__fold_job *job, struct rule rule)
{
    if (rule.use == OFTEN)
        switch (job->source_count * 4 + job->dest_count) {
        case 2 * 4 + 1:
            return fold_few(job, rule, 2, 1);
        case 2 * 4 + 2:
            return fold_few(job, rule, 2, 2);
        case 3 * 4 + 1:
            return fold_few(job, rule, 3, 1);
        case 4 * 4 + 1:
            return fold_few(job, rule, 4, 1);
        }
    return pair_bytes(rule.shape) < GW__FOLD_GRAIN
        ? job->begin
        : fold_steps(job, rule, 2);
}

/* From memory, two cache lines of each source in turn come in fastest (see
 * tests/bench/fold.c; prefetching and working in pages both lost). That loop
 * also does what the wider steps leave. */
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
