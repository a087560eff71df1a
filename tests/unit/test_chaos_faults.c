/* SPDX-License-Identifier: MIT
 *
 * A fault schedule as edges: the begin and end of each fault, and the state of
 * a link at any time.
 */
#include <check.h>
#include <ringctl/chaos/chaos_faults.h>
#include <string.h>

Suite *suite_chaos_faults(void);

static struct gw__faults faults;
static struct fault_edges edges;

static void read(const char *text)
{
    struct gw_error why;
    ck_assert_int_eq(gw__faults_parse(text, strlen(text), "test", GW__NODES_MAX,
                                      &faults, &why),
                     GW_OK);
    fault_edges(&faults, &edges);
}

START_TEST(what_ends_comes_before_what_begins)
{
    read("at 20ms pause 3 for 10ms\nat 10ms crash 2 for 10ms\nat 15ms heal\n");
    const struct {
        uint64_t ms;
        enum gw__fault_kind kind;
        bool ends;
    } right[] = {{10, GW__CRASH, false},
                 {15, GW__HEAL, false},
                 {20, GW__CRASH, true},
                 {20, GW__PAUSE, false},
                 {30, GW__PAUSE, true}};
    ck_assert_uint_eq(edges.count, sizeof right / sizeof *right);
    for (size_t i = 0; i < edges.count; i++) {
        ck_assert_uint_eq(edges.edges[i].at_ns, right[i].ms * 1000000);
        ck_assert_uint_eq(edges.edges[i].fault->kind, right[i].kind);
        ck_assert(edges.edges[i].ends == right[i].ends);
    }
}
END_TEST

/* Edges: both drops and the delay begin, the first drop ends, the cut begins and
 * outlasts the delay, all are healed. */
START_TEST(faults_of_a_link_add_up_and_end_on_their_own)
{
    read("drop 0>1 0.1 for 10ms\ndrop *>* 0.2\ndelay 0|1 2ms..5ms for 30ms\n"
         "at 20ms cut 0>1\nat 40ms heal\n");
    struct gw_link_profile link = fault_link(&edges, 3, 0, 1);
    ck_assert_uint_eq(link.loss_ppm, 300000);
    ck_assert_uint_eq(link.delay_us, 2000);
    ck_assert_uint_eq(link.jitter_us, 3000);
    link = fault_link(&edges, 4, 0, 1);
    ck_assert_uint_eq(link.loss_ppm, 200000);
    ck_assert(!link.down);
    ck_assert(fault_link(&edges, 5, 0, 1).down);
    link = fault_link(&edges, 5, 1, 0); /* the opposite direction */
    ck_assert(!link.down && link.delay_us == 2000);
    link = fault_link(&edges, 6, 0, 1);
    ck_assert(link.down && link.delay_us == 0);
    link = fault_link(&edges, 7, 0, 1);
    ck_assert(!link.down && link.loss_ppm == 0);
    ck_assert(!fault_hits(&faults.items[1], 1, 1));
}
END_TEST

Suite *suite_chaos_faults(void)
{
    Suite *suite = suite_create("chaos_faults");
    TCase *t = tcase_create("all");
    tcase_add_test(t, what_ends_comes_before_what_begins);
    tcase_add_test(t, faults_of_a_link_add_up_and_end_on_their_own);
    suite_add_tcase(suite, t);
    return suite;
}
