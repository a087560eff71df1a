/* SPDX-License-Identifier: MIT
 *
 * The costs of a parameter server with many servers and slots, as formulas of
 * their numbers. gradwire-parameter-server(7), COSTS, has the same formulas.
 */
#include "route_sim.h"

#include <ps/client/worker.h>

#include <stdlib.h>

Suite *suite_ps_scale(void);

enum { SERVERS = 128, SLOTS = GW_PS_SLOTS_MAX, REPLICAS = 3 };

static struct gw__routes routes;

/* Ends all moves, one by one, in the order of slots. Returns the number of
 * copies. */
static unsigned converge(const struct gw_nodes *servers)
{
    struct gw_error why;
    unsigned copies = 0;
    for (unsigned i = 0, quiet = 0; quiet < routes.slot_count;
         i = (i + 1) % routes.slot_count) {
        const struct gw__slot_route *slot = &routes.slots[i];
        quiet++;
        if (slot->learner != GW__NO_NODE) {
            ck_assert_int_eq(gw__routes_promote(&routes, i, slot->term,
                                                slot->learner, servers, &why),
                             GW_OK);
            copies++;
            quiet = 0;
        } else if (slot->successor != GW__NO_NODE) {
            ck_assert_int_eq(gw__routes_handover(&routes, i, slot->term,
                                                 slot->successor, servers,
                                                 &why),
                             GW_OK);
            quiet = 0;
        }
    }
    return copies;
}

/* Places the slots on the nodes from 0 on. */
static struct gw_nodes begin(unsigned servers, unsigned slots)
{
    const struct gw_nodes nodes = gw__nodes_first(servers);
    struct gw_ps_table_config table = {
        .name = "t", .width = 1, .updater = GW_PS_ADD, .dense = slots};
    struct gw_error why;
    unsigned number;
    gw__routes_init(&routes);
    ck_assert_int_eq(gw__routes_open(&routes, slots, REPLICAS, servers, &why),
                     GW_OK);
    ck_assert_int_eq(gw__routes_table(&routes, &table, &number, &why), GW_OK);
    ck_assert(gw__routes_servers(&routes, &nodes));
    ck_assert_uint_eq(converge(&nodes), 0);
    return nodes;
}

static void check_even(unsigned servers)
{
    unsigned replicas[GW_NODES_MAX] = {0}, primaries[GW_NODES_MAX] = {0};
    for (unsigned i = 0; i < routes.slot_count; i++) {
        const struct gw__slot_route *slot = &routes.slots[i];
        ck_assert_uint_eq(slot->count, REPLICAS);
        primaries[slot->primary]++;
        for (unsigned k = 0; k < slot->count; k++)
            replicas[slot->replica[k]]++;
    }
    for (unsigned n = 0; n < servers; n++) {
        ck_assert_uint_le(primaries[n], routes.slot_count / servers + 1);
        ck_assert_uint_le(replicas[n],
                          routes.slot_count * REPLICAS / servers + 1);
    }
}

/* ---- routes ---- */

START_TEST(a_join_moves_at_most_the_share_of_the_new_server)
{
    struct gw_nodes nodes = begin(SERVERS - 1, SLOTS);
    check_even(SERVERS - 1);
    nodes = gw__nodes_first(SERVERS);
    gw__routes_servers(&routes, &nodes);
    unsigned copies = converge(&nodes);
    ck_assert_uint_le(copies, SLOTS * REPLICAS / SERVERS + 1);
    ck_assert_uint_gt(copies, 0);
    check_even(SERVERS);
}
END_TEST

START_TEST(a_death_copies_only_the_replicas_of_the_dead_server)
{
    struct gw_nodes nodes = begin(SERVERS, SLOTS);
    gw__nodes_remove(&nodes, 77);
    gw__routes_servers(&routes, &nodes);
    ck_assert_uint_eq(converge(&nodes), SLOTS * REPLICAS / SERVERS);
    for (unsigned i = 0; i < SLOTS; i++)
        ck_assert(!gw__route_in_sync(&routes.slots[i], 77));
}
END_TEST

/* 2 + 2 R bytes per slot at rest, while terms are below 128. */
START_TEST(routes_take_a_few_bytes_per_slot)
{
    size_t used[2];
    for (unsigned i = 0; i < 2; i++) {
        begin(SERVERS, i ? SLOTS : SLOTS / 2);
        struct gw__writer w = gw__writer_on(NULL, 0);
        gw__put_routes(&w, &routes);
        used[i] = w.used;
    }
    ck_assert_uint_eq(used[1] - used[0], SLOTS / 2 * (2 + 2 * REPLICAS));
}
END_TEST

/* ---- requests ---- */

struct sent {
    unsigned messages, largest; /* segments of the largest one */
    struct gw_nodes to;
};

static void on_send(void *context, const struct gw__message_out *message)
{
    struct sent *sent = context;
    const struct gw__ps_head *head = message->parts[0].data;
    sent->messages++;
    gw__nodes_add(&sent->to, message->node);
    if (head->segments > sent->largest)
        sent->largest = head->segments;
}

/* A pull of the first row of the slots first, first + step, ... */
static struct sent pull(unsigned first, unsigned step)
{
    struct sent sent = {0};
    uint64_t keys[SLOTS], request;
    float values[SLOTS];
    size_t count = 0;
    struct gw__worker *worker;
    struct gw_error why;
    const struct gw__worker_config config = {
        .node = 300, .incarnation = {1, 1}, .context = &sent, .send = on_send};
    ck_assert_int_eq(gw__worker_new(&config, &worker, &why), GW_OK);
    gw__worker_routes(worker, 1, &routes);
    for (unsigned slot = first; slot < routes.slot_count; slot += step)
        keys[count++] = slot;
    const struct gw__request_args args = {
        .keys = keys, .count = count, .out = values, .clock = GW__NO_CLOCK};
    ck_assert_int_eq(gw__worker_push_pull(worker, 1, &args, &request, &why),
                     GW_OK);
    gw__worker_destroy(&worker);
    return sent;
}

START_TEST(a_request_sends_to_the_servers_that_it_needs_only)
{
    begin(SERVERS, SLOTS);
    for (unsigned slot = 0; slot < SLOTS; slot += 100) {
        struct sent one = pull(slot, SLOTS);
        ck_assert_uint_eq(one.messages, 1);
        ck_assert(gw_nodes_has(&one.to, routes.slots[slot].primary));
    }
    struct sent all = pull(0, 1);
    ck_assert_uint_eq(gw_nodes_count(&all.to), 64); /* the window is 64 pulls */
    ck_assert_uint_eq(all.messages, 64);
    ck_assert_uint_le(all.largest, SLOTS / SERVERS + 1);
}
END_TEST

START_TEST(a_message_has_64_slots_at_most)
{
    enum { FEW = 4 };
    begin(FEW, SLOTS);
    struct sent all = pull(0, 1);
    ck_assert_uint_eq(gw_nodes_count(&all.to), FEW);
    ck_assert_uint_eq(all.messages, SLOTS / GW_PS_SEGMENTS_MAX);
    ck_assert_uint_eq(all.largest, GW_PS_SEGMENTS_MAX);
}
END_TEST

Suite *suite_ps_scale(void)
{
    Suite *suite = suite_create("ps_scale");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_join_moves_at_most_the_share_of_the_new_server);
    tcase_add_test(tests, a_death_copies_only_the_replicas_of_the_dead_server);
    tcase_add_test(tests, routes_take_a_few_bytes_per_slot);
    tcase_add_test(tests, a_request_sends_to_the_servers_that_it_needs_only);
    tcase_add_test(tests, a_message_has_64_slots_at_most);
    suite_add_tcase(suite, tests);
    return suite;
}
