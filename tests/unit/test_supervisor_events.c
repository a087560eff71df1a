/* SPDX-License-Identifier: MIT
 *
 * The events that a supervisor emits about parameter servers: each change once,
 * in an order in which a moving slot is never lost, and all of them again when
 * a recording begins.
 */
#include "run/supervisor/supervisor_parts.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

Suite *suite_supervisor_events(void);

enum { SERVERS = 3, WORKERS = 2, SLOTS = 4, RECEIVED_MAX = 256 };

static struct run *run; /* large */
static void *listener;
static struct gw_event received[RECEIVED_MAX];
static size_t received_count;

static void join(struct child *child, enum gw__role role, unsigned number)
{
    struct gw__membership_update *update = &run->update;
    child_init(child, role, number);
    child->ps_members = child->known = child->has_status = true;
    child->pid = 1; /* never signalled in this test */
    update->ps_members[update->ps_member_count].node = child->node;
    update->ps_members[update->ps_member_count++].incarnation =
        (struct gw__id){1, number + 1};
}

static void assign_slot(unsigned slot, unsigned primary, unsigned secondary)
{
    struct gw__slot_route *route = &run->update.routes.slots[slot];
    *route =
        (struct gw__slot_route){.term = route->term + 1,
                                .primary = (uint8_t)(SERVER_NODE + primary),
                                .count = 2,
                                .replica = {(uint8_t)(SERVER_NODE + primary),
                                            (uint8_t)(SERVER_NODE + secondary)},
                                .learner = GW__NO_NODE,
                                .leaver = GW__NO_NODE,
                                .successor = GW__NO_NODE};
}

/* The slot's primary reports that it serves the slot. */
static void serve(unsigned slot)
{
    const struct gw__slot_route *route = &run->update.routes.slots[slot];
    struct gw_ps_slot_status *status =
        &run->servers[route->primary - SERVER_NODE].status.server.slots[slot];
    status->role = GW_PS_PRIMARY;
    status->term = route->term;
}

static void open_stream(void)
{
    static const char at[] = "inproc://events";
    char subscription[4];
    run->rpc.context = zmq_ctx_new();
    run->rpc.events = zmq_socket(run->rpc.context, ZMQ_XPUB);
    listener = zmq_socket(run->rpc.context, ZMQ_SUB);
    ck_assert_int_eq(zmq_bind(run->rpc.events, at), 0);
    ck_assert_int_eq(zmq_connect(listener, at), 0);
    ck_assert_int_eq(zmq_setsockopt(listener, ZMQ_SUBSCRIBE, "e", 1), 0);
    ck_assert_int_eq(
        zmq_recv(run->rpc.events, subscription, sizeof subscription, 0), 2);
}

static void begin(void)
{
    run = calloc(1, sizeof *run);
    ck_assert_ptr_nonnull(run);
    run->options.servers = SERVERS;
    run->options.ranks = WORKERS;
    run->update.view.epoch = 5;
    for (unsigned n = 0; n < WORKERS; n++)
        join(&run->workers[n], GW__WORKER, n);
    for (unsigned n = 0; n < SERVERS; n++)
        join(&run->servers[n], GW__SERVER, n);
    run->update.routes.slot_count = SLOTS;
    for (unsigned s = 0; s < SLOTS; s++)
        assign_slot(s, s % 2, 2);
    open_stream();
}

static void end(void)
{
    zmq_close(listener);
    zmq_close(run->rpc.events);
    zmq_ctx_term(run->rpc.context);
    free(run);
}

/* The events emitted since the last call. Within a process they are there at
 * once. */
static size_t receive_events(void)
{
    char topic[4];
    received_count = 0;
    while (zmq_recv(listener, topic, sizeof topic, ZMQ_DONTWAIT) == 1) {
        int bytes =
            zmq_recv(listener, received + received_count,
                     sizeof received - received_count * sizeof *received, 0);
        ck_assert_int_gt(bytes, 0);
        received_count += (size_t)bytes / sizeof *received;
        ck_assert_uint_lt(received_count, RECEIVED_MAX);
    }
    return received_count;
}

static size_t count_received(enum gw_event_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < received_count; i++)
        count += received[i].kind == kind;
    return count;
}

static void assert_slot(size_t i, unsigned slot, unsigned server,
                        enum gw_ps_role role)
{
    ck_assert_uint_lt(i, received_count);
    ck_assert_uint_eq(received[i].kind, GW_EV_SLOT);
    ck_assert_uint_eq(received[i].chunk, slot);
    ck_assert_uint_eq(received[i].rank, SERVER_NODE + server);
    ck_assert_int_eq(received[i].value, role);
    ck_assert_uint_eq(received[i].epoch, run->update.view.epoch);
}

/* As if each child had sent a note. */
static void report_all_statuses(void)
{
    for (unsigned n = 0; n < WORKERS; n++)
        report_status(run, &run->workers[n]);
    for (unsigned n = 0; n < SERVERS; n++)
        report_status(run, &run->servers[n]);
}

/* The initial state, with all slots served. */
static void serve_all(void)
{
    for (unsigned s = 0; s < SLOTS; s++)
        serve(s);
    report_all(run);
    receive_events();
}

START_TEST(a_recording_begins_with_everything)
{
    report_all(run);
    receive_events();
    ck_assert_uint_eq(count_received(GW_EV_MEMBER), SERVERS + WORKERS);
    ck_assert_uint_eq(count_received(GW_EV_EPOCH), 1);
    ck_assert_uint_eq(count_received(GW_EV_SLOT), 2 * SLOTS);
    report_all_statuses();
    ck_assert_uint_eq(receive_events(), 0);
    report_all(run);
    receive_events();
    ck_assert_uint_eq(count_received(GW_EV_SLOT), 2 * SLOTS);
}
END_TEST

START_TEST(a_primary_serves_when_it_reports_so)
{
    report_all(run);
    receive_events();
    for (size_t i = 0; i < received_count; i++)
        if (received[i].kind == GW_EV_SLOT)
            ck_assert_int_eq(received[i].value, GW_PS_SECONDARY);
    serve(1);
    report_all_statuses();
    ck_assert_uint_eq(receive_events(), 1);
    assert_slot(0, 1, 1, GW_PS_PRIMARY);
    run->update.routes.slots[1].term++; /* not in this term */
    report_all_statuses();
    ck_assert_uint_eq(receive_events(), 1);
    assert_slot(0, 1, 1, GW_PS_SECONDARY);
}
END_TEST

START_TEST(who_joins_is_reported_before_who_leaves)
{
    serve_all();
    const struct gw__membership_update before = run->update;
    run->update.routes.slots[2].learner = SERVER_NODE + 1;
    report_update(run, &before);
    ck_assert_uint_eq(receive_events(), 1);
    assert_slot(0, 2, 1, GW_PS_LEARNER);
    assign_slot(2, 1, 2);
    serve(2);
    report_update(run, &before);
    ck_assert_uint_eq(receive_events(), 2);
    assert_slot(0, 2, 1, GW_PS_PRIMARY);
    assert_slot(1, 2, 0, GW_PS_NOT_HERE);
}
END_TEST

START_TEST(a_death_a_departure_and_a_return)
{
    serve_all();
    struct gw__membership_update before = run->update;
    run->update.view.epoch = 6;
    run->update.ps_member_count = 3; /* the first is the worker 0 */
    memmove(run->update.ps_members, before.ps_members + 1,
            3 * sizeof *run->update.ps_members);
    run->update.ps_members[0].incarnation.low =
        99; /* a new process of worker 1 */
    run->servers[2].left = true;
    for (unsigned s = 0; s < SLOTS; s++)
        run->update.routes.slots[s].count = 1;
    report_update(run, &before);
    receive_events();
    static const struct {
        unsigned node;
        enum gw_membership is;
    } expected[] = {{0, GW_MEMBER_DEAD},
                    {1, GW_MEMBER_DEAD},
                    {SERVER_NODE + 2, GW_MEMBER_LEFT},
                    {1, GW_MEMBER_ALIVE}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        ck_assert_uint_eq(received[i].kind, GW_EV_MEMBER);
        ck_assert_uint_eq(received[i].rank, expected[i].node);
        ck_assert_int_eq(received[i].value, expected[i].is);
        ck_assert_uint_eq(received[i].epoch, 6);
    }
    ck_assert_uint_eq(received[4].kind, GW_EV_EPOCH);
    ck_assert_int_eq(received[4].value, 3);
    ck_assert_uint_eq(count_received(GW_EV_SLOT), SLOTS);
    assert_slot(5, 0, 2, GW_PS_NOT_HERE);
}
END_TEST

START_TEST(a_work_item_is_reported_once)
{
    struct child *child = &run->workers[1];
    serve_all();
    child->status.worker.work_item = (struct gw_ps_work){
        .epoch = 2, .batch = 7, .part = 3, .parts = 4, .staleness = 1};
    report_all_statuses();
    ck_assert_uint_eq(receive_events(), 0); /* the clock does not have it yet */
    run->clock.worker_count = 1;
    run->clock.workers[0] =
        (struct gw_ps_worker_status){.node = 1, .clock = 41};
    report_all_statuses();
    ck_assert_uint_eq(receive_events(), 1);
    const struct gw_event *e = &received[0];
    ck_assert_uint_eq(e->kind, GW_EV_CLOCK);
    ck_assert_uint_eq(e->rank, 1);
    ck_assert_uint_eq(e->step, 41);
    ck_assert_uint_eq(e->epoch, 2);
    ck_assert_uint_eq(e->op, 7);
    ck_assert_uint_eq(e->chunk, 3);
    ck_assert_int_eq(e->value, 1);
    report_all_statuses();
    ck_assert_uint_eq(receive_events(), 0);
    child->status.worker.work_item.done = true;
    report_all_statuses();
    ck_assert_uint_eq(receive_events(), 1);
    ck_assert_uint_eq(e->op, GW_NONE);
    ck_assert_uint_eq(e->chunk, GW_NONE);
}
END_TEST

START_TEST(a_ring_reports_for_itself)
{
    struct gw__membership_update before = run->update;
    before.ps_member_count = 0;
    run->options.servers = 0;
    report_update(run, &before);
    report_all_statuses();
    report_all(run);
    ck_assert_uint_eq(receive_events(), 0);
}
END_TEST

Suite *suite_supervisor_events(void)
{
    const TTest *const tests[] = {
        a_recording_begins_with_everything,
        a_primary_serves_when_it_reports_so,
        who_joins_is_reported_before_who_leaves,
        a_death_a_departure_and_a_return,
        a_work_item_is_reported_once,
        a_ring_reports_for_itself,
    };
    Suite *suite = suite_create("supervisor_events");
    TCase *tcase = tcase_create("supervisor report");
    tcase_add_checked_fixture(tcase, begin, end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
