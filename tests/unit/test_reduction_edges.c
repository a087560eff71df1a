/* SPDX-License-Identifier: MIT
 *
 * gw_reduce_local at the edges of memory: every type, reduction and length up
 * to a few vectors, with arrays that begin and end at inaccessible pages. A
 * load or store outside an array, even of an unused value, thus ends the test.
 * In place or not, streaming or not, at every level, with equal and different
 * alignments.
 */
#include "coll/comm.h"
#include "coll/reduce/reduce.h"
#include "reduce_reference.h"

#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *suite_reduction_edges(void);

static const char *const levels[] = {"scalar", "neon", "avx2", "avx512"};
enum { LEVELS = sizeof levels / sizeof *levels };
enum { SOURCES = 5, DESTS = 3, LONGEST_BYTES = 300, SEED = 20261122 };

static char *pages[SOURCES + DESTS];
static size_t page_bytes;

/* A page between two inaccessible pages. */
static char *fenced_page(void)
{
    char *memory = mmap(NULL, 3 * page_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED);
    char *page = memory + page_bytes;
    ck_assert_int_eq(mprotect(page, page_bytes, PROT_READ | PROT_WRITE), 0);
    return page;
}

static void set_up(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < SOURCES + DESTS; i++)
        pages[i] = fenced_page();
}

static void tear_down(void)
{
    for (int i = 0; i < SOURCES + DESTS; i++)
        munmap(pages[i] - page_bytes, 3 * page_bytes);
    ck_assert(gw__reduce_select(NULL));
}

/* Array `i` in its page: for `place` 0 all at the start, for 1 all at the end,
 * for 2 alternating. */
static char *array(unsigned i, unsigned place, size_t bytes)
{
    bool last = place == 1 || (place == 2 && i % 2);
    return pages[i] + (last ? page_bytes - bytes : 0);
}

static void fill(struct gw_rng *rng, char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (char)gw_rng_next(rng);
}

static void check_one(struct gw_reduce_local *reduce, struct gw_rng *rng,
                      unsigned place, bool in_place)
{
    char expected[LONGEST_BYTES + 8];
    const void *sources[SOURCES];
    void *dests[DESTS];
    size_t bytes = reduce->count * gw_dtype_size(reduce->type);
    for (unsigned i = 0; i < SOURCES; i++) {
        fill(rng, array(i, place, bytes), bytes);
        sources[i] = array(i, place, bytes);
    }
    for (unsigned i = 0; i < DESTS; i++)
        dests[i] = array(SOURCES + i, place, bytes);
    if (in_place) /* in place of any source, the last one included */
        dests[0] = array(reduce->source_count - 1, place, bytes);
    reduce->sources = sources;
    reduce->dests = dests;
    reference_reduce(reduce, expected);
    gw_reduce_local(reduce);
    for (unsigned i = 0; i < reduce->dest_count; i++)
        if (memcmp(dests[i], expected, bytes) != 0)
            ck_abort_msg("%s %s, %u sources, dest %u of %u, count %zu, place "
                         "%u, in place %d, stream %d, %s, seed %d",
                         gw_dtype_name(reduce->type), gw_redop_name(reduce->op),
                         reduce->source_count, i, reduce->dest_count,
                         reduce->count, place, in_place, reduce->stream,
                         gw_reduce_isa(), SEED);
}

/* Numbers of arrays rotate: 2:1, 2:2, 3:1 and 4:1 have loops of their own. */
static void check_length(enum gw_dtype type, enum gw_redop op, size_t count,
                         struct gw_rng *rng)
{
    static const unsigned shapes[][2] = {{1, 1}, {1, 3}, {2, 1}, {2, 2},
                                         {3, 1}, {4, 1}, {5, 3}};
    for (unsigned k = 0; k < 6; k++) {
        const unsigned *shape = shapes[gw_rng_below(rng, 7)];
        struct gw_reduce_local reduce = {.source_count = shape[0],
                                         .dest_count = shape[1],
                                         .count = count,
                                         .type = type,
                                         .op = op,
                                         .scale_ranks = shape[0],
                                         .stream = k % 2};
        check_one(&reduce, rng, k / 2, gw_rng_below(rng, 2));
    }
}

START_TEST(test_every_length)
{
    enum gw_dtype type = (enum gw_dtype)_i;
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    for (int level = 0; level < LEVELS; level++) {
        if (!gw__reduce_select(levels[level]))
            continue;
        for (unsigned op = 0; op < GW_REDOP_COUNT; op++)
            for (size_t count = 0; gw_redop_allowed(op, type) &&
                                   count * gw_dtype_size(type) <= LONGEST_BYTES;
                 count++)
                check_length(type, op, count, &rng);
    }
}
END_TEST

/* Does a copy (one source) or a sum, by a rank of a job of four, bypass the
 * caches? */
static bool goes_past(enum gw_collective collective, size_t count,
                      unsigned rank, unsigned sources)
{
    struct gw_comm *comm = calloc(1, sizeof *comm);
    ck_assert_ptr_nonnull(comm);
    comm->size = 4;
    comm->rank = rank;
    struct gw_call call = {
        .collective = collective, .count = count, .type = GW_F32, .root = 2};
    bool past = gw__reduce_past(comm, &call, sources);
    free(comm);
    return past;
}

/* Small data stays in the caches, huge data does not, with one threshold in
 * between. It is the same for all ranks, since they share the cache. */
START_TEST(test_past_the_caches)
{
    enum { SMALL = 1 << 10, HUGE_SHIFT = 34 };
    for (unsigned c = 0; c < GW_COLLECTIVES; c++) {
        if (c == GW_BARRIER)
            continue;
        for (unsigned rank = 0; rank < 4; rank++) {
            ck_assert(!goes_past(c, SMALL, rank, 1));
            ck_assert(!goes_past(c, SMALL, rank, 4));
            ck_assert(goes_past(c, (size_t)1 << HUGE_SHIFT, rank, 1));
            for (unsigned shift = 0; shift < HUGE_SHIFT; shift++) {
                size_t count = (size_t)1 << shift;
                bool copy = goes_past(c, count, rank, 1);
                bool sum = goes_past(c, count, rank, 4);
                ck_assert_msg(sum || !copy, "%s of %zu: a copy before a sum",
                              gw_collective_name(c), count);
                ck_assert_msg(sum == goes_past(c, count, 2, 4),
                              "%s of %zu: rank %u is not like the root",
                              gw_collective_name(c), count, rank);
                ck_assert_msg(!copy || goes_past(c, 2 * count, rank, 1),
                              "%s of %zu: only half of it",
                              gw_collective_name(c), count);
            }
        }
    }
}
END_TEST

Suite *suite_reduction_edges(void)
{
    Suite *suite = suite_create("reduction edges");
    TCase *edges = tcase_create("edges");
    tcase_set_timeout(edges, 60);
    tcase_add_checked_fixture(edges, set_up, tear_down);
    tcase_add_loop_test(edges, test_every_length, 0, GW_DTYPE_COUNT);
    suite_add_tcase(suite, edges);
    TCase *past = tcase_create("past");
    tcase_add_test(past, test_past_the_caches);
    suite_add_tcase(suite, past);
    return suite;
}
