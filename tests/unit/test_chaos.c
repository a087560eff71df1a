/* SPDX-License-Identifier: MIT
 *
 * chaos: the same seed gives the same faults at the same times, and every
 * action is allowed by the generator's model of the ring.
 */
#include "ringctl/chaos/chaos.h"

#include <check.h>
#include <math.h>
#include <string.h>

Suite *suite_chaos(void);

enum { MEMBERS = 4, CONTROLLERS = 3, ACTIONS = 300 };

static void begin(struct chaos *chaos, uint64_t seed)
{
    chaos_begin(chaos, seed, 10);
    for (unsigned i = 0; i < MEMBERS; i++)
        chaos->nodes[i] = CHAOS_ALIVE;
    chaos->controllers = CONTROLLERS;
}

START_TEST(a_seed_is_a_sequence)
{
    struct chaos a, b, c;
    struct chaos_action x, y, z;
    unsigned different = 0;
    begin(&a, 7);
    begin(&b, 7);
    begin(&c, 8);
    for (unsigned i = 0; i < ACTIONS; i++) {
        chaos_next(&a, &x);
        chaos_next(&b, &y);
        chaos_next(&c, &z);
        ck_assert_int_eq(memcmp(&x, &y, sizeof x), 0);
        different += x.kind != z.kind || x.node != z.node;
    }
    ck_assert_uint_gt(different, ACTIONS / 2);
}
END_TEST

static unsigned count(const struct chaos *chaos, enum chaos_state state)
{
    unsigned nodes = 0;
    for (unsigned i = 0; i < CHAOS_NODES; i++)
        nodes += chaos->nodes[i] == state;
    return nodes;
}

/* `before` is the model in which the action was drawn. */
static bool is_allowed(const struct chaos *before, const struct chaos_action *a)
{
    enum chaos_state was = before->nodes[a->node];
    bool spare = count(before, CHAOS_ALIVE) > CHAOS_MIN_ALIVE;
    switch (a->kind) {
    case CHAOS_KILL:
    case CHAOS_PAUSE:
        return was == CHAOS_ALIVE && spare;
    case CHAOS_RESUME:
        return was == CHAOS_PAUSED;
    case CHAOS_RESTART:
        return was == CHAOS_DEAD;
    case CHAOS_ADD:
        return was == CHAOS_ABSENT;
    case CHAOS_SLOW_LINK:
        return was == CHAOS_ALIVE && a->peer != a->node &&
               before->nodes[a->peer] == CHAOS_ALIVE && a->delay_us > 0;
    case CHAOS_CLEAR_LINK:
        return before->link_slow && a->node == before->link_from &&
               a->peer == before->link_to;
    case CHAOS_CUT:
        return was == CHAOS_ALIVE && spare && a->peer != a->node &&
               before->nodes[a->peer] == CHAOS_ALIVE && !before->cut;
    case CHAOS_HEAL:
        return before->cut && before->nodes[a->peer] == CHAOS_CUT_OFF;
    case CHAOS_SLOW:
        return was == CHAOS_ALIVE && a->delay_us > 0 && !before->slow;
    case CHAOS_QUICK:
        return before->slow && a->node == before->slow_node;
    case CHAOS_DRIFT:
        return was == CHAOS_ALIVE && a->rate > 0.8 && a->rate < 2;
    case CHAOS_RIGHT:
        return before->drifts && a->node == before->drift_node;
    case CHAOS_KILL_LEADER:
        return !before->controller_down;
    case CHAOS_FULL_DISK:
        return !before->controller_down && a->node < CONTROLLERS;
    case CHAOS_CONTROLLER:
        return before->controller_down;
    case CHAOS_KINDS:
        break;
    }
    return false;
}

START_TEST(never_below_two_members)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct chaos chaos;
        uint64_t at_ns = 0;
        begin(&chaos, seed);
        for (unsigned i = 0; i < ACTIONS; i++) {
            struct chaos before = chaos;
            struct chaos_action action;
            chaos_next(&chaos, &action);
            ck_assert_msg(is_allowed(&before, &action),
                          "seed %lu, action %u: %s %u", (unsigned long)seed, i,
                          chaos_word(action.kind), action.node);
            ck_assert_uint_ge(count(&chaos, CHAOS_ALIVE), CHAOS_MIN_ALIVE);
            ck_assert_uint_ge(action.at_ns, at_ns);
            at_ns = action.at_ns;
        }
    }
}
END_TEST

START_TEST(everything_happens)
{
    unsigned seen[CHAOS_KINDS] = {0};
    struct chaos chaos;
    struct chaos_action action;
    begin(&chaos, 1);
    for (unsigned i = 0; i < ACTIONS; i++) {
        chaos_next(&chaos, &action);
        seen[action.kind]++;
    }
    for (unsigned i = 0; i < CHAOS_KINDS; i++)
        ck_assert_msg(seen[i] > 0, "no %s", chaos_word((enum chaos_kind)i));
}
END_TEST

/* 300 exponential gaps: their mean is within 5 standard errors. */
START_TEST(the_rate_is_kept)
{
    struct chaos chaos;
    struct chaos_action action;
    begin(&chaos, 3);
    for (unsigned i = 0; i < ACTIONS; i++)
        chaos_next(&chaos, &action);
    double mean_s = (double)action.at_ns / 1e9 / ACTIONS;
    ck_assert_double_le(fabs(mean_s - 0.1), 5 * 0.1 / sqrt(ACTIONS));
}
END_TEST

START_TEST(what_is_left_can_be_undone)
{
    struct chaos chaos;
    struct chaos_action action;
    begin(&chaos, 5);
    for (unsigned i = 0; i < ACTIONS; i++)
        chaos_next(&chaos, &action);
    for (unsigned i = 0; chaos_undo(&chaos, &action); i++) {
        ck_assert(
            action.kind == CHAOS_RESUME || action.kind == CHAOS_CLEAR_LINK ||
            action.kind == CHAOS_HEAL || action.kind == CHAOS_QUICK ||
            action.kind == CHAOS_RIGHT || action.kind == CHAOS_CONTROLLER);
        ck_assert_uint_le(i, CHAOS_NODES);
    }
    ck_assert(!chaos.link_slow && !chaos.cut && !chaos.slow && !chaos.drifts &&
              !chaos.controller_down);
    ck_assert_uint_eq(count(&chaos, CHAOS_CUT_OFF), 0);
    ck_assert_uint_eq(count(&chaos, CHAOS_PAUSED), 0);
}
END_TEST

/* With one controller it is never killed. */
START_TEST(a_single_controller_is_let_be)
{
    struct chaos chaos;
    struct chaos_action action;
    begin(&chaos, 9);
    chaos.controllers = 1;
    for (unsigned i = 0; i < ACTIONS; i++) {
        chaos_next(&chaos, &action);
        ck_assert(action.kind != CHAOS_KILL_LEADER &&
                  action.kind != CHAOS_FULL_DISK &&
                  action.kind != CHAOS_CONTROLLER);
    }
}
END_TEST

Suite *suite_chaos(void)
{
    Suite *suite = suite_create("chaos");
    TCase *tcase = tcase_create("chaos");
    tcase_add_test(tcase, a_seed_is_a_sequence);
    tcase_add_test(tcase, never_below_two_members);
    tcase_add_test(tcase, everything_happens);
    tcase_add_test(tcase, the_rate_is_kept);
    tcase_add_test(tcase, what_is_left_can_be_undone);
    tcase_add_test(tcase, a_single_controller_is_let_be);
    suite_add_tcase(suite, tcase);
    return suite;
}
