/* SPDX-License-Identifier: MIT
 *
 * Members join a running ring. They copy the state while the others continue,
 * take part in every op from their first one on, and have the same state and
 * digest afterwards, whichever members die meanwhile. Also collectives other
 * than all-reduces, with members that come and go.
 */
#include "ring_members.h"

#include <base/failpoint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

Suite *suite_ring_join(void);

static struct ring_members members;

static void teardown(void)
{
    members_stop(&members);
}

static void nap_ms(unsigned ms)
{
    struct timespec t = {.tv_nsec = (long)ms * 1000000};
    nanosleep(&t, NULL);
}

/* The member is in every result from its first op on. */
static void check_from_first_op(unsigned number)
{
    const struct member_process *joiner = member_process(&members, number);
    uint64_t end = joiner->status.op - 1, op = joiner->first_op;
    ck_assert_uint_gt(op, 0);
    if (op + MEMBERS_OPS < end)
        op = end - MEMBERS_OPS;
    for (; op < end; op++)
        ck_assert_uint_eq(
            joiner->records[op % MEMBERS_OPS].contributors >> number & 1, 1);
}

START_TEST(a_joiner_misses_nothing)
{
    static const struct members_plan plans[] = {
        {.members = 3, .processes = 4, .blob_bytes = 1000000, .think_us = 2000},
        {.members = 3, .processes = 4, .count = 10}, /* faster than any copy */
        {.members = 1, .processes = 2, .blob_bytes = 100000},
        {.members = 2, .processes = 3, .wire = "ipc", .blob_bytes = 200000},
    };
    ring_members_start(&members, &plans[_i]);
    members_await_all(&members, 20);
    unsigned joiner = plans[_i].members;
    members_let_join(&members, joiner);
    members_await_state(&members, joiner, PROCESS_MEMBER);
    members_await_ops(&members, joiner, 20);
    ring_members_end(&members);
    check_from_first_op(joiner);
    ck_assert_uint_eq(member_process(&members, 0)->status.size, joiner + 1);
}
END_TEST

START_TEST(several_join_at_once)
{
    const struct members_plan plan = {
        .members = 2, .processes = 6, .blob_bytes = 3000000, .think_us = 500};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    for (unsigned i = 2; i < 6; i++)
        members_let_join(&members, i);
    for (unsigned i = 2; i < 6; i++)
        members_await_ops(&members, i, 10);
    ring_members_end(&members);
    for (unsigned i = 2; i < 6; i++)
        check_from_first_op(i);
}
END_TEST

START_TEST(a_number_from_the_controllers)
{
    const struct members_plan plan = {
        .members = 2, .processes = 3, .any = true};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    members_let_join(&members, 2);
    members_await_ops(&members, 2, 10);
    ring_members_end(&members);
    unsigned node = member_process(&members, 2)->status.node;
    ck_assert_uint_ge(node, 2);
    ck_assert_uint_lt(node, MEMBERS_CONTROLLER);
}
END_TEST

/* A joiner first asks the first member of the ring. */
START_TEST(the_donor_dies)
{
    static const unsigned moments_ms[] = {3, 20, 40};
    const struct members_plan plan = {
        .members = 3, .processes = 4, .blob_bytes = 12 << 20, .think_us = 1000};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    members_let_join(&members, 3);
    nap_ms(moments_ms[_i]);
    members_kill(&members, 0);
    members_await_ops(&members, 3, 10);
    ring_members_end(&members);
    check_from_first_op(3);
}
END_TEST

static void register_slowly(struct ring_members *group)
{
    static bool armed;
    (void)group;
    if (!armed && gw__failpoints_arm("shm.fence=pause:1500", NULL))
        abort();
    armed = true;
}

/* On a busy machine the kernel takes long to register a joiner for fences. The
 * members wait for it, but do not declare it dead. */
START_TEST(a_slow_joiner_is_a_living_one)
{
    const struct members_plan plan = {.members = 2,
                                      .processes = 3,
                                      .think_us = 500,
                                      .before = register_slowly};
    ring_members_start(&members, &plan);
    members_await_all(&members, 2);
    members_let_join(&members, 2);
    members_await_ops(&members, 2, 5);
    ring_members_end(&members);
    check_from_first_op(2);
    ck_assert_uint_eq(member_process(&members, 0)->status.epoch, 2);
}
END_TEST

/* The admitting member may be the only one that has completed the previous op,
 * and the joiner has the state from it. When it dies that op is repeated
 * without it, and the joiner's copy is void. Here the last chunk takes node 1
 * as long as all chunks before it. */
START_TEST(who_admits_dies)
{
    const struct members_plan plan = {.members = 2,
                                      .processes = 3,
                                      .wire = "ipc",
                                      .count = 8000,
                                      .rate = 400000};
    ring_members_start(&members, &plan);
    members_await_all(&members, 2);
    members_let_join(&members, 2);
    members_await_size(&members, 3);
    nap_ms(20);
    members_kill(&members, 0);
    members_await_ops(&members, 2, 5);
    ring_members_end(&members);
    check_from_first_op(2);
    uint64_t before = member_process(&members, 2)->first_op - 1;
    ck_assert_uint_eq(member_process(&members, 1)->records[before].contributors,
                      2);
}
END_TEST

/* A member that is admitted and dies before it has the state delays the others
 * only briefly. */
START_TEST(the_joiner_dies)
{
    static const unsigned moments_ms[] = {5, 20, 50};
    const struct members_plan plan = {
        .members = 3, .processes = 4, .blob_bytes = 8 << 20, .think_us = 300};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    members_let_join(&members, 3);
    nap_ms(moments_ms[_i]);
    members_kill(&members, 3);
    uint64_t ops = atomic_load(&member_process(&members, 0)->ops);
    members_await_all(&members, ops + 50);
    ring_members_end(&members);
}
END_TEST

/* A new process replaces each killed one. */
START_TEST(they_come_and_go)
{
    const struct members_plan plan = {
        .members = 3, .processes = 7, .blob_bytes = 50000};
    ring_members_start(&members, &plan);
    for (unsigned i = 0; i < 4; i++) {
        members_await_all(&members, 5);
        members_let_join(&members, 3 + i);
        members_await_ops(&members, 3 + i, 3);
        members_kill(&members, i);
    }
    members_await_size(&members, 3);
    ring_members_end(&members);
    for (unsigned i = 4; i < 7; i++)
        check_from_first_op(i);
}
END_TEST

/* ---- other collectives ---- */

static enum gw_err gather_all(struct ring_members *c, struct gw_ring *ring,
                              struct gw_error *why)
{
    enum { COUNT = 3000 };
    static uint64_t in[COUNT], out[COUNT * MEMBERS_PROCESSES];
    struct gw_ring_result result;
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = c->head->ops << 16 | c->number << 12 | i;
    const struct gw_call call = {.collective = GW_ALLGATHER,
                                 .in = in,
                                 .out = out,
                                 .count = COUNT,
                                 .type = GW_U64};
    enum gw_err err = gw_ring_run(ring, &call, &result, why);
    for (unsigned k = 0; !err && k < result.initial_count * COUNT; k++)
        if (out[k] != (c->head->ops << 16 |
                       result.initial_members[k / COUNT] << 12 | k % COUNT))
            err = gw_fail(why, GW_EWRONG, "all-gather: element %u", k);
    return err;
}

static enum gw_err broadcast_one(struct ring_members *c, struct gw_ring *ring,
                                 struct gw_error *why)
{
    uint64_t in = c->head->ops << 8 | c->number, out = 0;
    struct gw_ring_turn turn;
    struct gw_error reason;
    enum gw_err err = gw_ring_begin(ring, &turn, why);
    if (err)
        return err;
    unsigned root = (unsigned)(c->head->ops % turn.initial_count);
    const struct gw_call call = {.collective = GW_BROADCAST,
                                 .in = &in,
                                 .out = &out,
                                 .count = 1,
                                 .type = GW_U64,
                                 .root = root};
    err = gw_ring_run(ring, &call, NULL, &reason);
    if (err == GW_ELOST)
        return GW_OK; /* all get it, otherwise the next op would not end */
    if (!err && out != (c->head->ops << 8 | turn.initial_members[root]))
        return gw_fail(why, GW_EWRONG, "broadcast of %u: %llx", root,
                       (unsigned long long)out);
    return err ? gw_fail(why, err, "%s", reason.text) : GW_OK;
}

static enum gw_err collectives(struct ring_members *c, struct gw_ring *ring,
                               struct gw_error *why)
{
    enum gw_err err = gather_all(c, ring, why);
    if (!err)
        err = broadcast_one(c, ring, why);
    return err ? err : members_run_op(c, ring, why);
}

/* The number of turns with one order; and a number after which the order must
 * have been applied, since it takes a request to the controllers. */
enum { STRIDE = 15, LONG_STRIDE = 150 };

/* All members request the same order, since all have done equally many ops: the
 * numbers upwards or downwards from one of them. */
static enum gw_err order_ranks(struct ring_members *c, struct gw_ring *ring,
                               unsigned stride, struct gw_error *why)
{
    unsigned nodes[MEMBERS_PROCESSES],
        round = (unsigned)(c->head->ops / stride);
    for (unsigned i = 0; i < MEMBERS_PROCESSES; i++) {
        unsigned step = round % 2 ? MEMBERS_PROCESSES - i : i;
        nodes[i] = (round + step) % MEMBERS_PROCESSES;
    }
    return gw_ring_order(ring, nodes, MEMBERS_PROCESSES, why);
}

static enum gw_err ordered(struct ring_members *c, struct gw_ring *ring,
                           struct gw_error *why)
{
    enum gw_err err = order_ranks(c, ring, STRIDE, why);
    return err ? err : collectives(c, ring, why);
}

/* By the last turn with an order it must be in force, unless a member dies. */
static enum gw_err ordered_in_time(struct ring_members *c, struct gw_ring *ring,
                                   struct gw_error *why)
{
    struct gw_ring_status status;
    unsigned round = (unsigned)(c->head->ops / LONG_STRIDE);
    bool last = c->head->ops % LONG_STRIDE == LONG_STRIDE - 1;
    enum gw_err err = order_ranks(c, ring, LONG_STRIDE, why);
    if (!err)
        err = collectives(c, ring, why);
    gw_ring_status(ring, &status);
    /* If another member is ahead, the next order may already be in force. */
    unsigned first = round % MEMBERS_PROCESSES,
             next = (round + 1) % MEMBERS_PROCESSES;
    if (err || !last || first >= c->plan.members || next >= c->plan.members ||
        status.nodes[0] == first || status.nodes[0] == next)
        return err;
    return gw_fail(why, GW_EWRONG, "node %u comes first, not %u",
                   status.nodes[0], first);
}

static void run_collectives(const struct members_plan *plan)
{
    ring_members_start(&members, plan);
    members_await_all(&members, 10);
    members_kill(&members, 1);
    members_await_size(&members, plan->members - 1);
    uint64_t ops = atomic_load(&member_process(&members, 0)->ops);
    members_await_all(&members, ops + 10);
    members_let_join(&members, plan->members);
    members_await_ops(&members, plan->members, 10);
    members_kill(&members, 0);
    members_await_size(&members, plan->members - 1);
    ring_members_end(&members);
}

START_TEST(collectives_among_those_who_come_and_go)
{
    const struct members_plan plan = {.members = 3 + (unsigned)_i % 2,
                                      .processes = 4 + (unsigned)_i % 2,
                                      .wire = _i == 0 ? "ipc" : "shm",
                                      .count = 100,
                                      .turn = collectives};
    run_collectives(&plan);
}
END_TEST

/* Blocks are by rank, roots and contributions by place, for any order. */
START_TEST(collectives_while_the_order_changes)
{
    const struct members_plan plan = {.members = 3,
                                      .processes = 4,
                                      .wire = _i == 0 ? "ipc" : "shm",
                                      .count = 100,
                                      .turn = ordered};
    run_collectives(&plan);
}
END_TEST

START_TEST(each_order_is_reached)
{
    const struct members_plan plan = {
        .members = 4, .processes = 4, .count = 100, .turn = ordered_in_time};
    ring_members_start(&members, &plan);
    members_await_all(&members, (uint64_t)LONG_STRIDE * MEMBERS_PROCESSES);
    ring_members_end(&members);
}
END_TEST

START_TEST(collectives_of_one)
{
    const struct members_plan plan = {
        .members = 1, .processes = 1, .count = 10, .turn = collectives};
    ring_members_start(&members, &plan);
    members_await_all(&members, 10);
    ring_members_end(&members);
}
END_TEST

Suite *suite_ring_join(void)
{
    Suite *suite = suite_create("ring join");
    TCase *tcase = tcase_create("joins");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, a_joiner_misses_nothing, 0, 4);
    tcase_add_test(tcase, several_join_at_once);
    tcase_add_test(tcase, a_number_from_the_controllers);
    tcase_add_loop_test(tcase, the_donor_dies, 0, 3);
    tcase_add_test(tcase, a_slow_joiner_is_a_living_one);
    tcase_add_test(tcase, who_admits_dies);
    tcase_add_loop_test(tcase, the_joiner_dies, 0, 3);
    tcase_add_test(tcase, they_come_and_go);
    tcase_add_loop_test(tcase, collectives_among_those_who_come_and_go, 0, 3);
    tcase_add_loop_test(tcase, collectives_while_the_order_changes, 0, 2);
    tcase_add_test(tcase, collectives_of_one);
    TCase *orders = tcase_create("desired state");
    tcase_add_checked_fixture(orders, NULL, teardown);
    tcase_set_timeout(orders, 300);
    tcase_add_test(orders, each_order_is_reached);
    suite_add_tcase(suite, orders);
    suite_add_tcase(suite, tcase);
    return suite;
}
