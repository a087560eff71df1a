/* SPDX-License-Identifier: MIT
 *
 * Routes driven by hand: errors, tables, keys, bytes.
 */
#include "route_sim.h"

Suite *suite_route_hand(void);

static struct route_sim two_servers(void)
{
    struct route_sim w = {.seed = 1, .promoted = 255};
    struct gw_error why;
    gw_rng_seed(&w.rng, w.seed);
    gw__routes_init(&w.routes);
    ck_assert_int_eq(gw__routes_open(&w.routes, 8, 2, 2, &why), GW_OK);
    ck_assert_int_eq(gw__routes_open(&w.routes, 8, 2, 2, &why), GW_OK);
    ck_assert_int_eq(gw__routes_open(&w.routes, 9, 2, 2, &why), GW_EMISMATCH);
    ck_assert_uint_eq(w.routes.version, 1);
    routes_set_servers(&w, 1);
    ck_assert_uint_eq(w.routes.slots[0].term, 0); /* one is too few */
    routes_set_servers(&w, 3);
    ck_assert_uint_eq(w.routes.slots[0].term, 1);
    return w;
}

START_TEST(what_cannot_be_opened)
{
    static const unsigned bad[][3] = {{0, 1, 1}, {GW_PS_SLOTS_MAX + 1, 1, 1},
                                      {1, 0, 1}, {1, 6, 1},
                                      {1, 1, 0}, {1, 1, GW__ROUTE_NODES + 1}};
    struct gw__routes routes;
    struct gw_error why;
    gw__routes_init(&routes);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(
            gw__routes_open(&routes, bad[i][0], bad[i][1], bad[i][2], &why),
            GW_EINVAL);
    ck_assert_uint_eq(routes.slot_count, 0);
}
END_TEST

START_TEST(only_moves_in_progress_end_and_only_in_their_term)
{
    struct route_sim w = two_servers();
    struct gw_error why;
    routes_set_servers(&w, 7);
    struct gw__routes before = w.routes;
    unsigned i = 0;
    while (w.routes.slots[i].learner != 2)
        ck_assert_uint_lt(++i, 8);
    uint64_t term = w.routes.slots[i].term;
    ck_assert_int_eq(
        gw__routes_promote(&w.routes, i, term - 1, 2, NODE_BITS(7), &why),
        GW_EINVAL);
    ck_assert_int_eq(
        gw__routes_promote(&w.routes, i, term, 1, NODE_BITS(7), &why),
        GW_EINVAL);
    ck_assert_int_eq(
        gw__routes_promote(&w.routes, 8, term, 2, NODE_BITS(7), &why),
        GW_EINVAL);
    ck_assert_str_eq(why.text, "slot 8 does not exist");
    ck_assert_int_eq(
        gw__routes_promote(&w.routes, i, term, 255, NODE_BITS(7), &why),
        GW_EINVAL);
    ck_assert_int_eq(
        gw__routes_handover(&w.routes, i, term, 255, NODE_BITS(7), &why),
        GW_EINVAL);
    ck_assert_int_eq(
        gw__routes_handover(&w.routes, i, term, 1, NODE_BITS(7), &why),
        GW_EINVAL);
    ck_assert_mem_eq(&before, &w.routes, sizeof before);
    w.promoted = 2;
    ck_assert_int_eq(
        gw__routes_promote(&w.routes, i, term, 2, NODE_BITS(7), &why), GW_OK);
    ck_assert(gw__route_in_sync(&w.routes.slots[i], 2));
}
END_TEST

START_TEST(the_last_server_takes_the_slots_with_it_and_they_stay_lost)
{
    struct route_sim w = two_servers();
    routes_set_servers(&w, 2);
    ck_assert_uint_eq(routes_lost(&w), 0);
    routes_set_servers(&w, 0);
    ck_assert_uint_eq(routes_lost(&w), 8);
    routes_set_servers(&w, 4);
    routes_converge(&w);
    ck_assert_uint_eq(routes_lost(&w), 8);
    ck_assert(gw__routes_is_empty(&w.routes, 2));
}
END_TEST

START_TEST(who_drains_gives_all_away_unless_none_is_left)
{
    struct route_sim w = two_servers();
    routes_drain(&w, 0);
    routes_converge(&w);
    ck_assert(gw__routes_is_empty(&w.routes, 0));
    routes_drain(&w, 1);
    routes_converge(&w);
    ck_assert_uint_eq(routes_lost(&w), 0);
    ck_assert(!gw__routes_is_empty(&w.routes, 1));
    routes_set_servers(&w, 7); /* a new one takes them */
    routes_converge(&w);
    ck_assert(gw__routes_is_empty(&w.routes, 1));
    routes_check_quiet(&w);
}
END_TEST

START_TEST(keys_are_spread_over_the_slots)
{
    struct route_sim w = two_servers();
    const struct gw_ps_table_config sparse = {.width = 1};
    const struct gw_ps_table_config dense = {.width = 1, .dense = 20};
    unsigned counts[8] = {0}, last = 0;
    for (uint64_t key = 0; key < 8000; key++)
        counts[gw__route_slot(&w.routes, &sparse, key)]++;
    for (unsigned i = 0; i < 8; i++)
        ck_assert(counts[i] > 850 && counts[i] < 1150);
    for (uint64_t key = 0; key < 20; key++) {
        unsigned slot = gw__route_slot(&w.routes, &dense, key);
        ck_assert(slot == last || slot == last + 1);
        last = slot;
    }
    ck_assert_uint_eq(last, 7);
    ck_assert_uint_eq(gw__route_slot(&w.routes, &dense, UINT64_MAX), 7);
    ck_assert_uint_lt(gw__route_slot(&w.routes, &sparse, UINT64_MAX), 8);
}
END_TEST

/* ---- tables ---- */

START_TEST(a_table_is_made_once_and_has_one_configuration)
{
    struct route_sim w = two_servers();
    struct gw_ps_table_config config = {.name = "w", .width = 4, .rate = 1};
    struct gw_error why;
    unsigned table = 9;
    uint64_t version = w.routes.version;
    ck_assert_int_eq(gw__routes_table(&w.routes, &config, &table, &why), GW_OK);
    ck_assert_uint_eq(table, 0);
    ck_assert_int_eq(gw__routes_table(&w.routes, &config, &table, &why), GW_OK);
    ck_assert_uint_eq(w.routes.version, version + 1);
    config.width = 5;
    ck_assert_int_eq(gw__routes_table(&w.routes, &config, &table, &why),
                     GW_EMISMATCH);
    config.width = 0;
    ck_assert_int_eq(gw__routes_table(&w.routes, &config, &table, &why),
                     GW_EINVAL);
    config.width = 1;
    for (unsigned i = 1; i < GW_PS_TABLES_MAX; i++) {
        config.name[0] = (char)('A' + i);
        ck_assert_int_eq(gw__routes_table(&w.routes, &config, &table, &why),
                         GW_OK);
        ck_assert_uint_eq(table, i);
    }
    config.name[0] = 'z';
    ck_assert_int_eq(gw__routes_table(&w.routes, &config, &table, &why),
                     GW_ENOMEM);
}
END_TEST

START_TEST(what_no_table_can_be)
{
    const struct gw_ps_table_config good = {.name = "w", .width = 1};
    struct gw_ps_table_config bad[6];
    struct gw_error why;
    ck_assert_int_eq(gw__route_check_table(&good, &why), GW_OK);
    for (unsigned i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].name[0] = 0;
    bad[1].name[0] = ' ';
    memset(bad[2].name, 'x', sizeof bad[2].name);
    bad[3].updater = GW_PS_UPDATERS;
    bad[4].group = GW_PS_GROUPS_MAX;
    bad[5].l1 = 1.0F / 0.0F;
    for (unsigned i = 0; i < 6; i++)
        ck_assert_int_eq(gw__route_check_table(&bad[i], &why), GW_EINVAL);
}
END_TEST

/* ---- bytes ---- */

static size_t encode(const struct gw__routes *routes, uint8_t *out, size_t room)
{
    struct gw__writer writer = gw__writer_on(out, room);
    gw__put_routes(&writer, routes);
    ck_assert(gw__writer_fits(&writer));
    return writer.used;
}

static bool decode(const uint8_t *data, size_t bytes, struct gw__routes *routes)
{
    struct gw__reader reader = gw__reader_on(data, bytes);
    gw__get_routes(&reader, routes);
    return gw__reader_done(&reader);
}

/* A random state with moves under way, with tables. */
static struct route_sim with_moves(uint64_t seed)
{
    struct route_sim w = routes_begin(seed);
    struct gw_error why;
    unsigned table;
    for (unsigned i = routes_draw(&w, GW_PS_TABLES_MAX); i > 0; i--) {
        struct gw_ps_table_config config = {.width = i, .beta1 = 0.9F};
        config.name[0] = (char)('a' + i);
        ck_assert_int_eq(gw__routes_table(&w.routes, &config, &table, &why),
                         GW_OK);
    }
    for (unsigned i = 0; i < 30; i++) {
        routes_set_servers(&w, gw_rng_below(&w.rng, 255));
        for (unsigned k = routes_draw(&w, 20); k > 0; k--)
            routes_advance(&w);
        if (w.servers && routes_draw(&w, 4) == 0)
            routes_drain(&w, routes_draw_node(&w, w.servers));
    }
    return w;
}

START_TEST(bytes_come_back_and_rubbish_does_not)
{
    static uint8_t bytes[16384], again[16384];
    struct gw__routes back;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct route_sim w = with_moves(seed);
        size_t used = encode(&w.routes, bytes, sizeof bytes);
        ck_assert(decode(bytes, used, &back));
        ck_assert_uint_eq(encode(&back, again, sizeof again), used);
        ck_assert_mem_eq(again, bytes, used);
        for (size_t length = 0; length < used; length += 7)
            ck_assert(!decode(bytes, length, &back));
        for (unsigned i = 0; i < 300; i++) {
            size_t at = routes_draw(&w, (unsigned)used);
            uint8_t was = bytes[at];
            bytes[at] = (uint8_t)routes_draw(&w, 256);
            if (decode(bytes, used, &back)) {
                ck_assert_uint_eq(encode(&back, again, sizeof again), used);
                ck_assert_mem_eq(again, bytes, used);
            }
            bytes[at] = was;
        }
    }
}
END_TEST

Suite *suite_route_hand(void)
{
    Suite *suite = suite_create("route_hand");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, what_cannot_be_opened);
    tcase_add_test(t, only_moves_in_progress_end_and_only_in_their_term);
    tcase_add_test(t,
                   the_last_server_takes_the_slots_with_it_and_they_stay_lost);
    tcase_add_test(t, who_drains_gives_all_away_unless_none_is_left);
    tcase_add_test(t, keys_are_spread_over_the_slots);
    tcase_add_test(t, a_table_is_made_once_and_has_one_configuration);
    tcase_add_test(t, what_no_table_can_be);
    tcase_add_test(t, bytes_come_back_and_rubbish_does_not);
    suite_add_tcase(suite, t);
    return suite;
}
