/* SPDX-License-Identifier: MIT
 *
 * The failure detector in the real world: four of them, each on a driver, over
 * ipc. They run the same object code as test_detector.c in the simulator.
 */
#include "detector_machine.h"

#include <cluster/driver/driver.h>

#include <check.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Suite *suite_driver_detector(void);

enum { NODES = 4, VICTIM = 2, BEATS = 3, PATIENCE_S = 10 };

static struct member {
    struct gw__driver *driver;
    unsigned beats[NODES];     /* beats received from each */
    unsigned suspected[NODES]; /* number of suspicions of each */
    bool certain[NODES];
} members[NODES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* ---- the machine: a detector whose beats are counted ---- */

struct beating {
    unsigned self;
    max_align_t detector[];
};

static void count_beat(unsigned self, unsigned from)
{
    pthread_mutex_lock(&lock);
    members[self].beats[from]++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    struct beating *beating = state;
    if (input->kind == GW__START)
        beating->self = input->from;
    if (input->kind == GW__MESSAGE)
        count_beat(beating->self, input->from);
    detector_machine.step(beating->detector, input, actions);
}

static struct gw__machine_kind kind = {.name = "detector", .step = step};

/* ---- the members ---- */

static struct gw__id incarnation(unsigned node)
{
    return (struct gw__id){.high = 1, .low = 100 + node};
}

static void on_notify(void *context, const void *data, size_t bytes)
{
    struct member *member = context;
    struct gw__notice notice;
    ck_assert_uint_eq(bytes, sizeof notice);
    memcpy(&notice, data, sizeof notice);
    pthread_mutex_lock(&lock);
    if (notice.kind == GW__NOTICE_SUSPECT) {
        member->suspected[notice.node]++;
        member->certain[notice.node] |= notice.certain;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void start_member(unsigned node)
{
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    struct gw__detector_config config = gw__detector_defaults;
    struct gw_error why;
    config.pause_ns = 500000000; /* for a machine with much other load */
    snprintf(endpoint, sizeof endpoint, "ipc://@gw-detector-%ld-%u",
             (long)getpid(), node);
    kind.state_bytes = sizeof(struct beating) + detector_machine.state_bytes;
    struct gw__driver_config driver = {
        .kind = &kind,
        .channel = {.node = node,
                    .incarnation_high = incarnation(node).high,
                    .incarnation_low = incarnation(node).low,
                    .endpoint = endpoint},
        .start = &config,
        .start_bytes = sizeof config,
        .context = &members[node],
        .on_notify = on_notify};
    ck_assert_msg(gw__driver_start(&driver, &members[node].driver, &why) ==
                      GW_OK,
                  "%s", why.text);
}

static void start_all(void)
{
    struct detector_command command = {
        .view = {.epoch = 1, .ring_epoch = 1, .ring_count = NODES}};
    memset(members, 0, sizeof members);
    for (unsigned i = 0; i < NODES; i++) {
        command.view.ring[i] =
            (struct gw__ring_member){.node = i, .incarnation = incarnation(i)};
        start_member(i);
    }
    for (unsigned i = 0; i < NODES; i++) {
        for (unsigned j = 0; j < NODES; j++)
            if (i != j)
                ck_assert_int_eq(
                    gw__driver_know(members[i].driver, j,
                                    gw__driver_endpoint(members[j].driver)),
                    GW_OK);
        ck_assert_int_eq(
            gw__driver_request(members[i].driver, &command, sizeof command),
            GW_OK);
    }
}

static void stop_all(void)
{
    for (unsigned i = 0; i < NODES; i++)
        gw__driver_stop(&members[i].driver);
}

static bool all_beat(void)
{
    for (unsigned i = 0; i < NODES; i++)
        for (unsigned j = 0; j < NODES; j++)
            if (i != j && members[i].beats[j] < BEATS)
                return false;
    return true;
}

/* All but the victim have suspected it. */
static bool all_suspect(void)
{
    unsigned accusers = 0;
    for (unsigned i = 0; i < NODES; i++)
        accusers += members[i].suspected[VICTIM] > 0;
    return accusers == NODES - 1;
}

static void await(bool (*holds)(void))
{
    struct timespec until;
    int timed_out = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&lock);
    while (!holds() && !timed_out)
        timed_out = pthread_cond_timedwait(&changed, &lock, &until);
    pthread_mutex_unlock(&lock);
    ck_assert_msg(!timed_out, "it did not happen");
}

static void expect_only_the_victim(bool certain)
{
    for (unsigned i = 0; i < NODES; i++)
        for (unsigned j = 0; j < NODES; j++) {
            ck_assert_msg(j == VICTIM || members[i].suspected[j] == 0,
                          "%u accuses %u", i, j);
            ck_assert(j != VICTIM || i == VICTIM ||
                      members[i].certain[j] == certain);
        }
}

/* In a ring of four all members observe each other. */
START_TEST(the_silent_one_is_suspected)
{
    start_all();
    await(all_beat);
    gw__driver_stop(&members[VICTIM].driver);
    await(all_suspect);
    stop_all();
    expect_only_the_victim(false);
}
END_TEST

START_TEST(the_dead_one_is_suspected_at_once)
{
    start_all();
    for (unsigned i = 0; i < NODES; i++)
        if (i != VICTIM)
            ck_assert_int_eq(gw__driver_died(members[i].driver, VICTIM,
                                             incarnation(VICTIM).low),
                             GW_OK);
    await(all_suspect);
    stop_all();
    expect_only_the_victim(true);
}
END_TEST

Suite *suite_driver_detector(void)
{
    Suite *suite = suite_create("driver_detector");
    TCase *tests = tcase_create("driver detector");
    tcase_add_test(tests, the_silent_one_is_suspected);
    tcase_add_test(tests, the_dead_one_is_suspected_at_once);
    suite_add_tcase(suite, tests);
    return suite;
}
