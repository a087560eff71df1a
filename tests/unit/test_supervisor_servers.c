/* SPDX-License-Identifier: MIT
 *
 * A supervisor's counters of parameter servers: items against the plan, slots
 * and their replicas, data epochs, recoveries of servers.
 */
#include "run/supervisor/supervisor_parts.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_supervisor_servers(void);

enum { SERVERS = 3, WORKERS = 2, SLOTS = 4 };

static struct run *run; /* large */

static void join(struct child *child, enum gw__role role, unsigned number)
{
    struct gw__membership_update *update = &run->update;
    child_init(child, role, number);
    child->ps_members = child->known = child->has_status = true;
    child->pid = 1; /* never signalled in this test */
    child->status.work = 1;
    child->status.loss = (double)NAN;
    update->ps_members[update->ps_member_count].node = child->node;
    update->ps_members[update->ps_member_count++].incarnation =
        (struct gw__id){1, number + 1};
}

static void begin(void)
{
    run = calloc(1, sizeof *run);
    ck_assert_ptr_nonnull(run);
    run->formed = true;
    run->options.servers = SERVERS;
    run->options.ranks = WORKERS;
    run->work.kind = WORK_TRAIN;
    run->work.id = 1;
    run->update.view.epoch = 5;
    for (unsigned n = 0; n < WORKERS; n++)
        join(&run->workers[n], GW__WORKER, n);
    for (unsigned n = 0; n < SERVERS; n++)
        join(&run->servers[n], GW__SERVER, n);
    struct gw__routes *routes = &run->update.routes;
    routes->slot_count = SLOTS;
    for (unsigned s = 0; s < SLOTS; s++)
        routes->slots[s] = (struct gw__slot_route){
            .term = 1,
            .primary = (uint8_t)(SERVER_NODE + s % SERVERS),
            .count = 2,
            .learner = GW__NO_NODE,
            .leaver = GW__NO_NODE,
            .successor = GW__NO_NODE};
}

static void end(void)
{
    free(run);
}

static struct progress_of progress_now(void)
{
    struct progress_of progress;
    servers_progress(run, &progress);
    return progress;
}

/* 10 epochs of 5 batches in 4 parts. */
static void plan(enum gw_ps_mode_kind kind, unsigned bound)
{
    run->clock = (struct gw_ps_clock_status){
        .here = true,
        .parts = 4,
        .mode = {.kind = kind, .bound = bound},
        .plan = {.epochs = 10, .batches = 5, .parts = 4, .workers = WORKERS}};
}

/* ---- items ---- */

START_TEST(what_is_in_progress_is_not_lost)
{
    plan(GW_PS_BSP, 0);
    run->clock.epoch = 2;
    run->clock.batch = 3;
    run->clock.begun = true;
    run->clock.parts_begun = 14 * 4;
    run->clock.work_items = 13 * 4;
    struct progress_of p = progress_now();
    ck_assert_uint_eq(p.step, 13);
    ck_assert_uint_eq(p.expected, 200);
    ck_assert_uint_eq(p.lost, 0);
    ck_assert_uint_eq(p.doubled, 0);
}
END_TEST

START_TEST(when_done_what_is_missing_is_lost)
{
    plan(GW_PS_SSP, 2);
    run->clock.done = true;
    run->clock.epoch = 10;
    run->clock.parts_begun = 200;
    run->clock.work_items = 197;
    ck_assert_uint_eq(progress_now().lost, 3);
    run->clock.work_items = 200;
    ck_assert_uint_eq(progress_now().lost, 0);
    ck_assert_uint_eq(progress_now().step, 50);
}
END_TEST

START_TEST(beyond_the_plan_is_doubled_at_once)
{
    plan(GW_PS_ASP, 0);
    run->clock.work_items = 203;
    ck_assert_uint_eq(progress_now().doubled, 3);
}
END_TEST

/* A part that its round did not wait for is not lost, and not counted twice if
 * it comes late. */
START_TEST(kofn_owes_what_it_did_not_skip)
{
    plan(GW_PS_KOFN, 3);
    run->clock.done = true;
    run->clock.epoch = 10;
    run->clock.parts_begun = 200;
    run->clock.work_items = 150;
    run->clock.skipped = 50;
    run->clock.dropped = 31;
    ck_assert_uint_eq(progress_now().lost, 0);
    run->clock.work_items = 149;
    ck_assert_uint_eq(progress_now().lost, 1);
    run->clock.work_items = 155;
    ck_assert_uint_eq(progress_now().doubled, 5);
}
END_TEST

/* Two workers had two parts of each of 20 batches, four have four of the
 * rest. */
START_TEST(parts_that_follow_workers_are_as_assigned)
{
    plan(GW_PS_BSP, 0);
    run->clock.plan.parts = 0;
    run->clock.epoch = 5;
    run->clock.begun = true;
    run->clock.parts_begun = 20 * 2 + 6 * 4;
    run->clock.work_items = 20 * 2 + 5 * 4;
    ck_assert_uint_eq(progress_now().step, 25);
    ck_assert_uint_eq(progress_now().expected, 20 * 2 + 30 * 4);
    ck_assert_uint_eq(progress_now().lost + progress_now().doubled, 0);
    run->clock.mode.kind = GW_PS_ASP;
    ck_assert_uint_eq(progress_now().step, 60 * 26 / 64);
}
END_TEST

/* ---- slots, clocks ---- */

START_TEST(the_weakest_slot_counts)
{
    plan(GW_PS_BSP, 0);
    ck_assert_uint_eq(progress_now().replicas, 2);
    run->update.routes.slots[3].count = 1;
    ck_assert_uint_eq(progress_now().replicas, 1);
    run->update.routes.slots[3].primary = GW__NO_NODE;
    run->update.routes.slots[3].count = 0;
    ck_assert_uint_eq(progress_now().replicas, 0);
    ck_assert_uint_eq(progress_now().slots_lost, 1);
    ck_assert_uint_eq(progress_now().lost, 1);
}
END_TEST

/* The clock of a worker that has left does not count. */
START_TEST(the_slowest_that_is_there)
{
    ck_assert(isnan(progress_now().clock));
    plan(GW_PS_SSP, 1);
    run->clock.worker_count = 3;
    run->clock.workers[0] = (struct gw_ps_worker_status){.node = 0, .clock = 9};
    run->clock.workers[1] = (struct gw_ps_worker_status){.node = 1, .clock = 8};
    run->clock.workers[2] = (struct gw_ps_worker_status){.node = 7, .clock = 3};
    ck_assert_double_eq(progress_now().clock, 8);
}
END_TEST

START_TEST(done_is_when_the_model_is_evaluated)
{
    plan(GW_PS_BSP, 0);
    run->clock.done = true;
    run->clock.work_items = 200;
    for (unsigned n = 0; n < WORKERS; n++)
        run->workers[n].status.done = true;
    ck_assert(!progress_now().done);
    ps_members_update(run);
    ck_assert_ptr_eq(run->evaluates, &run->workers[0]);
    run->workers[0].pid = 0; /* dies during the evaluation */
    ps_members_update(run);
    ck_assert_ptr_eq(run->evaluates, &run->workers[1]);
    run->workers[1].status.scored = true;
    ck_assert(progress_now().done);
    ck_assert_ptr_eq(progress_now().evaluates, &run->workers[1].status);
}
END_TEST

/* ---- the clock, the curve ---- */

static struct node_status earlier;

static void server_reports(unsigned server, enum gw_ps_role role,
                           uint64_t closed)
{
    struct child *child = &run->servers[server];
    child->status.server = (struct gw_ps_server_status){.slot_count = SLOTS};
    child->status.server.slots[0].role = role;
    child->status.server.clocks[0].here = true;
    child->status.server.clocks[0].closed = closed;
    ps_members_on_status(run, child, NULL);
}

START_TEST(the_clock_is_its_primarys)
{
    server_reports(0, GW_PS_PRIMARY, 40);
    ck_assert_uint_eq(run->clock.closed, 40);
    server_reports(1, GW_PS_SECONDARY, 45);
    ck_assert_uint_eq(run->clock.closed, 40);
    server_reports(1, GW_PS_PRIMARY, 46);
    server_reports(0, GW_PS_PRIMARY, 41); /* paused meanwhile */
    ck_assert_uint_eq(run->clock.closed, 46);
}
END_TEST

static void worker_reports(unsigned worker, uint64_t epoch, uint64_t items,
                           double loss)
{
    struct child *child = &run->workers[worker];
    earlier = child->status;
    child->status.worker.epochs[epoch % EPOCHS_REPORTED] =
        (struct epoch_status){
            .epoch = epoch,
            .items = items,
            .sums = {.rows = 10 * items, .samples = 10 * items, .loss = loss}};
    ps_members_on_status(run, child, &earlier);
}

/* Each note has the whole state, so a repeated one counts once. */
START_TEST(sums_of_an_epoch_count_once)
{
    worker_reports(0, 0, 3, 6);
    worker_reports(0, 0, 3, 6);
    worker_reports(0, 0, 5, 9);
    worker_reports(1, 0, 2, 1);
    worker_reports(0, 4, 1, 8); /* replaces epoch 0 */
    worker_reports(0, 4, 2, 9);
    ck_assert_uint_eq(run->curve_count, 5);
    ck_assert_uint_eq(run->curve[0].items, 7);
    ck_assert_uint_eq(run->curve[0].sums.samples, 70);
    ck_assert_double_eq(run->curve[0].sums.loss, 10);
    ck_assert_uint_eq(run->curve[4].items, 2);
    ck_assert_double_eq(run->curve[4].sums.loss, 9);
}
END_TEST

/* ---- recoveries ---- */

START_TEST(a_server_is_made_good_when_all_slots_are_served)
{
    struct gw__membership_update before = run->update;
    struct gw__membership_update *update = &run->update;
    run->servers[0].pid = 0;
    run->servers[0].ended_ns = gw_now_ns();
    for (unsigned i = 0; i < update->ps_member_count; i++)
        if (update->ps_members[i].node == SERVER_NODE)
            update->ps_members[i] =
                update->ps_members[--update->ps_member_count];
    for (unsigned s = 0; s < SLOTS; s++)
        if (update->routes.slots[s].primary == SERVER_NODE) {
            update->routes.slots[s].primary = SERVER_NODE + 1;
            update->routes.slots[s].term = 2;
        }
    recovery_view(run, &before);
    ck_assert_uint_eq(run->recovery_count, 1);
    ck_assert(run->recoveries[0].decided && !run->recoveries[0].resumed);
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw__slot_route *slot = &update->routes.slots[s];
        struct child *child = &run->servers[slot->primary - SERVER_NODE];
        resumed_check(run);
        ck_assert(!run->recoveries[0].resumed);
        child->status.server.slots[s] = (struct gw_ps_slot_status){
            .role = GW_PS_PRIMARY, .term = slot->term};
    }
    resumed_check(run);
    ck_assert(run->recoveries[0].resumed);
    ck_assert_str_eq(run->recoveries[0].how, "exit");
}
END_TEST

Suite *suite_supervisor_servers(void)
{
    const TTest *const tests[] = {
        what_is_in_progress_is_not_lost,
        when_done_what_is_missing_is_lost,
        beyond_the_plan_is_doubled_at_once,
        kofn_owes_what_it_did_not_skip,
        parts_that_follow_workers_are_as_assigned,
        the_weakest_slot_counts,
        the_slowest_that_is_there,
        done_is_when_the_model_is_evaluated,
        the_clock_is_its_primarys,
        sums_of_an_epoch_count_once,
        a_server_is_made_good_when_all_slots_are_served,
    };
    Suite *suite = suite_create("supervisor_servers");
    TCase *all = tcase_create("servers");
    tcase_add_checked_fixture(all, begin, end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(all, tests[i]);
    suite_add_tcase(suite, all);
    return suite;
}
