/* SPDX-License-Identifier: MIT
 *
 * The parameter server in the registry: slots follow the servers in the same
 * entry, and only the servers concerned may change them. test_route.c tests the
 * rules by which they follow.
 */
#include "registry_pair.h"

Suite *suite_registry_routes(void);

enum { SERVER = 10 };

static enum gw_err routes(unsigned slots, unsigned replicas, unsigned servers)
{
    return pair_apply((struct gw__command){
        .kind = GW__CMD_ROUTES, .routes = {slots, replicas, servers}});
}

static enum gw_err on_slot(enum gw__command_kind kind, unsigned by,
                           unsigned slot, uint64_t term, unsigned node)
{
    return pair_apply((struct gw__command){
        .kind = kind, .who = pair_process(by, 0), .slot = {slot, term, node}});
}

static enum gw_err drain(unsigned node)
{
    return pair_apply((struct gw__command){.kind = GW__CMD_DRAIN,
                                           .who = pair_process(node, 0)});
}

static const struct gw__slot_route *slot_at(unsigned slot)
{
    return &pair.first->routes.slots[slot];
}

/* Completes all copies and handovers. */
static void complete_moves(void)
{
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < pair.first->routes.slot_count; i++) {
            const struct gw__slot_route slot = *slot_at(i);
            if (slot.learner != GW__NO_NODE)
                ck_assert_int_eq(on_slot(GW__CMD_PROMOTE, slot.primary, i,
                                         slot.term, slot.learner),
                                 GW_OK);
            else if (slot.successor != GW__NO_NODE)
                ck_assert_int_eq(on_slot(GW__CMD_HANDOVER, slot.primary, i,
                                         slot.term, slot.successor),
                                 GW_OK);
            else
                continue;
            more = true;
        }
    }
}

static void servers_of(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(pair_join(SERVER + i, 0, GW__SERVER), GW_OK);
}

START_TEST(slots_are_assigned_when_enough_servers_are_there)
{
    servers_of(1);
    ck_assert_int_eq(routes(6, 2, 2), GW_OK);
    pair_expect_text("6 slots with 2 replicas, created for 2 servers");
    ck_assert_int_eq(routes(6, 2, 2), GW_OK);
    ck_assert_int_eq(routes(6, 3, 2), GW_EMISMATCH);
    pair_expect_text(
        "the slots exist already: 6 slots with 2 replicas, created for 2 "
        "servers");
    ck_assert_int_eq(routes(0, 3, 2), GW_EINVAL);
    ck_assert_uint_eq(slot_at(0)->term, 0);
    ck_assert_int_eq(pair_join(SERVER + 1, 0, GW__SERVER), GW_OK);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(slot_at(i)->count, 2);
    pair_join(1, 0, GW__CONTROLLER);
    ck_assert_uint_eq(slot_at(0)->term, 1);
}
END_TEST

START_TEST(a_table_has_a_number)
{
    struct gw__command c = {.kind = GW__CMD_TABLE,
                            .table = {.name = "w", .width = 3}};
    ck_assert_int_eq(pair_apply(c), GW_EINVAL);
    pair_expect_text("there is no parameter server yet");
    routes(6, 2, 2);
    ck_assert_int_eq(pair_apply(c), GW_OK);
    strcpy(c.table.name, "bias");
    ck_assert_int_eq(pair_apply(c), GW_OK);
    ck_assert_uint_eq(pair.answer.table, 1);
    pair_expect_text("table bias has number 1");
    c.table.width = 4;
    ck_assert_int_eq(pair_apply(c), GW_EMISMATCH);
}
END_TEST

START_TEST(only_the_primary_promotes_and_hands_over)
{
    servers_of(2);
    routes(6, 2, 2);
    servers_of(3);
    unsigned i = 0;
    while (slot_at(i)->learner == GW__NO_NODE)
        ck_assert_uint_lt(++i, 6);
    const struct gw__slot_route slot = *slot_at(i);
    unsigned other = slot.primary == SERVER ? SERVER + 1 : SERVER;
    ck_assert_int_eq(
        on_slot(GW__CMD_PROMOTE, other, i, slot.term, slot.learner), GW_EINVAL);
    ck_assert_int_eq(on_slot(GW__CMD_PROMOTE, 40, i, slot.term, slot.learner),
                     GW_EINVAL);
    pair_expect_text("node 40 does not exist");
    pair_join(40, 0, GW__OBSERVER);
    ck_assert_int_eq(on_slot(GW__CMD_HANDOVER, 40, i, slot.term, slot.learner),
                     GW_EINVAL);
    pair_expect_text("node 40 is not a server");
    ck_assert_int_eq(on_slot(GW__CMD_PROMOTE, slot.primary, 6, slot.term, 0),
                     GW_EINVAL);
    pair_expect_text("slot 6 does not exist");
    ck_assert_int_eq(
        on_slot(GW__CMD_PROMOTE, slot.primary, i, slot.term + 1, slot.learner),
        GW_EINVAL);
    ck_assert_uint_eq(slot_at(i)->term, slot.term);
    complete_moves();
    ck_assert(!gw__routes_is_empty(&pair.first->routes, SERVER + 2));
}
END_TEST

START_TEST(the_dead_leave_their_slots_in_the_same_entry)
{
    servers_of(3);
    routes(6, 2, 3);
    pair_join(1, 0, GW__CONTROLLER);
    uint64_t epoch = pair.first->view.epoch;
    pair_suspect(pair_process(1, 0), pair_process(SERVER, 0), true);
    ck_assert_uint_eq(pair.first->view.epoch, epoch + 1);
    ck_assert(gw__routes_is_empty(&pair.first->routes, SERVER));
    complete_moves();
    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(slot_at(i)->count, 2);
}
END_TEST

START_TEST(who_alone_has_a_slot_cannot_leave_but_can_die)
{
    servers_of(2);
    routes(6, 1, 2);
    ck_assert_int_eq(pair_leave(SERVER), GW_EINVAL);
    ck_assert_int_eq(drain(SERVER), GW_OK);
    pair_expect_text("node 10 hands over its slots");
    complete_moves();
    ck_assert_int_eq(pair_leave(SERVER), GW_OK);
    ck_assert(gw__nodes_is_empty(pair.first->routes.drained));
    drain(SERVER + 1);
    complete_moves(); /* no server can take them */
    ck_assert_int_eq(pair_leave(SERVER + 1), GW_EINVAL);
    pair_expect_text("node 11 cannot leave: it has the only copy of slot 0");
    pair_join(1, 0, GW__CONTROLLER);
    pair_suspect(pair_process(1, 0), pair_process(SERVER + 1, 0), true);
    pair_expect_text("node 11 is declared dead: epoch 4");
    ck_assert_uint_eq(slot_at(0)->primary, GW__NO_NODE);
}
END_TEST

static void suspect_alone(unsigned by, unsigned node)
{
    pair_apply((struct gw__command){
        .kind = GW__CMD_SUSPECT,
        .who = pair_process(by, 0),
        .suspect = {.suspected = pair_process(node, 0), .alone = true}});
}

/* Two suspicions that were proposed at once, when each slot still had the
 * other server. */
START_TEST(one_suspicion_costs_no_slot_its_last_replica)
{
    servers_of(2);
    routes(6, 2, 2);
    complete_moves();
    pair_join(1, 0, GW__CONTROLLER);
    suspect_alone(1, SERVER);
    pair_expect_text("node 10 is declared dead: epoch 3");
    suspect_alone(1, SERVER + 1);
    pair_expect_text("node 11 cannot leave: it has the only copy of slot 0");
    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(slot_at(i)->primary, SERVER + 1);
}
END_TEST

START_TEST(workers_and_servers_outside_of_the_ring_are_active_at_once)
{
    struct gw__command c = {.kind = GW__CMD_REGISTER,
                            .who = pair_process(5, 0),
                            .join = {.role = GW__WORKER}};
    ck_assert_int_eq(pair_apply(c), GW_OK);
    pair_expect_text("node 5 is active as worker");
    ck_assert_uint_eq(pair.first->view.epoch, 1);
    ck_assert_uint_eq(pair.first->view.ring_count, 0);
    ck_assert_int_eq(pair_apply(c), GW_OK);
    ck_assert_uint_eq(pair.first->view.epoch, 1); /* no further change */
    ck_assert_int_eq(pair_leave(5), GW_OK);       /* the last worker may */
    ck_assert_uint_eq(pair.first->view.epoch, 2);
}
END_TEST

Suite *suite_registry_routes(void)
{
    Suite *suite = suite_create("registry_routes");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, pair_setup, pair_teardown);
    tcase_add_test(t, slots_are_assigned_when_enough_servers_are_there);
    tcase_add_test(t, a_table_has_a_number);
    tcase_add_test(t, only_the_primary_promotes_and_hands_over);
    tcase_add_test(t, the_dead_leave_their_slots_in_the_same_entry);
    tcase_add_test(t, who_alone_has_a_slot_cannot_leave_but_can_die);
    tcase_add_test(t, one_suspicion_costs_no_slot_its_last_replica);
    tcase_add_test(t,
                   workers_and_servers_outside_of_the_ring_are_active_at_once);
    suite_add_tcase(suite, t);
    return suite;
}
