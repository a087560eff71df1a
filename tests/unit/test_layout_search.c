/* SPDX-License-Identifier: MIT
 *
 * `pipebench layout --search` against a plain enumeration: all meshes, modes,
 * micro-batches, schedules, splits and orders in nested loops.
 */
#include "nets.h"

#include <check.h>
#include <gradwire/pipe.h>
#include <gradwire/topology.h>
#include <math.h>
#include <pipebench/layout/layout_search.h>
#include <string.h>

Suite *suite_layout_search(void);

enum { RANKS = 4, BATCH = 16 };

static const char servers[] = "topology two\n"
                              "nic rate=1000000000 latency=3us\n"
                              "inner rate=10000000000 latency=1us\n"
                              "rack r: a b\n"
                              "host a ranks=2\n"
                              "host b ranks=2\n";
static const char text[] =
    "network n\ninput 64\ndense 256\nrelu\ndense 32\nsoftmax\n";

static struct gw_topology *topology;
static struct gw_layout_timer *timer;
static struct gw_network *network;
static struct gw_error why;

static void begin(void)
{
    const struct gw_layout_costs costs = {.work_per_us = 5000, .message_us = 1};
    ck_assert(!gw_topology_parse(servers, strlen(servers), "servers", &topology,
                                 &why));
    ck_assert(!gw_layout_timer_new(topology, &costs, &timer, &why));
    network = net_of(text);
}

static void end(void)
{
    gw_network_destroy(&network);
    gw_layout_timer_destroy(&timer);
    gw_topology_destroy(&topology);
}

/* ---- all layouts ---- */

struct found {
    double step_us;      /* of the fastest that fits; infinity: none */
    uint64_t held_bytes; /* memory of that one */
    unsigned timed;
};

static void time_both(const struct gw_layout *layout,
                      const struct gw_schedule *schedule, uint64_t memory,
                      struct found *found)
{
    for (unsigned order = 0; order < 2; order++) {
        struct gw_layout_time *time;
        ck_assert(!gw_layout_simulate(timer, layout, schedule,
                                      (enum gw_mesh_order)order, &time, &why));
        found->timed++;
        if ((!memory || time->held_bytes <= memory) &&
            time->step_us < found->step_us) {
            found->step_us = time->step_us;
            found->held_bytes = time->held_bytes;
        }
        gw_layout_time_destroy(&time);
    }
}

static void try_layout(struct gw_layout_options options, const char *name,
                       uint64_t memory, struct found *found)
{
    struct gw_schedule *schedule;
    struct gw_layout *layout;
    if (gw_schedule_make(name, options.mesh.pipe, options.micros, 0, &schedule,
                         NULL))
        return;
    options.chunks = schedule->chunks;
    if (!gw_layout_new(network, &options, &layout, NULL))
        time_both(layout, schedule, memory, found);
    gw_layout_destroy(&layout);
    gw_schedule_destroy(&schedule);
}

static void try_splits(struct gw_layout_options options, uint64_t memory,
                       struct found *found)
{
    static const char *const names[] = {"gpipe", "1f1b", "interleaved",
                                        "zb-h1"};
    for (unsigned first = GW_SPLIT_NONE; first <= GW_SPLIT_BATCH; first++)
        for (unsigned second = GW_SPLIT_NONE; second <= GW_SPLIT_BATCH;
             second++)
            for (unsigned n = 0; n < 4; n++) {
                network->operators[0].split = (enum gw_split)first;
                network->operators[2].split = (enum gw_split)second;
                try_layout(options, names[n], memory, found);
            }
    network->operators[0].split = network->operators[2].split = GW_SPLIT_AUTO;
}

static struct found enumerate(uint64_t memory)
{
    struct found found = {.step_us = (double)INFINITY};
    for (unsigned d = 1; d <= RANKS; d *= 2)
        for (unsigned t = 1; d * t <= RANKS; t *= 2)
            for (unsigned mode = 0; mode < 3; mode++)
                for (unsigned micros = 1; micros <= BATCH; micros *= 2)
                    try_splits(
                        (struct gw_layout_options){
                            .mesh = {d, t, RANKS / d / t},
                            .mode = (enum gw_data_mode)mode,
                            .batch = BATCH,
                            .micros = micros,
                            .optimiser_words = 2},
                        memory, &found);
    return found;
}

/* ---- what the search finds ---- */

static struct search_space space_of(uint64_t memory)
{
    return (struct search_space){.network = network,
                                 .ranks = RANKS,
                                 .batch = BATCH,
                                 .optimiser_words = 2,
                                 .memory = memory};
}

/* Each bound is one byte less than the previous best layout needs. */
START_TEST(finds_what_enumeration_finds)
{
    uint64_t memory = 0;
    double before_us = 0;
    for (unsigned round = 0; round < 4; round++) {
        struct search_space space = space_of(memory);
        struct search_result result;
        struct found found = enumerate(memory);
        ck_assert_msg(!search_run(timer, &space, &result, &why), "%s",
                      why.text);
        const struct search_row *best = result.rows;
        ck_assert(best->fits);
        ck_assert_double_eq_tol(best->step_us, found.step_us,
                                1e-6 * found.step_us);
        ck_assert(best->step_us >= before_us);
        ck_assert_uint_lt(result.timed, found.timed);
        for (unsigned i = 0; i < result.row_count; i++) {
            const struct search_row *row = &result.rows[i];
            ck_assert(row->fits == (!memory || row->held_bytes <= memory));
            ck_assert(!row->fits || row->step_us >= best->step_us);
            ck_assert(i == 0 || row->fits <= row[-1].fits);
        }
        memory = best->held_bytes - 1;
        before_us = best->step_us;
        search_result_fini(&result);
    }
}
END_TEST

/* The smallest memory of all layouts, reported when none fits. */
START_TEST(reports_what_is_least)
{
    struct search_result none, some;
    struct search_space space = space_of(1);
    ck_assert(!search_run(timer, &space, &none, &why));
    ck_assert(!none.rows[0].fits);
    ck_assert_uint_eq(none.timed, 0);
    space.memory = none.rows[0].held_bytes;
    ck_assert(!search_run(timer, &space, &some, &why));
    ck_assert(some.rows[0].fits);
    ck_assert_uint_eq(some.rows[0].held_bytes, space.memory);
    ck_assert(some.row_count == none.row_count && !some.rows[1].fits);
    search_result_fini(&none);
    search_result_fini(&some);
}
END_TEST

START_TEST(keeps_what_was_fixed)
{
    const struct gw_mesh mesh = {2, 2, 1};
    struct search_space space = space_of(0);
    struct search_result result;
    space.mesh = &mesh;
    space.mode = "zero1";
    space.micros = 2;
    network->operators[0].split = GW_SPLIT_ROWS;
    ck_assert(!search_run(timer, &space, &result, &why));
    ck_assert_uint_eq(result.row_count, 1);
    ck_assert_int_eq(result.rows->options.mode, GW_DATA_ZERO1);
    ck_assert_uint_eq(result.rows->options.micros, 2);
    ck_assert_int_eq(strncmp(result.rows->splits, "rows,", 5), 0);
    ck_assert_uint_eq(result.timed + 2 * result.impossible, 2 * 4);
    search_result_fini(&result);
    space.micros = 3;
    ck_assert_int_eq(search_run(timer, &space, &result, &why), GW_EINVAL);
    search_result_fini(&result);
}
END_TEST

Suite *suite_layout_search(void)
{
    Suite *suite = suite_create("layout_search");
    TCase *tests = tcase_create("enumerated");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, finds_what_enumeration_finds);
    tcase_add_test(tests, reports_what_is_least);
    tcase_add_test(tests, keeps_what_was_fixed);
    suite_add_tcase(suite, tests);
    return suite;
}
