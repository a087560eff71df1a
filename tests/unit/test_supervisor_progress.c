/* SPDX-License-Identifier: MIT
 *
 * When the work of a ring is done: not before every living member has said so,
 * also one that has joined but not reported yet.
 */
#include "run/supervisor/supervisor_parts.h"

#include <check.h>
#include <stdlib.h>

Suite *suite_supervisor_progress(void);

enum { MEMBERS = 3, JOINER = 2 };

static struct run *run; /* large */

static void begin(void)
{
    run = calloc(1, sizeof *run);
    ck_assert_ptr_nonnull(run);
    run->work.id = 1;
    run->work.kind = WORK_OPS;
    run->update.view.ring_count = MEMBERS;
    for (unsigned n = 0; n < MEMBERS; n++) {
        run->update.view.ring[n].node = n;
        run->workers[n] = (struct child){.role = GW__WORKER,
                                         .node = n,
                                         .number = n,
                                         .known = true,
                                         .pid = 1000 + (pid_t)n,
                                         .fd = -1};
    }
}

static void end(void)
{
    free(run);
}

static void report(unsigned node, enum node_stage stage, bool done)
{
    struct child *child = &run->workers[node];
    child->has_status = true;
    child->status.stage = stage;
    child->status.work = run->work.id;
    child->status.done = done;
}

static bool is_done(void)
{
    struct progress_of p;
    run_progress(run, &p);
    return p.done;
}

static void others_are_done(void)
{
    for (unsigned n = 0; n < JOINER; n++)
        report(n, STAGE_MEMBER, true);
}

START_TEST(a_joiner_without_a_report_has_work)
{
    others_are_done();
    ck_assert(!is_done());
    report(JOINER, STAGE_JOINING, false); /* sent before it was admitted */
    ck_assert(!is_done());
    report(JOINER, STAGE_MEMBER, false);
    ck_assert(!is_done());
    report(JOINER, STAGE_MEMBER, true);
    ck_assert(is_done());
    ck_assert_uint_eq(members_alive(run), MEMBERS);
}
END_TEST

START_TEST(neither_dead_nor_leaving_members_nor_others_have_work)
{
    others_are_done();
    run->workers[JOINER].pid = 0;
    ck_assert(is_done());
    run->workers[JOINER].pid = 1;
    report(JOINER, STAGE_LEFT, false);
    ck_assert(is_done());
    report(JOINER, STAGE_JOINING, false);
    run->update.view.ring_count = JOINER;
    ck_assert(is_done());
}
END_TEST

Suite *suite_supervisor_progress(void)
{
    Suite *suite = suite_create("supervisor_progress");
    TCase *tcase = tcase_create("progress");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, a_joiner_without_a_report_has_work);
    tcase_add_test(tcase,
                   neither_dead_nor_leaving_members_nor_others_have_work);
    suite_add_tcase(suite, tcase);
    return suite;
}
