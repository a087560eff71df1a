/* SPDX-License-Identifier: MIT
 *
 * The messages of the control plane as bytes: decoding inverts encoding, short,
 * long and invalid messages are refused, and the largest membership update
 * fits.
 */
#include "hold.h"
#include "registry_pair.h"

#include <cluster/messages/protocol.h>

Suite *suite_protocol(void);

/* Refused at every other length, and under every other tag. */
#define ONLY_WHOLE(decode, data, used, out)                                    \
    do {                                                                       \
        struct gw_error no;                                                    \
        for (size_t cut = 0; cut < (used); cut++)                              \
            ck_assert_int_eq(decode(data, cut, out, &no), GW_EDATA);           \
        (data)[used] = 0;                                                      \
        ck_assert_int_eq(decode(data, (used) + 1, out, &no), GW_EDATA);        \
        (data)[0] ^= 0x40;                                                     \
        ck_assert_int_eq(decode(data, used, out, &no), GW_EDATA);              \
        (data)[0] ^= 0x40;                                                     \
        ck_assert_int_eq(decode(data, used, out, &no), GW_OK);                 \
    } while (0)

START_TEST(a_hello_comes_out_as_it_went_in)
{
    const struct gw__hello in = {{1, 2}, 3, {{UINT64_C(1) << 63, 1}}, 9};
    struct gw__hello out;
    uint8_t data[64];
    size_t used = gw__hello_encode(&in, data, sizeof data);
    ck_assert_uint_eq(used, 39); /* 63 and 64 are one run */
    ck_assert_uint_eq(data[0], GW__PROTOCOL_HELLO);
    ONLY_WHOLE(gw__hello_decode, data, used, &out);
    ck_assert(gw__id_equal(out.incarnation, in.incarnation));
    ck_assert_uint_eq(out.index, 3);
    ck_assert(gw__nodes_equal(out.reports, in.reports));
    ck_assert_uint_eq(out.sent_ns, 9);
    ck_assert_uint_eq(gw__hello_encode(&in, data, used - 1), 0);
    memset(data + 1, 0, 16); /* no process */
    ck_assert_int_eq(gw__hello_decode(data, used, &out, NULL), GW_EDATA);
}
END_TEST

START_TEST(a_lease_comes_out_as_it_went_in)
{
    struct gw__lease out, in = {{1, 2}, 3, 4, GW__LEASE_NS};
    uint8_t data[64];
    size_t used = gw__lease_encode(&in, data, sizeof data);
    ck_assert_uint_eq(used, 41);
    ONLY_WHOLE(gw__lease_decode, data, used, &out);
    ck_assert(gw__id_equal(out.incarnation, in.incarnation));
    ck_assert_uint_eq(out.sent_ns, 3);
    ck_assert_uint_eq(out.index, 4);
    ck_assert_uint_eq(out.lease_ns, GW__LEASE_NS);
    in.lease_ns++; /* longer than allowed */
    gw__lease_encode(&in, data, sizeof data);
    ck_assert_int_eq(gw__lease_decode(data, used, &out, NULL), GW_EDATA);
}
END_TEST

START_TEST(an_answer_is_of_a_client_and_a_sequence)
{
    struct gw__answer answer = {.code = GW_EINVAL, .epoch = 4, .text = "no"};
    uint8_t data[GW__REPLY_BYTES_MAX + 1], bytes[GW__ANSWER_BYTES_MAX];
    struct gw__reply out, in = {.protocol = GW__PROTOCOL_ANSWER,
                                .client = {5, 6},
                                .sequence = 7,
                                .answer = bytes};
    in.answer_bytes = gw__answer_encode(&answer, bytes);
    size_t used = gw__reply_encode(&in, data, GW__REPLY_BYTES_MAX);
    ONLY_WHOLE(gw__reply_decode, data, used, &out);
    ck_assert_int_eq(out.protocol, GW__PROTOCOL_ANSWER);
    ck_assert(gw__id_equal(out.client, in.client));
    ck_assert_uint_eq(out.sequence, 7);
    ck_assert_uint_eq(out.answer_bytes, in.answer_bytes);
    ck_assert_mem_eq(out.answer, bytes, in.answer_bytes);
    ck_assert_uint_eq(gw__reply_encode(&in, data, used - 1), 0);
}
END_TEST

START_TEST(a_redirect_names_a_node_or_none)
{
    struct gw__reply out, in = {.protocol = GW__PROTOCOL_REDIRECT,
                                .client = {5, 6},
                                .sequence = 7,
                                .leader = GW__NODES_MAX};
    uint8_t data[GW__REPLY_BYTES_MAX];
    size_t used = gw__reply_encode(&in, data, sizeof data);
    ONLY_WHOLE(gw__reply_decode, data, used, &out);
    ck_assert_uint_eq(out.leader, GW__NODES_MAX);
    data[used - 2] = 12;
    data[used - 1] = 0;
    ck_assert_int_eq(gw__reply_decode(data, used, &out, NULL), GW_OK);
    ck_assert_uint_eq(out.leader, 12);
    data[used - 2] = (GW__NODES_MAX + 1) & 255;
    data[used - 1] = (GW__NODES_MAX + 1) >> 8;
    ck_assert_int_eq(gw__reply_decode(data, used, &out, NULL), GW_EDATA);
}
END_TEST

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
        in[i].low_watermark = (i * 7919 % 13) << (i % 5 * 13);
    }
    reports_return(in, gw__nodes_first(MEMBERS), MEMBERS * 60);
}
END_TEST

/* ---- membership updates ---- */

static struct gw__membership_update update;
static uint8_t bytes[GW__MESSAGE_MAX + 1], again[GW__MESSAGE_MAX];

static size_t encode_for(unsigned node)
{
    gw__membership_update_make(pair.first, node, true, &update);
    return gw__membership_update_encode(&update, bytes, GW__MESSAGE_MAX);
}

START_TEST(an_update_has_what_the_registry_has)
{
    static struct gw__membership_update out;
    pair_ring_of(4);
    pair_join(9, 0, GW__WORKER);
    pair_suspect(pair_process(0, 0), pair_process(2, 0), true);
    for (unsigned i = 0; i < 4; i++)
        if (i != 2)
            pair_report(i, 6, 0, 0, 0);
    size_t used = encode_for(2);
    ONLY_WHOLE(gw__membership_update_decode, bytes, used, &out);
    ck_assert_uint_eq(out.index, pair.first->index);
    ck_assert_uint_eq(out.time_ms, pair.first->time_ms);
    ck_assert(out.leader);
    ck_assert_uint_eq(out.view.epoch, 2);
    ck_assert_uint_eq(out.view.op_low_watermark, 6);
    ck_assert_uint_eq(out.view.ring_count, 3);
    ck_assert_uint_eq(out.view.ring[2].node, 3);
    ck_assert_str_eq(out.endpoints[2], "tcp://a:1");
    ck_assert(!out.flushing);
    ck_assert_uint_eq(out.flush_epoch, 2);
    ck_assert_uint_eq(node_bits(out.reported), 1 | 2 | 8);
    ck_assert_uint_eq(out.decision_count, 1);
    ck_assert_uint_eq(out.decisions[0].op, 6);
    ck_assert_uint_eq(node_bits(out.decisions[0].contributors), 1 | 2 | 8);
    ck_assert_uint_eq(out.decisions[0].initial_count, 4);
    ck_assert_uint_eq(out.joiner_count, 1);
    ck_assert_uint_eq(out.joiners[0].node, 9);
    ck_assert_int_eq(out.state, GW__CONFIRMED_DEAD);
    ck_assert_uint_eq(out.incarnation.low, 2);
    ck_assert_uint_eq(gw__membership_update_encode(&update, bytes, used - 1),
                      0);
    encode_for(50);
    ck_assert_int_eq(update.state, GW__NO_MEMBER);
}
END_TEST

START_TEST(only_the_newest_decision_of_an_open_op_is_sent)
{
    pair_ring_of(4);
    for (unsigned dead = 3; dead > 1; dead--) {
        pair_suspect(pair_process(0, 0), pair_process(dead, 0), true);
        for (unsigned i = 0; i < dead; i++) {
            pair_report(i, 6, 0, 0, 0);
        }
    }
    encode_for(0);
    ck_assert_uint_eq(update.decision_count, 1);
    ck_assert_uint_eq(update.decisions[0].epoch, 3);
}
END_TEST

START_TEST(decisions_of_an_earlier_flush_are_not_sent)
{
    pair_ring_of(4);
    pair_suspect(pair_process(0, 0), pair_process(3, 0), true);
    for (unsigned i = 0; i < 3; i++)
        pair_report(i, 6, 0, 0, 0);
    encode_for(0);
    ck_assert_uint_eq(update.decision_count, 1);
    pair_suspect(pair_process(0, 0), pair_process(2, 0), true);
    encode_for(0);
    ck_assert(update.flushing);
    ck_assert_uint_eq(update.flush_epoch, 3);
    ck_assert_uint_eq(update.decision_count, 0);
    ck_assert_uint_eq(pair.first->decision_count, 1); /* still known */
}
END_TEST

START_TEST(the_largest_update_fits)
{
    static struct gw__membership_update out;
    struct gw__command join = {.kind = GW__CMD_REGISTER,
                               .join = {.role = GW__WORKER, .ring = true}};
    struct gw__command all = {.kind = GW__CMD_ADMIT};
    memset(join.join.endpoint, 'e', GW__ENDPOINT_MAX - 1);
    for (unsigned i = 0; i < GW__NODES_MAX; i++) {
        join.who = pair_process(i, 0);
        ck_assert_int_eq(pair_apply(join), GW_OK);
        if (i < GW_RING_MEMBERS_MAX)
            all.admit.joiners[all.admit.count++] = join.who;
    }
    encode_for(0);
    ck_assert_uint_eq(update.joiner_count, GW__NODES_MAX);
    ck_assert_uint_gt(
        gw__membership_update_encode(&update, bytes, GW__MESSAGE_MAX), 0);
    ck_assert_int_eq(pair_apply(all), GW_OK);
    encode_for(0);
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        update.joiners[i].incarnation.low = 1;
    update.joiner_count = GW__NODES_MAX;
    update.decision_count = GW__MEMBERSHIP_UPDATE_DECISIONS;
    for (unsigned i = 0; i < GW__MEMBERSHIP_UPDATE_DECISIONS; i++)
        for (unsigned j = 0; j < GW__NODES_MAX; j++)
            update.decisions[i]
                .initial_members[update.decisions[i].initial_count++] =
                (uint16_t)(j * 7 % GW__NODES_MAX); /* no runs */
    size_t used = gw__membership_update_encode(&update, bytes, GW__MESSAGE_MAX);
    ck_assert_uint_gt(used, 10000);
    ck_assert_uint_lt(used, GW__MESSAGE_MAX);
    ck_assert_int_eq(gw__membership_update_decode(bytes, used, &out, NULL),
                     GW_OK);
    ck_assert_uint_eq(gw__membership_update_encode(&out, again, sizeof again),
                      used);
    ck_assert_mem_eq(again, bytes, used);
}
END_TEST

/* A full parameter server: 64 slots, 16 tables, 48 servers and workers. */
START_TEST(a_full_parameter_server_fits)
{
    static struct gw__membership_update out;
    struct gw__command join = {.kind = GW__CMD_REGISTER};
    struct gw__command table = {.kind = GW__CMD_TABLE, .table = {.width = 1}};
    memset(join.join.endpoint, 'e', GW__ENDPOINT_MAX - 1);
    memset(table.table.name, 't', GW_PS_NAME_MAX - 1);
    encode_for(0);
    size_t empty =
        gw__membership_update_encode(&update, bytes, GW__MESSAGE_MAX);
    ck_assert_uint_lt(empty, 100);
    ck_assert_int_eq(pair_apply((struct gw__command){.kind = GW__CMD_ROUTES,
                                                     .routes = {64, 5, 16}}),
                     GW_OK);
    for (unsigned i = 0; i < 48; i++) {
        join.who = pair_process(i, 0);
        join.join.role = i < 16 ? GW__SERVER : GW__WORKER;
        ck_assert_int_eq(pair_apply(join), GW_OK);
    }
    for (unsigned i = 0; i < GW_PS_TABLES_MAX; i++) {
        table.table.name[0] = (char)('a' + i);
        ck_assert_int_eq(pair_apply(table), GW_OK);
    }
    encode_for(20);
    ck_assert_uint_eq(update.ps_member_count, 48);
    ck_assert_uint_eq(update.ps_members[20].node, 20);
    ck_assert_int_eq(update.ps_members[20].role, GW__WORKER);
    ck_assert_int_eq(update.state, GW__ACTIVE);
    size_t used = gw__membership_update_encode(&update, bytes, GW__MESSAGE_MAX);
    ck_assert_uint_gt(used, 8000);
    ck_assert_uint_lt(used, GW__MESSAGE_MAX);
    ck_assert_int_eq(gw__membership_update_decode(bytes, used, &out, NULL),
                     GW_OK);
    ck_assert_uint_eq(out.routes.slots[63].count, 5);
    ck_assert_str_eq(out.routes.tables[15].name, table.table.name);
    ck_assert_uint_eq(gw__membership_update_encode(&out, again, sizeof again),
                      used);
    ck_assert_mem_eq(again, bytes, used);
}
END_TEST

START_TEST(the_mark_changes_with_what_concerns_members)
{
    uint64_t mark = gw__membership_update_mark(pair.first);
#define CHANGES(act)                                                           \
    act;                                                                       \
    ck_assert_uint_ne(gw__membership_update_mark(pair.first), mark);           \
    mark = gw__membership_update_mark(pair.first)
#define STAYS(act)                                                             \
    act;                                                                       \
    ck_assert_uint_eq(gw__membership_update_mark(pair.first), mark)
    CHANGES(pair_join(0, 0, GW__WORKER));
    CHANGES(pair_join(0, 1, GW__WORKER));
    CHANGES(pair_admit(0, 1, 0));
    CHANGES(pair_join(1, 0, GW__WORKER));
    CHANGES(pair_admit(1, 0, 0));
    CHANGES(pair_join(2, 0, GW__WORKER));
    CHANGES(pair_admit(2, 0, 0));
    STAYS(pair_apply(
        (struct gw__command){.kind = GW__CMD_LINK,
                             .link = {0, 1, GW__LINK_DELAY, {.delay_us = 4}}}));
    STAYS(pair_suspect(pair_process(1, 0), pair_process(2, 0), false));
    CHANGES(pair_suspect(pair_process(0, 1), pair_process(2, 0), false));
    STAYS(pair_report(1, 0, 0, 0, 0));
    struct gw__command last = {.kind = GW__CMD_REPORT,
                               .who = pair_process(0, 1),
                               .flush = {.epoch = pair.first->view.epoch}};
    CHANGES(pair_apply(last));
    CHANGES(pair_apply(
        (struct gw__command){.kind = GW__CMD_ROUTES, .routes = {4, 1, 1}}));
    CHANGES(pair_join(9, 0, GW__SERVER));
}
END_TEST

Suite *suite_protocol(void)
{
    Suite *suite = suite_create("protocol");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, pair_setup, pair_teardown);
    tcase_add_test(t, a_hello_comes_out_as_it_went_in);
    tcase_add_test(t, a_lease_comes_out_as_it_went_in);
    tcase_add_test(t, an_answer_is_of_a_client_and_a_sequence);
    tcase_add_test(t, a_redirect_names_a_node_or_none);
    tcase_add_test(t, reports_are_passed_on_whole);
    tcase_add_test(t, reports_that_do_not_fit_are_left);
    tcase_add_test(t, reports_of_a_large_ring_are_a_few_runs);
    tcase_add_test(t, reports_without_a_pattern_return_as_well);
    tcase_add_test(t, an_update_has_what_the_registry_has);
    tcase_add_test(t, only_the_newest_decision_of_an_open_op_is_sent);
    tcase_add_test(t, decisions_of_an_earlier_flush_are_not_sent);
    tcase_add_test(t, the_largest_update_fits);
    tcase_add_test(t, a_full_parameter_server_fits);
    tcase_add_test(t, the_mark_changes_with_what_concerns_members);
    suite_add_tcase(suite, t);
    return suite;
}
