/* SPDX-License-Identifier: MIT
 *
 * An op that is stopped in the middle. The sets describe the contents of
 * memory, and the buffers belong to the caller again after leaving the
 * communicator. The survivors then continue in a new communicator, and in
 * another one if that is stopped, too, until all data is accounted for.
 */
#include "elastic_ring.h"
#include "node_bits.h"

#include <cluster/registry/decide.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_elastic_stop(void);

/* Stops all members after this many events of one member's sink. */
struct tripwire {
    struct gw_sink sink;
    struct elastic_ring *ring;
    uint64_t left;
};

static void fire_tripwire(struct gw_sink *sink, const struct gw_event *event)
{
    struct tripwire *tripwire = (struct tripwire *)sink;
    (void)event;
    if (tripwire->left-- == 0)
        for (unsigned r = 0; r < tripwire->ring->size; r++)
            atomic_store(&tripwire->ring->stops[r], true);
}

/* ---- deaths and recoveries ---- */

struct story {
    const char *wire;
    bool shared;
    uint64_t seed;
    struct gw_rng rng;
    char what[80];
    struct elastic_ring ring; /* the living members */
    struct share shares[RING_MOST];
    unsigned initial_count, initial_members[RING_MOST];
    uint64_t earlier; /* contributors by the last decision; 0: none */
    unsigned stops;
};

static void story_begin(struct story *s, unsigned size, size_t count)
{
    gw_rng_seed(&s->rng, s->seed);
    s->ring = ring_of(s->wire, size);
    s->ring.slice_bytes = strcmp(s->wire, "shm") == 0 ? 1024 : 16384;
    s->initial_count = size;
    memcpy(s->initial_members, s->ring.nodes, sizeof s->initial_members);
    snprintf(s->what, sizeof s->what, "%s, %u members, seed %llu", s->wire,
             size, (unsigned long long)s->seed);
    for (unsigned r = 0; r < size; r++) {
        share_init(&s->shares[r], &s->ring, r, count, s->shared);
        memset(s->shares[r].call.out, 0xee, count * sizeof(int64_t));
    }
    share_plan_clean(s->shares, &s->ring);
}

/* Runs to the end or until stopped. Returns whether all have their result. */
static bool run_on(struct story *s)
{
    struct elastic_ring *ring = &s->ring;
    unsigned tripper = (unsigned)gw_rng_below(&s->rng, ring->size);
    struct tripwire tripwire = {.sink = {.emit = fire_tripwire},
                                .ring = ring,
                                .left = gw_rng_below(&s->rng, 4 * ring->size)};
    uint64_t sets[RING_MOST][RING_CHUNKS_MOST];
    bool done = true;
    memset(ring->sinks, 0, sizeof ring->sinks);
    ring->sinks[tripper] = &tripwire.sink;
    ring_open(ring);
    share_run_all(s->shares, ring);
    for (unsigned r = 0; r < ring->size; r++) {
        struct share *share = &s->shares[r];
        ck_assert_msg(share->err == GW_OK || share->err == GW_PENDING, "%s: %s",
                      s->what, gw_comm_error(ring->comms[r])->text);
        ck_assert(!share->err == !share->request);
        share_check(share, ring, r, s->what);
        done &= share->err == GW_OK;
        share->request = NULL;
        memcpy(sets[r], share->sets, sizeof sets[r]);
    }
    ring_leave(ring); /* moves nothing any more */
    for (unsigned r = 0; r < ring->size; r++) {
        ck_assert_mem_eq(s->shares[r].sets, sets[r], sizeof sets[r]);
        share_check(&s->shares[r], ring, r, s->what);
    }
    s->stops += !done;
    return done;
}

static void die(struct story *s, unsigned rank)
{
    struct elastic_ring *ring = &s->ring;
    share_fini(&s->shares[rank], s->shared);
    ring->size--;
    for (unsigned r = rank; r < ring->size; r++) {
        s->shares[r] = s->shares[r + 1];
        s->shares[r].contributors.sets = s->shares[r].sets;
        ring->nodes[r] = ring->nodes[r + 1];
    }
    for (unsigned r = 0; r < ring->size; r++)
        ring->epochs[r]++;
}

static uint64_t decide(const struct story *s, struct gw__report *reports)
{
    struct gw__survivor survivors[RING_MOST];
    const struct gw__places places = {s->initial_count, s->initial_members};
    struct gw__decision decision = {.epoch = 8,
                                    .contributors = node_set(s->earlier),
                                    .initial_count = s->initial_count};
    for (unsigned i = 0; i < s->initial_count; i++)
        decision.initial_members[i] = (uint16_t)s->initial_members[i];
    for (unsigned r = 0; r < s->ring.size; r++) {
        reports[r] = (struct gw__report){.op_count = 1};
        share_report(&s->shares[r], &places, &reports[r].ops[0]);
        survivors[r] = (struct gw__survivor){.node = s->ring.nodes[r],
                                             .report = &reports[r]};
    }
    gw__decide(survivors, s->ring.size, &decision);
    return node_bits(decision.contributors);
}

/* A partial sum is continued only if memory has it. */
static void continue_op(struct story *s, const struct gw__recovery *recovery,
                        uint64_t target)
{
    for (unsigned r = 0; r < s->ring.size; r++) {
        struct share *share = &s->shares[r];
        const struct gw_nodes *start =
            recovery->sets + (size_t)r * recovery->plan->chunks;
        for (unsigned c = 0; c < recovery->plan->chunks; c++)
            ck_assert(gw__nodes_equal(
                          start[c], gw__nodes_only(share->contributors.own)) ||
                      gw__nodes_equal(start[c], share->sets[c]));
        share_plan(share, &s->ring, r, recovery->plan, target, start);
    }
}

static void recover(struct story *s)
{
    static struct gw__report reports[RING_MOST];
    const struct gw__holdings *held[RING_MOST];
    struct gw__recovery recovery;
    struct gw_verdict verdict;
    struct gw_error why = {0};
    s->earlier = decide(s, reports);
    for (unsigned r = 0; r < s->ring.size; r++)
        held[r] = &reports[r].ops[0];
    const struct gw__recovery_case c = {.ranks = s->ring.size,
                                        .nodes = s->ring.nodes,
                                        .held = held,
                                        .chunks = s->initial_count,
                                        .target = node_set(s->earlier),
                                        .initial_count = s->initial_count,
                                        .initial_members = s->initial_members};
    enum gw_err err = gw__recovery_make(&c, &recovery, &why);
    ck_assert_msg(err == GW_OK, "%s: %s", s->what, why.text);
    err = gw__recovery_verify(&recovery, 1, &verdict, &why);
    ck_assert_msg(err == GW_OK, "%s: %s", s->what, verdict.sentence);
    continue_op(s, &recovery, s->earlier);
    gw__recovery_fini(&recovery);
}

/* The share of stopped runs shows that the tripwires work. */
static unsigned live_through(struct story *s, unsigned size, size_t count)
{
    story_begin(s, size, count);
    while (!run_on(s)) {
        if (s->ring.size > 1 && gw_rng_below(&s->rng, 4) > 0)
            die(s, (unsigned)gw_rng_below(&s->rng, s->ring.size));
        recover(s);
    }
    for (unsigned r = 0; r < s->ring.size; r++) {
        struct share *share = &s->shares[r];
        for (unsigned c = 0; c < s->initial_count; c++)
            ck_assert_msg(
                gw__nodes_equal(share->sets[c], share->contributors.target),
                "%s: node %u, chunk %u has %#llx", s->what, s->ring.nodes[r], c,
                (unsigned long long)node_bits(share->sets[c]));
        ck_assert(gw__nodes_equal(share->contributors.target,
                                  s->shares[0].contributors.target));
        share_fini(share, s->shared);
    }
    return s->stops;
}

static const struct {
    const char *wire;
    bool shared;
    unsigned seeds;
} variants[] = {
    {"shm", true, 80}, {"shm", false, 40}, {"ipc", false, 8}, {"tcp", true, 8}};
enum { VARIANTS = sizeof variants / sizeof *variants };

START_TEST(stopped_anywhere_the_survivors_complete_it)
{
    unsigned stops = 0;
    for (unsigned seed = 0; seed < variants[_i].seeds; seed++) {
        static struct story story;
        story = (struct story){.wire = variants[_i].wire,
                               .shared = variants[_i].shared,
                               .seed = seed};
        stops += live_through(&story, 2 + seed % 5, 8000 + seed * 37);
    }
    ck_assert_uint_ge(stops, variants[_i].seeds / 2);
}
END_TEST

/* ---- stopping ---- */

static void run_with_pauses(struct elastic_ring *ring, unsigned rank,
                            void *context)
{
    struct share *s = &((struct share *)context)[rank];
    share_run(s, ring, rank);
    while (s->err == GW_PENDING) {
        atomic_store(&ring->stops[rank], false);
        s->err = gw__contributors_wait(&s->request, &ring->stops[rank]);
    }
}

START_TEST(a_stopped_call_goes_on)
{
    struct elastic_ring ring = ring_of(ring_wires[_i], 3);
    struct share shares[RING_MOST];
    struct tripwire tripwire = {
        .sink = {.emit = fire_tripwire}, .ring = &ring, .left = 4};
    ring.slice_bytes = 4096;
    ring.sinks[1] = &tripwire.sink;
    ring_open(&ring);
    for (unsigned r = 0; r < ring.size; r++)
        share_init(&shares[r], &ring, r, 20000, true);
    share_plan_clean(shares, &ring);
    ring_each(&ring, run_with_pauses, shares);
    ck_assert_uint_gt(tripwire.left, 4); /* it went below 0 */
    for (unsigned r = 0; r < ring.size; r++) {
        ck_assert_int_eq(shares[r].err, GW_OK);
        ck_assert_uint_eq(node_bits(shares[r].sets[0]),
                          ring_all_members(&ring));
        share_check(&shares[r], &ring, r, ring.wire);
        share_fini(&shares[r], true);
    }
    ring_leave(&ring);
}
END_TEST

/* A member that waits for another in vain, until it is stopped. */
struct vain {
    struct share shares[2];
    struct gw_sink sink;
    _Atomic bool waits, stop; /* `stop` does not interrupt the wire */
    _Atomic uint64_t stopped_ns;
    uint64_t took_ns;
};

static void record_wait(struct gw_sink *sink, const struct gw_event *event)
{
    struct vain *v =
        (struct vain *)((char *)sink - offsetof(struct vain, sink));
    if (event->kind == GW_EV_WAIT)
        atomic_store(&v->waits, true);
}

static void wait_in_vain(struct elastic_ring *ring, unsigned rank,
                         void *context)
{
    struct vain *v = context;
    if (rank == 0) {
        struct share *s = &v->shares[0];
        s->err = gw__contributors_start(ring->comms[0], &s->call, s->program,
                                        s->op, &s->contributors, &s->request);
        if (!s->err)
            s->err = gw__contributors_wait(&s->request, &v->stop);
        v->took_ns = gw_now_ns() - atomic_load(&v->stopped_ns);
        return;
    }
    while (!atomic_load(&v->waits))
        (void)gw__comm_lost(ring->comms[1]);
    atomic_store(&v->stopped_ns, gw_now_ns());
    atomic_store(&v->stop, true);
}

/* 2 ms are promised; the test allows for a busy machine. */
START_TEST(a_stop_is_obeyed_within_milliseconds)
{
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        struct elastic_ring ring = ring_of(ring_wires[_i], 2);
        struct vain v = {.sink = {.emit = record_wait}};
        ring.sinks[0] = &v.sink;
        ring_open(&ring);
        for (unsigned r = 0; r < ring.size; r++)
            share_init(&v.shares[r], &ring, r, 100, false);
        share_plan_clean(v.shares, &ring);
        ring_each(&ring, wait_in_vain, &v);
        ck_assert_int_eq(v.shares[0].err, GW_PENDING);
        ck_assert_int_eq(gw__comm_waits_for(ring.comms[0]), 1);
        ck_assert_int_eq(gw__comm_waits_for(ring.comms[1]), -1);
        least_ns = v.took_ns < least_ns ? v.took_ns : least_ns;
        ring_leave(&ring);
        for (unsigned r = 0; r < ring.size; r++)
            share_fini(&v.shares[r], false);
    }
    ck_assert_uint_lt(least_ns, 10000000);
}
END_TEST

/* ---- leaving ---- */

static void leave_in_the_middle(struct elastic_ring *ring, unsigned rank,
                                void *context)
{
    struct share *s = &((struct share *)context)[rank];
    if (rank == 0) {
        s->err = gw__contributors_start(ring->comms[0], &s->call, s->program,
                                        s->op, &s->contributors, &s->request);
        atomic_store(&ring->stops[0], true);
        if (!s->err)
            s->err = gw__contributors_wait(&s->request, &ring->stops[0]);
        gw__comm_leave(&ring->comms[0]);
        share_fini(s, false); /* lets the address sanitizer find late reads */
    } else
        share_run(s, ring, rank);
}

/* Lent memory belongs to the caller again. The other member learns that no more
 * data will come; no failure is reported to it. */
START_TEST(after_leaving_none_reads_the_buffers)
{
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    ring_open(&ring);
    for (unsigned r = 0; r < ring.size; r++)
        share_init(&shares[r], &ring, r, 1 << 20, false);
    share_plan_clean(shares, &ring);
    ring_each(&ring, leave_in_the_middle, shares);
    ck_assert_int_eq(shares[0].err, GW_PENDING);
    ck_assert_uint_gt(shares[0].contributors.moved, 0);
    ck_assert_msg(shares[1].err == GW_ECLOSED, "%s: %s",
                  gw_err_name(shares[1].err),
                  gw_comm_error(ring.comms[1])->text);
    ck_assert_uint_eq(node_bits(gw__comm_lost(ring.comms[1])), 0);
    share_check(&shares[1], &ring, 1, ring.wire);
    ring_leave(&ring);
    share_fini(&shares[1], false);
}
END_TEST

Suite *suite_elastic_stop(void)
{
    Suite *suite = suite_create("elastic_stop");
    TCase *story = tcase_create("elastic/stop");
    tcase_add_loop_test(story, stopped_anywhere_the_survivors_complete_it, 0,
                        VARIANTS);
    tcase_add_loop_test(story, a_stopped_call_goes_on, 0, RING_WIRES);
    tcase_add_loop_test(story, a_stop_is_obeyed_within_milliseconds, 0,
                        RING_WIRES);
    tcase_add_loop_test(story, after_leaving_none_reads_the_buffers, 0,
                        RING_WIRES);
    suite_add_tcase(suite, story);
    return suite;
}
