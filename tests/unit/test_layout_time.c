/* SPDX-License-Identifier: MIT
 *
 * A layout in virtual time, compared with sums by hand: two servers of two
 * ranks, whose inner link is ten times as fast as their NICs. The collectives
 * of two ranks are one exchange (recursive doubling) or two of half the size
 * (ring), and both groups of an axis share a link.
 */
#include "nets.h"

#include <check.h>
#include <gradwire/event.h>
#include <gradwire/pipe.h>
#include <gradwire/topology.h>
#include <string.h>

Suite *suite_layout_time(void);

enum { WIDTH = 64, PARAMETERS = 64 * 32 + 32 + 32 * 64 + 64 };

/* Inner: 10,000 bytes per microsecond and 1 us. A NIC: 1,000 and 10 us; a path
 * has two of them. */
static const char servers[] = "topology two\n"
                              "nic rate=1000000000 latency=10us\n"
                              "inner rate=10000000000 latency=1us\n"
                              "rack r: a b\n"
                              "host a ranks=2\n"
                              "host b ranks=2\n";
static const char layer[] = "network layer\ninput 64\ndense 64 columns\nrelu\n"
                            "dense 64 rows\nsoftmax\n";

static struct gw_topology *topology;
static struct gw_layout_timer *timer;
static struct gw_network *network;
static struct gw_layout *layout;
static struct gw_schedule *schedule;
static struct gw_error why;

static void begin(void)
{
    const struct gw_layout_costs costs = {.work_per_us = 1000, .message_us = 1};
    ck_assert_msg(!gw_topology_parse(servers, strlen(servers), "servers",
                                     &topology, &why),
                  "%s", why.text);
    ck_assert(!gw_layout_timer_new(topology, &costs, &timer, &why));
    network = NULL;
    layout = NULL;
    schedule = NULL;
}

static void end(void)
{
    gw_schedule_destroy(&schedule);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
    gw_layout_timer_destroy(&timer);
    gw_topology_destroy(&topology);
}

static void lay(const char *text, const char *name,
                struct gw_layout_options options)
{
    gw_schedule_destroy(&schedule);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
    network = net_of(text);
    layout = layout_of(network, options);
    ck_assert(!gw_schedule_make(name, options.mesh.pipe, layout->options.micros,
                                layout->options.chunks, &schedule, &why));
}

static struct gw_layout_time *time_of(enum gw_mesh_order order)
{
    struct gw_layout_time *time;
    ck_assert_msg(
        !gw_layout_simulate(timer, layout, schedule, order, &time, &why), "%s",
        why.text);
    ck_assert_double_eq_tol(time->step_us,
                            time->compute_us + time->tensor_us + time->data_us +
                                time->idle_us,
                            1e-6);
    return time;
}

/* Both ranks of a pair send `bytes` to each other, and so do both ranks of the
 * other pair; ring: two rounds of half of it. */
static double exchange_us(double bytes, double rate, double latency_us)
{
    double doubling = 1 + 2 * bytes / rate + latency_us;
    double ring = 2 * (1 + bytes / rate + latency_us);
    return doubling < ring ? doubling : ring;
}

/* 2 x 2 ranks. Forward the second layer's output is all-reduced along T. */
START_TEST(two_servers_by_hand)
{
    for (unsigned micros = 1; micros <= 16; micros *= 4) {
        double rows = 64.0 / 2 / micros, compute = 5 * rows * WIDTH * WIDTH / 2;
        double output = rows * WIDTH * 4, weights = PARAMETERS * 4;
        lay(layer, "1f1b",
            (struct gw_layout_options){
                .mesh = {2, 2, 1}, .batch = 64, .micros = micros});
        struct gw_layout_time *model = time_of(GW_MESH_MODEL);
        struct gw_layout_time *data = time_of(GW_MESH_DATA);
        ck_assert_double_eq_tol(model->compute_us, micros * compute / 1000,
                                1e-6);
        ck_assert_double_eq_tol(model->tensor_us,
                                micros * exchange_us(output, 1e4, 1), 1e-4);
        ck_assert_double_eq_tol(model->data_us, exchange_us(weights, 1e3, 20),
                                1e-4);
        ck_assert_double_eq_tol(data->tensor_us,
                                micros * exchange_us(output, 1e3, 20), 1e-4);
        ck_assert_double_eq_tol(data->data_us, exchange_us(weights, 1e4, 1),
                                1e-4);
        ck_assert_double_eq(model->idle_us, 0);
        /* One large activation: better between servers than the gradients. */
        ck_assert(micros == 1 ? data->step_us < model->step_us
                              : model->step_us < data->step_us);
        gw_layout_time_destroy(&model);
        gw_layout_time_destroy(&data);
    }
}
END_TEST

/* The bytes on the links equal those that the calls send. */
START_TEST(links_carry_what_is_sent)
{
    uint64_t crossed[2] = {0}, sent = 0;
    lay(layer, "1f1b",
        (struct gw_layout_options){
            .mesh = {2, 2, 1}, .batch = 64, .micros = 4});
    for (unsigned order = 0; order < 2; order++) {
        struct gw_layout_time *time = time_of((enum gw_mesh_order)order);
        for (unsigned i = 0; i < time->links; i++) {
            struct gw_topology_link link;
            gw_topology_link(topology, i, &link);
            if (link.kind == GW_LINK_NIC && link.out)
                crossed[order] += time->link_bytes[i];
        }
        for (unsigned i = 0; i < time->call_count; i++)
            if (time->calls[i].axis == (order ? 'T' : 'D'))
                sent += 4 * time->calls[i].calls * time->calls[i].bytes;
        ck_assert_uint_eq(crossed[order], sent);
        sent = 0;
        gw_layout_time_destroy(&time);
    }
    ck_assert_uint_eq(crossed[GW_MESH_MODEL], 4 * PARAMETERS * 4);
    ck_assert_uint_eq(crossed[GW_MESH_DATA], 4 * 4 * 8 * WIDTH * 4);
}
END_TEST

/* The bytes of ring calls are those of gw_layout_price. */
START_TEST(calls_are_priced)
{
    const struct gw_layout_costs free_messages = {0};
    for (unsigned mode = 0; mode < 3; mode++)
        for (unsigned group = 0; group <= 2; group++) {
            if (mode == GW_DATA_REPLICATED && group == 2)
                continue;
            struct gw_layout_price price;
            uint64_t sent[128] = {0};
            gw_layout_timer_destroy(&timer);
            ck_assert(
                !gw_layout_timer_new(topology, &free_messages, &timer, &why));
            lay("network n\ninput 64\ndense 512 batch\nrelu batch\n"
                "dense 64 columns\nsoftmax\n",
                "gpipe",
                (struct gw_layout_options){.mesh = {2, 2, 1},
                                           .mode = (enum gw_data_mode)mode,
                                           .shard_group = group,
                                           .batch = 64,
                                           .micros = 2});
            gw_layout_price(layout, 0, &price);
            struct gw_layout_time *time = time_of(GW_MESH_MODEL);
            for (unsigned i = 0; i < time->call_count; i++)
                sent[(int)time->calls[i].axis] +=
                    time->calls[i].calls * time->calls[i].bytes;
            /* With two ranks, recursive doubling of an all-reduce sends as much
             * as a ring. */
            ck_assert_uint_eq(sent['D'], price.data_bytes);
            ck_assert_uint_eq(sent['T'], price.tensor_forward_bytes +
                                             price.tensor_backward_bytes +
                                             price.tensor_weight_bytes);
            gw_layout_time_destroy(&time);
        }
}
END_TEST

/* A named algorithm is used, also if it is slower. */
START_TEST(the_named_all_reduce_is_used)
{
    struct gw_layout_costs costs = {.message_us = 1, .allreduce = "one_shot"};
    gw_layout_timer_destroy(&timer);
    ck_assert(!gw_layout_timer_new(topology, &costs, &timer, &why));
    lay("network n\ninput 64\ndense 64\nsoftmax\n", "gpipe",
        (struct gw_layout_options){.mesh = {4, 1, 1}, .batch = 64});
    struct gw_layout_time *time = time_of(GW_MESH_MODEL);
    ck_assert_uint_eq(time->call_count, 1);
    ck_assert_str_eq(time->calls[0].algo, "one_shot");
    gw_layout_time_destroy(&time);
    gw_layout_timer_destroy(&timer);
    costs.allreduce = "no_shot";
    ck_assert_int_eq(gw_layout_timer_new(topology, &costs, &timer, &why),
                     GW_EINVAL);
}
END_TEST

/* Two stages on two servers, one micro-batch: F, message, F, B, message, B. */
START_TEST(stages_wait_for_messages)
{
    double rows = 16, pass = rows * WIDTH * WIDTH / 1000;
    double message = 1 + rows * WIDTH * 4 / 1000 + 20;
    lay("network n\ninput 64\ndense 64\nstage\ndense 64\nsoftmax\n", "1f1b",
        (struct gw_layout_options){.mesh = {2, 1, 2}, .batch = 32});
    struct gw_layout_time *time = time_of(GW_MESH_DATA);
    /* Both data ranks of a stage are on one server: they share the cards. */
    message += rows * WIDTH * 4 / 1000;
    ck_assert_uint_eq(time->stage, 1);
    ck_assert_double_eq_tol(time->compute_us, 3 * pass, 1e-6);
    /* The first stage wants no gradient of its input. */
    ck_assert_double_eq_tol(time->idle_us, 2 * pass + 2 * message, 1e-4);
    gw_layout_time_destroy(&time);
}
END_TEST

/* 1f1b keeps p - s micro-batches, gpipe all of them. */
START_TEST(memory_is_weights_state_and_activations)
{
    static const char text[] =
        "network n\ninput 64\ndense 64\nstage\ndense 64\nsoftmax\n";
    const struct gw_layout_options options = {
        .mesh = {1, 1, 2}, .batch = 64, .micros = 4, .optimiser_words = 2};
    uint64_t tensor = 16 * WIDTH * 4, weights = (64 * 64 + 64) * 4;
    static const char *const names[] = {"1f1b", "gpipe"};
    for (unsigned i = 0; i < 2; i++) {
        lay(text, names[i], options);
        /* Input, output and its gradient; the loss keeps its gradient. */
        ck_assert_uint_eq(gw_layout_activation_bytes(layout, 0), 3 * tensor);
        ck_assert_uint_eq(gw_layout_activation_bytes(layout, 1), 3 * tensor);
        ck_assert_uint_eq(gw_layout_peak_bytes(layout, schedule, 0),
                          (i ? 4U : 2U) * 3 * tensor);
        ck_assert_uint_eq(gw_layout_peak_bytes(layout, schedule, 1),
                          (i ? 4U : 1U) * 3 * tensor);
        struct gw_layout_time *time = time_of(GW_MESH_MODEL);
        ck_assert_uint_eq(time->held_bytes,
                          4 * weights + (i ? 4U : 2U) * 3 * tensor);
        gw_layout_time_destroy(&time);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    struct gw_layout_time *time;
    lay(layer, "1f1b",
        (struct gw_layout_options){.mesh = {4, 2, 1}, .batch = 64});
    ck_assert_int_eq(
        gw_layout_simulate(timer, layout, schedule, GW_MESH_DATA, &time, &why),
        GW_EINVAL);
    ck_assert_ptr_null(time);
    ck_assert_str_eq(why.text, "the mesh has 8 ranks, but the topology has 4");
    lay(layer, "1f1b",
        (struct gw_layout_options){.mesh = {2, 2, 1}, .batch = 64});
    layout->options.micros = 2;
    ck_assert_int_eq(
        gw_layout_simulate(timer, layout, schedule, GW_MESH_DATA, &time, &why),
        GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "the layout has 1, 2 and 1"));
}
END_TEST

Suite *suite_layout_time(void)
{
    Suite *suite = suite_create("layout_time");
    TCase *tests = tcase_create("by hand");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, two_servers_by_hand);
    tcase_add_test(tests, links_carry_what_is_sent);
    tcase_add_test(tests, calls_are_priced);
    tcase_add_test(tests, the_named_all_reduce_is_used);
    tcase_add_test(tests, stages_wait_for_messages);
    tcase_add_test(tests, memory_is_weights_state_and_activations);
    tcase_add_test(tests, what_does_not_fit_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
