/* SPDX-License-Identifier: MIT
 *
 * Topologies: they are read, printed and read again; errors have a position;
 * the places of ranks, and the links between two of them.
 */
#include <gradwire/topology.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_topology(void);

#define HEAD  "topology t\n"
#define RACKS HEAD "rack a: a0 a1\nrack b: b0 b1\n"

static struct gw_topology *parse(const char *text)
{
    struct gw_topology *t;
    struct gw_error why = {0};
    enum gw_err err = gw_topology_parse(text, strlen(text), "t", &t, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return t;
}

static char *print(const struct gw_topology *t)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gw_error why = {0};
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(file);
    ck_assert_msg(gw_topology_print(t, file, &why) == GW_OK, "%s", why.text);
    fclose(file);
    return text;
}

/* The hosts of all ranks, separated by blanks. */
static void expect_hosts(const struct gw_topology *t, const char *expected)
{
    char hosts[512] = "";
    for (unsigned rank = 0; rank < gw_topology_ranks(t); rank++) {
        size_t used = strlen(hosts);
        snprintf(hosts + used, sizeof hosts - used, "%s%s", rank ? " " : "",
                 gw_topology_host(t, rank));
    }
    ck_assert_str_eq(hosts, expected);
}

static unsigned find_link(const struct gw_topology *t, const char *name)
{
    char found[64];
    for (unsigned i = 0; i < gw_topology_links(t); i++) {
        gw_topology_link_name(t, i, found);
        if (strcmp(found, name) == 0)
            return i;
    }
    ck_abort_msg("no link %s", name);
    return 0;
}

static void expect_link(const struct gw_topology *t, const char *name,
                        uint64_t rate, uint64_t latency_ns)
{
    struct gw_topology_link link;
    gw_topology_link(t, find_link(t, name), &link);
    ck_assert_msg(link.rate == rate && link.latency_ns == latency_ns,
                  "%s: rate %llu, latency %llu", name,
                  (unsigned long long)link.rate,
                  (unsigned long long)link.latency_ns);
}

/* ---- reading ---- */

START_TEST(ranks_are_assigned_in_each_order)
{
    struct gw_topology *t = parse(HEAD "rack a: a[0-2]\nrack b: b[0-1]\n"
                                       "host a0 ranks=2\n");
    ck_assert_uint_eq(gw_topology_hosts(t), 5);
    ck_assert_uint_eq(gw_topology_racks(t), 2);
    ck_assert_uint_eq(gw_topology_rack_ranks(t), 0);
    ck_assert_int_eq(gw_topology_default_order(t), GW_ORDER_RACKS);
    expect_hosts(t, "a0 a0 a1 a2 b0 b1");
    gw_topology_order(t, GW_ORDER_INTERLEAVED);
    expect_hosts(t, "a0 b0 a1 b1 a2 a0");
    gw_topology_order(t, GW_ORDER_RACKS);
    expect_hosts(t, "a0 a0 a1 a2 b0 b1");
    ck_assert_str_eq(gw_topology_rack(t, 3), "a");
    ck_assert_str_eq(gw_topology_rack(t, 4), "b");
    gw_topology_destroy(&t);
    ck_assert_ptr_null(t);
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(the_file_may_list_the_hosts)
{
    struct gw_topology *t = parse(RACKS "order b1 a0 # and so on\n"
                                        "order a[1-1]\n");
    ck_assert_int_eq(gw_topology_default_order(t), GW_ORDER_FILE);
    expect_hosts(t, "b1 a0 a1");
    gw_topology_order(t, GW_ORDER_INTERLEAVED);
    expect_hosts(t, "a0 b0 a1 b1");
    gw_topology_order(t, GW_ORDER_FILE);
    expect_hosts(t, "b1 a0 a1");
    gw_topology_destroy(&t);
    t = parse(RACKS "order interleaved\n");
    ck_assert_int_eq(gw_topology_default_order(t), GW_ORDER_INTERLEAVED);
    ck_assert_uint_eq(gw_topology_rack_ranks(t), 2);
    expect_hosts(t, "a0 b0 a1 b1");
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(ranges_keep_their_zeros)
{
    struct gw_topology *t = parse(HEAD "rack a: n[08-11] m[8-11]\n");
    expect_hosts(t, "n08 n09 n10 n11 m8 m9 m10 m11");
    gw_topology_destroy(&t);
}
END_TEST

/* Rates are bytes per second, K M G are powers of 1024, as in link profiles. */
START_TEST(links_are_as_given_or_as_the_default)
{
    struct gw_topology *t =
        parse(RACKS "nic rate=8M/s latency=5us\nnic a1 rate=2M\n"
                    "nic b0 latency=1ms\ninner rate=1G latency=300ns\n"
                    "inner b1 rate=0\nuplink oversubscription=4:1\n"
                    "uplink b rate=3K latency=10us\n");
    expect_link(t, "a0 nic out", 8 << 20, 5000);
    expect_link(t, "a0 nic in", 8 << 20, 5000);
    expect_link(t, "a1 nic in", 2 << 20, 5000);
    expect_link(t, "b0 nic out", 8 << 20, 1000000);
    expect_link(t, "b0 inner", 1 << 30, 300);
    expect_link(t, "b1 inner", 0, 300);
    expect_link(t, "a uplink out", (10 << 20) / 4, 0);
    expect_link(t, "a uplink in", (10 << 20) / 4, 0);
    expect_link(t, "b uplink in", 3 << 10, 10000);
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(an_uplink_without_a_rate_carries_all_its_nics)
{
    struct gw_topology *t = parse(RACKS "nic rate=3M\n");
    expect_link(t, "a uplink out", 6 << 20, 0);
    gw_topology_destroy(&t);
    t = parse(RACKS "nic rate=3M\nnic b0 rate=0\nuplink latency=7us\n");
    expect_link(t, "a uplink out", 6 << 20, 7000);
    expect_link(t, "b uplink out", 0, 7000);
    gw_topology_destroy(&t);
}
END_TEST

static void expect_path(const struct gw_topology *t, unsigned src, unsigned dst,
                        const char *expected)
{
    unsigned links[GW_PATH_LINKS_MAX];
    char path[512] = "", name[64];
    unsigned count = gw_topology_path(t, src, dst, links);
    for (unsigned i = 0; i < count; i++) {
        size_t used = strlen(path);
        gw_topology_link_name(t, links[i], name);
        snprintf(path + used, sizeof path - used, "%s%s", i ? ", " : "", name);
    }
    ck_assert_str_eq(path, expected);
}

START_TEST(paths_go_up_as_far_as_they_must)
{
    uint64_t rate, latency_ns;
    struct gw_topology *t =
        parse(RACKS "host a0 ranks=2\nnic rate=8M latency=5us\n"
                    "uplink rate=3M latency=10us\ninner latency=1us\n");
    expect_hosts(t, "a0 a0 a1 b0 b1");
    expect_path(t, 0, 1, "a0 inner");
    expect_path(t, 1, 2, "a0 nic out, a1 nic in");
    expect_path(t, 2, 3, "a1 nic out, a uplink out, b uplink in, b0 nic in");
    gw_topology_path_sum(t, 2, 3, &rate, &latency_ns);
    ck_assert_uint_eq(rate, 3 << 20);
    ck_assert_uint_eq(latency_ns, 30000);
    gw_topology_path_sum(t, 0, 1, &rate, &latency_ns);
    ck_assert_uint_eq(rate, 0);
    ck_assert_uint_eq(latency_ns, 1000);
    gw_topology_destroy(&t);
}
END_TEST

/* The destination determines the port on the way up, and then the way down. */
START_TEST(paths_of_a_fat_tree_are_fixed)
{
    struct gw_topology *t =
        parse(HEAD "nic rate=8M latency=5us\nfat-tree k=4 latency=1us\n");
    ck_assert_uint_eq(gw_topology_ranks(t), 16);
    ck_assert_uint_eq(gw_topology_racks(t), 8);
    ck_assert_uint_eq(gw_topology_rack_ranks(t), 2);
    expect_path(t, 0, 1, "h0 nic out, h1 nic in");
    expect_path(t, 0, 3,
                "h0 nic out, r0 uplink 1 out, r1 uplink 1 in, "
                "h3 nic in");
    expect_path(t, 2, 15,
                "h2 nic out, r1 uplink 1 out, pod 0 upper 1 core 1 out, "
                "pod 3 upper 1 core 1 in, r7 uplink 1 in, h15 nic in");
    expect_link(t, "r7 uplink 1 in", 8 << 20, 1000);
    gw_topology_destroy(&t);
    t = parse(HEAD "nic rate=8M\nfat-tree k=6 levels=2 oversubscription=4:1\n");
    ck_assert_uint_eq(gw_topology_ranks(t), 18);
    expect_path(t, 17, 4,
                "h17 nic out, r5 uplink 1 out, r1 uplink 1 in, "
                "h4 nic in");
    expect_link(t, "r5 uplink 1 out", 2 << 20, 0);
    gw_topology_destroy(&t);
}
END_TEST

/* The first dimension first, the shorter way around. */
START_TEST(paths_of_a_torus_take_the_dimensions_in_order)
{
    struct gw_topology *t = parse(HEAD "torus 5x4 rate=3M latency=2us\n");
    ck_assert_uint_eq(gw_topology_ranks(t), 20);
    ck_assert_uint_eq(gw_topology_rack_ranks(t), 5);
    expect_path(t, 0, 1, "h0 nic out, h0 +x, h1 nic in");
    expect_path(t, 0, 4, "h0 nic out, h0 -x, h4 nic in");
    expect_path(t, 1, 18, "h1 nic out, h1 +x, h2 +x, h3 -y, h18 nic in");
    /* Both directions are equally long. */
    expect_path(t, 0, 10, "h0 nic out, h0 +y, h5 +y, h10 nic in");
    expect_path(t, 5, 15, "h5 nic out, h5 -y, h0 -y, h15 nic in");
    expect_link(t, "h3 -y", 3 << 20, 2000);
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(what_is_printed_reads_back_equal)
{
    static const char *const texts[] = {
        RACKS,
        RACKS "order interleaved\n",
        RACKS "nic rate=1000003 latency=5us\nnic a0 b1 latency=77ns\n"
              "uplink oversubscription=7:3\nuplink b rate=12 latency=1s\n"
              "host b0 a1 ranks=3\ninner rate=5\ninner b1 latency=0\n"
              "order b0 b0 b1 a1\norder a0 b0\n",
        HEAD "nic rate=3M\nfat-tree k=4 levels=2 oversubscription=2:1 "
             "latency=7ns\nhost h3 ranks=2\norder interleaved\n",
        HEAD "torus 3x4x5 rate=77\nnic h4 latency=1us\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gw_topology *t = parse(texts[i]);
        char *once = print(t);
        gw_topology_destroy(&t);
        t = parse(once);
        char *twice = print(t);
        ck_assert_str_eq(once, twice);
        gw_topology_destroy(&t);
        free(twice);
        free(once);
    }
    struct gw_topology *t = parse(HEAD "rack r: n[0-99]\norder n[40-60]\n");
    char *text = print(t);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, "order", 5) == 0)
            ck_assert_uint_le(strlen(line), 80);
    gw_topology_destroy(&t);
    free(text);
}
END_TEST

/* ---- errors ---- */

static const struct {
    const char *text, *sentence;
} wrong[] = {
    {"", "t:1:1: expected `topology NAME`, found the end of the text"},
    {"rack a: a0\n", "t:1:1: expected `topology NAME`, found `rack`"},
    {HEAD, "t:2:1: a topology must have at least one rack"},
    {HEAD "topology u\n", "t:2:10: a file can have only one topology"},
    {"topology a/b\n",
     "t:1:11: expected a letter, a digit, `_`, `-` or `.`, found `/b`"},
    {HEAD "racks a: a0\n", "t:2:1: expected nic, inner, uplink, rack, "
                           "fat-tree, torus, server, switch, link, host or "
                           "order, "
                           "found `racks`"},
    {HEAD "rack a a0\n", "t:2:6: expected a rack's name and `:`, found `a`"},
    {HEAD "rack a:\n", "t:2:8: expected the rack's hosts, found the end of the "
                       "line"},
    {HEAD "rack :\n", "t:2:6: expected a name, found `:`"},
    {HEAD "rack a[0-1]: h\n", "t:2:6: a line must have one rack"},
    {RACKS "rack a: c0\n", "t:4:6: rack `a` occurs twice"},
    {RACKS "rack c: a1\n", "t:4:9: host `a1` is already in rack `a`"},
    {HEAD "rack a: h h\n", "t:2:11: host `h` is already in rack `a`"},
    {RACKS "nic a7 rate=1G\n", "t:4:5: host `a7` is not in a rack above"},
    {HEAD "nic a0 rate=1G\nrack a: a0\n",
     "t:2:5: host `a0` is not in a rack above"},
    {RACKS "order a0 a9\n", "t:4:10: host `a9` is not in a rack above"},
    {RACKS "order a0 b0 a0\n",
     "t:4:13: host `a0` has room for 1 rank; this is one more"},
    {RACKS "host a0 ranks=2\norder a0 a0 a0\n",
     "t:5:13: host `a0` has room for 2 ranks; this is one more"},
    {RACKS "order a0\nhost a0 ranks=2\n",
     "t:5:6: the number of ranks per host must come before the order"},
    {RACKS "order racks\norder interleaved\n", "t:5:7: the order is set twice"},
    {RACKS "order a0\norder racks\n", "t:5:7: the order is set twice"},
    {RACKS "order racks a0\n",
     "t:4:13: expected the end of the line, found `a0`"},
    {RACKS "order\n", "t:4:6: expected racks, interleaved, ring or hosts, "
                      "found the end of the line"},
    {RACKS "uplink z rate=1\n", "t:4:8: rack `z` must be defined above"},
    {RACKS "uplink oversubscription=4\n",
     "t:4:26: expected `:`, as in 4:1, found the end of the word"},
    {RACKS "uplink oversubscription=:1\n",
     "t:4:25: expected a ratio, such as 4:1, found `:1`"},
    {RACKS "uplink oversubscription=4:0\n", "t:4:25: a ratio cannot have a 0"},
    {RACKS "uplink oversubscription=4:1x\n",
     "t:4:28: expected the end of the ratio, found `x`"},
    {RACKS "uplink oversubscription=2000000:1\n",
     "t:4:25: the number must be at most 1000000"},
    {RACKS "uplink rate=1G oversubscription=4:1\n",
     "t:4:16: an uplink can have a rate or an oversubscription, not both"},
    {RACKS "uplink a rate=1\nuplink a oversubscription=2:1\n",
     "t:5:8: the rate is set twice"},
    {RACKS "nic a0 a0 latency=1us\n", "t:4:8: the latency is set twice"},
    {RACKS "nic rate=1 rate=2\n", "t:4:12: rate= is set twice"},
    {RACKS "nic oversubscription=4:1\n",
     "t:4:5: expected rate= or latency=, found `oversubscription=4:1`"},
    {RACKS "nic a0\n",
     "t:4:7: expected rate= or latency=, found the end of the line"},
    {RACKS "nic rate=fast\n", "t:4:10: `fast` is not a rate; write bytes per "
                              "second, such as 100M, or 0 for no limit"},
    {RACKS "nic latency=5\xc2\xb5s\n",
     "t:4:14: a topology cannot contain byte 0xc2"},
    {RACKS "host ranks=2\n",
     "t:4:6: expected the name of a host before ranks="},
    {RACKS "host a0 ranks=0\n", "t:4:15: a host must have at least one rank"},
    {RACKS "host a[0-1] ranks=131072\n",
     "t:4:6: the hosts can have at most 131072 ranks"},
    {HEAD "rack a: h[3-1]\n",
     "t:2:13: a range must go from the smaller number to the larger"},
    {HEAD "rack a: h[0-3\n",
     "t:2:14: expected `]` at the end of the name, found the end of the word"},
    {HEAD "rack a: h[0-3]x\n",
     "t:2:14: expected `]` at the end of the name, found `]x`"},
    {HEAD "rack a: h[0-200000]\n", "t:2:13: the number must be at most 131072"},
    {HEAD "rack a: h[0-131072]\n",
     "t:2:9: a topology can have at most 131072 hosts"},
    {HEAD "fat-tree levels=2\n",
     "t:2:10: a fat tree needs k=, the ports per switch"},
    {HEAD "fat-tree k=5\n",
     "t:2:12: k must be even: half of a switch's ports lead up"},
    {HEAD "fat-tree k=4 levels=1\n",
     "t:2:21: a fat tree must have 2 or 3 levels"},
    {HEAD "fat-tree k=4 ports=2\n",
     "t:2:14: expected rate=, latency=, oversubscription=, k= or levels=, "
     "found `ports=2`"},
    {HEAD "fat-tree k=100\n",
     "t:2:10: a topology can have at most 131072 hosts"},
    {HEAD "torus 4x0\n", "t:2:7: the sides of a torus must be at least 1"},
    {HEAD "torus 4x4x4x4\n",
     "t:2:12: expected one to three sizes, as in 8x8x4, found `x4`"},
    {HEAD "torus 4x\n",
     "t:2:9: expected a size, such as 8x8, found the end of the word"},
    {HEAD "torus 400x400\n", "t:2:7: a topology can have at most 131072 hosts"},
    {HEAD "torus 2000\n", "t:2:7: a path can have at most 512 links"},
    {HEAD "torus 4x4\nrack a: a0\n",
     "t:3:6: a fat tree, a torus or servers cannot have racks"},
    {RACKS "torus 4x4\n",
     "t:4:7: a topology with a fat tree or a torus cannot also have racks"},
    {HEAD "torus 4x4\nuplink rate=1\n", "t:3:8: set the links of a fat tree, a "
                                        "torus or servers in their own lines"},
    {HEAD "rack a: abcdefghijklmnopqrstuvwxyz012345\n",
     "t:2:9: a name can have at most 31 characters"},
};

START_TEST(what_is_wrong_is_refused_with_its_place)
{
    struct gw_topology *t;
    struct gw_error why;
    const char *text = wrong[_i].text;
    enum gw_err err = gw_topology_parse(text, strlen(text), "t", &t, &why);
    ck_assert_msg(err == GW_EDATA, "accepted:\n%s", text);
    ck_assert_str_eq(why.text, wrong[_i].sentence);
    ck_assert_ptr_null(t);
    ck_assert(gw_topology_parse(text, strlen(text), "t", &t, NULL) == GW_EDATA);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named)
{
    struct gw_topology *t;
    struct gw_error why;
    ck_assert(gw_topology_load("/nowhere/x.topo", &t, &why) == GW_EDATA);
    ck_assert_str_eq(why.text, "/nowhere/x.topo: No such file or directory");
    ck_assert(gw_topology_load("/", &t, &why) == GW_EDATA);
}
END_TEST

Suite *suite_topology(void)
{
    Suite *suite = suite_create("topology");
    TCase *read = tcase_create("topology: read");
    tcase_add_test(read, ranks_are_assigned_in_each_order);
    tcase_add_test(read, the_file_may_list_the_hosts);
    tcase_add_test(read, ranges_keep_their_zeros);
    tcase_add_test(read, links_are_as_given_or_as_the_default);
    tcase_add_test(read, an_uplink_without_a_rate_carries_all_its_nics);
    tcase_add_test(read, paths_go_up_as_far_as_they_must);
    tcase_add_test(read, paths_of_a_fat_tree_are_fixed);
    tcase_add_test(read, paths_of_a_torus_take_the_dimensions_in_order);
    tcase_add_test(read, what_is_printed_reads_back_equal);
    suite_add_tcase(suite, read);
    TCase *refused = tcase_create("topology: refused");
    tcase_add_loop_test(refused, what_is_wrong_is_refused_with_its_place, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(refused, a_file_that_is_not_there_is_named);
    suite_add_tcase(suite, refused);
    return suite;
}
