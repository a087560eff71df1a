/* SPDX-License-Identifier: MIT
 *
 * The events of calls that go wrong. Each call that began also ends, with its
 * error code, and a long wait names the awaited peer. In a ring, members are
 * named by their nodes, and ops by the ring's numbers.
 */
#include "elastic_ring.h"
#include "ranks.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_coll_events(void);

enum { RANKS = 3, KEPT = 256 };

/* The events of the ranks, each in its own order. */
struct event_record {
    struct gw_sink sink;
    struct gw_event events[32][KEPT]; /* [rank or node] */
    _Atomic unsigned count[32];
};

static struct event_record event_record;

static void record_event(struct gw_sink *sink, const struct gw_event *event)
{
    (void)sink;
    unsigned n = atomic_load(&event_record.count[event->rank]);
    if (n == KEPT)
        abort();
    event_record.events[event->rank][n] = *event;
    atomic_store(&event_record.count[event->rank], n + 1);
}

static void listen(void)
{
    memset(&event_record, 0, sizeof event_record);
    event_record.sink.emit = record_event;
}

static unsigned count_of(unsigned who, enum gw_event_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < atomic_load(&event_record.count[who]); i++)
        count += event_record.events[who][i].kind == kind;
    return count;
}

static const struct gw_event *last(unsigned who, enum gw_event_kind kind)
{
    for (unsigned i = atomic_load(&event_record.count[who]); i-- > 0;)
        if (event_record.events[who][i].kind == kind)
            return &event_record.events[who][i];
    return NULL;
}

/* ---- ends ---- */

/* After a successful barrier, rank 2 stays away until the others have begun the
 * next call, and gives up. */
static void give_up(struct gw_comm *comm, void *context)
{
    enum { BEGUN = 3 }; /* agreeing on costs comes first */
    double in[4] = {1}, out[4];
    (void)context;
    if (gw_barrier(comm))
        abort();
    if (gw_comm_rank(comm) < RANKS - 1) {
        if (gw_allreduce(comm, in, out, 4, GW_F64, GW_SUM) != GW_EINTR)
            abort();
        return;
    }
    while (count_of(0, GW_EV_OP_BEGIN) < BEGUN ||
           count_of(1, GW_EV_OP_BEGIN) < BEGUN)
        sched_yield();
    gw_comm_abort(comm, GW_EINTR, "enough");
}

static const struct {
    const char *wire;
    bool no_windows;
} ways[] = {{"shm", false}, {"shm", true}, {"ipc", false}, {"tcp", false}};
enum { WAYS = sizeof ways / sizeof *ways };

START_TEST(a_call_that_fails_ends_with_its_code)
{
    listen();
    struct gw_comm_config config = {.wire = ways[_i].wire,
                                    .no_windows = ways[_i].no_windows,
                                    .events = &event_record.sink};
    run_ranks(&config, RANKS, give_up, NULL);
    for (unsigned r = 0; r < RANKS; r++) {
        ck_assert_uint_eq(count_of(r, GW_EV_OP_BEGIN),
                          count_of(r, GW_EV_OP_END));
        const struct gw_event *end = last(r, GW_EV_OP_END);
        ck_assert_int_eq(end->value, r < RANKS - 1 ? GW_EINTR : GW_OK);
        ck_assert_uint_eq(end->op, last(r, GW_EV_OP_BEGIN)->op);
    }
}
END_TEST

/* ---- waits ---- */

/* Rank 1 comes after rank 0 has reported two waits. */
static void come_late(struct gw_comm *comm, void *context)
{
    double in[4] = {1}, out[4];
    (void)context;
    while (gw_comm_rank(comm) == 1 && count_of(0, GW_EV_WAIT) < 2)
        sched_yield();
    if (gw_allreduce(comm, in, out, 4, GW_F64, GW_SUM))
        abort();
}

START_TEST(who_waits_reports_for_whom)
{
    listen();
    struct gw_comm_config config = {.wire = ways[_i].wire,
                                    .no_windows = ways[_i].no_windows,
                                    .events = &event_record.sink};
    run_ranks(&config, 2, come_late, NULL);
    const struct gw_event *wait = last(0, GW_EV_WAIT), *before = NULL;
    for (unsigned i = 0; i < event_record.count[0]; i++) {
        const struct gw_event *event = &event_record.events[0][i];
        if (event->kind != GW_EV_WAIT)
            continue;
        ck_assert_uint_eq(event->peer, 1);
        if (before && before->op != event->op)
            before = NULL;
        /* The value need not grow each time: any progress begins a new wait. */
        ck_assert_int_ge(event->value, 50000000);
        if (before)
            ck_assert_uint_ge(event->time_ns - before->time_ns, 50000000);
        before = event;
    }
    ck_assert_uint_eq(wait->op, last(0, GW_EV_OP_END)->op);
    ck_assert_int_ge(wait->value, 50000000);
    ck_assert_uint_eq(count_of(1, GW_EV_WAIT), 0);
}
END_TEST

/* ---- rings ---- */

START_TEST(a_ring_speaks_of_nodes)
{
    enum { P = 4, OP = 4000 };
    listen();
    struct elastic_ring ring = ring_of(ring_wires[_i], P);
    struct share shares[RING_MOST];
    for (unsigned r = 0; r < P; r++)
        ring.sinks[r] = &event_record.sink;
    ring_open(&ring);
    for (unsigned r = 0; r < P; r++) {
        share_init(&shares[r], &ring, r, 1000, true);
        shares[r].op = OP;
    }
    share_plan_clean(shares, &ring);
    share_run_all(shares, &ring);
    for (unsigned r = 0; r < P; r++) {
        unsigned node = ring.nodes[r];
        ck_assert_int_eq(shares[r].err, GW_OK);
        /* No event but the op's: connecting emits none. */
        ck_assert_uint_eq(count_of(node, GW_EV_OP_BEGIN), 1);
        ck_assert_uint_eq(count_of(node, GW_EV_OP_END), 1);
        ck_assert_uint_eq(count_of(node, GW_EV_SEND), 2 * (P - 1));
        ck_assert_uint_eq(count_of(node, GW_EV_APPLY), 2 * (P - 1));
        ck_assert_int_eq(last(node, GW_EV_OP_END)->value, GW_OK);
        ck_assert_int_eq(last(node, GW_EV_OP_BEGIN)->value, GW_ALLREDUCE);
        ck_assert_uint_eq(last(node, GW_EV_OP_BEGIN)->bytes, 8000);
        ck_assert_uint_eq(last(node, GW_EV_SEND)->peer,
                          ring.nodes[(r + 1) % P]);
        ck_assert_uint_eq(last(node, GW_EV_APPLY)->peer,
                          ring.nodes[(r + P - 1) % P]);
        for (unsigned i = 0; i < event_record.count[node]; i++) {
            ck_assert_uint_eq(event_record.events[node][i].epoch, 7);
            ck_assert_uint_eq(event_record.events[node][i].op, OP);
        }
        ck_assert_uint_eq(shares[r].contributors.moved, 4 * (P - 1));
        share_fini(&shares[r], true);
    }
    ring_leave(&ring);
}
END_TEST

Suite *suite_coll_events(void)
{
    Suite *suite = suite_create("coll_events");
    TCase *events = tcase_create("coll/events");
    tcase_add_loop_test(events, a_call_that_fails_ends_with_its_code, 0, WAYS);
    tcase_add_loop_test(events, who_waits_reports_for_whom, 0, WAYS);
    tcase_add_loop_test(events, a_ring_speaks_of_nodes, 0, RING_WIRES);
    suite_add_tcase(suite, events);
    return suite;
}
