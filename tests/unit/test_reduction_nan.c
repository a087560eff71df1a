/* SPDX-License-Identifier: MIT
 *
 * One NaN or infinity at a time, at every place of a vector, of a pair of
 * vectors and of the remainder, in every source: the reductions of all levels
 * pass it to its own element, and to no other, bit for bit as
 * reduce_reference.h does. A minimum that drops a NaN would hide a diverged
 * training.
 */
#include "coll/comm.h"
#include "coll/reduce/reduce.h"
#include "reduce_reference.h"

#include <check.h>

Suite *suite_reduction_nan(void);

static const char *const levels[] = {"scalar", "neon", "avx2", "avx512"};
enum { LEVELS = sizeof levels / sizeof *levels };

/* Two pairs of the longest vectors of f16, and less than a pair. */
enum { SOURCES = 20, COUNT = 2 * 2 * 32 + 19 };

static _Alignas(64) char rows[SOURCES][COUNT * 8];
static _Alignas(64) char result[COUNT * 8], expected[COUNT * 8];

/* Quiet and signalling NaNs of both signs, and infinities. */
static uint64_t strange_bits(enum gw_dtype type, unsigned which)
{
    static const uint64_t of[][4] = {
        {0x7e00, 0x7fc0, 0x7fc00000, 0x7ff8000000000000},
        {0xfe55, 0xffd5, 0xffd55555, 0xfff8555555555555},
        {0x7c01, 0x7f81, 0x7f800001, 0x7ff0000000000001},
        {0x7c00, 0x7f80, 0x7f800000, 0x7ff0000000000000},
        {0xfc00, 0xff80, 0xff800000, 0xfff0000000000000}};
    return of[which][type - GW_F16];
}
enum { STRANGE = 5 };

static void fill(enum gw_dtype type)
{
    for (unsigned s = 0; s < SOURCES; s++)
        for (size_t i = 0; i < COUNT; i++) {
            struct number x = {0, 0.25 * (double)((i + 3 * s) % 7) - 0.5};
            number_store(type, x, rows[s] + i * gw_dtype_size(type));
        }
}

static void check(const struct gw_reduce_local *reduce, size_t place,
                  unsigned source, unsigned which)
{
    size_t bytes = reduce->count * gw_dtype_size(reduce->type);
    memset(result, 0xa5, bytes);
    gw__reduce_many(reduce);
    if (memcmp(result, expected, bytes) != 0)
        ck_abort_msg("%s %s of %u sources on %s: strange number %u at place "
                     "%zu of %zu of source %u",
                     gw_dtype_name(reduce->type), gw_redop_name(reduce->op),
                     reduce->source_count, gw_reduce_isa(), which, place,
                     reduce->count, source);
}

/* Puts the special number there, for one comparison at each level. */
static void check_position(const struct gw_reduce_local *reduce, size_t place,
                           unsigned source, unsigned which)
{
    size_t size = gw_dtype_size(reduce->type);
    char *at = rows[source] + place * size, kept[8];
    uint64_t bits = strange_bits(reduce->type, which);
    memcpy(kept, at, size);
    memcpy(at, &bits, size);
    reference_reduce(reduce, expected);
    ck_assert(which >= 3 || reduce->source_count == 1 ||
              isnan(number_load(reduce->type, expected + place * size).number));
    for (int i = 0; i < LEVELS; i++)
        if (gw__reduce_select(levels[i]))
            check(reduce, place, source, which);
    memcpy(at, kept, size);
}

static void check_op(enum gw_dtype type, enum gw_redop op)
{
    static const unsigned source_counts[] = {1, 2, 3, 4, 5, SOURCES};
    const void *sources[SOURCES];
    void *dest = result;
    for (unsigned s = 0; s < SOURCES; s++)
        sources[s] = rows[s];
    struct gw_reduce_local reduce = {.sources = sources,
                                     .dests = &dest,
                                     .dest_count = 1,
                                     .count = COUNT,
                                     .type = type,
                                     .op = op};
    for (size_t k = 0; k < sizeof source_counts / sizeof *source_counts; k++) {
        reduce.source_count = reduce.scale_ranks = source_counts[k];
        unsigned last = reduce.source_count - 1;
        for (size_t place = 0; place < COUNT; place++) {
            unsigned which = (unsigned)place % STRANGE;
            check_position(&reduce, place, 0, which);
            check_position(&reduce, place, last, (which + 1) % STRANGE);
            check_position(&reduce, place, last / 2, (which + 2) % STRANGE);
        }
    }
}

START_TEST(a_nan_reaches_its_element)
{
    static const enum gw_redop ops[] = {GW_SUM, GW_PROD, GW_MIN, GW_MAX,
                                        GW_AVG};
    enum gw_dtype type = (enum gw_dtype)_i;
    fill(type);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        check_op(type, ops[i]);
    ck_assert(gw__reduce_select(NULL));
}
END_TEST

/* Short arrays, which have only a remainder. */
START_TEST(short_arrays)
{
    enum gw_dtype type = (enum gw_dtype)_i;
    const void *sources[] = {rows[0], rows[1]};
    void *dest = result;
    fill(type);
    for (size_t count = 1; count < 40; count++)
        for (size_t place = 0; place < count; place++)
            for (unsigned i = 0; i < 4; i++) {
                const struct gw_reduce_local reduce = {.sources = sources,
                                                       .source_count = 2,
                                                       .dests = &dest,
                                                       .dest_count = 1,
                                                       .count = count,
                                                       .type = type,
                                                       .op = i / 2 ? GW_MAX
                                                                   : GW_MIN,
                                                       .scale_ranks = 2};
                check_position(&reduce, place, i % 2,
                               (unsigned)count % STRANGE);
            }
    ck_assert(gw__reduce_select(NULL));
}
END_TEST

Suite *suite_reduction_nan(void)
{
    Suite *suite = suite_create("reduction nan");
    TCase *all = tcase_create("reduce_nan");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, a_nan_reaches_its_element, GW_F16, GW_DTYPE_COUNT);
    tcase_add_loop_test(all, short_arrays, GW_F16, GW_DTYPE_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}
