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

/* ---- membership updates ---- */

static struct gw__membership_update update;
static uint8_t bytes[GW__MESSAGE_MAX + 1], again[GW__MESSAGE_MAX];

static size_t encode(const struct gw__membership_update *of, void *out,
                     size_t room)
{
    static struct gw__update_body whole;
    gw__membership_update_whole(of, &whole);
    return whole.bytes ? gw__membership_update_encode(of, &whole, out, room)
                       : 0;
}

/* Without the changes of another update. */
static enum gw_err decode(const void *data, size_t size,
                          struct gw__membership_update *out,
                          struct gw_error *why)
{
    static const struct gw__membership_update none;
    return gw__membership_update_decode(data, size, &none, out, why);
}

static size_t encode_for(unsigned node)
{
    gw__membership_update_make(pair.first, node, true, &update);
    return encode(&update, bytes, GW__MESSAGE_MAX);
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
    ONLY_WHOLE(decode, bytes, used, &out);
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
    ck_assert_uint_eq(encode(&update, bytes, used - 1), 0);
    encode_for(50);
    ck_assert_int_eq(update.state, GW__NO_MEMBER);
}
END_TEST

/* The bytes of a body as changes of `before`, which bring the receiver from
 * `known` to `now`. */
static size_t change(const struct gw__membership_update *known,
                     const struct gw__membership_update *now)
{
    static struct gw__update_body before, whole, changes, same;
    static struct gw__membership_update out, none;
    gw__membership_update_whole(known, &before);
    gw__membership_update_whole(now, &whole);
    gw__membership_update_changes(&before, &whole, &changes);
    size_t used =
        gw__membership_update_encode(now, &changes, bytes, GW__MESSAGE_MAX);
    ck_assert_int_eq(
        gw__membership_update_decode(bytes, used, known, &out, NULL), GW_OK);
    ck_assert_uint_eq(out.index, now->index);
    gw__membership_update_whole(&out, &same);
    ck_assert_uint_eq(same.bytes, whole.bytes);
    ck_assert_mem_eq(same.data, whole.data, whole.bytes);
    enum gw_err expected = changes.bytes < whole.bytes ? GW_PENDING : GW_OK;
    ck_assert_int_eq(
        gw__membership_update_decode(bytes, used, &none, &out, NULL), expected);
    for (size_t cut = 0; cut < used; cut++)
        ck_assert_int_ne(
            gw__membership_update_decode(bytes, cut, known, &out, NULL), GW_OK);
    return changes.bytes;
}

START_TEST(an_update_can_be_the_changes_of_the_one_before)
{
    static struct gw__membership_update before, now;
    enum { MEMBERS = 60, SMALL = 200 };
    pair_ring_of(MEMBERS);
    gw__membership_update_make(pair.first, 0, true, &before);
    ck_assert_uint_le(change(&before, &before), 25);
    pair_suspect(pair_process(0, 0), pair_process(30, 0), true);
    gw__membership_update_make(pair.first, 0, true, &now);
    ck_assert_uint_le(change(&before, &now), SMALL);
    before = now;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (i != 30)
            pair_report(i, 6, 0, 0, 0);
    pair_join(MEMBERS + 3, 0, GW__WORKER);
    gw__membership_update_make(pair.first, 0, true, &now);
    ck_assert_uint_le(change(&before, &now), SMALL);
    before = now;
    pair_suspect(pair_process(0, 0), pair_process(7, 0), true);
    pair_suspect(pair_process(0, 0), pair_process(8, 0), true);
    pair_suspect(pair_process(0, 0), pair_process(59, 0), true);
    gw__membership_update_make(pair.first, 0, true, &now);
    ck_assert_uint_le(change(&before, &now), 2 * SMALL);
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
    ck_assert_uint_gt(encode(&update, bytes, GW__MESSAGE_MAX), 0);
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
    size_t used = encode(&update, bytes, GW__MESSAGE_MAX);
    ck_assert_uint_gt(used, 10000);
    ck_assert_uint_lt(used, GW__MESSAGE_MAX);
    ck_assert_int_eq(decode(bytes, used, &out, NULL), GW_OK);
    ck_assert_uint_eq(encode(&out, again, sizeof again), used);
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
    size_t empty = encode(&update, bytes, GW__MESSAGE_MAX);
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
    size_t used = encode(&update, bytes, GW__MESSAGE_MAX);
    ck_assert_uint_gt(used, 8000);
    ck_assert_uint_lt(used, GW__MESSAGE_MAX);
    ck_assert_int_eq(decode(bytes, used, &out, NULL), GW_OK);
    ck_assert_uint_eq(out.routes.slots[63].count, 5);
    ck_assert_str_eq(out.routes.tables[15].name, table.table.name);
    ck_assert_uint_eq(encode(&out, again, sizeof again), used);
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
    STAYS(pair_apply((struct gw__command){.kind = GW__CMD_DRAIN,
                                          .who = pair_process(1, 0)}));
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
    tcase_add_test(t, an_update_has_what_the_registry_has);
    tcase_add_test(t, an_update_can_be_the_changes_of_the_one_before);
    tcase_add_test(t, only_the_newest_decision_of_an_open_op_is_sent);
    tcase_add_test(t, decisions_of_an_earlier_flush_are_not_sent);
    tcase_add_test(t, the_largest_update_fits);
    tcase_add_test(t, a_full_parameter_server_fits);
    tcase_add_test(t, the_mark_changes_with_what_concerns_members);
    suite_add_tcase(suite, t);
    return suite;
}
