/* SPDX-License-Identifier: MIT
 *
 * The message that passes on reports.
 */
#include <cluster/messages/protocol.h>

#include <check.h>

Suite *suite_reported(void);

START_TEST(reports_are_passed_on_whole)
{
    static struct gw__report in[GW__NODES_MAX], out;
    static struct gw__reported reported;
    static uint8_t data[GW__COMMAND_BYTES_MAX + 64];
    const struct gw__places places = {2, (const unsigned[]){0, 300}};
    struct gw__held_chunk held[2] = {{{{1}}, false}, {{{1}}, true}};
    struct gw_nodes nodes = {{1}};
    unsigned node;
    gw__nodes_add(&held[1].set, 300);
    gw__nodes_add(&nodes, 300);
    in[300].low_watermark = 4;
    in[300].op_count = GW__REPORT_OPS_MAX;
    for (unsigned i = 0; i < GW__REPORT_OPS_MAX; i++)
        gw__holdings_pack(&in[300].ops[i], &places, held, 2);
    size_t used = gw__reported_encode(9, in, &nodes, data, sizeof data - 1);
    ck_assert_uint_gt(used, 0);
    ck_assert_uint_eq(gw__nodes_count(nodes), 0);
    ck_assert_int_eq(gw__reported_decode(data, used - 1, &reported, NULL),
                     GW_EDATA);
    ck_assert_int_eq(gw__reported_decode(data, used + 1, &reported, NULL),
                     GW_EDATA);
    ck_assert_int_eq(gw__reported_decode(data, used, &reported, NULL), GW_OK);
    ck_assert_uint_eq(reported.flush_epoch, 9);
    ck_assert(gw__reported_next(&reported, &node, &out));
    ck_assert_uint_eq(node, 0);
    ck_assert(gw__reported_next(&reported, &node, &out));
    ck_assert_uint_eq(node, 300);
    ck_assert_uint_eq(out.low_watermark, 4);
    struct gw__held_chunk second = gw__holdings_of(&out.ops[1], &places, 1);
    ck_assert(second.final && gw__nodes_equal(second.set, held[1].set));
    ck_assert(!gw__reported_next(&reported, &node, &out));
    data[9] = GW__NODES_MAX & 255;
    data[10] = GW__NODES_MAX >> 8;
    ck_assert_int_eq(gw__reported_decode(data, used, &reported, NULL),
                     GW_EDATA);
}
END_TEST

/* Of two nodes that are not neighbours: a message of one report, and then one of
 * the other. */
START_TEST(reports_that_do_not_fit_are_left)
{
    static struct gw__report in[GW__NODES_MAX];
    static struct gw__reported reported;
    struct gw_nodes nodes = {{2 | 32}};
    struct gw__report out;
    uint8_t data[64];
    unsigned node;
    size_t one = gw__reported_encode(9, in, &nodes, data, sizeof data);
    nodes = (struct gw_nodes){{2 | 32}};
    ck_assert_uint_eq(gw__reported_encode(9, in, &nodes, data, 8), 0);
    ck_assert_uint_eq(gw__nodes_count(nodes), 2);
    size_t used = gw__reported_encode(9, in, &nodes, data, one - 1);
    ck_assert_uint_lt(used, one);
    ck_assert_uint_eq(nodes.words[0], 32);
    ck_assert_int_eq(gw__reported_decode(data, used, &reported, NULL), GW_OK);
    ck_assert(gw__reported_next(&reported, &node, &out) && node == 1);
    ck_assert(!gw__reported_next(&reported, &node, &out));
}
END_TEST

/* The report of a member in a plan of its own: at each member one edge has
 * moved by a place. */
static struct gw__report moving_report(unsigned node, unsigned members)
{
    struct gw__report report = {.low_watermark = 7, .op_count = 1};
    static struct gw__held_chunk held[GW__REPORT_CHUNKS_MAX];
    unsigned nodes[GW__NODES_MAX];
    for (unsigned i = 0; i < members; i++)
        nodes[i] = i;
    for (unsigned c = 0; c < members; c++) {
        held[c] = (struct gw__held_chunk){.final = false};
        for (unsigned i = c + 1; c < node && i <= node; i++)
            gw__nodes_add(&held[c].set, i);
    }
    gw__holdings_pack(&report.ops[0],
                      &(const struct gw__places){members, nodes}, held,
                      members);
    return report;
}

static void reports_return(const struct gw__report in[GW__NODES_MAX],
                           struct gw_nodes nodes, size_t most)
{
    static struct gw__reported reported;
    static uint8_t data[GW__MESSAGE_MAX];
    struct gw_nodes left = nodes;
    struct gw__report out;
    unsigned node;
    size_t used = gw__reported_encode(9, in, &left, data, sizeof data);
    ck_assert_uint_le(used, most);
    ck_assert(gw__nodes_is_empty(left));
    ck_assert_int_eq(gw__reported_decode(data, used, &reported, NULL), GW_OK);
    while (gw__reported_next(&reported, &node, &out)) {
        ck_assert(gw__nodes_has(&nodes, node));
        gw__nodes_remove(&nodes, node);
        ck_assert_uint_eq(out.low_watermark, in[node].low_watermark);
        ck_assert_uint_eq(out.op_count, in[node].op_count);
        ck_assert_uint_eq(out.ops[0].bytes, in[node].ops[0].bytes);
        ck_assert_mem_eq(out.ops[0].data, in[node].ops[0].data,
                         out.ops[0].bytes);
    }
    ck_assert(gw__nodes_is_empty(nodes));
}

START_TEST(reports_of_a_large_ring_are_a_few_runs)
{
    static struct gw__report in[GW__NODES_MAX];
    enum { MEMBERS = 250 };
    struct gw_nodes nodes = gw__nodes_first(MEMBERS);
    for (unsigned i = 0; i < MEMBERS; i++)
        in[i] = moving_report(i, MEMBERS);
    reports_return(in, nodes, 300);
    gw__nodes_remove(&nodes, 100);
    gw__nodes_remove(&nodes, 101);
    reports_return(in, nodes, 400);
}
END_TEST

START_TEST(reports_without_a_pattern_return_as_well)
{
    static struct gw__report in[GW__NODES_MAX];
    enum { MEMBERS = 250 };
    for (unsigned i = 0; i < MEMBERS; i++) {
        in[i] = moving_report(i * 83 % MEMBERS, MEMBERS);
        in[i].low_watermark = (uint64_t)(i * 7919 % 13) << i % 5 * 13;
    }
    reports_return(in, gw__nodes_first(MEMBERS), MEMBERS * 60);
}
END_TEST

Suite *suite_reported(void)
{
    Suite *suite = suite_create("reported");
    TCase *t = tcase_create("all");
    tcase_add_test(t, reports_are_passed_on_whole);
    tcase_add_test(t, reports_that_do_not_fit_are_left);
    tcase_add_test(t, reports_of_a_large_ring_are_a_few_runs);
    tcase_add_test(t, reports_without_a_pattern_return_as_well);
    suite_add_tcase(suite, t);
    return suite;
}
