/* SPDX-License-Identifier: MIT
 *
 * The elastic ring with real processes and without deaths: results and their
 * contributors, averages, other collectives, leaving. Deaths are in
 * test_ring_death.c, joining in test_ring_join.c.
 */
#include "ring_members.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

Suite *suite_ring(void);

static struct ring_members members;

static void teardown(void)
{
    members_stop(&members);
}

static const char *const wires[] = {"shm", "ipc", "tcp"};

START_TEST(each_contributes_once)
{
    const struct members_plan plan = {
        .members = 4, .processes = 4, .wire = wires[_i]};
    ring_members_start(&members, &plan);
    members_await_all(&members, _i == 0 ? 200 : 40);
    ring_members_end(&members);
    for (unsigned i = 0; i < 4; i++) {
        const struct gw_ring_status *s = &member_process(&members, i)->status;
        ck_assert(s->member);
        ck_assert_uint_eq(s->size, 4);
        ck_assert_uint_eq(s->epoch, 1);
        ck_assert_uint_eq(s->ops_done, s->op);
        ck_assert_uint_eq(s->recoveries, 0);
        for (uint64_t op = 0; op + 1 < s->op; op++)
            ck_assert_uint_eq(
                member_process(&members, i)->records[op].contributors, 15);
    }
}
END_TEST

START_TEST(one_member_needs_no_wire)
{
    const struct members_plan plan = {.members = 1, .processes = 1};
    ring_members_start(&members, &plan);
    members_await_all(&members, 100);
    ring_members_end(&members);
}
END_TEST

/* ---- leaving ---- */

START_TEST(what_a_leaver_gave_counts)
{
    const struct members_plan plan = {
        .members = 4, .processes = 4, .wire = wires[_i]};
    ring_members_start(&members, &plan);
    members_await_all(&members, 20);
    atomic_store(&member_process(&members, 2)->leaves, true);
    members_await_state(&members, 2, PROCESS_LEFT);
    uint64_t last =
        member_process(&members, 2)->status.op; /* it has not done */
    members_await_size(&members, 3);
    ring_members_end(&members);
    const struct member_process *process = member_process(&members, 0);
    for (uint64_t op = 0; op + 1 < process->status.op; op++)
        ck_assert_uint_eq(process->records[op].contributors,
                          op < last ? 15 : 11);
}
END_TEST

/* All but one leave; the last member cannot leave. */
static enum gw_err leave_in_turn(struct ring_members *c, struct gw_ring *ring,
                                 struct gw_error *why)
{
    enum gw_err err = members_run_op(c, ring, why);
    if (err || c->head->ops != 5 + 3 * c->number)
        return err;
    if (c->number < 2) {
        atomic_store(&member_process(c, c->number)->leaves, true);
        return GW_OK;
    }
    struct gw_error reason;
    err = gw_ring_leave(ring, &reason);
    if (err != GW_EINVAL || !strstr(reason.text, "it is the last member"))
        return gw_fail(why, GW_EWRONG, "the last one left: %s", reason.text);
    return GW_OK;
}

START_TEST(the_last_cannot_leave)
{
    const struct members_plan plan = {
        .members = 3, .processes = 3, .turn = leave_in_turn};
    ring_members_start(&members, &plan);
    members_await_state(&members, 0, PROCESS_LEFT);
    members_await_state(&members, 1, PROCESS_LEFT);
    members_await_ops(&members, 2, 20);
    ring_members_end(&members);
}
END_TEST

/* ---- other calls ---- */

static enum gw_err average(struct ring_members *c, struct gw_ring *ring,
                           struct gw_error *why)
{
    enum { COUNT = 1000 };
    float in[COUNT], want = 0;
    struct gw_ring_result result;
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = (float)(c->number + 1);
    const struct gw_ring_call call = {
        .in = in, .out = in, .count = COUNT, .type = GW_F32, .op = GW_AVG};
    enum gw_err err = gw_ring_allreduce(ring, &call, &result, why);
    for (unsigned i = 0; i < MEMBERS_PROCESSES; i++)
        if (gw_nodes_has(&result.contributors, i))
            want += (float)(i + 1);
    want /= (float)gw_nodes_count(&result.contributors);
    for (unsigned i = 0; !err && i < COUNT; i++)
        if (in[i] != want)
            err = gw_fail(why, GW_EWRONG, "average %g, not %g", (double)in[i],
                          (double)want);
    return err ? err : members_run_op(c, ring, why);
}

START_TEST(averages_are_of_the_contributors)
{
    const struct members_plan plan = {
        .members = 3, .processes = 3, .turn = average};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    ring_members_end(&members);
}
END_TEST

static enum gw_err expect_refusal(struct gw_ring *ring,
                                  const struct gw_ring_call *call,
                                  struct gw_error *why)
{
    struct gw_ring_result result;
    struct gw_error reason;
    if (gw_ring_allreduce(ring, call, &result, &reason) == GW_EINVAL)
        return GW_OK;
    return gw_fail(why, GW_EWRONG, "a wrong call was not refused");
}

/* A refused call does not begin. */
static enum gw_err wrong_calls(struct ring_members *c, struct gw_ring *ring,
                               struct gw_error *why)
{
    struct gw_ring_call call = {
        .in = c->in, .count = 1, .type = GW_F32, .op = GW_BOR};
    enum gw_err err = expect_refusal(ring, &call, why);
    call.op = GW_SUM;
    call.tag = UINT32_MAX;
    if (!err)
        err = expect_refusal(ring, &call, why);
    call.tag = 0;
    call.in = NULL;
    if (!err)
        err = expect_refusal(ring, &call, why);
    call.count = 0; /* valid: nothing is reduced */
    if (!err)
        err = gw_ring_allreduce(ring, &call, NULL, why);
    return err ? err : members_run_op(c, ring, why);
}

START_TEST(wrong_calls_are_refused)
{
    const struct members_plan plan = {
        .members = 2, .processes = 2, .turn = wrong_calls};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    ring_members_end(&members);
}
END_TEST

/* Members that make different calls get an error and do not wait. */
static enum gw_err differ(struct ring_members *c, struct gw_ring *ring,
                          struct gw_error *why)
{
    struct gw_ring_result result;
    struct gw_error reason;
    const struct gw_ring_call call = {
        .in = c->in, .count = 10 + c->number, .type = GW_I64, .op = GW_SUM};
    enum gw_err err = gw_ring_allreduce(ring, &call, &result, &reason);
    if (err != GW_EMISMATCH)
        return gw_fail(why, GW_EWRONG, "%s: %s", gw_err_name(err), reason.text);
    atomic_store(&member_process(c, c->number)->state, PROCESS_DONE);
    return GW_EMISMATCH;
}

START_TEST(different_calls_are_an_error)
{
    const struct members_plan plan = {
        .members = 2, .processes = 2, .turn = differ};
    ring_members_start(&members, &plan);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t begin = gw_now_ns();
        while (!member_process(&members, i)->text[0] &&
               gw_now_ns() - begin < 10000000000)
            ;
        ck_assert_msg(
            strncmp(member_process(&members, i)->text, "GW_EMISMATCH", 12) == 0,
            "node %u: %s", i, member_process(&members, i)->text);
    }
}
END_TEST

/* ---- a diverged state ---- */

static enum gw_err spoil(struct ring_members *c, struct gw_ring *ring,
                         struct gw_error *why)
{
    struct gw_error reason = {0};
    enum gw_err err = members_run_op(c, ring, why);
    if (err || c->head->ops != 5)
        return err;
    c->head->sum ^= c->number == 1;
    err = gw_ring_check(ring, &reason);
    c->head->sum ^= c->number == 1;
    if (err != GW_EWRONG || !strstr(reason.text, "state of node 1 differs"))
        return gw_fail(why, GW_EWRONG, "%s: %s", gw_err_name(err), reason.text);
    return GW_OK;
}

START_TEST(a_state_that_differs_is_named)
{
    const struct members_plan plan = {
        .members = 3, .processes = 3, .turn = spoil};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    ring_members_end(&members);
}
END_TEST

/* ---- joining without a cluster ---- */

static struct gw_ring *nowhere;

static void interrupt(int signal)
{
    (void)signal;
    gw_ring_interrupt(nowhere);
}

static enum gw_err join_nowhere(unsigned timeout_ms, unsigned node,
                                struct gw_error *why)
{
    char endpoint[60];
    snprintf(endpoint, sizeof endpoint, "ipc://@gw-nowhere-%d", (int)getpid());
    const struct gw_ring_config config = {
        .node = node,
        .endpoint = endpoint,
        .controller_count = 1,
        .controllers = {9},
        .controller_endpoints = {"ipc://@gw-nobody-listens"},
        .join_timeout_ms = timeout_ms};
    return gw_ring_join(&config, &nowhere, why);
}

START_TEST(joining_ends_without_an_answer)
{
    struct gw_error why;
    ck_assert_int_eq(join_nowhere(60, 3, &why), GW_ETIMEOUT);
    ck_assert_str_eq(why.text,
                     "ring: join: node 3 has no answer from the controllers: "
                     "timed out");
    ck_assert_ptr_null(nowhere);
    ck_assert_int_eq(join_nowhere(60, GW_RING_ANY, &why), GW_ETIMEOUT);
    const struct itimerval soon = {.it_value = {.tv_usec = 60000}};
    signal(SIGALRM, interrupt);
    setitimer(ITIMER_REAL, &soon, NULL);
    ck_assert_int_eq(join_nowhere(0, 3, &why), GW_EINTR);
    ck_assert_int_eq(join_nowhere(0, GW_RING_NODES, &why), GW_EINVAL);
}
END_TEST

Suite *suite_ring(void)
{
    Suite *suite = suite_create("ring");
    TCase *tcase = tcase_create("ring");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_set_timeout(tcase, 40);
    tcase_add_loop_test(tcase, each_contributes_once, 0, 3);
    tcase_add_test(tcase, one_member_needs_no_wire);
    tcase_add_loop_test(tcase, what_a_leaver_gave_counts, 0, 2);
    tcase_add_test(tcase, the_last_cannot_leave);
    tcase_add_test(tcase, averages_are_of_the_contributors);
    tcase_add_test(tcase, wrong_calls_are_refused);
    tcase_add_test(tcase, different_calls_are_an_error);
    tcase_add_test(tcase, a_state_that_differs_is_named);
    suite_add_tcase(suite, tcase);
    TCase *alone = tcase_create("nowhere");
    tcase_add_test(alone, joining_ends_without_an_answer);
    suite_add_tcase(suite, alone);
    return suite;
}
