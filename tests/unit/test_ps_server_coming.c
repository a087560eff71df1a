/* SPDX-License-Identifier: MIT
 *
 * Workers that come one after the other, and request work at once. A server may
 * know a worker from a membership update before the log of the clock has it.
 * Then the worker must ask again, and does not get the error for unknown
 * workers.
 */
#include "ps_net.h"

#include <check.h>

Suite *suite_ps_server_coming(void);

enum { SLOTS = 8, PARTS = 3, COME = 3, SEEDS = 100 };

static void begin(struct net *net)
{
    const struct gw__clock_command plan = {
        .kind = GW__CLOCK_PLAN,
        .mode = {.kind = GW_PS_ASP},
        .plan = {.epochs = 1, .batches = 6, .parts = PARTS, .workers = 1}};
    for (unsigned i = 1; i < NET_WORKERS; i++)
        net_end_worker(net, i);
    net_run(net, 10);
    ck_assert(net_wait(net, net_clock(net, 0, 0, &plan))->done);
}

START_TEST(a_newcomer_gets_work)
{
    const struct gw__clock_command next = {.kind = GW__CLOCK_NEXT};
    unsigned requests[COME];
    struct net *net = net_new((uint64_t)_i, 2, SLOTS, 2);
    begin(net);
    net->delay_ms = 6;
    for (unsigned i = 0; i < COME; i++) {
        net->alive[i] = true;
        net_send_update(net);
        requests[i] = net_clock(net, i, 0, &next);
        net_run(net, 1);
    }
    for (unsigned i = 0; i < COME; i++) {
        const struct net_request *request = net_wait(net, requests[i]);
        ck_assert_msg(!request->failed, "seed %d: worker %u: %s", _i, i,
                      request->text);
    }
    net_free(net);
}
END_TEST

Suite *suite_ps_server_coming(void)
{
    Suite *suite = suite_create("ps_server_coming");
    TCase *tcase = tcase_create("ps_server_coming");
    tcase_add_loop_test(tcase, a_newcomer_gets_work, 1, SEEDS + 1);
    suite_add_tcase(suite, tcase);
    return suite;
}
