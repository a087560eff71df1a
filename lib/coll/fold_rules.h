/* SPDX-License-Identifier: MIT
 *
 * What the reductions do to a vector, and the table of all kernels. Included
 * after fold_body.h by each fold_<isa>.c.
 */

/* ---- joining two ---- */

#define ARITHMETIC(t)                                                          \
    INLINE vec sum_##t(vec a, vec b)                                           \
    {                                                                          \
        return (vec)((t)a + (t)b);                                             \
    }                                                                          \
    INLINE vec prod_##t(vec a, vec b)                                          \
    {                                                                          \
        return (vec)((t)a * (t)b);                                             \
    }
/* Signed sums are unsigned ones: they wrap. */
ARITHMETIC(u8)
ARITHMETIC(u16)
ARITHMETIC(u32)
ARITHMETIC(u64)
ARITHMETIC(f32)
ARITHMETIC(f64)

#define ORDER(t)                                                               \
    INLINE vec min_##t(vec a, vec b)                                           \
    {                                                                          \
        return pick((vec)((t)a < (t)b), a, b);                                 \
    }                                                                          \
    INLINE vec max_##t(vec a, vec b)                                           \
    {                                                                          \
        return pick((vec)((t)a > (t)b), a, b);                                 \
    }
ORDER(i8)
ORDER(i16)
ORDER(i32)
ORDER(i64)
ORDER(u8)
ORDER(u16)
ORDER(u32)
ORDER(u64)

/* below(a, b) and below(b, a) have the same bits, but for zeros of different
 * sign and for NaN: each gives its second operand then. Or-ing the two keeps
 * the minus of a zero, and a NaN a NaN. */
#define FLOAT_MIN(t)                                                           \
    INLINE vec min_##t(vec a, vec b)                                           \
    {                                                                          \
        return below_##t(a, b) | below_##t(b, a);                              \
    }
FLOAT_MIN(f32)
FLOAT_MIN(f64)

INLINE vec band(vec a, vec b)
{
    return a & b;
}

INLINE vec bor(vec a, vec b)
{
    return a | b;
}

/* ---- before and after ---- */

INLINE vec as_is(vec x)
{
    return x;
}

INLINE vec keep(vec x, unsigned ranks)
{
    (void)ranks;
    return x;
}

#define TRUTH(t)                                                               \
    INLINE vec truth_##t(vec x)                                                \
    {                                                                          \
        return (vec)((t)x != 0);                                               \
    }                                                                          \
    INLINE vec one_##t(vec x, unsigned ranks)                                  \
    {                                                                          \
        (void)ranks;                                                           \
        return (vec)((t)truth_##t(x) & 1);                                     \
    }
TRUTH(u8)
TRUTH(u16)
TRUTH(u32)
TRUTH(u64)

/* A NaN becomes the one with the bits `quiet`. max is -min(-a, -b, ...). */
#define FLOAT_ENDS(t, u, type, minus, quiet)                                   \
    INLINE vec minus_##t(vec x)                                                \
    {                                                                          \
        return (vec)((u)x ^ minus);                                            \
    }                                                                          \
    INLINE vec quiet_##t(vec x, unsigned ranks)                                \
    {                                                                          \
        (void)ranks;                                                           \
        return pick((vec)((t)x == (t)x), x, (vec)((u) {0} + quiet));           \
    }                                                                          \
    INLINE vec minus_quiet_##t(vec x, unsigned ranks)                          \
    {                                                                          \
        return quiet_##t(minus_##t(x), ranks);                                 \
    }                                                                          \
    INLINE vec mean_##t(vec x, unsigned ranks)                                 \
    {                                                                          \
        return quiet_##t((vec)((t)x / (type)ranks), ranks);                    \
    }
FLOAT_ENDS(f32, u32, float, 0x80000000U, 0x7fc00000U)
FLOAT_ENDS(f64, u64, double, 0x8000000000000000U, 0x7ff8000000000000U)

/* Lane by lane, for there is no vector division of integers; `wide` has digits
 * enough to cut the quotient where exact arithmetic would: twice those of
 * `type`, and sizes beyond them give 0 either way. */
#define INTEGER_MEAN(t, type, wide)                                            \
    static __attribute__((noinline)) vec mean_##t(vec x, unsigned ranks)       \
    {                                                                          \
        type lanes[sizeof x / sizeof(type)];                                   \
        memcpy(lanes, &x, sizeof x);                                           \
        for (size_t i = 0; i < sizeof x / sizeof(type); i++)                   \
            lanes[i] = (type)((wide)lanes[i] / (wide)ranks);                   \
        memcpy(&x, lanes, sizeof x);                                           \
        return x;                                                              \
    }
INTEGER_MEAN(i8, int8_t, float)
INTEGER_MEAN(i16, int16_t, float)
INTEGER_MEAN(i32, int32_t, double)
INTEGER_MEAN(i64, int64_t, int64_t)
INTEGER_MEAN(u8, uint8_t, float)
INTEGER_MEAN(u16, uint16_t, float)
INTEGER_MEAN(u32, uint32_t, double)
INTEGER_MEAN(u64, uint64_t, uint64_t)

/* ---- kernels ---- */

#define KERNEL(name, ...)                                                      \
    static void fold_##name(const struct gw__fold_job *job)                    \
    {                                                                          \
        fold(job, (struct rule) {__VA_ARGS__});                                \
    }

#define UNSIGNED_KERNELS(u)                                                    \
    KERNEL(sum_##u, OFTEN, WHOLE, as_is, sum_##u, keep)                        \
    KERNEL(prod_##u, SELDOM, WHOLE, as_is, prod_##u, keep)                     \
    KERNEL(land_##u, SELDOM, WHOLE, truth_##u, band, one_##u)                  \
    KERNEL(lor_##u, SELDOM, WHOLE, as_is, bor, one_##u)
UNSIGNED_KERNELS(u8)
UNSIGNED_KERNELS(u16)
UNSIGNED_KERNELS(u32)
UNSIGNED_KERNELS(u64)

#define INTEGER_KERNELS(t, u)                                                  \
    KERNEL(min_##t, SELDOM, WHOLE, as_is, min_##t, keep)                       \
    KERNEL(max_##t, SELDOM, WHOLE, as_is, max_##t, keep)                       \
    KERNEL(avg_##t, SELDOM, WHOLE, as_is, sum_##u, mean_##t)
INTEGER_KERNELS(i8, u8)
INTEGER_KERNELS(i16, u16)
INTEGER_KERNELS(i32, u32)
INTEGER_KERNELS(i64, u64)
INTEGER_KERNELS(u8, u8)
INTEGER_KERNELS(u16, u16)
INTEGER_KERNELS(u32, u32)
INTEGER_KERNELS(u64, u64)

/* `t`: the type worked in. */
#define FLOAT_KERNELS(name, shape, t)                                          \
    KERNEL(sum_##name, OFTEN, shape, as_is, sum_##t, quiet_##t)                \
    KERNEL(prod_##name, SELDOM, shape, as_is, prod_##t, quiet_##t)             \
    KERNEL(min_##name, OFTEN, shape, as_is, min_##t, quiet_##t)                \
    KERNEL(max_##name, OFTEN, shape, minus_##t, min_##t, minus_quiet_##t)      \
    KERNEL(avg_##name, OFTEN, shape, as_is, sum_##t, mean_##t)
FLOAT_KERNELS(f16, F16, f32)
FLOAT_KERNELS(bf16, BF16, f32)
FLOAT_KERNELS(f32, WHOLE, f32)
FLOAT_KERNELS(f64, WHOLE, f64)

KERNEL(band, SELDOM, WHOLE, as_is, band, keep)
KERNEL(bor, SELDOM, WHOLE, as_is, bor, keep)
/* One source: nothing is joined. */
KERNEL(copy, SELDOM, WHOLE, as_is, bor, keep)

/* ---- the table ---- */

#define INTEGER_ROW(t, u)                                                      \
    {                                                                          \
        [GW_SUM] = fold_sum_##u, [GW_PROD] = fold_prod_##u,                    \
        [GW_MIN] = fold_min_##t, [GW_MAX] = fold_max_##t,                      \
        [GW_AVG] = fold_avg_##t, [GW_LAND] = fold_land_##u,                    \
        [GW_LOR] = fold_lor_##u, [GW_BAND] = fold_band, [GW_BOR] = fold_bor    \
    }
#define FLOAT_ROW(t)                                                           \
    {                                                                          \
        [GW_SUM] = fold_sum_##t, [GW_PROD] = fold_prod_##t,                    \
        [GW_MIN] = fold_min_##t, [GW_MAX] = fold_max_##t,                      \
        [GW_AVG] = fold_avg_##t                                                \
    }

#define KERNELS                                                                \
    {                                                                          \
        [GW_I8] = INTEGER_ROW(i8, u8), [GW_I16] = INTEGER_ROW(i16, u16),       \
        [GW_I32] = INTEGER_ROW(i32, u32), [GW_I64] = INTEGER_ROW(i64, u64),    \
        [GW_U8] = INTEGER_ROW(u8, u8), [GW_U16] = INTEGER_ROW(u16, u16),       \
        [GW_U32] = INTEGER_ROW(u32, u32), [GW_U64] = INTEGER_ROW(u64, u64),    \
        [GW_F16] = FLOAT_ROW(f16), [GW_BF16] = FLOAT_ROW(bf16),                \
        [GW_F32] = FLOAT_ROW(f32), [GW_F64] = FLOAT_ROW(f64)                   \
    }
