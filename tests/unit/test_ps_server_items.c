/* SPDX-License-Identifier: MIT
 *
 * Work items over several servers: their pushes are held back, committed in
 * one order everywhere, dropped with their worker, and saved as a cut.
 */
#include "ps_net.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_server_items(void);

enum { KEYS = 50, SLOTS = 8, PARTS = 3, ROUNDS = 6 };

static struct gw__clock_command plan_of(enum gw_ps_mode_kind kind,
                                        unsigned bound, uint64_t batches,
                                        unsigned workers)
{
    return (struct gw__clock_command){.kind = GW__CLOCK_PLAN,
                                      .mode = {.kind = kind, .bound = bound},
                                      .plan = {.epochs = 1,
                                               .batches = batches,
                                               .parts = PARTS,
                                               .workers = workers}};
}

static struct net_request *command(struct net *net, unsigned worker,
                                   const struct gw__clock_command *what)
{
    return net_wait(net, net_clock(net, worker, 0, what));
}

static unsigned request_next(struct net *net, unsigned worker,
                             uint64_t finished)
{
    struct gw__clock_command next = {.kind = GW__CLOCK_NEXT,
                                     .number = finished};
    return net_clock(net, worker, 0, &next);
}

/* The push of a part of a batch: numbers whose sum depends on the order. */
static void fill(uint64_t keys[KEYS], float values[KEYS], uint64_t batch,
                 unsigned part)
{
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = 2 * i + part; /* some in two parts, some in one */
        values[i] = 1.0F / (float)(batch * 7 + part * 3 + i + 1);
    }
}

/* A worker of a training run: request, pull, push, request. */
struct runner {
    unsigned request;
    uint64_t finished;
    uint64_t closed; /* the commits before its last item */
    bool ended;
    unsigned push;
    enum { REQUESTS, PUSHES } state;
};

static void turn(struct net *net, unsigned table, unsigned worker,
                 struct runner *r)
{
    uint64_t keys[KEYS];
    float values[KEYS];
    struct net_request *request = &net->requests[r->request];
    if (r->ended || !request->done)
        return;
    if (r->state == PUSHES) {
        r->state = REQUESTS;
        r->request = request_next(net, worker, ++r->finished);
        return;
    }
    r->ended = request->work.done;
    if (r->ended)
        return;
    r->closed = request->work.closed;
    fill(keys, values, request->work.batch, request->work.part);
    r->request =
        net_push(net, worker, table, keys, KEYS, values, request->work.clock);
    r->state = PUSHES;
}

static bool all_ended(const struct net *net, const struct runner *runners,
                      unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (net->alive[i] && !runners[i].ended)
            return false;
    return true;
}

static void check_ended(const struct net *net, const struct runner *runners,
                        unsigned count)
{
    if (!all_ended(net, runners, count))
        net_explain(net);
    ck_assert_msg(all_ended(net, runners, count), "seed %llu",
                  (unsigned long long)net->seed);
}

static void train(struct net *net, unsigned table, unsigned workers,
                  unsigned dies)
{
    struct runner runners[NET_WORKERS] = {{0}};
    for (unsigned i = 0; i < workers; i++)
        runners[i].request = request_next(net, i, 0);
    for (unsigned ms = 0; ms < 60000 && !all_ended(net, runners, workers);
         ms++) {
        for (unsigned i = 0; i < workers; i++)
            if (net->alive[i])
                turn(net, table, i, &runners[i]);
        if (dies < workers && net->alive[dies] && runners[dies].finished >= 2 &&
            runners[dies].state == PUSHES)
            net_end_worker(net, dies);
        net_run(net, 1);
    }
    check_ended(net, runners, workers);
}

static void reference(float expected[4 * KEYS])
{
    memset(expected, 0, 4 * KEYS * sizeof *expected);
    for (uint64_t batch = 0; batch < ROUNDS; batch++) {
        float sums[4 * KEYS] = {0};
        for (unsigned part = 0; part < PARTS; part++) {
            uint64_t keys[KEYS];
            float values[KEYS];
            fill(keys, values, batch, part);
            for (unsigned i = 0; i < KEYS; i++)
                sums[keys[i]] += values[i];
        }
        for (unsigned i = 0; i < 4 * KEYS; i++)
            expected[i] -= 0.5F * sums[i];
    }
}

static void check_result(struct net *net, unsigned table)
{
    uint64_t keys[3 * KEYS];
    float expected[4 * KEYS];
    for (unsigned i = 0; i < 3 * KEYS; i++)
        keys[i] = i;
    reference(expected);
    struct net_request *pull =
        net_wait(net, net_pull(net, 3, table, keys, 3 * KEYS, 0));
    for (unsigned i = 0; i < 3 * KEYS; i++)
        ck_assert_msg(pull->values[i] == expected[i],
                      "seed %llu: key %u has %.9g, not %.9g",
                      (unsigned long long)net->seed, i, (double)pull->values[i],
                      (double)expected[i]);
}

/* The same bits for any number of servers, workers and replicas, with a bad
 * network, and when a worker dies in the middle of an item. */
START_TEST(bsp_is_the_same_everywhere)
{
    unsigned seed = (unsigned)_i, servers = 1 + seed % 3;
    struct net *net = net_new(seed, servers, SLOTS, 1 + seed % servers);
    unsigned table = net_table(net, "w", 1, GW_PS_SGD, 0);
    unsigned workers = 1 + seed / 3 % 4;
    struct gw__clock_command plan = plan_of(GW_PS_BSP, 0, ROUNDS, workers);
    net->signatures = seed % 2;
    net->loss_ppm = net->double_ppm = seed % 5 ? 20000 : 0;
    net->delay_ms = seed % 7;
    ck_assert(command(net, 0, &plan)->done);
    train(net, table, workers, workers > 1 && seed % 2 ? 1 : workers);
    net_drain(net, 20000);
    net->loss_ppm = net->double_ppm = net->delay_ms = 0;
    net_drain(net, 20000);
    check_result(net, table);
    net_drain(net, 2000);
    net_compare_replicas(net);
    net_free(net);
}
END_TEST

/* One server dies during the training. */
static void lose_a_server(struct net *net)
{
    unsigned seed = (unsigned)net->seed;
    unsigned table = net_table(net, "w", 1, GW_PS_SGD, 0);
    struct gw__clock_command plan = plan_of(GW_PS_BSP, 0, ROUNDS, 2);
    net->delay_ms = seed % 7;
    ck_assert(command(net, 0, &plan)->done);
    struct runner runners[NET_WORKERS] = {{0}};
    for (unsigned i = 0; i < 2; i++)
        runners[i].request = request_next(net, i, 0);
    for (unsigned ms = 0; ms < 60000 && !all_ended(net, runners, 2); ms++) {
        for (unsigned i = 0; i < 2; i++)
            turn(net, table, i, &runners[i]);
        if (ms == 5 + seed * 3)
            net_kill(net, seed % 3);
        if (ms == 20 + seed * 3)
            net_declare_dead(net, seed % 3);
        if (ms == 30 + seed * 3)
            net_add_server(net);
        net_run(net, 1);
    }
    check_ended(net, runners, 2);
    net_run(net, 100);
    net_drain(net, 20000);
    check_result(net, table);
    net_drain(net, 2000);
    net_compare_replicas(net);
}

START_TEST(bsp_survives_a_server)
{
    struct net *net = net_new((unsigned)_i, 3, SLOTS, 2);
    lose_a_server(net);
    net_free(net);
}
END_TEST

START_TEST(held_back_until_closed)
{
    struct net *net = net_new(1, 2, SLOTS, 2);
    unsigned table = net_table(net, "w", 1, GW_PS_ADD, 0);
    struct gw__clock_command plan = plan_of(GW_PS_ASP, 0, ROUNDS, 1);
    ck_assert(command(net, 0, &plan)->done);
    struct net_request *grant = net_wait(net, request_next(net, 0, 0));
    uint64_t key = 5;
    float two = 2;
    net_wait(net, net_push(net, 0, table, &key, 1, &two, grant->work.clock));
    ck_assert_double_eq((double)net_value(net, table, key), 0);
    /* A pull that requires the first commit waits for it. */
    unsigned pull = net_pull(net, 1, table, &key, 1, 1);
    net_run(net, 100);
    ck_assert(!net_done(net, pull));
    grant = net_wait(net, request_next(net, 0, 1));
    ck_assert_double_eq((double)net_wait(net, pull)->values[0], 2);
    net_drain(net, 2000);
    net_compare_replicas(net);
    net_free(net);
}
END_TEST

START_TEST(the_dead_workers_item_never_happened)
{
    struct net *net = net_new(1, 2, SLOTS, 2);
    unsigned table = net_table(net, "w", 1, GW_PS_ADD, 0);
    struct gw__clock_command plan = plan_of(GW_PS_ASP, 0, ROUNDS, 1);
    ck_assert(command(net, 0, &plan)->done);
    struct net_request *grant = net_wait(net, request_next(net, 1, 0));
    uint64_t keys[KEYS];
    float values[KEYS];
    fill(keys, values, 0, 0);
    unsigned push =
        net_push(net, 1, table, keys, KEYS, values, grant->work.clock);
    net_wait(net, push);
    net_wait(net, request_next(net, 0, 0));
    struct gw_ps_server_status status;
    gw__server_get_status(net->servers[0], &status);
    ck_assert_uint_gt(status.staged, 0);
    net_end_worker(net, 1);
    net_run(net, 200);
    net_drain(net, 2000);
    for (unsigned i = 0; i < 2; i++) {
        gw__server_get_status(net->servers[i], &status);
        ck_assert_uint_eq(status.staged, 0);
        ck_assert_uint_gt(status.dropped, 0);
    }
    /* The zombie's later pushes are acknowledged and discarded. */
    net->alive[1] = true;
    unsigned late = net_push(net, 1, table, keys, KEYS, values, 0);
    net_wait(net, late);
    net->alive[1] = false;
    gw__server_get_status(net->servers[0], &status);
    ck_assert_uint_eq(status.staged, 0);
    net_wait(net, request_next(net, 0, 1));
    net_run(net, 100);
    ck_assert_double_eq((double)net_value(net, table, keys[3]), 0);
    net_free(net);
}
END_TEST

/* A marker is a cut: the saved state has exactly the commits before it, and a
 * new server begins from it. */
START_TEST(a_marker_saves_a_snapshot)
{
    struct net *net = net_new(1, 2, SLOTS, 1);
    unsigned table = net_table(net, "w", 1, GW_PS_ADD, 0);
    struct gw__clock_command plan = plan_of(GW_PS_ASP, 0, ROUNDS, 1);
    ck_assert(command(net, 0, &plan)->done);
    uint64_t keys[KEYS];
    float values[KEYS];
    fill(keys, values, 0, 0);
    struct net_request *grant = net_wait(net, request_next(net, 0, 0));
    net_wait(net,
             net_push(net, 0, table, keys, KEYS, values, grant->work.clock));
    grant = net_wait(net, request_next(net, 0, 1));
    struct gw__clock_command mark = {.kind = GW__CLOCK_MARK, .number = 42};
    ck_assert(command(net, 1, &mark)->done);
    net_wait(net,
             net_push(net, 0, table, keys, KEYS, values, grant->work.clock));
    net_wait(net, request_next(net, 0, 2));
    net_drain(net, 3000);
    ck_assert_uint_eq(net->saved_count, SLOTS);
    struct net *again = net_new(2, 0, SLOTS, 1);
    for (unsigned i = 0; i < 3; i++) {
        net_add_silent(again);
        for (unsigned s = 0; s < SLOTS; s++)
            ck_assert_int_eq(gw__server_restore(
                                 again->servers[i], net->saved[s].slot,
                                 net->saved[s].data, net->saved[s].bytes, NULL),
                             GW_OK);
    }
    net_assign_slots(again);
    ck_assert_uint_eq(net_table(again, "w", 1, GW_PS_ADD, 0), 0);
    struct net_request *pull =
        net_wait(again, net_pull(again, 0, 0, keys, KEYS, 0));
    for (unsigned i = 0; i < KEYS; i++)
        ck_assert_double_eq((double)pull->values[i], (double)values[i]);
    uint8_t bad[64];
    memcpy(bad, net->saved[0].data, sizeof bad);
    ck_assert_int_eq(gw__server_restore(again->servers[0], 0, bad, 20, NULL),
                     GW_EDATA);
    net_free(again);
    net_free(net);
}
END_TEST

/* ---- policies for stragglers ---- */

static unsigned policy_calls;

static struct gw_ps_mode wander(const struct gw_straggler_round *round)
{
    policy_calls++;
    ck_assert_uint_eq(round->parts, PARTS);
    for (unsigned j = 0; j < PARTS && round->mode.kind == GW_PS_BSP; j++)
        ck_assert(round->arrivals[j] <= round->seconds);
    return (struct gw_ps_mode){.kind = GW_PS_KOFN,
                               .bound = PARTS - policy_calls % 2};
}

static struct gw_ps_mode nonsense(const struct gw_straggler_round *round)
{
    (void)round;
    policy_calls++;
    return (struct gw_ps_mode){.kind = GW_PS_KOFN, .bound = PARTS + 1};
}

static struct net *net_with(const struct gw_straggler *policy, unsigned seed,
                            unsigned servers, unsigned replicas)
{
    struct net *net = net_new(seed, 0, SLOTS, replicas);
    for (unsigned i = 0; i < NET_SERVERS; i++)
        net->configs[i].straggler = policy;
    for (unsigned i = 0; i < servers; i++)
        net_add_silent(net);
    net_assign_slots(net);
    policy_calls = 0;
    return net;
}

static struct gw_ps_server_status *status_of(const struct net *net)
{
    static struct gw_ps_server_status status; /* large */
    for (unsigned i = 0; i < net->server_count; i++) {
        if (net->servers[i])
            gw__server_get_status(net->servers[i], &status);
        if (status.clocks[0].here)
            break;
    }
    return &status;
}

/* The server with the clock asks the policy after each round, and all replicas
 * receive the answer. */
START_TEST(a_policy_is_queried_after_each_round)
{
    static const struct gw_straggler policy = {.choose = wander};
    struct net *net = net_with(&policy, (unsigned)_i, 3, 1 + (unsigned)_i % 3);
    unsigned table = net_table(net, "w", 1, GW_PS_SGD, 0);
    struct gw__clock_command plan = plan_of(GW_PS_BSP, 0, ROUNDS, 3);
    net->loss_ppm = net->double_ppm = _i % 2 ? 20000 : 0;
    net->delay_ms = (unsigned)_i % 5;
    ck_assert(command(net, 0, &plan)->done);
    train(net, table, 3, 3);
    net->loss_ppm = net->double_ppm = net->delay_ms = 0;
    net_drain(net, 20000);
    ck_assert_uint_eq(policy_calls, ROUNDS);
    ck_assert_int_eq(status_of(net)->clocks[0].mode.kind, GW_PS_KOFN);
    ck_assert_uint_eq(status_of(net)->clocks[0].mode.bound, PARTS);
    net_compare_replicas(net);
    net_free(net);
}
END_TEST

static struct gw_ps_mode wait_for_all(const struct gw_straggler_round *round)
{
    policy_calls++;
    return (struct gw_ps_mode){.kind = GW_PS_KOFN, .bound = round->parts};
}

/* A server dies, sometimes the one with the clock. The next one continues to
 * ask, and earlier answers remain valid. kofn of all parts has the bits of
 * bsp. */
START_TEST(a_policy_survives_a_server)
{
    static const struct gw_straggler policy = {.choose = wait_for_all};
    struct net *net = net_with(&policy, (unsigned)_i, 3, 2);
    lose_a_server(net);
    ck_assert_uint_ge(policy_calls, 1);
    ck_assert_uint_le(policy_calls, ROUNDS);
    ck_assert_int_eq(status_of(net)->clocks[0].mode.kind, GW_PS_KOFN);
    net_free(net);
}
END_TEST

/* The error is reported, and the mode does not change. */
START_TEST(a_policy_returns_nonsense)
{
    static const struct gw_straggler policy = {.choose = nonsense};
    struct net *net = net_with(&policy, 1, 2, 2);
    unsigned table = net_table(net, "w", 1, GW_PS_SGD, 0);
    struct gw__clock_command plan = plan_of(GW_PS_BSP, 0, ROUNDS, 3);
    ck_assert(command(net, 0, &plan)->done);
    train(net, table, 3, 3);
    net_drain(net, 20000);
    check_result(net, table);
    ck_assert_uint_eq(policy_calls, ROUNDS);
    ck_assert_int_eq(status_of(net)->clocks[0].mode.kind, GW_PS_BSP);
    ck_assert_msg(strstr(status_of(net)->text, "kofn:4 needs at most"), "%s",
                  status_of(net)->text);
    net_free(net);
}
END_TEST

Suite *suite_ps_server_items(void)
{
    Suite *suite = suite_create("ps_server_items");
    TCase *tcase = tcase_create("ps_server_items");
    tcase_add_loop_test(tcase, bsp_is_the_same_everywhere, 1, 40);
    tcase_add_loop_test(tcase, bsp_survives_a_server, 0, 30);
    tcase_add_test(tcase, held_back_until_closed);
    tcase_add_test(tcase, the_dead_workers_item_never_happened);
    tcase_add_test(tcase, a_marker_saves_a_snapshot);
    tcase_add_loop_test(tcase, a_policy_is_queried_after_each_round, 1, 12);
    tcase_add_loop_test(tcase, a_policy_survives_a_server, 0, 30);
    tcase_add_test(tcase, a_policy_returns_nonsense);
    suite_add_tcase(suite, tcase);
    return suite;
}
