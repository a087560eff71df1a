/* SPDX-License-Identifier: MIT
 *
 * Calls whose chunks carry their contributor sets: clean rings of 1 to 8
 * members over every wire and with every type, and recoveries from the partial
 * sums that survivors hold after any death at any step.
 */
#include "elastic_ring.h"
#include "elements.h"
#include "simring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_elastic(void);

/* ---- clean rings ---- */

/* 4^i: in base 4 all digits of the result are 1. Chunks without elements and
 * chunks of several slices are among these. */
START_TEST(all_members_count_once)
{
    static const size_t counts[] = {0, 1, 3, 7, 1001, 40000};
    const char *wire = ring_wires[_i % RING_WIRES];
    struct elastic_ring ring = ring_of(wire, 1 + (unsigned)_i / RING_WIRES);
    struct share shares[RING_MOST];
    uint64_t all = ring_all_members(&ring);
    ring.slice_bytes = 16384;
    ring_open(&ring);
    for (unsigned k = 0; k < sizeof counts / sizeof *counts; k++) {
        bool shared = k % 2;
        for (unsigned r = 0; r < ring.size; r++) {
            share_init(&shares[r], &ring, r, counts[k], shared);
            shares[r].op = UINT32_MAX - 2 + k; /* the number wraps around */
        }
        share_plan_clean(shares, &ring);
        share_run_all(shares, &ring);
        for (unsigned r = 0; r < ring.size; r++) {
            ck_assert_msg(shares[r].err == GW_OK, "%s, %u members: %s", wire,
                          ring.size, gw_comm_error(ring.comms[r])->text);
            for (unsigned c = 0; c < ring.size; c++)
                ck_assert_uint_eq(node_bits(shares[r].sets[c]), all);
            share_check(&shares[r], &ring, r, wire);
            share_fini(&shares[r], shared);
        }
    }
    ring_leave(&ring);
}
END_TEST

/* Members with numbers far apart: most of their sets have more runs than a
 * header has room for, so they are sent before the chunks. */
START_TEST(sets_of_many_runs_have_slices)
{
    enum { SIZE = 8, N = 5000, APART = 40 };
    struct elastic_ring ring = ring_of(ring_wires[_i], SIZE);
    struct share shares[RING_MOST];
    struct gw_nodes all = {{0}};
    struct gw__recovery recovery;
    struct gw_error why = {0};
    int64_t sum = share_digits(ring_all_members(&ring));
    ring.slice_bytes = 1024; /* several slices per chunk */
    for (unsigned r = 0; r < SIZE; r++)
        share_init(&shares[r], &ring, r, N, false);
    for (unsigned r = 0; r < SIZE; r++) {
        ring.nodes[r] = APART / 2 + APART * r;
        gw__nodes_add(&all, ring.nodes[r]);
    }
    const struct gw__recovery_case clean = {.ranks = SIZE,
                                            .nodes = ring.nodes,
                                            .chunks = SIZE,
                                            .target = all,
                                            .initial_count = SIZE,
                                            .initial_members = ring.nodes};
    ck_assert_int_eq(gw__recovery_make(&clean, &recovery, &why), GW_OK);
    ring_open(&ring);
    for (unsigned r = 0; r < SIZE; r++) {
        share_plan(&shares[r], &ring, r, recovery.plan, 0,
                   recovery.sets + (size_t)r * SIZE);
        shares[r].contributors.target = all;
    }
    share_run_all(shares, &ring);
    for (unsigned r = 0; r < SIZE; r++) {
        ck_assert_msg(shares[r].err == GW_OK, "%s: %s", ring.wire,
                      gw_comm_error(ring.comms[r])->text);
        share_expect(shares[r].call.out, N, sum, ring.wire, ring.nodes[r], -1);
        for (unsigned c = 0; c < SIZE; c++)
            ck_assert(gw__nodes_equal(shares[r].sets[c], all));
        share_fini(&shares[r], false);
    }
    ring_leave(&ring);
    gw__recovery_fini(&recovery);
}
END_TEST

/* A chunk's sum in the ring's order: member by member, beginning with the one
 * after its owner. */
static void reference(struct share *shares, unsigned size, unsigned chunk,
                      size_t offset, size_t length, unsigned char *out)
{
    const struct gw_call *call = &shares[0].call;
    size_t elem = gw_dtype_size(call->type);
    void *dest = out + offset * elem;
    for (unsigned i = 1; i <= size; i++) {
        const unsigned char *in = shares[(chunk + i) % size].call.in;
        const void *sources[2] = {in + offset * elem, dest};
        struct gw_reduce_local reduce = {.sources = sources,
                                         .dests = &dest,
                                         .source_count = i == 1 ? 1 : 2,
                                         .dest_count = 1,
                                         .count = length,
                                         .type = call->type,
                                         .op = call->op,
                                         .scale_ranks = 1};
        gw_reduce_local(&reduce);
    }
}

static void check_kind(struct share *shares, const struct elastic_ring *ring)
{
    const struct gw_call *call = &shares[0].call;
    const struct gw_plan *plan = shares[0].program->plan;
    size_t bytes = call->count * gw_dtype_size(call->type);
    unsigned char *want = calloc(1, bytes);
    for (unsigned c = 0; c < plan->chunks; c++) {
        size_t offset, length;
        gw_plan_extent(plan, c, call->count, gw_dtype_size(call->type), &offset,
                       &length);
        reference(shares, ring->size, c, offset, length, want);
    }
    for (unsigned r = 0; r < ring->size; r++) {
        ck_assert_msg(shares[r].err == GW_OK, "%s",
                      gw_comm_error(ring->comms[r])->text);
        ck_assert_msg(memcmp(shares[r].call.out, want, bytes) == 0,
                      "%s: rank %u of %u: %s of %zu %s", ring->wire, r,
                      ring->size, gw_redop_name(call->op), call->count,
                      gw_dtype_name(call->type));
    }
    free(want);
}

START_TEST(every_kind_of_value)
{
    enum { N = 777 };
    struct elastic_ring ring = ring_of(ring_wires[_i], 3 + (unsigned)_i);
    struct share shares[RING_MOST];
    ring.slice_bytes = 1024;
    ring_open(&ring);
    for (unsigned r = 0; r < ring.size; r++)
        share_init(&shares[r], &ring, r, N, false);
    share_plan_clean(shares, &ring);
    unsigned kind = 0;
    for (unsigned type = 0; type < GW_DTYPE_COUNT; type++)
        for (unsigned op = 0; op < GW_REDOP_COUNT; op++) {
            if (op == GW_AVG ||
                !gw_redop_allowed((enum gw_redop)op, (enum gw_dtype)type))
                continue;
            for (unsigned r = 0; r < ring.size; r++) {
                struct share *s = &shares[r];
                s->op = kind;
                s->call.type = (enum gw_dtype)type;
                s->call.op = (enum gw_redop)op;
                for (unsigned c = 0; c < ring.size; c++)
                    s->sets[c] = gw__nodes_only(s->contributors.own);
                for (size_t i = 0; i < N; i++)
                    put_element((void *)(uintptr_t)s->call.in, s->call.type, i,
                                (int64_t)((i * 7 + r * 5 + op) % 4));
            }
            kind++;
            share_run_all(shares, &ring);
            check_kind(shares, &ring);
        }
    for (unsigned r = 0; r < ring.size; r++)
        share_fini(&shares[r], false);
    ring_leave(&ring);
}
END_TEST

/* ---- recoveries from holdings ---- */

static struct simring simring;

static void survivors_begin(struct elastic_ring *ring, struct share *shares,
                            size_t count)
{
    unsigned p = simring.count;
    ring->size = simring.survivor_count;
    for (unsigned rank = 0; rank < ring->size; rank++)
        ring->nodes[rank] = simring.nodes[simring.survivors[rank]];
    ring_open(ring);
    for (unsigned rank = 0; rank < ring->size; rank++) {
        const struct simring_member *m =
            &simring.members[simring.survivors[rank]];
        struct share *s = &shares[rank];
        share_init(s, ring, rank, count, true);
        share_plan(s, ring, rank, simring.recovery.plan,
                   node_bits(simring.decision.contributors),
                   simring.recovery.sets + (size_t)rank * p);
        int64_t *in = (void *)(uintptr_t)s->call.in, *out = s->call.out;
        for (unsigned c = 0; c < p; c++) {
            size_t offset, length;
            gw_plan_extent(simring.recovery.plan, c, count, sizeof *out,
                           &offset, &length);
            bool bare = gw__nodes_equal(s->sets[c],
                                        gw__nodes_only(s->contributors.own));
            for (size_t i = offset; i < offset + length; i++) {
                in[i] = (int64_t)1 << 2 * simring.survivors[rank];
                out[i] = bare ? -1 : (int64_t)m->digits[c];
            }
        }
    }
}

static void survivors_end(struct elastic_ring *ring, struct share *shares,
                          const char *what)
{
    int64_t want = 0;
    for (unsigned i = 0; i < simring.count; i++)
        if (node_bits(simring.decision.contributors) &
            simring_node_bit(&simring, i))
            want |= (int64_t)1 << 2 * i;
    for (unsigned rank = 0; rank < ring->size; rank++) {
        struct share *s = &shares[rank];
        const int64_t *in = s->call.in, *out = s->call.out;
        ck_assert_msg(s->err == GW_OK, "%s: %s", what,
                      gw_comm_error(ring->comms[rank])->text);
        for (unsigned c = 0; c < simring.count; c++)
            ck_assert(
                gw__nodes_equal(s->sets[c], simring.decision.contributors));
        /* The last member's input is the result, and stays there. */
        bool stays = ring->size == 1 && want == in[0];
        if (stays)
            share_expect(out, s->call.count, -1, what, ring->nodes[rank], 0);
        share_expect(stays ? in : out, s->call.count, want, what,
                     ring->nodes[rank], 0);
        share_fini(s, true);
    }
    ring_leave(ring);
}

/* Each chunk has several slices. test_ring_recovery.c checks which of them
 * survivors copy, keep or recompute. */
START_TEST(any_death_at_any_step)
{
    unsigned p = 2 + (unsigned)_i;
    char what[64];
    for (unsigned dead = 1; dead < 1U << p; dead += p < 4 ? 1 : 3)
        for (unsigned step = 0; step <= 2 * (p - 1); step++) {
            struct elastic_ring ring = ring_of("shm", 0);
            struct share shares[RING_MOST];
            if (dead + 1 == 1U << p)
                continue;
            for (unsigned r = 0; r < p; r++)
                ring.epochs[r] = 8;
            snprintf(what, sizeof what, "%#x of %u die at step %u", dead, p,
                     step);
            ring.slice_bytes = 512;
            simring_begin(&simring, p);
            for (unsigned s = 0; s < step; s++)
                for (unsigned c = 0; c < p; c++)
                    ck_assert(simring_hop_once(&simring, c, s));
            simring_lose(&simring, dead);
            survivors_begin(&ring, shares, 601);
            share_run_all(shares, &ring);
            survivors_end(&ring, shares, what);
            simring_end(&simring);
        }
}
END_TEST

START_TEST(both_fates_over_zmq)
{
    static const struct {
        unsigned step;
        enum gw__fate fate;
    } moments[] = {{2, GW__EXCLUDE}, {3, GW__EXCLUDE}, {5, GW__FORWARD}};
    for (unsigned i = 0; i < sizeof moments / sizeof *moments; i++) {
        struct elastic_ring ring = ring_of(ring_wires[1 + _i], 0);
        struct share shares[RING_MOST];
        simring_begin(&simring, 4);
        for (unsigned s = 0; s < moments[i].step; s++)
            for (unsigned c = 0; c < 4; c++)
                ck_assert(simring_hop_once(&simring, c, s));
        simring_lose(&simring, 1U << 2);
        ck_assert_int_eq(simring.decision.fate, moments[i].fate);
        survivors_begin(&ring, shares, 30000);
        share_run_all(shares, &ring);
        survivors_end(&ring, shares, ring.wire);
        simring_end(&simring);
    }
}
END_TEST

Suite *suite_elastic(void)
{
    Suite *suite = suite_create("elastic");
    TCase *clean = tcase_create("elastic/clean");
    TCase *held = tcase_create("elastic/held");
    tcase_add_loop_test(clean, sets_of_many_runs_have_slices, 0, RING_WIRES);
    tcase_add_loop_test(clean, all_members_count_once, 0,
                        RING_WIRES * RING_MOST);
    tcase_add_loop_test(clean, every_kind_of_value, 0, RING_WIRES);
    tcase_add_loop_test(held, any_death_at_any_step, 0, 4);
    tcase_add_loop_test(held, both_fates_over_zmq, 0, 2);
    suite_add_tcase(suite, clean);
    suite_add_tcase(suite, held);
    return suite;
}
