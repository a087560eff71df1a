/* SPDX-License-Identifier: MIT
 *
 * Tests the checker of results: it accepts the result of each collective,
 * computed here from the definition; it counts every damaged element; and its
 * sums are the same in any order, in every type.
 */
#include "collrun/run/pattern.h"
#include "collrun/run/pattern_element.h"
#include "collrun/run/pattern_values.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_pattern(void);

enum { RANKS_MAX = 17 };

/* ---- elements ---- */

START_TEST(small_integers_as_c_converts_them)
{
    for (int v = -300; v <= 300; v++) {
        float f32 = (float)v;
        double f64 = v;
        uint32_t bits32;
        uint64_t bits64;
        memcpy(&bits32, &f32, sizeof bits32);
        memcpy(&bits64, &f64, sizeof bits64);
        ck_assert_uint_eq(element_bits(GW_F32, v), bits32);
        ck_assert_uint_eq(element_bits(GW_F64, v), bits64);
        if (v <= 256 && v >= -256)
            ck_assert_uint_eq(element_bits(GW_BF16, v), bits32 >> 16);
    }
}
END_TEST

START_TEST(halves_by_the_standard)
{
    ck_assert_uint_eq(element_bits(GW_F16, 0), 0);
    ck_assert_uint_eq(element_bits(GW_F16, 1), 0x3c00);
    ck_assert_uint_eq(element_bits(GW_F16, -2), 0xc000);
    ck_assert_uint_eq(element_bits(GW_F16, 3), 0x4200);
    ck_assert_uint_eq(element_bits(GW_F16, 255), 0x5bf8);
    ck_assert_uint_eq(element_bits(GW_F16, 2048), 0x6800);
}
END_TEST

START_TEST(integers_wrap)
{
    ck_assert_int_eq(element_wrap(GW_I8, 255), -1);
    ck_assert_int_eq(element_wrap(GW_U8, -1), 255);
    ck_assert_int_eq(element_wrap(GW_I16, 0x18000), -0x8000);
    ck_assert_int_eq(element_wrap(GW_U32, -1), UINT32_MAX);
    ck_assert_int_eq(element_wrap(GW_I64, -7), -7);
}
END_TEST

/* ---- collectives by their definition ---- */

/* All ranks' buffers. */
struct rank_buffers {
    struct pattern p;
    unsigned char *in[RANKS_MAX], *out[RANKS_MAX];
};

static void buffers_open(struct rank_buffers *w, struct pattern p)
{
    w->p = p;
    for (unsigned r = 0; r < p.ranks; r++) {
        w->in[r] = malloc(pattern_in_bytes(&p, r));
        w->out[r] = malloc(pattern_out_bytes(&p, r));
        ck_assert_ptr_nonnull(w->in[r]);
        ck_assert_ptr_nonnull(w->out[r]);
        pattern_fill(&p, r, w->in[r], w->out[r]);
    }
}

static void buffers_close(struct rank_buffers *w)
{
    for (unsigned r = 0; r < w->p.ranks; r++) {
        free(w->in[r]);
        free(w->out[r]);
    }
}

static bool in_place(const struct rank_buffers *w, unsigned rank)
{
    return pattern_in(&w->p, rank, w->in[rank]) == GW_IN_PLACE;
}

static size_t block_bytes(const struct rank_buffers *w)
{
    return w->p.count * gw_dtype_size(w->p.type);
}

/* A copy of block `b` of the input of `rank`; of the whole input if it is one
 * block. */
static unsigned char *input(const struct rank_buffers *w, unsigned rank,
                            unsigned b)
{
    size_t bytes = block_bytes(w);
    unsigned char *copy = malloc(bytes);
    const unsigned char *from = w->in[rank];
    bool gathers =
        w->p.collective == GW_GATHER || w->p.collective == GW_ALLGATHER;
    if (in_place(w, rank))
        from = w->out[rank] + (gathers ? rank * bytes : 0);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, from + b * bytes, bytes);
    return copy;
}

/* The reduction of block `b` over the first ranks, by the library's kernel. */
static unsigned char *reduced(const struct rank_buffers *w, unsigned ranks,
                              unsigned b)
{
    const void *sources[RANKS_MAX];
    unsigned char *result = malloc(block_bytes(w));
    void *dests[1] = {result};
    ck_assert_ptr_nonnull(result);
    for (unsigned r = 0; r < ranks; r++)
        sources[r] = input(w, r, b);
    const struct gw_reduce_local reduce = {
        .sources = sources,
        .dests = dests,
        .source_count = ranks,
        .dest_count = 1,
        .count = w->p.count,
        .type = w->p.type,
        .op = w->p.op,
        .scale_ranks = w->p.op == GW_AVG ? w->p.ranks : 1,
    };
    gw_reduce_local(&reduce);
    for (unsigned r = 0; r < ranks; r++) {
        void *source;
        memcpy(&source, &sources[r], sizeof source);
        free(source);
    }
    return result;
}

/* A new copy of the result that `rank` must have in block `b`, or NULL. */
static unsigned char *promised(const struct rank_buffers *w, unsigned rank,
                               unsigned b)
{
    bool root = rank == w->p.root;
    switch (w->p.collective) {
    case GW_BROADCAST:
        return b == 0 ? input(w, w->p.root, 0) : NULL;
    case GW_REDUCE:
        return b == 0 && root ? reduced(w, w->p.ranks, 0) : NULL;
    case GW_ALLREDUCE:
        return b == 0 ? reduced(w, w->p.ranks, 0) : NULL;
    case GW_GATHER:
        return root ? input(w, b, 0) : NULL;
    case GW_SCATTER:
        return b == 0 ? input(w, w->p.root, rank) : NULL;
    case GW_ALLGATHER:
        return input(w, b, 0);
    case GW_REDUCE_SCATTER:
        return b == 0 ? reduced(w, w->p.ranks, rank) : NULL;
    case GW_ALLTOALL:
        return input(w, b, rank);
    case GW_SCAN:
        return b == 0 ? reduced(w, rank + 1, 0) : NULL;
    case GW_EXSCAN:
        return b == 0 && rank > 0 ? reduced(w, rank, 0) : NULL;
    default:
        return NULL;
    }
}

/* In place, a rank's own block of a whole stays at its position. */
static size_t result_at(const struct rank_buffers *w, unsigned rank)
{
    bool own =
        w->p.collective == GW_SCATTER || w->p.collective == GW_REDUCE_SCATTER;
    return own && in_place(w, rank) ? rank * block_bytes(w) : 0;
}

static void perform(struct rank_buffers *w)
{
    unsigned char *blocks[RANKS_MAX][RANKS_MAX];
    for (unsigned r = 0; r < w->p.ranks; r++)
        for (unsigned b = 0; b < w->p.ranks; b++)
            blocks[r][b] = promised(w, r, b);
    for (unsigned r = 0; r < w->p.ranks; r++)
        for (unsigned b = 0; b < w->p.ranks; b++) {
            size_t at = result_at(w, r) + b * block_bytes(w);
            if (blocks[r][b])
                memcpy(w->out[r] + at, blocks[r][b], block_bytes(w));
            free(blocks[r][b]);
        }
}

static size_t wrong(const struct rank_buffers *w, unsigned rank, size_t *first)
{
    return pattern_wrong(&w->p, rank, w->in[rank], w->out[rank], first);
}

static struct pattern a_pattern(unsigned collective)
{
    return (struct pattern){
        .collective = (enum gw_collective)collective,
        .type = GW_F32,
        .op = GW_SUM,
        .ranks = 3,
        .root = 1,
        .count = 100,
        .seed = 7,
    };
}

static void accepts(struct pattern p)
{
    struct rank_buffers w;
    buffers_open(&w, p);
    perform(&w);
    for (unsigned r = 0; r < p.ranks; r++)
        ck_assert_msg(wrong(&w, r, NULL) == 0,
                      "%s of %u ranks, %zu elements%s: rank %u",
                      gw_collective_name(p.collective), p.ranks, p.count,
                      p.in_place ? " in place" : "", r);
    buffers_close(&w);
}

START_TEST(every_collective_right)
{
    static const size_t counts[] = {1, 2, 100, 4093, 9000};
    for (unsigned c = 0; c < GW_CUSTOM; c++)
        for (unsigned ranks = 1; ranks <= 5; ranks++)
            for (unsigned k = 0; k < 10; k++) {
                struct pattern p = a_pattern(c);
                p.ranks = ranks;
                p.root = ranks - 1;
                p.count = c == GW_BARRIER ? 0 : counts[k / 2];
                p.in_place = k % 2;
                accepts(p);
            }
}
END_TEST

/* An omitted call is detected on every rank with a result. */
START_TEST(nothing_done_is_wrong)
{
    for (unsigned c = 0; c < GW_CUSTOM; c++) {
        if (c == GW_BARRIER)
            continue;
        struct pattern p = a_pattern(c);
        struct rank_buffers w;
        size_t first;
        buffers_open(&w, p);
        bool to_root = c == GW_REDUCE || c == GW_GATHER;
        bool whole = c == GW_GATHER || c == GW_ALLGATHER || c == GW_ALLTOALL;
        for (unsigned r = 0; r < p.ranks; r++) {
            bool gets = (!to_root || r == p.root) && (c != GW_EXSCAN || r > 0);
            size_t expected = gets ? (whole ? 300 : 100) : 0;
            ck_assert_uint_eq(wrong(&w, r, &first), expected);
            ck_assert_uint_eq(first, gets ? 0 : SIZE_MAX);
        }
        buffers_close(&w);
    }
}
END_TEST

START_TEST(each_damaged_element_counts)
{
    struct rank_buffers w;
    size_t first;
    buffers_open(&w, a_pattern(GW_ALLGATHER));
    perform(&w);
    w.out[2][4 * 250 + 1] ^= 1;
    w.out[2][4 * 251 + 3] ^= 0x80;
    ck_assert_uint_eq(wrong(&w, 2, &first), 2);
    ck_assert_uint_eq(first, 250);
    ck_assert_uint_eq(wrong(&w, 1, &first), 0);
    buffers_close(&w);
}
END_TEST

START_TEST(a_written_input_counts)
{
    struct rank_buffers w;
    size_t first;
    buffers_open(&w, a_pattern(GW_ALLREDUCE));
    perform(&w);
    w.in[0][0] ^= 1;
    ck_assert_uint_eq(wrong(&w, 0, &first), 1);
    ck_assert_uint_eq(first, SIZE_MAX);
    buffers_close(&w);
}
END_TEST

START_TEST(writing_past_the_end_counts)
{
    struct rank_buffers w;
    buffers_open(&w, a_pattern(GW_REDUCE));
    perform(&w);
    w.out[1][400] ^= 1; /* after the root's 100 floats */
    w.out[0][0] ^= 1;   /* only the root has a result */
    ck_assert_uint_eq(wrong(&w, 0, NULL), 1);
    ck_assert_uint_eq(wrong(&w, 1, NULL), 1);
    ck_assert_uint_eq(wrong(&w, 2, NULL), 0);
    buffers_close(&w);
}
END_TEST

/* A chunk in the wrong place must not look right: no power of two, nor any
 * other likely chunk size, is a multiple of the period. */
START_TEST(a_shifted_chunk_is_seen)
{
    struct pattern p = a_pattern(GW_BROADCAST);
    struct rank_buffers w;
    p.count = 40000;
    buffers_open(&w, p);
    perform(&w);
    for (size_t shift = 1; shift <= 16384; shift *= 2) {
        memmove(w.out[0], w.out[0] + shift * 4, 100 * 4);
        ck_assert_uint_gt(wrong(&w, 0, NULL), 90);
        memcpy(w.out[0], w.out[2], 100 * 4);
        ck_assert_uint_eq(wrong(&w, 0, NULL), 0);
    }
    buffers_close(&w);
}
END_TEST

START_TEST(seeds_differ)
{
    struct pattern p = a_pattern(GW_ALLREDUCE);
    struct values a, b;
    values_of_rank(&p, 0, &a);
    p.seed++;
    values_of_rank(&p, 0, &b);
    ck_assert_mem_ne(a.bytes, b.bytes, 1000);
    values_of_rank(&p, 1, &a);
    ck_assert_mem_ne(a.bytes, b.bytes, 1000);
}
END_TEST

/* ---- sums ---- */

static void reduce_tables(const struct pattern *p, bool backwards,
                          struct values *result)
{
    static struct values tables[RANKS_MAX];
    const void *sources[RANKS_MAX];
    void *dests[1] = {result->bytes};
    for (unsigned r = 0; r < p->ranks; r++) {
        values_of_rank(p, r, &tables[r]);
        sources[backwards ? p->ranks - 1 - r : r] = tables[r].bytes;
    }
    const struct gw_reduce_local reduce = {
        .sources = sources,
        .dests = dests,
        .source_count = p->ranks,
        .dest_count = 1,
        .count = VALUES_PERIOD,
        .type = p->type,
        .op = p->op,
        .scale_ranks = p->op == GW_AVG ? p->ranks : 1,
    };
    gw_reduce_local(&reduce);
}

START_TEST(sums_are_exact_in_any_order)
{
    static struct values expected, reduced_up;
    enum gw_redop op = (enum gw_redop)_i;
    for (unsigned type = 0; type < GW_DTYPE_COUNT; type++)
        for (unsigned ranks = 1; ranks <= RANKS_MAX; ranks += ranks < 5 ? 1 : 4)
            for (int backwards = 0; backwards < 2; backwards++) {
                struct pattern p = a_pattern(GW_ALLREDUCE);
                p.op = op;
                p.type = (enum gw_dtype)type;
                p.ranks = ranks;
                if (!gw_redop_allowed(op, p.type))
                    continue;
                size_t bytes = VALUES_PERIOD * gw_dtype_size(p.type);
                values_reduced(&p, ranks, &expected);
                reduce_tables(&p, backwards, &reduced_up);
                ck_assert_msg(memcmp(expected.bytes, reduced_up.bytes, bytes) ==
                                  0,
                              "%s of %s, %u ranks%s", gw_redop_name(op),
                              gw_dtype_name(p.type), ranks,
                              backwards ? ", last first" : "");
            }
}
END_TEST

/* Each reduction must give more than one value, or the check would be empty. */
START_TEST(results_vary)
{
    static struct values v;
    enum gw_redop op = (enum gw_redop)_i;
    for (unsigned type = 0; type < GW_DTYPE_COUNT; type++) {
        struct pattern p = a_pattern(GW_ALLREDUCE);
        p.op = op;
        p.type = (enum gw_dtype)type;
        p.ranks = 8;
        if (!gw_redop_allowed(op, p.type))
            continue;
        unsigned others = 0;
        values_reduced(&p, p.ranks, &v);
        for (unsigned i = 1; i < VALUES_PERIOD; i++)
            others +=
                memcmp(v.bytes, v.bytes + i * v.elem_bytes, v.elem_bytes) != 0;
        ck_assert_msg(others > VALUES_PERIOD / 10, "%s of %s: %u",
                      gw_redop_name(op), gw_dtype_name(p.type), others);
    }
}
END_TEST

Suite *suite_pattern(void)
{
    Suite *suite = suite_create("pattern");
    TCase *elements = tcase_create("elements");
    tcase_add_test(elements, small_integers_as_c_converts_them);
    tcase_add_test(elements, halves_by_the_standard);
    tcase_add_test(elements, integers_wrap);
    suite_add_tcase(suite, elements);
    TCase *results = tcase_create("results");
    tcase_add_test(results, every_collective_right);
    tcase_add_test(results, nothing_done_is_wrong);
    tcase_add_test(results, each_damaged_element_counts);
    tcase_add_test(results, a_written_input_counts);
    tcase_add_test(results, writing_past_the_end_counts);
    tcase_add_test(results, a_shifted_chunk_is_seen);
    tcase_add_test(results, seeds_differ);
    suite_add_tcase(suite, results);
    TCase *sums = tcase_create("sums");
    tcase_add_loop_test(sums, sums_are_exact_in_any_order, 0, GW_REDOP_COUNT);
    tcase_add_loop_test(sums, results_vary, 0, GW_REDOP_COUNT);
    suite_add_tcase(suite, sums);
    return suite;
}
