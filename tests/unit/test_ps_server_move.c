/* SPDX-License-Identifier: MIT
 *
 * Slots that change their primary or place: by death, by a long pause, by
 * promotion and by handover, with pushes under way all the time.
 */
#include "ps_net.h"

#include <ps/server/server_parts.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_server_move(void);

enum { KEYS = 40, SLOTS = 8 };

static float expected[KEYS];

static void push_one(struct net *net, unsigned table)
{
    uint64_t keys[KEYS];
    float values[KEYS];
    unsigned first = (unsigned)gw_rng_below(&net->rng, 10);
    for (unsigned i = 0; i < 30; i++) {
        keys[i] = (first + i) * 13;
        values[i] = 1;
        expected[first + i] += 1;
    }
    net_push(net, (unsigned)gw_rng_below(&net->rng, NET_WORKERS), table, keys,
             30, values, GW__NO_CLOCK);
}

static void push_for(struct net *net, unsigned table, unsigned ms)
{
    for (unsigned i = 0; i < ms; i += 4) {
        push_one(net, table);
        net_run(net, 4);
    }
}

/* Each push has counted once, and replicas are equal. */
static void check_all(struct net *net, unsigned table, unsigned replicas)
{
    uint64_t keys[KEYS];
    for (unsigned i = 0; i < KEYS; i++)
        keys[i] = i * 13;
    net_drain(net, 30000);
    net->loss_ppm = net->double_ppm = net->delay_ms = 0;
    net_drain(net, 30000);
    struct net_request *pull =
        net_wait(net, net_pull(net, 0, table, keys, KEYS, 0));
    for (unsigned i = 0; i < KEYS; i++)
        ck_assert_msg(pull->values[i] == expected[i],
                      "seed %llu: key %u has %g, not %g",
                      (unsigned long long)net->seed, i, (double)pull->values[i],
                      (double)expected[i]);
    net_drain(net, 3000);
    ck_assert_uint_eq(net_compare_replicas(net), SLOTS * replicas);
}

static uint64_t key_of_first_slot(const struct net *net, unsigned table)
{
    uint64_t key = 0;
    while (gw__route_slot(&net->routes, &net->routes.tables[table], key) != 0)
        key++;
    return key;
}

static void make_hostile(struct net *net)
{
    net->loss_ppm = 30000;
    net->double_ppm = 30000;
    net->delay_ms = 1 + (unsigned)net->seed % 8;
}

/* The server dies, and the others are notified at once. */
static void bury(struct net *net, unsigned server)
{
    net_kill(net, server);
    net_declare_dead(net, server);
}

static unsigned begin(struct net **net, uint64_t seed, unsigned servers,
                      unsigned replicas)
{
    memset(expected, 0, sizeof expected);
    *net = net_new(seed, servers, SLOTS, replicas);
    return net_table(*net, "t", 1, GW_PS_ADD, 0);
}

START_TEST(a_server_dies)
{
    struct net *net;
    unsigned table = begin(&net, (unsigned)_i, 3, 3);
    make_hostile(net);
    push_for(net, table, 100);
    net_kill(net, (unsigned)_i % 3);
    push_for(net, table, 30);
    net_declare_dead(net, (unsigned)_i % 3);
    push_for(net, table, 100);
    bury(net, (unsigned)(_i + 1) % 3);
    push_for(net, table, 40);
    check_all(net, table, 1);
    net_free(net);
}
END_TEST

/* A primary is paused at an arbitrary moment, replaced, and resumed. None of
 * its messages counts, and no acknowledged push is lost. */
START_TEST(a_paused_primary_wakes)
{
    struct net *net;
    unsigned table = begin(&net, (unsigned)_i, 3, 2);
    unsigned victim = (unsigned)_i % 3;
    make_hostile(net);
    push_for(net, table, 60);
    net->paused[victim] = true;
    push_for(net, table, 30);
    net_declare_dead(net, victim);
    push_for(net, table, 150);
    struct gw_ps_server_status before, after;
    gw__server_get_status(net->servers[victim], &before);
    net->paused[victim] = false;
    push_for(net, table, 60);
    gw__server_get_status(net->servers[victim], &after);
    ck_assert_uint_eq(after.primaries, 0);
    ck_assert_uint_eq(after.pushes - before.pushes, 0);
    check_all(net, table, 2);
    net_free(net);
}
END_TEST

/* A handover without a request to the primary. */
static void swap_primary(struct net *net, unsigned slot)
{
    struct gw__slot_route *route = &net->routes.slots[slot];
    route->term++;
    net->routes.version++;
    route->replica[0] = route->replica[1];
    route->replica[1] = route->primary;
    route->primary = route->replica[0];
    net_send_update(net);
}

/* The same, but the old primary gets no update about its successor: fencing
 * alone must suffice. */
START_TEST(a_deaf_primary_commits_nothing)
{
    struct net *net;
    unsigned table = begin(&net, 5, 2, 2);
    push_for(net, table, 40);
    net_drain(net, 3000);
    unsigned old = net->routes.slots[0].primary;
    uint64_t key = key_of_first_slot(net, table);
    struct gw_ps_server_status before, after;
    gw__server_get_status(net->servers[old], &before);
    net->paused[old] = true;
    if (_i == 0)
        net_declare_dead(net, old);
    else
        swap_primary(net, 0);
    net_run(net, 20);
    /* As with a broken clock, its lease never ends. */
    gw__server_lease(net->servers[old], net->now_ns, UINT64_MAX);
    struct {
        struct gw__ps_head head;
        struct gw__ps_segment segment;
    } out = {.head = {.magic = GW__PS_MAGIC,
                      .kind = GW__PS_PUSH,
                      .request = net->request_count + 1,
                      .sequence = 60,
                      .low_watermark = 59,
                      .clock = GW__NO_CLOCK,
                      .keys = 1,
                      .table = (uint16_t)table,
                      .segments = 1},
             .segment = {0, 1}};
    float one = 1;
    struct gw__message_out message = {.part_count = 3};
    message.parts[0] = (struct gw__messenger_part){&out, sizeof out};
    message.parts[1] = (struct gw__messenger_part){&key, sizeof key};
    message.parts[2] = (struct gw__messenger_part){&one, sizeof one};
    struct net_request *r = &net->requests[net->request_count++];
    *r = (struct net_request){.used = true, .worker = 3, .todo = 1};
    r->kind = GW__PS_PUSH;
    r->requested_ns = UINT64_MAX / 2;
    net_lose_mail(net, old);
    net->paused[old] = false;
    net_send(net, 3, old, &message);
    net_run(net, 300);
    gw__server_get_status(net->servers[old], &after);
    ck_assert_uint_eq(after.slots[0].committed, before.slots[0].committed);
    ck_assert_uint_eq(after.slots[0].last, before.slots[0].last + 1);
    ck_assert(!r->done);
    net_free(net);
}
END_TEST

/* An acknowledged push that the successor does not yet know to be committed.
 * The successor must not serve the older value. */
START_TEST(a_successor_applies_before_it_serves)
{
    struct net *net;
    unsigned table = begin(&net, 1, 3, 3);
    uint64_t key = key_of_first_slot(net, table);
    float one = 1;
    net_drain(net, 3000);
    while (net->now_ns / NET_MS % 5 != 0)
        net_run(net, 1);
    unsigned push = net_push(net, 0, table, &key, 1, &one, GW__NO_CLOCK);
    net_run(net, 1);
    ck_assert(net_done(net, push));
    unsigned old = net->routes.slots[0].primary;
    bury(net, old);
    unsigned successor = net->routes.slots[0].primary;
    unsigned third = 3 - old - successor;
    net->paused[third] = true;
    unsigned pull = net_pull(net, 0, table, &key, 1, 0);
    net_run(net, 100);
    ck_assert(!net_done(net, pull));
    net->paused[third] = false;
    ck_assert_double_eq((double)net_wait(net, pull)->values[0], 1);
    net_free(net);
}
END_TEST

/* A server joins, and gets `ms` under load to take over slots. */
static void add_server(struct net *net, unsigned table, unsigned ms)
{
    make_hostile(net);
    push_for(net, table, 60);
    net_add_server(net);
    push_for(net, table, ms);
    net_drain(net, 30000);
}

START_TEST(a_server_joins_under_load)
{
    struct net *net;
    unsigned table = begin(&net, (unsigned)_i, 2, 2);
    add_server(net, table, 300);
    unsigned slots = 0;
    for (unsigned s = 0; s < SLOTS; s++)
        slots += gw__route_in_sync(&net->routes.slots[s], 2);
    ck_assert_uint_gt(slots, 0);
    /* It serves the slots that it has learned. */
    bury(net, 0);
    push_for(net, table, 60);
    check_all(net, table, 2);
    net_free(net);
}
END_TEST

/* One replica per slot: a slot moves to a new primary, and is not served for a
 * moment. */
START_TEST(slots_move_without_replicas)
{
    struct net *net;
    unsigned table = begin(&net, (unsigned)_i, 1, 1);
    add_server(net, table, 400);
    unsigned moved = 0;
    for (unsigned s = 0; s < SLOTS; s++)
        moved += net->routes.slots[s].primary == 1;
    ck_assert_uint_ge(moved, SLOTS / 2 - 1);
    struct gw_ps_server_status status;
    gw__server_get_status(net->servers[0], &status);
    ck_assert_uint_gt(status.freeze_ns_max, 0);
    check_all(net, table, 1);
    net_free(net);
}
END_TEST

static unsigned count_frozen(const struct gw__server *server)
{
    unsigned count = 0;
    for (unsigned s = 0; s < SLOTS; s++)
        count += server->slots[s].frozen;
    return count;
}

/* Only one of several moving slots is frozen at a time, until the controllers
 * have answered. */
START_TEST(slots_move_one_by_one)
{
    struct net *net;
    unsigned table = begin(&net, (unsigned)_i, 1, 1), most = 0;
    push_for(net, table, 60);
    net->no_proposals = true;
    net_add_server(net);
    for (unsigned i = 0; i < 100; i++) {
        push_for(net, table, 1);
        unsigned count = count_frozen(net->servers[0]);
        most = count > most ? count : most;
    }
    ck_assert_uint_eq(most, 1);
    net->no_proposals = false;
    push_for(net, table, 200);
    check_all(net, table, 1);
    ck_assert_uint_eq(count_frozen(net->servers[0]), 0);
    net_free(net);
}
END_TEST

START_TEST(a_server_leaves)
{
    struct net *net;
    unsigned table = begin(&net, (unsigned)_i, 3, 2);
    make_hostile(net);
    push_for(net, table, 60);
    gw__routes_drain(&net->routes, &(struct gw_nodes){{7}},
                     &(struct gw_nodes){{1}});
    net_send_update(net);
    push_for(net, table, 300);
    net_drain(net, 30000);
    ck_assert(gw__routes_is_empty(&net->routes, 0));
    bury(net, 0);
    push_for(net, table, 40);
    check_all(net, table, 2);
    net_free(net);
}
END_TEST

/* The learner dies during the copy: the primary continues to serve. */
START_TEST(a_learner_dies)
{
    struct net *net;
    unsigned table = begin(&net, (unsigned)_i, 1, 1);
    push_for(net, table, 60);
    net->delay_ms = 1 + (unsigned)_i % 5;
    net->no_proposals = true;
    net_add_server(net);
    push_for(net, table, 100);
    ck_assert_uint_gt(net->proposals, 0);
    bury(net, 1);
    push_for(net, table, 40);
    check_all(net, table, 1);
    net_free(net);
}
END_TEST

/* All faults at once, for a while. */
START_TEST(chaos)
{
    struct net *net;
    unsigned table = begin(&net, (unsigned)_i, 3, 2);
    make_hostile(net);
    net->signatures = _i % 2;
    for (unsigned round = 0; round < 3; round++) {
        unsigned victim = round;
        push_for(net, table, 40 + (unsigned)gw_rng_below(&net->rng, 80));
        bool paused = gw_rng_below(&net->rng, 2);
        if (paused)
            net->paused[victim] = true;
        else
            net_kill(net, victim);
        push_for(net, table, (unsigned)gw_rng_below(&net->rng, 40));
        net_declare_dead(net, victim);
        push_for(net, table, (unsigned)gw_rng_below(&net->rng, 40));
        net_add_server(net);
        push_for(net, table, (unsigned)gw_rng_below(&net->rng, 40));
        net->paused[victim] = false;
        net_drain(net, 30000);
    }
    check_all(net, table, 2);
    net_free(net);
}
END_TEST

Suite *suite_ps_server_move(void)
{
    Suite *suite = suite_create("ps_server_move");
    TCase *tcase = tcase_create("ps_server_move");
    tcase_add_loop_test(tcase, a_server_dies, 1, 20);
    tcase_add_loop_test(tcase, a_paused_primary_wakes, 1, 20);
    tcase_add_loop_test(tcase, a_deaf_primary_commits_nothing, 0, 2);
    tcase_add_test(tcase, a_successor_applies_before_it_serves);
    tcase_add_loop_test(tcase, a_server_joins_under_load, 1, 20);
    tcase_add_loop_test(tcase, slots_move_without_replicas, 1, 20);
    tcase_add_loop_test(tcase, slots_move_one_by_one, 1, 10);
    tcase_add_loop_test(tcase, a_server_leaves, 1, 20);
    tcase_add_loop_test(tcase, a_learner_dies, 1, 10);
    tcase_add_loop_test(tcase, chaos, 1, 30);
    suite_add_tcase(suite, tcase);
    return suite;
}
