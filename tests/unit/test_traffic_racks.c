/* SPDX-License-Identifier: MIT
 *
 * Plans in virtual time on clusters: the bytes that leave racks and the
 * resulting times, every algorithm against its price, the events of a
 * recording, and refused simulations.
 */
#include "traffic_run.h"

#include <check.h>
#include <math.h>
#include <string.h>

Suite *suite_traffic_racks(void);

/* ---- racks ---- */

static const char racks[] = "topology racks\nnic rate=" RATE " latency=5us\n"
                            "uplink oversubscription=4:1 latency=10us\n"
                            "rack a: a[0-7]\nrack b: b[0-7]\n"
                            "rack c: c[0-7]\nrack d: d[0-7]\n";

static double expect_uplinks(const char *algo, enum gw_rank_order order,
                             size_t bytes, double buffers)
{
    struct gw_topology *t = traffic_topology(racks);
    struct gw_plan *plan =
        traffic_make(GW_ALLREDUCE, algo, 32, gw_topology_rack_ranks(t));
    gw_topology_order(t, order);
    struct gw_topology_result *r = traffic_simulate(t, plan, bytes, 1, 0);
    for (unsigned i = 0; i < r->links; i++) {
        struct gw_topology_link link;
        gw_topology_link(t, i, &link);
        if (link.kind == GW_LINK_UPLINK)
            ck_assert_msg((double)r->link_bytes[i] == buffers * (double)bytes,
                          "%s: link %u carries %llu bytes", algo, i,
                          (unsigned long long)r->link_bytes[i]);
    }
    ck_assert((double)r->uplink_bytes_max == buffers * (double)bytes);
    ck_assert((double)r->uplink_bytes == 4 * buffers * (double)bytes);
    double us = r->time_us;
    gw_topology_result_destroy(&r);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
    return us;
}

/* k racks of m: 2(p-1)/p S over each uplink in rack order, m times that when
 * every neighbour is in another rack, 2(k-1)/k S for the hierarchy. */
START_TEST(uplinks_carry_what_the_formulas_give)
{
    size_t bytes = 1 << 20;
    double ordered = expect_uplinks("ring", GW_ORDER_RACKS, bytes, 1.9375);
    double badly = expect_uplinks("ring", GW_ORDER_INTERLEAVED, bytes, 15.5);
    double levels = expect_uplinks("hierarchical", GW_ORDER_RACKS, bytes, 1.5);
    /* Eight share an uplink with the rate of two NICs. */
    traffic_expect(badly, 62 * (1 + 30 + 4 * (double)bytes / 32));
    ck_assert(badly > 3 * ordered && badly > 2 * levels);
    bytes = 32; /* only latencies matter */
    ordered = expect_uplinks("ring", GW_ORDER_RACKS, bytes, 1.9375);
    badly = expect_uplinks("ring", GW_ORDER_INTERLEAVED, bytes, 15.5);
    levels = expect_uplinks("hierarchical", GW_ORDER_RACKS, bytes, 1.5);
    ck_assert(badly > ordered && ordered > levels);
}
END_TEST

/* ---- all algorithms ---- */

static void expect_price(const struct gw_topology *t,
                         const struct gw_plan *plan, size_t bytes)
{
    struct gw_price price;
    struct gw_cost_model model = {.beta_us_per_byte = 1};
    ck_assert(gw_plan_price(plan, bytes, 1, &model, &price, NULL) == GW_OK);
    struct gw_topology_result *r = traffic_simulate(t, plan, bytes, 1, 0.01);
    struct gw_topology_result *again =
        traffic_simulate(t, plan, bytes, 1, 0.01);
    const char *algo = plan->algo;
    ck_assert_msg(r->messages == price.messages, "%s: messages", algo);
    ck_assert_msg(r->bytes == price.bytes, "%s: bytes", algo);
    ck_assert_msg(r->time_us >= price.bound_us, "%s: %g us, bound %g", algo,
                  r->time_us, price.bound_us);
    ck_assert(
        memcmp(r->rank_us, again->rank_us, r->ranks * sizeof *r->rank_us) == 0);
    for (unsigned rank = 0; rank < plan->ranks; rank++)
        ck_assert_msg(r->rank_us[rank] <= r->time_us &&
                          (r->rank_us[rank] > 0 || plan->ranks == 1),
                      "%s: rank %u never ends", algo, rank);
    for (unsigned i = 0; i < r->links; i++)
        ck_assert_msg(gw_topology_utilisation(t, r, i) <= 1 + 1e-9,
                      "%s: link %u", algo, i);
    gw_topology_result_destroy(&again);
    gw_topology_result_destroy(&r);
}

START_TEST(every_algorithm_sends_what_its_price_has)
{
    static const size_t sizes[] = {1, 1000, 4096 * 9};
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    struct gw_topology *t =
        traffic_topology("topology t\nnic rate=" RATE " latency=3us\n"
                         "uplink rate=" RATE " latency=1us\nrack a: a[0-7]\n"
                         "rack b: b[0-4]\nrack c: c0\nhost a1 ranks=2\n"
                         "nic b3 rate=98K\n");
    for (size_t i = 0; i < count; i++)
        for (unsigned p = 1; p <= 11; p += p < 6 ? 1 : 2) {
            if (!algos[i]->valid(p))
                continue;
            struct gw_plan *plan =
                traffic_make(algos[i]->collective, algos[i]->name, p, 0);
            gw_topology_order(t, p % 2 ? GW_ORDER_RACKS : GW_ORDER_INTERLEAVED);
            expect_price(t, plan, sizes[(i + p) % 3]);
            gw_plan_destroy(&plan);
        }
    gw_topology_destroy(&t);
}
END_TEST

/* ---- events ---- */

struct tape {
    struct gw_sink sink;
    unsigned kinds[GW_EVENT_KINDS];
    uint64_t last_ns;
    uint64_t op_end_ns[8];
    uint64_t bytes_sent;
    bool backwards;
};

static void tape_emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct tape *tape = (struct tape *)sink;
    tape->backwards = tape->backwards || event->time_ns < tape->last_ns;
    tape->last_ns = event->time_ns;
    tape->kinds[event->kind]++;
    if (event->kind == GW_EV_OP_END)
        tape->op_end_ns[event->rank] = event->time_ns;
    if (event->kind == GW_EV_SEND)
        tape->bytes_sent += event->bytes;
    if (event->kind == GW_EV_APPLY)
        ck_assert(tape->op_end_ns[event->rank] == 0);
}

START_TEST(events_are_those_of_a_run)
{
    struct tape tape = {.sink = {.emit = tape_emit}};
    struct gw_topology *t = traffic_topology(RACK);
    struct gw_plan *plan = traffic_make(GW_ALLREDUCE, "ring", 5, 0);
    struct gw_topology_run simulation = {.plan = plan,
                                         .count = 6400,
                                         .elem_bytes = 4,
                                         .message_us = 1,
                                         .events = &tape.sink};
    struct gw_topology_result *r;
    ck_assert(gw_topology_simulate(t, &simulation, &r, NULL) == GW_OK);
    ck_assert(!tape.backwards);
    ck_assert_uint_eq(tape.kinds[GW_EV_OP_BEGIN], 5);
    ck_assert_uint_eq(tape.kinds[GW_EV_OP_END], 5);
    ck_assert_uint_eq(tape.kinds[GW_EV_SEND], plan->transfer_count);
    ck_assert_uint_eq(tape.kinds[GW_EV_APPLY], plan->transfer_count);
    ck_assert_uint_eq(tape.bytes_sent, r->bytes);
    for (unsigned rank = 0; rank < 5; rank++)
        ck_assert(fabs((double)tape.op_end_ns[rank] / 1e3 - r->rank_us[rank]) <
                  0.0011);
    gw_topology_result_destroy(&r);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

/* ---- refused simulations ---- */

static void expect_refusal(struct gw_topology_run simulation,
                           const char *sentence)
{
    struct gw_topology *t = traffic_topology(RACK);
    struct gw_topology_result *r;
    struct gw_error why = {0};
    ck_assert(gw_topology_simulate(t, &simulation, &r, &why) == GW_EINVAL);
    ck_assert_str_eq(why.text, sentence);
    ck_assert_ptr_null(r);
    gw_topology_destroy(&t);
}

START_TEST(what_cannot_be_simulated_is_refused)
{
    struct gw_plan *three = traffic_make(GW_ALLREDUCE, "ring", 3, 0);
    struct gw_plan *many = traffic_make(GW_ALLREDUCE, "ring", 19, 0);
    expect_refusal(
        (struct gw_topology_run){.plan = many, .count = 1, .elem_bytes = 1},
        "the plan is for 19 ranks, but topology t has 18");
    expect_refusal((struct gw_topology_run){.plan = three, .count = 1},
                   "an element must have 1 to 64 bytes, not 0");
    expect_refusal(
        (struct gw_topology_run){
            .plan = three, .count = SIZE_MAX / 2, .elem_bytes = 4},
        "9223372036854775807 elements are more than a vector can have");
    expect_refusal(
        (struct gw_topology_run){
            .plan = three, .count = 1, .elem_bytes = 1, .message_us = -1},
        "costs must be 0 or more");
    expect_refusal((struct gw_topology_run){.plan = three,
                                            .count = (size_t)1 << 44,
                                            .elem_bytes = 4},
                   "the run takes more than 53 days of simulated time");
    gw_plan_destroy(&many);
    gw_plan_destroy(&three);
}
END_TEST

Suite *suite_traffic_racks(void)
{
    Suite *suite = suite_create("traffic_racks");
    TCase *whole = tcase_create("traffic: racks, algorithms, events");
    tcase_add_test(whole, uplinks_carry_what_the_formulas_give);
    tcase_add_test(whole, every_algorithm_sends_what_its_price_has);
    tcase_add_test(whole, events_are_those_of_a_run);
    tcase_add_test(whole, what_cannot_be_simulated_is_refused);
    suite_add_tcase(suite, whole);
    return suite;
}
