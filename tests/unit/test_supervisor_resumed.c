/* SPDX-License-Identifier: MIT
 *
 * A supervisor reports every recovery that it has seen begin to its end,
 * whether the final report comes early, late, or only for a later recovery.
 */
#include "run/supervisor/supervisor_parts.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_supervisor_resumed(void);

enum { MEMBERS = 4, SLOTS = 2 };

static struct run *run; /* large */

static void begin(void)
{
    run = calloc(1, sizeof *run);
    ck_assert_ptr_nonnull(run);
    run->formed = true;
    run->update.view.epoch = run->update.view.ring_epoch = 1;
    for (unsigned n = 0; n < MEMBERS; n++)
        run->workers[n] = (struct child){
            .role = GW__WORKER, .node = n, .number = n, .fd = -1};
}

static void end(void)
{
    free(run);
}

static bool is_over(unsigned recovery)
{
    json_t *list = recovery_json(run);
    const json_t *one = json_array_get(list, recovery);
    ck_assert_ptr_nonnull(one);
    bool over = json_is_real(json_object_get(one, "resumed_ms"));
    json_decref(list);
    return over;
}

/* ---- a ring ---- */

static void form_ring(void)
{
    run->update.view.ring_count = MEMBERS;
    for (unsigned n = 0; n < MEMBERS; n++)
        run->update.view.ring[n].node = n;
}

static void lose_last(void)
{
    struct gw__membership_update before = run->update;
    run->update.view.ring_count--;
    run->update.view.ring_epoch = ++run->update.view.epoch;
    run->update.flushing = true;
    recovery_view(run, &before);
}

static void decide(void)
{
    struct gw__membership_update before = run->update;
    run->update.flushing = false;
    recovery_view(run, &before);
}

static void report_resumed(unsigned node, uint64_t ring_epoch)
{
    struct child *child = &run->workers[node];
    struct node_status before = child->status;
    child->status.ring.ring_epoch = ring_epoch;
    child->status.ring.recoveries++;
    recovery_on_status(run, child, &before);
}

START_TEST(a_ring_is_resumed)
{
    form_ring();
    lose_last();
    decide();
    ck_assert(!is_over(0));
    report_resumed(0, 2);
    ck_assert(is_over(0));
}
END_TEST

/* A member that was stopped until its removal, and joins again, reports itself
 * only after the view that has it again. */
START_TEST(a_report_before_the_removal_is_stale)
{
    form_ring();
    struct child *child = &run->workers[MEMBERS - 1];
    child->pid = 1;
    child->status.stage = STAGE_MEMBER;
    child->status.ring.epoch = 1;
    ck_assert(child_is_whole(run, child));

    struct gw__membership_update before = run->update;
    struct gw__view *view = &run->update.view;
    view->ring[MEMBERS - 1].incarnation.high = 1;
    view->epoch = 3;
    children_removed(run, &before);
    ck_assert(child_is_member(run, child));
    ck_assert(!child_is_whole(run, child));

    before = run->update;
    children_removed(run, &before);
    child->status.ring.gone = true; /* its last report of the old membership */
    child->status.ring.epoch = 3;
    ck_assert(!child_is_whole(run, child));
    child->status.ring.gone = false;
    ck_assert(child_is_whole(run, child));
}
END_TEST

START_TEST(a_member_knows_before_us)
{
    form_ring();
    report_resumed(0, 2);
    lose_last();
    ck_assert(!is_over(0));
    decide();
    ck_assert(is_over(0));
    lose_last();
    decide();
    ck_assert(!is_over(1)); /* that was another one */
}
END_TEST

START_TEST(the_second_loss_ends_the_first)
{
    form_ring();
    lose_last();
    decide();
    lose_last();
    decide();
    report_resumed(0, 3);
    ck_assert(is_over(0) && is_over(1));
}
END_TEST

START_TEST(the_first_loss_ends_before_the_second)
{
    form_ring();
    lose_last();
    decide();
    lose_last();
    decide();
    report_resumed(0, 2);
    ck_assert(is_over(0) && !is_over(1));
}
END_TEST

/* ---- parameter servers ---- */

static void serve(unsigned slot, unsigned server, uint64_t term)
{
    struct gw_ps_slot_status *s =
        &run->servers[server].status.server.slots[slot];
    s->role = GW_PS_PRIMARY;
    s->term = term;
    resumed_check(run);
}

static void route(unsigned slot, unsigned server, uint64_t term)
{
    run->update.routes.slots[slot].primary = (uint8_t)(SERVER_NODE + server);
    run->update.routes.slots[slot].term = term;
}

static void form_ps(void)
{
    run->options.servers = 2;
    run->work.kind = WORK_TRAIN;
    for (unsigned n = 0; n < 2; n++)
        run->servers[n] = (struct child){.role = GW__SERVER,
                                         .node = SERVER_NODE + n,
                                         .number = n,
                                         .ps_members = true,
                                         .fd = -1};
    run->update.ps_member_count = 4;
    run->update.routes.slot_count = SLOTS;
    for (unsigned n = 0; n < 2; n++) {
        run->workers[n].ps_members = true;
        run->update.ps_members[n].node = n;
        run->update.ps_members[2 + n].node = SERVER_NODE + n;
        route(n, n, 1);
        serve(n, n, 1);
    }
}

static void lose_ps_member(unsigned at)
{
    struct gw__membership_update before = run->update;
    struct gw__ps_member *ps_members = run->update.ps_members;
    memmove(ps_members + at, ps_members + at + 1,
            (3 - at) * sizeof *ps_members);
    run->update.ps_member_count--;
    run->update.view.epoch++;
    if (at == 3) /* server 1 */
        route(1, 0, 2);
    recovery_view(run, &before);
    resumed_check(run);
}

START_TEST(slots_are_served_again)
{
    form_ps();
    lose_ps_member(3);
    ck_assert(!is_over(0));
    serve(1, 0, 2);
    ck_assert(is_over(0));
}
END_TEST

/* No note follows, since nothing changes any more. */
START_TEST(a_server_took_over_before_the_update)
{
    form_ps();
    serve(1, 0, 2);
    lose_ps_member(3);
    ck_assert(is_over(0));
}
END_TEST

START_TEST(a_worker_dies_meanwhile)
{
    form_ps();
    lose_ps_member(3);
    lose_ps_member(1);
    serve(1, 0, 2);
    ck_assert(is_over(0) && !is_over(1));
    run->clock.work_items++;
    resumed_check(run);
    ck_assert(is_over(1));
}
END_TEST

START_TEST(a_worker_dies_where_none_works)
{
    form_ps();
    run->work.kind = WORK_NONE;
    lose_ps_member(1);
    ck_assert(is_over(0));
}
END_TEST

Suite *suite_supervisor_resumed(void)
{
    const TTest *const tests[] = {
        a_ring_is_resumed,
        a_report_before_the_removal_is_stale,
        a_member_knows_before_us,
        the_second_loss_ends_the_first,
        the_first_loss_ends_before_the_second,
        slots_are_served_again,
        a_server_took_over_before_the_update,
        a_worker_dies_meanwhile,
        a_worker_dies_where_none_works,
    };
    Suite *suite = suite_create("supervisor_resumed");
    TCase *tcase = tcase_create("resumed");
    tcase_add_checked_fixture(tcase, begin, end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
