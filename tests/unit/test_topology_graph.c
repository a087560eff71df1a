/* SPDX-License-Identifier: MIT
 *
 * Servers as a graph: routes of least cost, excluded kinds of links, errors;
 * and the order with the cheapest ring, compared with all orders of eight
 * ranks.
 */
#include <gradwire/topology.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_topology_graph(void);

#define HEAD "topology t\n"
/* Two sockets, an accelerator and memory each, and a direct link. */
#define PAIR                                                                   \
    HEAD "server s: socket cpu[0-1] memory mem[0-1] accelerator g[0-1]\n"      \
         "link bus cpu0: mem0 g0 rate=1G latency=1us\n"                        \
         "link bus cpu1: mem1 g1 rate=1G latency=1us\n"                        \
         "link qpi cpu0: cpu1 rate=1G latency=1us\n"

static struct gw_topology *parse(const char *text)
{
    struct gw_topology *t;
    struct gw_error why = {0};
    enum gw_err err = gw_topology_parse(text, strlen(text), "t", &t, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return t;
}

static struct gw_topology *load(const char *name)
{
    char path[128];
    struct gw_topology *t;
    struct gw_error why;
    snprintf(path, sizeof path, "labs/topologies/%s.topo", name);
    ck_assert_msg(gw_topology_load(path, &t, &why) == GW_OK, "%s", why.text);
    return t;
}

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

START_TEST(the_cheapest_route_is_taken_and_accelerators_forward_nothing)
{
    struct gw_topology *t = parse(PAIR);
    ck_assert_uint_eq(gw_topology_ranks(t), 2);
    ck_assert_uint_eq(gw_topology_racks(t), 1);
    expect_path(t, 0, 1, "g0>cpu0 bus, cpu0>cpu1 qpi, cpu1>g1 bus");
    gw_topology_destroy(&t);
    /* Faster than three links together. */
    t = parse(PAIR "link direct g0: g1 rate=512M latency=5us\n");
    expect_path(t, 1, 0, "g1>g0 direct");
    gw_topology_destroy(&t);
    /* Slower than they are. */
    t = parse(PAIR "link direct g0: g1 rate=256M latency=5us\n");
    expect_path(t, 0, 1, "g0>cpu0 bus, cpu0>cpu1 qpi, cpu1>g1 bus");
    gw_topology_destroy(&t);
    /* g0 and g2 are both neighbours of g1, which is not a switch. */
    t = parse(HEAD "server s: socket cpu accelerator g[0-2]\n"
                   "link pcie cpu: g[0-2] rate=1M\n"
                   "link direct g1: g0 g2 rate=1G\n");
    expect_path(t, 0, 2, "g0>cpu pcie, cpu>g2 pcie");
    gw_topology_destroy(&t);
}
END_TEST

/* A rank in the memory of a socket, such as a parameter server. */
START_TEST(memory_holds_ranks_and_is_local_or_remote)
{
    uint64_t rate, local, far;
    struct gw_topology *t = parse(PAIR "host mem0 ranks=1\norder mem0 g0 g1\n");
    ck_assert_str_eq(gw_topology_host(t, 0), "mem0");
    expect_path(t, 1, 0, "g0>cpu0 bus, cpu0>mem0 bus");
    expect_path(t, 2, 0, "g1>cpu1 bus, cpu1>cpu0 qpi, cpu0>mem0 bus");
    gw_topology_path_sum(t, 1, 0, &rate, &local);
    gw_topology_path_sum(t, 2, 0, &rate, &far);
    ck_assert_uint_eq(local, 2000);
    ck_assert_uint_eq(far, 3000);
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(servers_that_are_alike_are_printed_once)
{
    struct gw_topology *t =
        parse(HEAD "server a b: switch sw accelerator g[0-1] nic n\n"
                   "switch net\nlink pcie sw: g[0-1] n rate=2M\n"
                   "link eth net: n rate=1M latency=1us\n");
    ck_assert_uint_eq(gw_topology_ranks(t), 4);
    ck_assert_uint_eq(gw_topology_racks(t), 2);
    ck_assert_uint_eq(gw_topology_rack_ranks(t), 2);
    ck_assert_str_eq(gw_topology_rack(t, 2), "b");
    expect_path(t, 1, 2,
                "a.g1>a.sw pcie, a.sw>a.n pcie, a.n>net eth, net>b.n eth, "
                "b.n>b.sw pcie, b.sw>b.g0 pcie");
    ck_assert_str_eq(gw_topology_link_word(t, 0), "pcie");
    ck_assert_str_eq(gw_topology_link_word(t, 1), "eth");
    ck_assert_ptr_null(gw_topology_link_word(t, 2));
    gw_topology_order(t, GW_ORDER_INTERLEAVED);
    ck_assert_str_eq(gw_topology_host(t, 1), "b.g0");
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(a_kind_of_links_is_left_out_and_comes_back)
{
    struct gw_error why;
    struct gw_topology *t = parse(PAIR "link direct g0: g1 rate=1G\n");
    unsigned links = gw_topology_links(t);
    ck_assert(gw_topology_leave_out(t, "direct", &why) == GW_OK);
    expect_path(t, 0, 1, "g0>cpu0 bus, cpu0>cpu1 qpi, cpu1>g1 bus");
    ck_assert_uint_eq(gw_topology_links(t), links);
    ck_assert(gw_topology_leave_out(t, "qpi", &why) == GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "topology t: no route from mem0 to mem1 without qpi");
    ck_assert(gw_topology_leave_out(t, "tcp", &why) == GW_EINVAL);
    ck_assert_str_eq(why.text, "topology t: unknown links `tcp`");
    /* A refused change has no effect. */
    expect_path(t, 0, 1, "g0>cpu0 bus, cpu0>cpu1 qpi, cpu1>g1 bus");
    ck_assert(gw_topology_leave_out(t, NULL, &why) == GW_OK);
    expect_path(t, 0, 1, "g0>g1 direct");
    gw_topology_destroy(&t);
}
END_TEST

static char *print(const struct gw_topology *t)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gw_error why = {0};
    FILE *file = open_memstream(&text, &bytes);
    ck_assert(gw_topology_print(t, file, &why) == GW_OK);
    fclose(file);
    return text;
}

START_TEST(what_is_printed_reads_back_equal)
{
    static const char *const names[] = {"server-8", "ethernet", "infiniband"};
    for (size_t i = 0; i < 3; i++) {
        struct gw_topology *t = load(names[i]);
        char *once = print(t);
        gw_topology_destroy(&t);
        t = parse(once);
        char *twice = print(t);
        ck_assert_str_eq(once, twice);
        gw_topology_destroy(&t);
        free(once);
        free(twice);
    }
    struct gw_topology *t = parse(PAIR "host mem1 ranks=2\norder ring\n");
    char *text = print(t);
    ck_assert_ptr_nonnull(strstr(text, "host mem1 ranks=2\n"));
    ck_assert_ptr_null(strstr(text, "host mem0"));
    ck_assert_ptr_nonnull(strstr(text, "order ring\n"));
    free(text);
    gw_topology_destroy(&t);
}
END_TEST

/* ---- rings ---- */

/* Over all links of the ring: latency and the time of 1 MiB. */
static uint64_t ring_cost(const struct gw_topology *t, const unsigned *order,
                          unsigned ranks)
{
    uint64_t cost = 0;
    for (unsigned i = 0; i < ranks; i++) {
        unsigned links[GW_PATH_LINKS_MAX];
        unsigned count =
            gw_topology_path(t, order[i], order[(i + 1) % ranks], links);
        for (unsigned l = 0; l < count; l++) {
            struct gw_topology_link link;
            gw_topology_link(t, links[l], &link);
            cost += link.latency_ns + (UINT64_C(1000000000) << 20) / link.rate;
        }
    }
    return cost;
}

/* The least over all orders of the ranks from `fixed` on. */
static uint64_t least_cost(const struct gw_topology *t, unsigned *order,
                           unsigned fixed, unsigned ranks)
{
    if (fixed == ranks)
        return ring_cost(t, order, ranks);
    uint64_t least = UINT64_MAX;
    for (unsigned i = fixed; i < ranks; i++) {
        unsigned swapped = order[fixed];
        order[fixed] = order[i];
        order[i] = swapped;
        uint64_t cost = least_cost(t, order, fixed + 1, ranks);
        least = cost < least ? cost : least;
        order[i] = order[fixed];
        order[fixed] = swapped;
    }
    return least;
}

static void expect_best_ring(struct gw_topology *t)
{
    unsigned order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    gw_topology_order(t, GW_ORDER_RACKS);
    uint64_t least = least_cost(t, order, 1, 8);
    gw_topology_order(t, GW_ORDER_RING);
    ck_assert_uint_eq(ring_cost(t, order, 8), least);
}

START_TEST(no_order_has_a_cheaper_ring)
{
    struct gw_error why;
    struct gw_topology *t = load("server-8");
    expect_best_ring(t);
    ck_assert(gw_topology_leave_out(t, "direct", &why) == GW_OK);
    expect_best_ring(t);
    gw_topology_destroy(&t);
}
END_TEST

static unsigned links_called(const struct gw_topology *t, const char *word)
{
    unsigned links[GW_PATH_LINKS_MAX], found = 0, ranks = gw_topology_ranks(t);
    for (unsigned rank = 0; rank < ranks; rank++) {
        unsigned count = gw_topology_path(t, rank, (rank + 1) % ranks, links);
        for (unsigned i = 0; i < count; i++) {
            struct gw_topology_link link;
            gw_topology_link(t, links[i], &link);
            found += strcmp(link.word, word) == 0;
        }
    }
    return found;
}

START_TEST(the_ring_avoids_pcie_and_qpi)
{
    struct gw_topology *t = load("server-8");
    ck_assert_uint_eq(links_called(t, "qpi"), 2);
    ck_assert_uint_gt(links_called(t, "pcie"), 0);
    gw_topology_order(t, GW_ORDER_RING);
    ck_assert_uint_eq(links_called(t, "qpi"), 0);
    ck_assert_uint_eq(links_called(t, "pcie"), 0);
    ck_assert_uint_eq(links_called(t, "direct"), 8);
    gw_topology_destroy(&t);
    /* Between servers it leaves by a NIC at its own switch. */
    t = load("infiniband");
    gw_topology_order(t, GW_ORDER_RING);
    ck_assert_uint_eq(links_called(t, "qpi"), 0);
    ck_assert_uint_eq(links_called(t, "infiniband"), 4);
    gw_topology_destroy(&t);
    /* The snake of a torus: each hop is one link. */
    t = parse(HEAD "torus 4x4 rate=1M\n");
    gw_topology_order(t, GW_ORDER_RING);
    for (unsigned rank = 0; rank < 16; rank++) {
        unsigned links[GW_PATH_LINKS_MAX];
        ck_assert_uint_eq(gw_topology_path(t, rank, (rank + 1) % 16, links), 3);
    }
    gw_topology_destroy(&t);
}
END_TEST

/* ---- errors ---- */

static const struct {
    const char *text, *sentence;
} wrong[] = {
    {HEAD "server s: socket c\n", "t:2:8: a server must have an accelerator"},
    {HEAD "server s: g0\n", "t:2:11: expected socket, memory, switch, "
                            "accelerator or nic, found `g0`"},
    {HEAD "server s: accelerator\n",
     "t:2:22: expected a node's name, found the end of the line"},
    {HEAD "server s accelerator g\n",
     "t:2:23: expected a name and `:`, found the end of the line"},
    {HEAD "server s: accelerator g g\n", "t:2:25: node `g` occurs twice"},
    {HEAD "server s s: accelerator g\n", "t:2:10: server `s` occurs twice"},
    {HEAD "rack r: h\nserver s: accelerator g\n",
     "t:3:8: a topology with servers cannot also have racks, a fat tree or a "
     "torus"},
    {HEAD "switch x\nrack r: h\n",
     "t:3:6: a fat tree, a torus or servers cannot have racks"},
    {HEAD "switch x\ntorus 4x4\n",
     "t:3:7: a topology with a fat tree or a torus cannot also have racks"},
    {HEAD "server s: accelerator g\nnic rate=1\n",
     "t:3:5: the NIC of a server is a node; set its links with `link`"},
    {PAIR "link bus g0: x\n",
     "t:6:14: no server above has both nodes `g0` and `x`"},
    {PAIR "link bus g0: g0\n", "t:6:14: a link must have two ends"},
    {PAIR "link bus g[0-1]: g0\n",
     "t:6:10: a link must have one node before `:`"},
    {PAIR "link bus g0 g1\n",
     "t:6:10: expected a node's name and `:`, found `g0`"},
    {PAIR "link abcdefghijklmn g0: g1\n",
     "t:6:6: a kind of link must have at most 13 characters"},
    {HEAD "server s: accelerator g[0-1]\n",
     "topology t: no route from g0 to g1"},
    {HEAD "switch x[0-600]\n", "t:2:8: a topology can have at most 512 nodes"},
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
}
END_TEST

Suite *suite_topology_graph(void)
{
    Suite *suite = suite_create("topology_graph");
    TCase *graph = tcase_create("topology: servers");
    tcase_add_test(
        graph, the_cheapest_route_is_taken_and_accelerators_forward_nothing);
    tcase_add_test(graph, memory_holds_ranks_and_is_local_or_remote);
    tcase_add_test(graph, servers_that_are_alike_are_printed_once);
    tcase_add_test(graph, a_kind_of_links_is_left_out_and_comes_back);
    tcase_add_test(graph, what_is_printed_reads_back_equal);
    tcase_add_loop_test(graph, what_is_wrong_is_refused_with_its_place, 0,
                        sizeof wrong / sizeof *wrong);
    suite_add_tcase(suite, graph);
    TCase *rings = tcase_create("topology: rings");
    tcase_add_test(rings, no_order_has_a_cheaper_ring);
    tcase_add_test(rings, the_ring_avoids_pcie_and_qpi);
    suite_add_tcase(suite, rings);
    return suite;
}
