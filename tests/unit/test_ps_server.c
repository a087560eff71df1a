/* SPDX-License-Identifier: MIT
 *
 * The server alone and with replicas: pushes count once, replicas are equal,
 * bad input changes nothing.
 */
#include "ps_net.h"

#include <ps/slot/slot_bytes.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_server(void);

enum { KEYS = 60, SLOTS = 8 };

static void fill(uint64_t keys[KEYS], float values[KEYS], float value)
{
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = i * 11 + 1;
        values[i] = value;
    }
}

START_TEST(push_then_pull)
{
    unsigned servers = (unsigned)_i + 1;
    struct net *net = net_new(1, servers, 8, servers);
    unsigned sparse = net_table(net, "sparse", 1, GW_PS_ADD, 0);
    unsigned dense = net_table(net, "dense", 1, GW_PS_ADD, 700);
    uint64_t keys[KEYS];
    float values[KEYS];
    fill(keys, values, 2);
    for (unsigned round = 0; round < 3; round++) {
        net->signatures = round > 0;
        net_wait(net,
                 net_push(net, 0, sparse, keys, KEYS, values, GW__NO_CLOCK));
        net_wait(net,
                 net_push(net, 1, dense, keys, KEYS, values, GW__NO_CLOCK));
    }
    struct net_request *a =
        net_wait(net, net_pull(net, 0, sparse, keys, KEYS, 0));
    struct net_request *b =
        net_wait(net, net_pull(net, 0, dense, keys, KEYS, 0));
    for (unsigned i = 0; i < KEYS; i++) {
        ck_assert_double_eq((double)a->values[i], 6);
        ck_assert_double_eq((double)b->values[i], 6);
    }
    ck_assert_double_eq((double)net_value(net, sparse, 5), 0);
    net_drain(net, 2000);
    ck_assert_uint_eq(net_compare_replicas(net), 8 * servers);
    net_free(net);
}
END_TEST

/* Pushes are lost, duplicated, late and reordered: each counts once. */
START_TEST(exactly_once)
{
    unsigned seed = (unsigned)_i;
    struct net *net = net_new(seed, 1 + seed % 4, 8, 1 + seed % 3);
    unsigned table = net_table(net, "t", 1, GW_PS_ADD, seed % 2 ? 700 : 0);
    uint64_t keys[KEYS];
    float values[KEYS];
    fill(keys, values, 1);
    net->signatures = seed % 3 == 0;
    net->loss_ppm = 60000;
    net->double_ppm = 60000;
    net->delay_ms = 1 + seed % 7;
    for (unsigned i = 0; i < 150; i++) {
        net_push(net, i % NET_WORKERS, table, keys + i % 7, 20, values,
                 GW__NO_CLOCK);
        net_run(net, 2);
    }
    net_drain(net, 30000);
    net->loss_ppm = net->double_ppm = net->delay_ms = 0;
    struct net_request *pull =
        net_wait(net, net_pull(net, 0, table, keys, KEYS, 0));
    float expected[KEYS] = {0};
    for (unsigned i = 0; i < 150; i++)
        for (unsigned j = 0; j < 20; j++)
            expected[i % 7 + j] += 1;
    for (unsigned i = 0; i < KEYS; i++)
        ck_assert_msg(pull->values[i] == expected[i],
                      "seed %u: key %u has %g, not %g", seed, i,
                      (double)pull->values[i], (double)expected[i]);
    net_drain(net, 2000);
    net_compare_replicas(net);
    net_free(net);
}
END_TEST

START_TEST(not_finite_is_refused_as_a_whole)
{
    struct net *net = net_new(1, 2, 8, 2);
    unsigned table = net_table(net, "weights", 1, GW_PS_ADD, 0);
    uint64_t keys[KEYS];
    float values[KEYS];
    fill(keys, values, 1);
    values[17] = _i ? INFINITY : NAN;
    struct net_request *push = net_wait(
        net, net_push(net, 2, table, keys, KEYS, values, GW__NO_CLOCK));
    ck_assert(push->failed);
    ck_assert_int_eq(push->reply.code, GW_ENUMERIC);
    ck_assert_uint_eq(push->reply.nans, 1);
    ck_assert_ptr_nonnull(strstr(push->text, "worker 34"));
    ck_assert_ptr_nonnull(strstr(push->text, "\"weights\""));
    net_drain(net, 2000);
    unsigned server =
        net->routes
            .slots[gw__route_slot(&net->routes, &net->routes.tables[table],
                                  keys[17])]
            .primary;
    struct gw_ps_server_status status;
    gw__server_get_status(net->servers[server], &status);
    ck_assert_uint_eq(status.nans, 1);
    ck_assert_double_eq((double)net_value(net, table, keys[17]), 0);
    net_free(net);
}
END_TEST

/* ---- bad input ---- */

static struct net_request *send_bad(struct net *net, unsigned table,
                                    const uint64_t *keys, unsigned count,
                                    size_t value_bytes, unsigned slot)
{
    static const float values[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct {
        struct gw__ps_head head;
        struct gw__ps_segment segment;
    } out = {.head = {.magic = GW__PS_MAGIC,
                      .kind = GW__PS_PUSH,
                      .request = net->request_count + 1,
                      .routes = net->routes.version,
                      .sequence = 1,
                      .clock = GW__NO_CLOCK,
                      .keys = count,
                      .table = (uint16_t)table,
                      .segments = 1},
             .segment = {slot, count}};
    struct gw__message_out message = {.part_count = 3};
    message.parts[0] = (struct gw__messenger_part){&out, sizeof out};
    message.parts[1] = (struct gw__messenger_part){keys, count * sizeof *keys};
    message.parts[2] = (struct gw__messenger_part){values, value_bytes};
    struct net_request *r = &net->requests[net->request_count++];
    *r = (struct net_request){.used = true, .worker = 3, .todo = ~0ULL};
    r->kind = GW__PS_PUSH;
    r->requested_ns = UINT64_MAX / 2;
    net_send(net, 3, 0, &message);
    net_run(net, 5);
    r->failed |= !r->done;
    return r;
}

static uint64_t key_in(const struct net *net, unsigned table, unsigned slot)
{
    uint64_t key = 0;
    while (gw__route_slot(&net->routes, &net->routes.tables[table], key) !=
           slot)
        key++;
    return key;
}

START_TEST(bad_pushes_change_nothing)
{
    struct net *net = net_new(1, 1, 4, 1);
    unsigned table = net_table(net, "weights", 2, GW_PS_ADD, 0);
    uint64_t key = key_in(net, table, 1), twice[2] = {key, key};
    struct gw_ps_server_status before, status;
    gw__server_get_status(net->servers[0], &before);
    struct net_request *r = send_bad(net, 7, &key, 1, 8, 1);
    ck_assert_int_eq(r->reply.code, GW_EINVAL);
    ck_assert_str_eq(r->text, "table 7 does not exist");
    r = send_bad(net, table, &key, 1, 12, 1);
    ck_assert_int_eq(r->reply.code, GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(r->text, "2 values per row"));
    r = send_bad(net, table, twice, 2, 16, 1);
    ck_assert_int_eq(r->reply.code, GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(r->text, "twice"));
    r = send_bad(net, table, &key, 1, 8, 2);
    ck_assert_int_eq(r->reply.code, GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(r->text, "not in slot 2"));
    r = send_bad(net, table, &key, 1, 8, 40);
    ck_assert_int_eq(r->reply.code, GW_EINVAL);
    gw__server_get_status(net->servers[0], &status);
    ck_assert_uint_eq(status.pushes, 0);
    ck_assert_uint_eq(status.slots[1].last, before.slots[1].last);
    net_free(net);
}
END_TEST

/* ---- key lists ---- */

START_TEST(unknown_key_lists_are_requested)
{
    struct net *net = net_new(1, 1, 4, 1);
    unsigned table = net_table(net, "t", 1, GW_PS_ADD, 0);
    uint64_t key = key_in(net, table, 1);
    struct {
        struct gw__ps_head head;
        struct gw__ps_segment segment;
    } out = {.head = {.magic = GW__PS_MAGIC,
                      .kind = GW__PS_PULL,
                      .request = 1,
                      .routes = net->routes.version,
                      .keys = 1,
                      .key_list = 4711,
                      .table = (uint16_t)table,
                      .segments = 1},
             .segment = {1, 1}};
    struct gw__message_out message = {.part_count = 3};
    message.parts[0] = (struct gw__messenger_part){&out, sizeof out};
    message.parts[1] = message.parts[2] = (struct gw__messenger_part){"", 0};
    struct net_request *r = &net->requests[net->request_count++];
    *r = (struct net_request){.used = true, .kind = GW__PS_PUSH, .todo = 2};
    r->requested_ns = UINT64_MAX / 2;
    net_send(net, 0, 0, &message);
    net_run(net, 5);
    ck_assert(r->reply.flags & GW__PS_WANT_KEYS);
    ck_assert_int_eq(r->reply.code, GW_PENDING);
    /* A list with another list's signature is not kept. */
    out.head.flags = GW__PS_CACHE;
    message.parts[1] = (struct gw__messenger_part){&key, sizeof key};
    net_send(net, 0, 0, &message);
    net_run(net, 5);
    ck_assert_int_eq(r->reply.code, GW_EDATA);
    net_free(net);
}
END_TEST

START_TEST(without_a_lease_nothing_is_served)
{
    struct net *net = net_new(1, 2, 4, 2);
    unsigned table = net_table(net, "t", 1, GW_PS_ADD, 0);
    uint64_t key = key_in(net, table, 1);
    float one = 1;
    net_wait(net, net_push(net, 0, table, &key, 1, &one, GW__NO_CLOCK));
    net->no_lease = true;
    net_run(net, 100);
    unsigned push = net_push(net, 0, table, &key, 1, &one, GW__NO_CLOCK);
    unsigned pull = net_pull(net, 0, table, &key, 1, 0);
    net_run(net, 300);
    ck_assert(!net_done(net, push) && !net_done(net, pull));
    ck_assert_int_eq(net->requests[pull].reply.code, GW_PENDING);
    net->no_lease = false;
    net_drain(net, 2000);
    ck_assert_double_eq((double)net_value(net, table, key), 2);
    net_free(net);
}
END_TEST

/* Replaces the servers by empty ones with other settings; they begin with the
 * next update. */
static void restart(struct net *net, struct gw__server_config settings)
{
    for (unsigned i = 0; i < net->server_count; i++) {
        struct gw__server_config *config = &net->configs[i];
        gw__server_destroy(&net->servers[i]);
        config->log_bytes = settings.log_bytes;
        config->ack_primary = settings.ack_primary;
        config->no_dedupe = settings.no_dedupe;
        config->no_fencing = settings.no_fencing;
        ck_assert_int_eq(gw__server_new(config, &net->servers[i], NULL), GW_OK);
    }
}

/* Experiments that switch one mechanism off and show why it is needed. */
START_TEST(acknowledged_by_the_primary_alone)
{
    struct net *net = net_new(1, 2, 1, 2);
    restart(net, (struct gw__server_config){.ack_primary = true});
    unsigned table = net_table(net, "t", 1, GW_PS_ADD, 0);
    uint64_t keys[KEYS];
    float values[KEYS];
    fill(keys, values, 1);
    net_wait(net, net_push(net, 0, table, keys, KEYS, values, GW__NO_CLOCK));
    unsigned secondary = 1 - net->routes.slots[0].primary;
    net->paused[secondary] = true;
    unsigned push = net_push(net, 0, table, keys, KEYS, values, GW__NO_CLOCK);
    net_run(net, 50);
    ck_assert(net_done(net, push));
    ck_assert_double_eq((double)net_value(net, table, keys[3]), 2);
    net->paused[secondary] = false;
    net_drain(net, 2000);
    net_compare_replicas(net);
    net_free(net);
}
END_TEST

START_TEST(without_dedupe_a_repetition_counts_twice)
{
    struct net *net = net_new(1, 1, 1, 1);
    restart(net, (struct gw__server_config){.no_dedupe = _i});
    unsigned table = net_table(net, "t", 1, GW_PS_ADD, 0);
    uint64_t key = 3;
    float one = 1;
    unsigned push = net_push(net, 0, table, &key, 1, &one, GW__NO_CLOCK);
    net_repeat(net, push);
    net_run(net, 20);
    ck_assert_double_eq((double)net_value(net, table, key), _i ? 2 : 1);
    net_free(net);
}
END_TEST

START_TEST(without_fencing_no_lease_is_needed)
{
    struct net *net = net_new(1, 1, 1, 1);
    restart(net, (struct gw__server_config){.no_fencing = true});
    unsigned table = net_table(net, "t", 1, GW_PS_ADD, 0);
    net->no_lease = true;
    net_run(net, 200);
    ck_assert_double_eq((double)net_value(net, table, 3), 0);
    net_free(net);
}
END_TEST

START_TEST(push_pull_sees_its_push)
{
    struct net *net = net_new((unsigned)_i, 3, 8, 2);
    unsigned table = net_table(net, "t", 1, GW_PS_ADD, 0);
    uint64_t keys[KEYS];
    float values[KEYS];
    fill(keys, values, 1);
    net->loss_ppm = net->double_ppm = 50000;
    net->delay_ms = 3;
    for (unsigned i = 1; i < 10; i++) {
        struct net_request *r =
            net_wait(net, net_push_pull(net, 0, table, keys, KEYS, values));
        for (unsigned j = 0; j < KEYS; j++)
            ck_assert_double_eq((double)r->values[j], i);
    }
    net_free(net);
}
END_TEST

START_TEST(a_slow_replica_makes_pushes_wait)
{
    struct net *net = net_new(1, 2, 1, 2);
    restart(net, (struct gw__server_config){.log_bytes = 4096});
    unsigned table = net_table(net, "t", 1, GW_PS_ADD, 0);
    unsigned primary = net->routes.slots[0].primary;
    uint64_t keys[KEYS];
    float values[KEYS];
    fill(keys, values, 1);
    net_wait(net, net_push(net, 0, table, keys, KEYS, values, GW__NO_CLOCK));
    net->paused[1 - primary] = true;
    unsigned first = net->request_count;
    for (unsigned i = 0; i < 20; i++)
        net_push(net, 0, table, keys, KEYS, values, GW__NO_CLOCK);
    net_run(net, 200);
    struct gw_ps_server_status status;
    gw__server_get_status(net->servers[primary], &status);
    ck_assert_uint_gt(status.refused, 0);
    ck_assert_uint_lt(status.slots[0].last, 12);
    for (unsigned i = 0; i < 20; i++)
        ck_assert(!net_done(net, first + i));
    net->paused[1 - primary] = false;
    net_drain(net, 5000);
    ck_assert_double_eq((double)net_value(net, table, keys[3]), 21);
    net_drain(net, 1000);
    net_compare_replicas(net);
    net_free(net);
}
END_TEST

/* A saved state without tables and with this number of commits per group. */
static size_t forge(uint8_t *bytes, size_t room, uint64_t closed)
{
    struct gw__writer w = gw__writer_on(bytes, room);
    gw__put_u32(&w, GW__SAVED_MAGIC);
    gw__put_u16(&w, SLOTS);
    gw__put_u16(&w, 0);
    gw__put_u8(&w, 0);
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
        gw__put_u64(&w, closed);
        gw__put_u64(&w, 0);
    }
    ck_assert(gw__writer_fits(&w));
    return w.used;
}

START_TEST(a_state_with_an_absurd_count_is_not_restored)
{
    const uint64_t counts[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint8_t bytes[4096];
        struct gw_ps_server_status status;
        size_t used = forge(bytes, sizeof bytes, counts[i]);
        struct net *net = net_new(2, 0, SLOTS, 1);
        net_add_silent(net);
        ck_assert_int_eq(
            gw__server_restore(net->servers[0], 0, bytes, used, NULL), GW_OK);
        net_assign_slots(net);
        gw__server_get_status(net->servers[0], &status);
        ck_assert_str_eq(
            status.text,
            "slot 0 cannot be restored: the state of slot 0 is damaged");
        net_free(net);
    }
}
END_TEST

Suite *suite_ps_server(void)
{
    Suite *suite = suite_create("ps_server");
    TCase *tcase = tcase_create("ps_server");
    tcase_add_loop_test(tcase, push_then_pull, 0, 3);
    tcase_add_loop_test(tcase, exactly_once, 1, 25);
    tcase_add_loop_test(tcase, not_finite_is_refused_as_a_whole, 0, 2);
    tcase_add_test(tcase, bad_pushes_change_nothing);
    tcase_add_test(tcase, unknown_key_lists_are_requested);
    tcase_add_test(tcase, without_a_lease_nothing_is_served);
    tcase_add_test(tcase, a_slow_replica_makes_pushes_wait);
    tcase_add_test(tcase, acknowledged_by_the_primary_alone);
    tcase_add_loop_test(tcase, without_dedupe_a_repetition_counts_twice, 0, 2);
    tcase_add_test(tcase, without_fencing_no_lease_is_needed);
    tcase_add_test(tcase, a_state_with_an_absurd_count_is_not_restored);
    tcase_add_loop_test(tcase, push_pull_sees_its_push, 1, 10);
    suite_add_tcase(suite, tcase);
    return suite;
}
