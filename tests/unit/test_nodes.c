/* SPDX-License-Identifier: MIT
 *
 * Sets of nodes beyond one word, their bytes and texts; and packed holdings:
 * whatever the sets are, they are unpacked equal, and the holdings of a large
 * ring stay small.
 */
#include "hold.h"

#include <string.h>

Suite *suite_nodes(void);

enum { SEEDS = 300 };

static struct gw_nodes draw_set(struct gw_rng *rng)
{
    struct gw_nodes set = {{0}};
    unsigned runs = (unsigned)gw_rng_below(rng, 5);
    for (unsigned i = 0; i < runs; i++) {
        unsigned node = (unsigned)gw_rng_below(rng, GW__NODES_MAX);
        unsigned end = node + 1 + (unsigned)gw_rng_below(rng, 70);
        for (; node < end && node < GW__NODES_MAX; node++)
            gw__nodes_add(&set, node);
    }
    return set;
}

START_TEST(sets_survive_the_journey)
{
    uint8_t bytes[1024];
    struct gw_rng rng;
    gw_rng_seed(&rng, (uint64_t)_i);
    struct gw_nodes set = draw_set(&rng), other = draw_set(&rng);
    struct gw__writer w = gw__writer_on(bytes, sizeof bytes);
    gw__put_nodes(&w, &set);
    ck_assert(gw__writer_fits(&w));
    struct gw__reader r = gw__reader_on(bytes, w.used);
    struct gw_nodes back = gw__get_nodes(&r);
    ck_assert(gw__reader_done(&r) && gw__nodes_equal(set, back));
    for (size_t cut = 0; cut < w.used; cut++) {
        r = gw__reader_on(bytes, cut);
        (void)gw__get_nodes(&r);
        ck_assert(!gw__reader_done(&r));
    }
    ck_assert_uint_eq(gw__nodes_count(gw__nodes_or(set, other)) +
                          gw__nodes_count(gw__nodes_and(set, other)),
                      gw__nodes_count(set) + gw__nodes_count(other));
    ck_assert(gw__nodes_within(gw__nodes_minus(set, other), set));
}
END_TEST

START_TEST(the_nodes_of_a_set_are_found_in_order)
{
    struct gw_nodes set = gw__nodes_only(63);
    gw__nodes_add(&set, 64);
    gw__nodes_add(&set, GW__NODES_MAX - 1);
    ck_assert_uint_eq(gw__nodes_next(&set, 0), 63);
    ck_assert_uint_eq(gw__nodes_next(&set, 64), 64);
    ck_assert_uint_eq(gw__nodes_next(&set, 65), GW__NODES_MAX - 1);
    ck_assert_uint_eq(gw__nodes_next(&set, GW__NODES_MAX), GW__NODES_MAX);
    ck_assert(gw_nodes_has(&set, 64) && !gw_nodes_has(&set, 65));
    ck_assert(!gw_nodes_has(&set, GW__NODES_MAX));
    ck_assert_uint_eq(gw_nodes_count(&set), 3);
    ck_assert_uint_eq(gw__nodes_count(gw__nodes_first(65)), 65);
    ck_assert_uint_eq(gw__nodes_count(gw__nodes_first(9999)), GW__NODES_MAX);
}
END_TEST

START_TEST(texts_list_few_and_shorten_many)
{
    struct gw_nodes set = gw__nodes_first(4);
    char text[96], little[20];
    gw__nodes_add(&set, 70);
    gw__nodes_add(&set, 71);
    gw__nodes_text(&set, text, sizeof text);
    ck_assert_str_eq(text, "0-3, 70, 71");
    gw__nodes_text(&set, little, sizeof little);
    ck_assert_str_eq(little, "0-3, 70");
    gw__nodes_text(&(const struct gw_nodes){{0}}, text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

/* A word has the nodes below 63, or three runs. */
START_TEST(small_sets_are_words)
{
    static const uint64_t masks[] = {0, 1, 0x5555555555555555, UINT64_MAX >> 1};
    struct gw_nodes set, back;
    for (unsigned i = 0; i < sizeof masks / sizeof *masks; i++) {
        set = node_set(masks[i]);
        ck_assert_uint_eq(gw__nodes_pack(&set), masks[i]);
        ck_assert(gw__nodes_unpack(masks[i], &back));
        ck_assert(gw__nodes_equal(back, set));
    }
    for (unsigned count = 64; count <= GW__NODES_MAX; count++) {
        set = gw__nodes_first(count);
        gw__nodes_remove(&set, 9);
        gw__nodes_remove(&set, count - 2);
        ck_assert(gw__nodes_unpack(gw__nodes_pack(&set), &back));
        ck_assert(gw__nodes_equal(back, set));
    }
}
END_TEST

START_TEST(words_of_other_sets_are_hashes)
{
    struct gw_nodes set = {{0}}, back = gw__nodes_only(3);
    for (unsigned i = 0; i < 4; i++)
        gw__nodes_add(&set, 60 + 2 * i);
    uint64_t packed = gw__nodes_pack(&set);
    ck_assert(gw__nodes_is_hash(packed));
    ck_assert(!gw__nodes_unpack(packed, &back));
    ck_assert(gw__nodes_is_empty(back));
    gw__nodes_remove(&set, 60);
    ck_assert(!gw__nodes_is_hash(gw__nodes_pack(&set)));
    gw__nodes_add(&set, 58);
    ck_assert_uint_ne(gw__nodes_pack(&set), packed);
}
END_TEST

/* Runs beyond the last node, in another order or in another place. */
START_TEST(malformed_words_are_refused)
{
    const struct gw_nodes two = node_set(UINT64_MAX << 60);
    const uint64_t runs = UINT64_C(2) << 62, good = gw__nodes_pack(&two);
    const uint64_t wrong[] = {runs,
                              runs | 575 << 10 | 2,
                              runs | 5 << 10 | 1,
                              good | UINT64_C(1) << 61,
                              good | (UINT64_C(62) << 10 | 1) << 20,
                              runs | (good & ~runs) << 20};
    struct gw_nodes back;
    ck_assert_uint_eq(good, runs | 60 << 10 | 4);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(!gw__nodes_unpack(wrong[i], &back), "word %u", i);
        ck_assert(gw__nodes_is_empty(back));
    }
}
END_TEST

START_TEST(lists_keep_their_order_and_repeat_nothing)
{
    static const uint16_t list[] = {5, 6, 7, 300, 2, 1, 0};
    uint16_t back[GW__NODES_MAX];
    uint8_t bytes[64];
    struct gw__writer w = gw__writer_on(bytes, sizeof bytes);
    gw__put_node_list(&w, list, 7);
    struct gw__reader r = gw__reader_on(bytes, w.used);
    ck_assert_uint_eq(gw__get_node_list(&r, back), 7);
    ck_assert(gw__reader_done(&r));
    ck_assert_mem_eq(back, list, sizeof list);
    bytes[2] = 6; /* 6, 7, 8 and then 300; 6 once is right */
    bytes[6] = 7;
    bytes[7] = 0;
    r = gw__reader_on(bytes, w.used);
    (void)gw__get_node_list(&r, back);
    ck_assert(!gw__reader_done(&r));
}
END_TEST

/* ---- holdings ---- */

static void expect_same(const struct gw__holdings *holdings,
                        const struct gw__places *places,
                        const struct gw__held_chunk *held, unsigned chunks)
{
    static struct gw_nodes sets[GW__REPORT_CHUNKS_MAX];
    ck_assert(gw__holdings_match(holdings, places, chunks));
    gw__holdings_unpack(holdings, places, sets);
    for (unsigned c = 0; c < chunks; c++) {
        struct gw__held_chunk one = gw__holdings_of(holdings, places, c);
        ck_assert(gw__nodes_equal(one.set, held[c].set));
        ck_assert(gw__nodes_equal(sets[c], held[c].set));
        ck_assert_int_eq(one.final, held[c].final);
    }
}

static void expect_journey(const struct gw__holdings *holdings)
{
    uint8_t bytes[512];
    struct gw__holdings back;
    struct gw__writer w = gw__writer_on(bytes, sizeof bytes);
    gw__put_holdings(&w, holdings);
    struct gw__reader r = gw__reader_on(bytes, w.used);
    gw__get_holdings(&r, &back);
    ck_assert(gw__reader_done(&r));
    ck_assert_mem_eq(&back, holdings, sizeof back);
}

/* A member in the middle of an op, in which `dead` places (every 20th) do not
 * take part: its partial sums begin after the chunk's own place. */
static void hold_partials(const struct gw__places *places, unsigned self,
                          unsigned dead, struct gw__held_chunk *held,
                          unsigned chunks)
{
    for (unsigned c = 0; c < chunks; c++) {
        held[c] = (struct gw__held_chunk){.final = false};
        for (unsigned i = 1; i <= places->count; i++) {
            unsigned place = (c + i) % places->count;
            bool takes_part = place % 20 != 3 || place / 20 >= dead;
            if (takes_part)
                gw__nodes_add(&held[c].set, places->nodes[place]);
            if (place == self)
                break;
        }
    }
}

/* Nodes of a large ring whose places are not their numbers. */
static struct gw__places large_ring(unsigned count, unsigned *nodes)
{
    for (unsigned i = 0; i < count; i++)
        nodes[i] = (i * 7 + 11) % GW__NODES_MAX;
    return (struct gw__places){count, nodes};
}

START_TEST(partial_sums_of_a_large_ring_are_small)
{
    static struct gw__held_chunk held[GW__REPORT_CHUNKS_MAX];
    unsigned nodes[GW__NODES_MAX];
    struct gw__places places = large_ring(GW__REPORT_CHUNKS_MAX, nodes);
    struct gw__holdings holdings;
    size_t without;
    hold_partials(&places, 100, 0, held, places.count);
    gw__holdings_pack(&holdings, &places, held, places.count);
    expect_same(&holdings, &places, held, places.count);
    expect_journey(&holdings);
    without = holdings.bytes;
    ck_assert_uint_le(without, 14); /* at most two segments of an arc */
    hold_partials(&places, 100, 2, held, places.count);
    gw__holdings_pack(&holdings, &places, held, places.count);
    expect_same(&holdings, &places, held, places.count);
    ck_assert_uint_le(holdings.bytes, 12 * without);
}
END_TEST

/* As in a plan of the user. */
START_TEST(there_may_be_more_chunks_than_members)
{
    static struct gw__held_chunk held[GW__REPORT_CHUNKS_MAX];
    unsigned nodes[GW__NODES_MAX], chunks = GW__REPORT_CHUNKS_MAX;
    struct gw__places places = large_ring(100, nodes);
    struct gw__holdings holdings;
    hold_partials(&places, 30, 1, held, chunks);
    gw__holdings_pack(&holdings, &places, held, chunks);
    expect_same(&holdings, &places, held, chunks);
    expect_journey(&holdings);
    ck_assert(!gw__holdings_match(&holdings, &places, places.count));
}
END_TEST

/* A complete op, of any target. */
START_TEST(final_copies_always_fit)
{
    static struct gw__held_chunk held[GW__REPORT_CHUNKS_MAX];
    unsigned nodes[GW__NODES_MAX];
    struct gw__places places = large_ring(GW_RING_MEMBERS_MAX, nodes);
    struct gw__holdings holdings;
    struct gw_nodes target = {{0}};
    for (unsigned i = 0; i < places.count; i += 2)
        gw__nodes_add(&target, nodes[i]);
    for (unsigned c = 0; c < GW__REPORT_CHUNKS_MAX; c++)
        held[c] = (struct gw__held_chunk){target, true};
    gw__holdings_pack(&holdings, &places, held, GW__REPORT_CHUNKS_MAX);
    expect_same(&holdings, &places, held, GW__REPORT_CHUNKS_MAX);
    expect_journey(&holdings);
    ck_assert_uint_le(holdings.bytes, 3 + GW_RING_MEMBERS_MAX / 8);
}
END_TEST

START_TEST(holdings_of_any_sets_are_the_same_or_none)
{
    static struct gw__held_chunk held[GW__REPORT_CHUNKS_MAX];
    unsigned nodes[GW__NODES_MAX], count, chunks;
    struct gw__holdings holdings;
    struct gw_rng rng;
    gw_rng_seed(&rng, (uint64_t)_i);
    count = 1 + (unsigned)gw_rng_below(&rng, _i % 2 ? 8 : 60);
    chunks = _i % 2 ? 1 + (unsigned)gw_rng_below(&rng, 10) : count;
    struct gw__places places = large_ring(count, nodes);
    for (unsigned c = 0; c < chunks; c++) {
        held[c] = (struct gw__held_chunk){.final = false};
        for (unsigned i = 0; i < count; i++)
            if (gw_rng_below(&rng, 2))
                gw__nodes_add(&held[c].set, nodes[i]);
        held[c].final =
            gw_rng_below(&rng, 2) && !gw__nodes_is_empty(held[c].set);
    }
    gw__holdings_pack(&holdings, &places, held, chunks);
    bool packed = count <= 8 || !gw__nodes_is_empty(
                                    gw__holdings_of(&holdings, &places, 0).set);
    if (!packed)
        memset(held, 0, sizeof held);
    if (packed || count > 8)
        expect_journey(&holdings);
    if (count <= 8 || !packed)
        expect_same(&holdings, &places, held, chunks);
}
END_TEST

START_TEST(a_set_with_a_stranger_is_none)
{
    unsigned nodes[] = {4, 5};
    const struct gw__places places = {2, nodes};
    struct gw__holdings holdings =
        hold(&places, (const uint64_t[]){1 << 4, 1 << 4 | 1 << 6}, 0);
    ck_assert_uint_eq(node_bits(gw__holdings_of(&holdings, &places, 0).set),
                      1 << 4);
    ck_assert_uint_eq(node_bits(gw__holdings_of(&holdings, &places, 1).set), 0);
    nodes[1] = 6; /* other members */
    ck_assert(!gw__holdings_match(&holdings, &places, 2));
}
END_TEST

START_TEST(a_long_list_is_runs_in_its_order)
{
    uint16_t list[24] = {5, 0, 1, 2};
    char text[64], little[8];
    gw__node_list_text(list, 4, text, sizeof text);
    ck_assert_str_eq(text, " 5 0 1 2");
    gw__node_list_text(list, 0, text, sizeof text);
    ck_assert_str_eq(text, "");
    for (unsigned i = 0; i < 20; i++)
        list[i] = (uint16_t)(i + (i > 6 ? 3 : 0) + (i > 9 ? 1 : 0));
    list[20] = 7;
    list[21] = 8;
    gw__node_list_text(list, 22, text, sizeof text);
    ck_assert_str_eq(text, " 0-6 10-12 14-23 7 8");
    gw__node_list_text(list, 22, little, sizeof little);
    ck_assert_str_eq(little, " 0-6 10");
}
END_TEST

Suite *suite_nodes(void)
{
    Suite *suite = suite_create("nodes");
    TCase *t = tcase_create("sets");
    tcase_add_loop_test(t, sets_survive_the_journey, 0, SEEDS);
    tcase_add_test(t, the_nodes_of_a_set_are_found_in_order);
    tcase_add_test(t, texts_list_few_and_shorten_many);
    tcase_add_test(t, small_sets_are_words);
    tcase_add_test(t, words_of_other_sets_are_hashes);
    tcase_add_test(t, malformed_words_are_refused);
    tcase_add_test(t, lists_keep_their_order_and_repeat_nothing);
    tcase_add_test(t, a_long_list_is_runs_in_its_order);
    suite_add_tcase(suite, t);
    t = tcase_create("holdings");
    tcase_add_test(t, partial_sums_of_a_large_ring_are_small);
    tcase_add_test(t, there_may_be_more_chunks_than_members);
    tcase_add_test(t, final_copies_always_fit);
    tcase_add_loop_test(t, holdings_of_any_sets_are_the_same_or_none, 0, SEEDS);
    tcase_add_test(t, a_set_with_a_stranger_is_none);
    suite_add_tcase(suite, t);
    return suite;
}
