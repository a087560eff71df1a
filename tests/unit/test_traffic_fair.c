/* SPDX-License-Identifier: MIT
 *
 * Links shared by classes (traffic_classes.h) against the definition, message
 * by message: the link with the least share fixes the rates of its messages,
 * and so on with the rest (Bertsekas, Gallager: Data Networks, 6.5.2). Messages
 * of any size begin and end on links of any rate; after each change all rates
 * are compared.
 */
#include "traffic_run.h"

#include <sim/traffic/traffic_classes.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

Suite *suite_traffic_fair(void);

enum { RANKS = 18, MESSAGES = 160, TOGETHER = 40 };

struct shared {
    struct gw_topology *topology;
    struct gw__classes classes;
    struct gw__class_message messages[MESSAGES];
    bool active[MESSAGES];
    uint32_t begun, count; /* count: under way */
};

static struct gw__class_message message_at(const void *context, uint32_t number)
{
    const struct shared *s = context;
    return s->messages[number];
}

/* Three racks; some NICs are equal, others have rates of their own. */
static struct gw_topology *by_chance(unsigned seed)
{
    char text[2048];
    int used = snprintf(text, sizeof text,
                        "topology s%u\nnic rate=1M latency=1us\n"
                        "uplink rate=%uK\nrack a: a[0-5]\nrack b: b[0-5]\n"
                        "rack c: c[0-5]\n",
                        seed, 500 + (unsigned)rand() % 3000);
    for (unsigned i = 0; i < 6; i++)
        for (char rack = 'a'; rack <= 'c'; rack++)
            if (rand() % 2)
                used += snprintf(text + used, sizeof text - (size_t)used,
                                 "nic %c%u rate=%dK latency=%dus\n", rack, i,
                                 100 * (1 + rand() % 9), 1 + rand() % 40);
    return traffic_topology(text);
}

static void begin_more(struct shared *s)
{
    for (; s->begun < MESSAGES && s->count < TOGETHER; s->begun++, s->count++) {
        uint32_t src = (uint32_t)rand() % RANKS;
        s->messages[s->begun] = (struct gw__class_message){
            .src = src,
            .dst = (src + 1 + (uint32_t)rand() % (RANKS - 1)) % RANKS,
            .bytes = 1000 * (1 + (uint64_t)rand() % 9)};
        s->active[s->begun] = true;
        gw__classes_join(&s->classes, s->begun);
    }
}

static void end_next(struct shared *s)
{
    struct gw__group group;
    uint32_t bundle;
    s->classes.now_ps = gw__classes_due(&s->classes);
    while ((bundle = gw__classes_pop(&s->classes)) != GW__NOTHING)
        while (gw__classes_end(&s->classes, bundle, &group)) {
            for (uint32_t i = 0; i < group.count; i++)
                s->active[group.messages[i]] = false;
            s->count -= group.count;
            free(group.messages);
        }
}

/* ---- the definition ---- */

struct link {
    double room;
    unsigned open;
};

/* The least share of a limited link on the path; HUGE_VAL: none. */
static double least_share(const struct shared *s, const struct link *links,
                          uint32_t message)
{
    unsigned path[GW_PATH_LINKS_MAX];
    const struct gw__class_message *m = &s->messages[message];
    unsigned count = gw_topology_path(s->topology, m->src, m->dst, path);
    double least = HUGE_VAL;
    for (unsigned i = 0; i < count; i++)
        if (s->classes.links[path[i]].rate > 0)
            least = fmin(least, links[path[i]].room / links[path[i]].open);
    return least;
}

static void add_to_path(const struct shared *s, struct link *links,
                        uint32_t message, int open, double room)
{
    unsigned path[GW_PATH_LINKS_MAX];
    const struct gw__class_message *m = &s->messages[message];
    unsigned count = gw_topology_path(s->topology, m->src, m->dst, path);
    for (unsigned i = 0; i < count; i++) {
        links[path[i]].open += (unsigned)open;
        links[path[i]].room += room;
    }
}

static void fill_up(const struct shared *s, double rates[MESSAGES])
{
    unsigned count = gw_topology_links(s->topology), left = s->count;
    struct link *links = calloc(count, sizeof *links);
    bool fixed[MESSAGES] = {false}, now[MESSAGES];
    for (unsigned i = 0; i < count; i++)
        links[i].room = s->classes.links[i].rate;
    for (uint32_t m = 0; m < s->begun; m++)
        if (s->active[m])
            add_to_path(s, links, m, 1, 0);
    while (left > 0) {
        double least = HUGE_VAL;
        for (uint32_t m = 0; m < s->begun; m++)
            if (s->active[m] && !fixed[m])
                least = fmin(least, least_share(s, links, m));
        for (uint32_t m = 0; m < s->begun; m++)
            now[m] = s->active[m] && !fixed[m] &&
                     least_share(s, links, m) <= least * (1 + 1e-9);
        for (uint32_t m = 0; m < s->begun; m++)
            if (now[m]) {
                fixed[m] = true;
                rates[m] = least;
                add_to_path(s, links, m, -1, -least);
                left--;
            }
    }
    free(links);
}

static void expect_fair(const struct shared *s)
{
    double rates[MESSAGES];
    uint32_t crossed = 0;
    fill_up(s, rates);
    for (uint32_t b = 0; b < s->classes.bundles.count; b++) {
        const struct gw__bundle *bundle = gw__bundle_at(&s->classes, b);
        for (uint32_t g = 0; bundle->signature && g < bundle->group_count; g++)
            for (uint32_t i = 0; i < bundle->groups[g].count; i++, crossed++) {
                uint32_t m = bundle->groups[g].messages[i];
                ck_assert(s->active[m]);
                ck_assert_double_eq_tol(bundle->rate, rates[m],
                                        1e-7 * rates[m]);
            }
    }
    ck_assert_uint_eq(crossed, s->count);
}

START_TEST(rates_are_those_of_the_definition)
{
    struct shared s = {.classes = {.get_message = message_at}};
    srand((unsigned)_i + 1);
    s.classes.topology = s.topology = by_chance((unsigned)_i + 1);
    s.classes.context = &s;
    ck_assert(gw__classes_init(&s.classes, NULL) == GW_OK);
    do {
        begin_more(&s);
        gw__classes_update_rates(&s.classes);
        ck_assert(!s.classes.exhausted);
        expect_fair(&s);
        end_next(&s);
    } while (s.count > 0);
    ck_assert_uint_eq(s.begun, MESSAGES);
    gw__classes_fini(&s.classes);
    gw_topology_destroy(&s.topology);
}
END_TEST

Suite *suite_traffic_fair(void)
{
    Suite *suite = suite_create("traffic_fair");
    TCase *rates = tcase_create("traffic: fair shares");
    tcase_add_loop_test(rates, rates_are_those_of_the_definition, 0, 10);
    suite_add_tcase(suite, rates);
    return suite;
}
