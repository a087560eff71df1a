/* SPDX-License-Identifier: MIT
 *
 * A process of the parameter server (ps/node.h) in a cluster of this process:
 * it becomes a member, meets the servers, sends commands to the controllers,
 * and leaves.
 */
#include "ps_cluster.h"

#include <check.h>
#include <ps/node/node.h>
#include <string.h>

Suite *suite_ps_node(void);

static struct gw__node *open_node(struct gw_ps_cluster *cluster,
                                  enum gw__role role)
{
    struct gw_error why;
    struct gw_ps_config client = {0};
    struct gw__node *node;
    gw_ps_cluster_client(cluster, &client);
    const struct gw__node_config config = {
        .node = client.node,
        .role = role,
        .endpoint = client.endpoint,
        .security.token = client.token,
        .controller_count = client.controller_count,
        .controllers = client.controllers,
        .controller_endpoints = client.controller_endpoints,
        .wire = client.wire};
    ck_assert_msg(!gw__node_open(&config, &node, &why), "%s", why.text);
    return node;
}

static unsigned turn(struct gw__node *node)
{
    gw__messenger_wait(gw__node_messenger(node), gw_now_ns() + 10000000);
    return gw__node_turn(node);
}

static struct gw__answer await_answer(struct gw__node *node, unsigned wanted)
{
    struct gw__answer answer;
    unsigned tag;
    while (!gw__node_answer(node, &tag, &answer))
        turn(node);
    ck_assert_uint_eq(tag, wanted);
    return answer;
}

START_TEST(it_connects_to_the_servers)
{
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 1);
    struct gw__node *node = open_node(cluster, GW__WORKER);
    struct gw_nodes reached = {{0}};
    while (!gw__node_reaches(node, 32) || !gw__node_reaches(node, 33))
        if (turn(node) & GW__NODE_REACH)
            reached = gw__nodes_or(reached, gw__node_reached(node));
    ck_assert_uint_eq(reached.words[0], UINT64_C(3) << 32);
    ck_assert_uint_eq(gw__node_update(node)->routes.slot_count,
                      GW_PS_SLOTS_DEFAULT);
    ck_assert_uint_eq(gw__node_lease(node), 0);
    gw_ps_cluster_kill(cluster, 1);
    while (gw__node_reaches(node, 33))
        turn(node);
    ck_assert(gw__node_reaches(node, 32));
    gw__node_close(&node);
    ck_assert_ptr_null(node);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(workers_do_not_connect_to_each_other)
{
    struct gw_ps_cluster *cluster = cluster_start("ipc", 1, 1);
    struct gw__node *a = open_node(cluster, GW__WORKER);
    struct gw__node *b = open_node(cluster, GW__WORKER);
    while (!gw__node_reaches(a, 32) || !gw__node_reaches(b, 32)) {
        turn(a);
        turn(b);
    }
    ck_assert(!gw__node_reaches(a, gw__node_number(b)));
    ck_assert(gw__node_reaches(a, gw__node_number(a)));
    gw__node_close(&a);
    gw__node_close(&b);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(commands_are_answered_by_their_tags)
{
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw__node *node = open_node(cluster, GW__WORKER);
    struct gw__command table = {
        .kind = GW__CMD_TABLE,
        .table = {.name = "t", .width = 2, .updater = GW_PS_ADD}};
    ck_assert(!gw__node_command(node, &table, 7));
    struct gw__answer answer = await_answer(node, 7);
    ck_assert_int_eq(answer.code, GW_OK);
    while (gw__node_update(node)->routes.table_count == 0)
        turn(node);
    table.table.width = 3;
    /* A command whose answer is not wanted is sent once and gets no answer. */
    for (unsigned i = 0; i < 100; i++)
        ck_assert(!gw__node_command(node, &table, GW__NODE_FORGET));
    ck_assert(!gw__node_command(node, &table, 8));
    ck_assert_int_eq(await_answer(node, 8).code, GW_EMISMATCH);
    gw__node_close(&node);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

START_TEST(who_has_left_is_gone)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw__node *node = open_node(cluster, GW__WORKER);
    const struct gw__command drain = {.kind = GW__CMD_DRAIN};
    ck_assert(!gw__node_gone(node, &why));
    ck_assert_msg(
        !gw__node_leave(node, gw_now_ns() + UINT64_C(20000000000), &why), "%s",
        why.text);
    ck_assert(gw__node_turn(node) & GW__NODE_GONE);
    ck_assert_int_eq(gw__node_gone(node, &why), GW_ECLOSED);
    ck_assert_ptr_nonnull(strstr(why.text, "left"));
    ck_assert_int_eq(gw__node_command(node, &drain, 1), GW_ECLOSED);
    gw__node_close(&node);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

static struct gw__process find(struct gw__node *node, unsigned number)
{
    for (;; turn(node)) {
        const struct gw__membership_update *update = gw__node_update(node);
        for (unsigned i = 0; i < update->ps_member_count; i++)
            if (update->ps_members[i].node == number)
                return (struct gw__process){number,
                                            update->ps_members[i].incarnation};
    }
}

START_TEST(a_client_declared_dead_is_notified)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw__node *node = open_node(cluster, GW__WORKER);
    struct gw_ps *ps = cluster_join(cluster);
    unsigned table = cluster_table(ps, 1);
    struct gw__command suspect = {.kind = GW__CMD_SUSPECT,
                                  .who = {.node = GW__NODE_ANY}};
    suspect.suspect.suspected = find(node, gw_ps_node(ps));
    suspect.suspect.certain = true;
    ck_assert(!gw__node_command(node, &suspect, 3));
    ck_assert_int_eq(await_answer(node, 3).code, GW_OK);
    ck_assert_int_eq(gw_ps_barrier(ps, 1, 2, &why), GW_ECLOSED);
    ck_assert_int_eq(
        gw_ps_push(ps, table, cluster_keys, 1, cluster_ones, NULL, &why),
        GW_ECLOSED);
    ck_assert_ptr_nonnull(strstr(why.text, "declared dead"));
    gw_ps_close(&ps);
    gw__node_close(&node);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* A client without work requests a table from time to time, and nothing
 * else. */
START_TEST(an_idle_client_is_notified_too)
{
    struct gw_error why;
    struct gw_ps_table_config table_config;
    unsigned table;
    struct gw_ps_cluster *cluster = cluster_start("shm", 1, 1);
    struct gw__node *node = open_node(cluster, GW__WORKER);
    struct gw_ps *ps = cluster_join(cluster);
    struct gw__command suspect = {.kind = GW__CMD_SUSPECT,
                                  .who = {.node = GW__NODE_ANY}};
    suspect.suspect.suspected = find(node, gw_ps_node(ps));
    suspect.suspect.certain = true;
    ck_assert_int_eq(gw_ps_find(ps, "none", &table, &table_config, &why),
                     GW_EINVAL);
    ck_assert(!gw__node_command(node, &suspect, 3));
    ck_assert_int_eq(await_answer(node, 3).code, GW_OK);
    const uint64_t late_ns = gw_now_ns() + UINT64_C(3000000000);
    while (gw_ps_find(ps, "none", &table, &table_config, &why) != GW_ECLOSED)
        ck_assert_msg(gw_now_ns() < late_ns, "it never hears of it");
    ck_assert_ptr_nonnull(strstr(why.text, "declared dead"));
    gw_ps_close(&ps);
    gw__node_close(&node);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

Suite *suite_ps_node(void)
{
    Suite *suite = suite_create("ps_node");
    TCase *parts = tcase_create("ps_node");
    tcase_add_unchecked_fixture(parts, cluster_setup, NULL);
    tcase_add_test(parts, it_connects_to_the_servers);
    tcase_add_test(parts, workers_do_not_connect_to_each_other);
    tcase_add_test(parts, commands_are_answered_by_their_tags);
    tcase_add_test(parts, who_has_left_is_gone);
    tcase_add_test(parts, a_client_declared_dead_is_notified);
    tcase_add_test(parts, an_idle_client_is_notified_too);
    suite_add_tcase(suite, parts);
    return suite;
}
