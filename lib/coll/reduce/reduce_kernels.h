/* SPDX-License-Identifier: MIT
 *
 * The kernels of gw_reduce_local, as text: each reduce_<isa>.c defines its
 * vectors and includes this once. Nothing here depends on the instruction set;
 * the including file defines
 *
 *     VECTOR_BYTES                    16, 32 or 64
 *     vec, pair, u8 ... f64, load ... reduce_vector.h
 *     stream(p, v), stream_end()      stores past the caches, where there are
 *     below_f32(a, b), below_f64      a < b ? a : b, lane by lane: b if one is
 *                                     NaN
 *     f32_from_f16(p, pair), f16_from_f32(pair)
 *
 * A kernel is the loop of reduce_loop.h with one rule inserted: a line below.
 *
 * All levels give the same bits, whatever the length of their vectors:
 *  - Each element is reduced alone, in the order of the sources.
 *  - No kernel adds a product to a value, so a compiler has nothing to
 *    contract.
 *  - A NaN result is the one quiet NaN (sign 0, payload 0), for any NaN inputs
 *    in any order, and for inf - inf.
 *  - min and max are minimum and maximum of IEEE 754-2019: NaN if either is,
 *    and -0 < +0. So they commute, and so do sum and prod: ranks that reduce
 *    the same two values in different order agree.
 */
#ifndef GW__REDUCE_KERNELS_H
#define GW__REDUCE_KERNELS_H

#include "reduce_loop.h"
#include "reduce_ops.h"

#define KERNEL(name, ...)                                                      \
    static __attribute__((noinline)) void part_##name(                         \
        const struct gw__reduce_args *args, size_t at)                         \
    {                                                                          \
        reduce_part(args, (struct kernel_op){__VA_ARGS__}, at);                \
    }                                                                          \
    static void reduce_##name(const struct gw__reduce_args *args)              \
    {                                                                          \
        size_t at = reduce_pairs(args, (struct kernel_op){__VA_ARGS__});       \
        if (at < args->end)                                                    \
            part_##name(args, at);                                             \
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

/* `t`: the type of the computation. */
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
/* One source: nothing is combined. */
KERNEL(copy, SELDOM, WHOLE, as_is, bor, keep)

#define INTEGER_ROW(t, u)                                                      \
    {                                                                          \
        [GW_SUM] = reduce_sum_##u, [GW_PROD] = reduce_prod_##u,                \
        [GW_MIN] = reduce_min_##t, [GW_MAX] = reduce_max_##t,                  \
        [GW_AVG] = reduce_avg_##t, [GW_LAND] = reduce_land_##u,                \
        [GW_LOR] = reduce_lor_##u, [GW_BAND] = reduce_band,                    \
        [GW_BOR] = reduce_bor                                                  \
    }
#define FLOAT_ROW(t)                                                           \
    {                                                                          \
        [GW_SUM] = reduce_sum_##t, [GW_PROD] = reduce_prod_##t,                \
        [GW_MIN] = reduce_min_##t, [GW_MAX] = reduce_max_##t,                  \
        [GW_AVG] = reduce_avg_##t                                              \
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

#endif
