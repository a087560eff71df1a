/* SPDX-License-Identifier: MIT
 *
 * The registry at the end of a log: a repeated request is executed once,
 * invalid commands are refused, and replicas are equal even if one comes from a
 * snapshot. A failing random run prints its seed.
 */
#include "hold.h"
#include "registry_pair.h"

#include <stdlib.h>

Suite *suite_registry_log(void);

/* ---- answered once ---- */

static struct gw__command from_client(unsigned client, uint64_t sequence)
{
    return (struct gw__command){.kind = GW__CMD_REGISTER,
                                .client = {1, client},
                                .sequence = sequence,
                                .who = {GW__NODE_ANY, {client, sequence}}};
}

START_TEST(a_repeated_request_gets_its_answer_and_does_nothing)
{
    pair_apply(from_client(1, 1));
    ck_assert_uint_eq(pair.answer.node, 0);
    pair_apply(from_client(1, 1));
    ck_assert_uint_eq(pair.answer.node, 0);
    pair_apply(from_client(1, 3));
    ck_assert_uint_eq(pair.answer.node, 1);
    ck_assert_int_eq(pair_apply(from_client(1, 2)), GW_EINVAL);
    pair_expect_text("request 2 of this client is out of date; the last was 3");
    pair_apply(from_client(2, 1));
    ck_assert_uint_eq(pair.answer.node, 2);
}
END_TEST

START_TEST(a_refusal_is_an_answer_too)
{
    struct gw__command c = {
        .kind = GW__CMD_LEAVE, .client = {1, 1}, .sequence = 1};
    ck_assert_int_eq(pair_apply(c), GW_EINVAL);
    pair_ring_of(2);
    c.who = pair_process(0, 0);
    ck_assert_int_eq(pair_apply(c), GW_EINVAL);
    pair_expect_text("node 0 does not exist");
    ck_assert_uint_eq(pair.answer.epoch, 0);
}
END_TEST

/* The epoch in a stored answer is the one at its time. */
static enum gw_err apply_later(struct gw__command command)
{
    uint8_t bytes[GW__COMMAND_BYTES_MAX], out[GW__ANSWER_BYTES_MAX];
    command.time_ms = pair.now_ms;
    size_t used = gw__command_encode(&command, bytes, sizeof bytes);
    used = gw__registry_apply(pair.first, bytes, used, pair.next_index++, out);
    ck_assert_int_eq(gw__answer_decode(out, used, &pair.answer, NULL), GW_OK);
    return pair.answer.code;
}

START_TEST(the_client_that_was_idle_longest_is_forgotten)
{
    for (unsigned i = 0; i < GW__CLIENTS_MAX; i++, pair.now_ms++)
        pair_apply(from_client(i + 1, 1));
    ck_assert_int_eq(pair_apply(from_client(9999, 1)), GW_PENDING);
    pair_expect_text("2304 clients are busy; try again later");
    pair.now_ms += GW__CLIENT_IDLE_MS - GW__CLIENTS_MAX;
    pair_apply(from_client(1, 1)); /* the client repeats: it is not idle */
    pair.now_ms++;
    ck_assert_int_ne(pair_apply(from_client(9999, 1)), GW_PENDING);
    ck_assert_int_eq(pair_apply(from_client(2, 2)), GW_ECLOSED);
    pair_expect_text(
        "this client is unknown or was removed; it must connect again "
        "with a new id");
    pair_apply(from_client(1, 1));
    ck_assert_uint_eq(pair.answer.node, 0);
}
END_TEST

START_TEST(controllers_are_not_remembered)
{
    struct gw__command c = from_client(0, 1);
    c.client = (struct gw__id){0, 0};
    pair_apply(c);
    c.who.incarnation.low = 50;
    pair_apply(c);
    ck_assert_uint_eq(pair.answer.node, 1);
    ck_assert_uint_eq(pair.first->client_count, 0);
}
END_TEST

/* ---- rubbish ---- */

START_TEST(every_index_counts_once)
{
    uint8_t bytes[64], out[GW__ANSWER_BYTES_MAX];
    struct gw__command c = {.kind = GW__CMD_ROUTES, .routes = {4, 1, 1}};
    size_t used = gw__command_encode(&c, bytes, sizeof bytes);
    pair_apply(c);
    uint64_t digest = gw__registry_digest(pair.first);
    used = gw__registry_apply(pair.first, bytes, used, pair.first->index, out);
    ck_assert_int_eq(gw__answer_decode(out, used, &pair.answer, NULL), GW_OK);
    ck_assert_int_eq(pair.answer.code, GW_EINVAL);
    pair_expect_text("this entry was applied before");
    ck_assert_uint_eq(gw__registry_digest(pair.first), digest);
}
END_TEST

/* A command of each kind with all fields set. */
static struct gw__command full(enum gw__command_kind kind)
{
    struct gw__command c = {.kind = kind,
                            .time_ms = 1,
                            .client = {2, 3},
                            .sequence = 4,
                            .who = {5, {6, 7}}};
    switch (kind) {
    case GW__CMD_REGISTER:
        c.join.ring = true;
        memset(c.join.endpoint, 'x', sizeof c.join.endpoint - 1);
        break;
    case GW__CMD_ADMIT:
        c.admit.count = GW__NODES_MAX;
        break;
    case GW__CMD_TABLE:
        c.table = (struct gw_ps_table_config){
            .name = "weights", .width = 3, .rate = 0.5F, .init_seed = 7};
        break;
    case GW__CMD_REPORT:
        c.flush.report.op_count = GW__REPORT_OPS_MAX;
        for (unsigned i = 0; i < GW__REPORT_OPS_MAX; i++)
            c.flush.report.ops[i] = hold(
                &(const struct gw__places){4, (const unsigned[]){0, 1, 2, 3}},
                (const uint64_t[]){0, 0, 0, 9}, 8);
        break;
    default:
        break;
    }
    return c;
}

START_TEST(commands_survive_the_journey)
{
    uint8_t bytes[GW__COMMAND_BYTES_MAX], again[GW__COMMAND_BYTES_MAX];
    for (unsigned kind = 0; kind < GW__COMMAND_KINDS; kind++) {
        struct gw__command c = full((enum gw__command_kind)kind), back;
        size_t used = gw__command_encode(&c, bytes, sizeof bytes);
        ck_assert_uint_gt(used, 0);
        ck_assert_uint_eq(gw__command_encode(&c, again, used - 1), 0);
        ck_assert_int_eq(gw__command_decode(bytes, used, &back, NULL), GW_OK);
        ck_assert_uint_eq(gw__command_encode(&back, again, sizeof again), used);
        ck_assert_mem_eq(bytes, again, used);
        ck_assert_str_ne(gw__command_name(c.kind), "?");
    }
}
END_TEST

START_TEST(truncated_long_or_invalid_input_is_refused)
{
    uint8_t bytes[GW__COMMAND_BYTES_MAX + 1];
    struct gw__command back;
    for (unsigned kind = 0; kind < GW__COMMAND_KINDS; kind++) {
        struct gw__command c = full((enum gw__command_kind)kind);
        size_t used = gw__command_encode(&c, bytes, sizeof bytes);
        for (size_t length = 0; length < used; length += length < 99 ? 1 : 97)
            ck_assert_int_eq(gw__command_decode(bytes, length, &back, NULL),
                             GW_EDATA);
        bytes[used] = 0;
        ck_assert_int_eq(gw__command_decode(bytes, used + 1, &back, NULL),
                         GW_EDATA);
        uint64_t digest = gw__registry_digest(pair.first);
        pair_apply_bytes(bytes, used - 1);
        ck_assert_int_eq(pair.answer.code, GW_EDATA);
        ck_assert_uint_ne(gw__registry_digest(pair.first), digest); /* index */
        bytes[2] = 2;
        pair_apply_bytes(bytes, used);
        pair_expect_text("the command is not of version 8");
    }
    pair_apply_bytes("", 0);
    pair_expect_text("malformed command of 0 bytes");
}
END_TEST

/* ---- replicas ---- */

static struct gw__process some_process(struct gw_rng *rng)
{
    return pair_process((unsigned)gw_rng_below(rng, 7),
                        (unsigned)gw_rng_below(rng, 2));
}

static void fill_report(struct gw_rng *rng, struct gw__report *report)
{
    report->low_watermark = gw_rng_below(rng, 3);
    report->op_count = (unsigned)gw_rng_below(rng, 3);
    for (unsigned i = 0; i < report->op_count; i++) {
        const struct gw__places places = {4, (const unsigned[]){0, 1, 2, 3}};
        const uint64_t sets[4] = {1 + gw_rng_below(rng, 15), 15, 15, 15};
        report->ops[i] = hold(&places, sets, gw_rng_below(rng, 16));
    }
}

/* A valid command about slots, if there is one. */
static void fill_slot(struct gw_rng *rng, struct gw__command *c)
{
    unsigned first = (unsigned)gw_rng_below(rng, 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct gw__slot_route *slot =
            &pair.first->routes.slots[(first + i) % 4];
        unsigned node =
            c->kind == GW__CMD_PROMOTE ? slot->learner : slot->successor;
        if (node == GW__NO_NODE || slot->primary == GW__NO_NODE)
            continue;
        c->who = (struct gw__process){
            slot->primary, pair.first->members[slot->primary].incarnation};
        c->slot.slot = (first + i) % 4;
        c->slot.term = slot->term;
        c->slot.node = node;
        return;
    }
}

/* Command i. Clients repeat commands at random. */
static struct gw__command random_command(struct gw_rng *rng, unsigned i)
{
    static const enum gw__role roles[] = {GW__WORKER, GW__WORKER,
                                          GW__WORKER, GW__SERVER,
                                          GW__SERVER, GW__CONTROLLER};
    struct gw__command c = {
        .kind = (enum gw__command_kind)gw_rng_below(rng, GW__COMMAND_KINDS),
        .client = {0, gw_rng_below(rng, 3)},
        .sequence = 1 + i / 2,
        .who = some_process(rng)};
    switch (c.kind) {
    case GW__CMD_REGISTER:
        c.join.role = roles[gw_rng_below(rng, 6)];
        c.join.ring = c.join.role == GW__WORKER;
        break;
    case GW__CMD_ADMIT:
        c.admit.from_op = 2;
        c.admit.ring_epoch = pair.first->view.ring_epoch;
        c.admit.count = 1;
        c.admit.joiners[0] = some_process(rng);
        break;
    case GW__CMD_SUSPECT:
        c.suspect.suspected = some_process(rng);
        c.suspect.certain = gw_rng_below(rng, 2);
        c.suspect.alone = gw_rng_below(rng, 2);
        if (c.suspect.certain)
            c.suspect.more_count = (unsigned)gw_rng_below(rng, 3);
        for (unsigned k = 0; k < c.suspect.more_count; k++)
            c.suspect.more[k] = some_process(rng);
        break;
    case GW__CMD_REPORT:
        c.flush.epoch = pair.first->view.epoch;
        fill_report(rng, &c.flush.report);
        break;
    case GW__CMD_DEADLINE:
        c.epoch = pair.first->view.epoch;
        break;
    case GW__CMD_ROUTES:
        c.routes.slots = 4;
        c.routes.replicas = 2;
        c.routes.servers = 1;
        break;
    case GW__CMD_TABLE:
        c.table.name[0] = (char)('a' + gw_rng_below(rng, 20));
        c.table.width = 1 + (unsigned)gw_rng_below(rng, 2);
        break;
    case GW__CMD_PLACE:
        memset(c.advice.node, GW__NO_NODE, sizeof c.advice.node);
        c.advice.slots = (unsigned)gw_rng_below(rng, 5);
        for (unsigned slot = 0; slot < c.advice.slots; slot++)
            c.advice.node[slot][0] = (uint8_t)gw_rng_below(rng, 4);
        break;
    case GW__CMD_PROMOTE:
    case GW__CMD_HANDOVER:
        fill_slot(rng, &c);
        break;
    default:
        break;
    }
    return c;
}

/* Replaces the second replica by one made from its own snapshot. */
static void restore_second(void)
{
    size_t bytes = gw__registry_snapshot(pair.second, NULL, 0);
    uint8_t *snapshot = malloc(bytes);
    ck_assert_ptr_nonnull(snapshot);
    ck_assert_uint_eq(gw__registry_snapshot(pair.second, snapshot, bytes),
                      bytes);
    memset(pair.second, 0xee, sizeof *pair.second);
    struct gw_error why = {0};
    ck_assert_msg(!gw__registry_restore(pair.second, snapshot, bytes, &why),
                  "%s", why.text);
    ck_assert_int_eq(gw__registry_restore(pair.second, snapshot, bytes, NULL),
                     GW_OK);
    free(snapshot);
}

START_TEST(replicas_agree_also_after_a_snapshot)
{
    enum { COMMANDS = 12000 };
    struct gw_rng rng;
    unsigned done[GW__COMMAND_KINDS] = {0};
    gw_rng_seed(&rng, (uint64_t)_i);
    for (unsigned i = 0; i < COMMANDS; i++) {
        struct gw__command c = random_command(&rng, i);
        pair.now_ms += gw_rng_below(&rng, 900);
        done[c.kind] += apply_later(c) == GW_OK;
        pair.next_index--;
        uint8_t bytes[GW__COMMAND_BYTES_MAX], out[GW__ANSWER_BYTES_MAX];
        c.time_ms = pair.now_ms;
        size_t used = gw__command_encode(&c, bytes, sizeof bytes);
        gw__registry_apply(pair.second, bytes, used, pair.next_index++, out);
        if (gw_rng_below(&rng, 20) == 0)
            restore_second();
        ck_assert_msg(
            gw__registry_digest(pair.first) == gw__registry_digest(pair.second),
            "seed %d, command %u: %s", _i, i, gw__command_name(c.kind));
    }
    for (unsigned kind = 0; kind < GW__COMMAND_KINDS; kind++)
        ck_assert_msg(done[kind] > 3, "seed %d: %s %u times", _i,
                      gw__command_name((enum gw__command_kind)kind),
                      done[kind]);
}
END_TEST

START_TEST(a_damaged_snapshot_is_refused_or_a_state)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, 11);
    for (unsigned i = 0; i < 500; i++)
        apply_later(random_command(&rng, i));
    size_t bytes = gw__registry_snapshot(pair.first, NULL, 0);
    uint8_t *snapshot = malloc(bytes), *damaged = malloc(bytes);
    ck_assert(snapshot && damaged);
    gw__registry_snapshot(pair.first, snapshot, bytes);
    for (size_t length = 0; length < bytes; length += 37)
        ck_assert_int_eq(
            gw__registry_restore(pair.second, snapshot, length, NULL),
            GW_EDATA);
    ck_assert_uint_eq(pair.second->view.epoch, 0);
    for (unsigned i = 0; i < 2000; i++) {
        memcpy(damaged, snapshot, bytes);
        damaged[gw_rng_below(&rng, bytes)] ^=
            (uint8_t)(1 + gw_rng_below(&rng, 255));
        if (gw__registry_restore(pair.second, damaged, bytes, NULL))
            continue;
        uint8_t *again = malloc(bytes);
        ck_assert_ptr_nonnull(again);
        ck_assert_uint_eq(gw__registry_snapshot(pair.second, again, bytes),
                          bytes);
        ck_assert_mem_eq(again, damaged, bytes);
        free(again);
    }
    free(damaged);
    free(snapshot);
}
END_TEST

Suite *suite_registry_log(void)
{
    Suite *suite = suite_create("registry_log");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, pair_setup, pair_teardown);
    tcase_add_test(t, a_repeated_request_gets_its_answer_and_does_nothing);
    tcase_add_test(t, a_refusal_is_an_answer_too);
    tcase_add_test(t, the_client_that_was_idle_longest_is_forgotten);
    tcase_add_test(t, controllers_are_not_remembered);
    tcase_add_test(t, every_index_counts_once);
    tcase_add_test(t, commands_survive_the_journey);
    tcase_add_test(t, truncated_long_or_invalid_input_is_refused);
    tcase_add_loop_test(t, replicas_agree_also_after_a_snapshot, 1, 4);
    tcase_add_test(t, a_damaged_snapshot_is_refused_or_a_state);
    suite_add_tcase(suite, t);
    return suite;
}
