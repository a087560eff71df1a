/* SPDX-License-Identifier: MIT
 *
 * What elastic communicators refuse: data that would count twice or must not
 * count, slices that contradict themselves, slices of another epoch, calls that
 * differ; but not those of a member that is merely ahead.
 */
#include "elastic_ring.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

Suite *suite_elastic_wrong(void);

/* A transfer of chunk 0 in a step of its own. */
struct hop {
    unsigned src, dst;
    enum gw_action action;
};

static struct gw_plan *plan_of(unsigned ranks, const struct hop *hops,
                               unsigned count)
{
    struct gw_builder *builder;
    struct gw_plan *plan;
    ck_assert_int_eq(gw_builder_new(GW_ALLREDUCE, ranks, 1, 0, &builder, NULL),
                     GW_OK);
    for (unsigned i = 0; i < count; i++) {
        gw_builder_step(builder);
        gw_builder_add(builder, hops[i].src, hops[i].dst, 0, hops[i].action);
    }
    ck_assert_int_eq(gw_builder_finish(&builder, &plan, NULL), GW_OK);
    return plan;
}

/* Makes the shares of all members, who begin with `sets` (0: the input). */
static void take_plan(struct elastic_ring *ring, struct share *shares,
                      struct gw_plan *plan, uint64_t target,
                      const uint64_t *sets)
{
    for (unsigned r = 0; r < ring->size; r++) {
        uint64_t set = sets[r] ? sets[r] : ring_bit(ring, r);
        share_plan(&shares[r], ring, r, plan, target, &set);
        for (size_t i = 0; i < shares[r].call.count; i++)
            ((int64_t *)shares[r].call.out)[i] = share_digits(set);
    }
}

static void open_with_shares(struct elastic_ring *ring, struct share *shares,
                             size_t count)
{
    ring_open(ring);
    for (unsigned r = 0; r < ring->size; r++)
        share_init(&shares[r], ring, r, count, true);
}

static void leave_with_shares(struct elastic_ring *ring, struct share *shares)
{
    ring_leave(ring);
    for (unsigned r = 0; r < ring->size; r++)
        share_fini(&shares[r], true);
}

static void expect_error(const struct elastic_ring *ring,
                         const struct share *shares, unsigned rank,
                         enum gw_err code, const char *text)
{
    const struct gw_error *error = gw_comm_error(ring->comms[rank]);
    ck_assert_msg(shares[rank].err == code, "%s: %s",
                  gw_err_name(shares[rank].err), error->text);
    ck_assert_msg(strstr(error->text, text) != NULL, "no \"%s\" in: %s", text,
                  error->text);
}

/* Who fails stops the others, as a new view would. */
static void run_or_stop(struct elastic_ring *ring, unsigned rank, void *context)
{
    struct share *s = &((struct share *)context)[rank];
    share_run(s, ring, rank);
    for (unsigned r = 0; r < ring->size && s->err && s->err != GW_PENDING; r++)
        atomic_store(&ring->stops[r], true);
}

/* ---- the rule ---- */

/* Nodes are 5, 16 and 27. */
START_TEST(nobody_counts_twice)
{
    static const struct hop twice[] = {{0, 1, GW_ADD}, {0, 1, GW_ADD}};
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    uint64_t sets[2] = {0};
    struct gw_plan *plan = plan_of(2, twice, 2);
    open_with_shares(&ring, shares, 1000);
    take_plan(&ring, shares, plan, ring_everybody(&ring), sets);
    ring_each(&ring, run_or_stop, shares);
    expect_error(&ring, shares, 1, GW_EWRONG,
                 "op 0, step 2, chunk 0 at node 16: node 5 would count twice");
    /* What was there before is still there, and nobody else was told. */
    ck_assert_uint_eq(shares[1].sets[0], ring_everybody(&ring));
    share_check(&shares[1], &ring, 1, ring.wire);
    ck_assert(shares[0].err == GW_OK || shares[0].err == GW_PENDING);
    gw_plan_destroy(&plan);
    leave_with_shares(&ring, shares);
}
END_TEST

/* Two that come at once, and the own value, may not share anybody either. */
START_TEST(several_sources_share_nobody)
{
    struct elastic_ring ring = ring_of("shm", 3);
    uint64_t a = ring_bit(&ring, 0), b = ring_bit(&ring, 1),
             all = ring_everybody(&ring);
    const struct {
        uint64_t sets[3];
        const char *text;
    } cases[] = {
        {{a | b, b, 0}, "node 16 would count twice"},
        {{a | b, a | b, 0}, "nodes 5, 16 would count twice"},
        {{0, 0, all}, "nodes 5, 16 would count twice"},
        {{0, 0, 0}, NULL},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct share shares[RING_MOST];
        struct gw_builder *builder;
        struct gw_plan *plan;
        ck_assert_int_eq(gw_builder_new(GW_ALLREDUCE, 3, 1, 0, &builder, NULL),
                         GW_OK);
        gw_builder_step(builder);
        gw_builder_add(builder, 0, 2, 0, GW_ADD);
        gw_builder_add(builder, 1, 2, 0, GW_ADD);
        ck_assert_int_eq(gw_builder_finish(&builder, &plan, NULL), GW_OK);
        open_with_shares(&ring, shares, 500);
        take_plan(&ring, shares, plan, all, cases[i].sets);
        ring_each(&ring, run_or_stop, shares);
        if (cases[i].text)
            expect_error(&ring, shares, 2, GW_EWRONG, cases[i].text);
        else
            ck_assert_int_eq(shares[2].err, GW_OK);
        share_check(&shares[2], &ring, 2, "three");
        gw_plan_destroy(&plan);
        leave_with_shares(&ring, shares);
    }
}
END_TEST

START_TEST(nobody_counts_who_must_not)
{
    static const struct hop hops[] = {{0, 1, GW_REPLACE}};
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    uint64_t sets[2] = {0};
    struct gw_plan *plan = plan_of(2, hops, 1);
    open_with_shares(&ring, shares, 10);
    take_plan(&ring, shares, plan, ring_everybody(&ring), sets);
    shares[1].shares.target = ring_bit(&ring, 1);
    ring_each(&ring, run_or_stop, shares);
    expect_error(&ring, shares, 1, GW_EWRONG, "node 5 must not count");
    ck_assert_uint_eq(shares[1].sets[0], ring_bit(&ring, 1));
    share_check(&shares[1], &ring, 1, ring.wire);
    gw_plan_destroy(&plan);
    leave_with_shares(&ring, shares);
}
END_TEST

/* ---- slices that lie ---- */

/* Rank 0 lies by hand: the headers of its slices are the test's. */
struct lie {
    uint32_t epoch;
    uint64_t first, second; /* contributors of the two slices */
    enum gw_err code;
    const char *text;
};

static void tell_lies(struct elastic_ring *ring, struct share *s,
                      const struct lie *lie)
{
    enum { HALF = 64 };
    struct gw__wire *wire = ring->comms[0]->wire;
    struct gw__signature signature;
    gw__call_sign(&s->call, 2, 0, &signature);
    signature.collective = GW__SHARED;
    signature.plan = gw_plan_hash(s->program->plan);
    for (uint32_t k = 0; k < 2; k++) {
        struct gw__header header = {.epoch = lie->epoch,
                                    .slice = k,
                                    .bytes = HALF,
                                    .call = signature,
                                    .contributors =
                                        k ? lie->second : lie->first};
        ck_assert_int_eq(wire->ops->send(wire, 1, &header, s->call.in, true),
                         GW_OK);
    }
}

START_TEST(a_slice_that_lies_is_found_out)
{
    static const struct hop hops[] = {{0, 1, GW_ADD}};
    struct elastic_ring ring = ring_of(ring_wires[_i % RING_WIRES], 2);
    uint64_t a = ring_bit(&ring, 0), b = ring_bit(&ring, 1);
    const struct lie lies[] = {
        {7, a, a, GW_OK, ""},
        {7, a, a | b, GW_EWRONG, "node 5 changed whose data it sends"},
        {7, a, 0, GW_EWRONG, "node 5 sent nobody's data"},
        {7, 0, 0, GW_EWRONG, "node 5 sent nobody's data"},
        {6, a, a, GW_EMISMATCH, "rank 1 is in epoch 7, rank 0 in epoch 6"},
        {8, a, a, GW_EMISMATCH, "rank 1 is in epoch 7, rank 0 in epoch 8"},
    };
    const struct lie *lie = &lies[_i / RING_WIRES];
    struct share shares[RING_MOST];
    uint64_t sets[2] = {0};
    struct gw_plan *plan = plan_of(2, hops, 1);
    ring.slice_bytes = 64;
    open_with_shares(&ring, shares, 16);
    take_plan(&ring, shares, plan, a | b, sets);
    tell_lies(&ring, &shares[0], lie);
    share_run(&shares[1], &ring, 1);
    expect_error(&ring, shares, 1, lie->code, lie->text);
    ck_assert_uint_eq(shares[1].sets[0], lie->code ? b : a | b);
    share_check(&shares[1], &ring, 1, "a lie");
    gw_plan_destroy(&plan);
    leave_with_shares(&ring, shares);
}
END_TEST

START_TEST(members_of_two_epochs_do_not_mix)
{
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    ring.epochs[1]++;
    open_with_shares(&ring, shares, 100);
    share_plan_clean(shares, &ring);
    share_run_all(shares, &ring);
    for (unsigned r = 0; r < 2; r++) {
        ck_assert(shares[r].err == GW_EMISMATCH);
        ck_assert(strstr(gw_comm_error(ring.comms[r])->text, "epoch 8"));
        for (unsigned c = 0; c < 2; c++)
            ck_assert_uint_eq(shares[r].sets[c], ring_bit(&ring, r));
    }
    leave_with_shares(&ring, shares);
}
END_TEST

/* ---- ahead, and beside ---- */

/* Rank 1 has nothing to do in the first op, so it is soon in the second, and
 * says so to rank 0, who still waits for rank 2. */
struct two_ops {
    struct share shares[2][RING_MOST];
    struct gw_sink sink;
    _Atomic bool waits;
};

static void note_wait(struct gw_sink *sink, const struct gw_event *event)
{
    struct two_ops *two =
        (struct two_ops *)((char *)sink - offsetof(struct two_ops, sink));
    if (event->kind == GW_EV_WAIT)
        atomic_store(&two->waits, true);
}

static void run_both(struct elastic_ring *ring, unsigned rank, void *context)
{
    struct two_ops *two = context;
    while (rank == 2 && !atomic_load(&two->waits))
        sched_yield();
    for (unsigned i = 0; i < 2; i++)
        share_run(&two->shares[i][rank], ring, rank);
}

START_TEST(who_is_ahead_is_not_told_off)
{
    static const struct hop first[] = {{2, 0, GW_REPLACE}};
    static const struct hop second[] = {{1, 0, GW_REPLACE}};
    struct elastic_ring ring = ring_of(ring_wires[_i], 3);
    struct two_ops two = {.sink = {.emit = note_wait}};
    uint64_t all = ring_everybody(&ring), sets[3] = {0, all, all};
    struct gw_plan *plans[2] = {plan_of(3, first, 1), plan_of(3, second, 1)};
    ring.sinks[0] = &two.sink;
    ring_open(&ring);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned r = 0; r < 3; r++) {
            share_init(&two.shares[i][r], &ring, r, 5000, true);
            two.shares[i][r].op = 100 + i;
        }
        take_plan(&ring, two.shares[i], plans[i], all, sets);
    }
    ring_each(&ring, run_both, &two);
    for (unsigned r = 0; r < 3; r++)
        for (unsigned i = 0; i < 2; i++) {
            ck_assert_msg(two.shares[i][r].err == GW_OK, "rank %u: %s", r,
                          gw_comm_error(ring.comms[r])->text);
            ck_assert_uint_eq(two.shares[i][r].sets[0], all);
            share_check(&two.shares[i][r], &ring, r, ring.wire);
        }
    ring_leave(&ring);
    for (unsigned i = 0; i < 2; i++) {
        gw_plan_destroy(&plans[i]);
        for (unsigned r = 0; r < 3; r++)
            share_fini(&two.shares[i][r], true);
    }
}
END_TEST

START_TEST(calls_that_differ_are_both_named)
{
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    open_with_shares(&ring, shares, 100);
    share_plan_clean(shares, &ring);
    shares[1].call.op = GW_MAX;
    share_run_all(shares, &ring);
    expect_error(&ring, shares, 0, GW_EMISMATCH,
                 "rank 0 called elastic allreduce(100 i64, sum, plan #");
    expect_error(&ring, shares, 0, GW_EMISMATCH,
                 "rank 1 called elastic allreduce(100 i64, max, plan #");
    leave_with_shares(&ring, shares);
}
END_TEST

/* ---- what makes no sense ---- */

enum fault { AVG, IN_PLACE, NOT_ALLREDUCE, OTHER_RANK, NO_SET, BEYOND, FAULTS };

START_TEST(senseless_calls_are_refused)
{
    static const char *const texts[FAULTS] = {
        [AVG] = "avg",
        [IN_PLACE] = "the input must stay as it is",
        [NOT_ALLREDUCE] = "only an all-reduce",
        [OTHER_RANK] = "as rank 1 sees it",
        [NO_SET] = "chunk 1 begins with 0",
        [BEYOND] = "chunk 0 begins with 0x",
    };
    struct elastic_ring ring = ring_of("shm", 2);
    struct share shares[RING_MOST];
    open_with_shares(&ring, shares, 100);
    share_plan_clean(shares, &ring);
    struct share *s = &shares[0];
    struct gw_call call = s->call;
    struct gw__program *program = s->program;
    switch ((enum fault)_i) {
    case AVG:
        s->call.op = GW_AVG;
        break;
    case IN_PLACE:
        s->call.in = GW_IN_PLACE;
        break;
    case NOT_ALLREDUCE:
        s->call.collective = GW_BROADCAST;
        break;
    case OTHER_RANK:
        s->program = shares[1].program;
        break;
    case NO_SET:
        s->sets[1] = 0;
        break;
    default:
        s->shares.target = ring_bit(&ring, 1);
    }
    share_run(s, &ring, 0);
    expect_error(&ring, shares, 0, GW_EINVAL, texts[_i]);
    ck_assert_ptr_null(s->request);
    s->call = call;
    s->program = program;
    leave_with_shares(&ring, shares);
}
END_TEST

START_TEST(seats_that_cannot_be)
{
    static const struct {
        unsigned nodes[2];
        const char *text;
    } seats[] = {{{3, 64}, "rank 1 cannot be node 64"},
                 {{3, 3}, "rank 1 cannot be node 3"}};
    _Atomic bool stop = false;
    for (unsigned i = 0; i < 2; i++) {
        struct gw__seat seat = {
            .config = {.size = 2}, .nodes = seats[i].nodes, .interrupt = &stop};
        struct gw_comm *comm;
        struct gw_error why = {0};
        ck_assert_int_eq(gw__comm_prepare(&seat, &comm, &why), GW_EINVAL);
        ck_assert_str_eq(why.text, seats[i].text);
        ck_assert_ptr_null(comm);
    }
}
END_TEST

Suite *suite_elastic_wrong(void)
{
    Suite *suite = suite_create("elastic_wrong");
    TCase *rule = tcase_create("elastic/rule");
    TCase *lies = tcase_create("elastic/lies");
    TCase *rest = tcase_create("elastic/refused");
    tcase_add_loop_test(rule, nobody_counts_twice, 0, RING_WIRES);
    tcase_add_test(rule, several_sources_share_nobody);
    tcase_add_loop_test(rule, nobody_counts_who_must_not, 0, RING_WIRES);
    tcase_add_loop_test(lies, a_slice_that_lies_is_found_out, 0,
                        6 * RING_WIRES);
    tcase_add_loop_test(lies, members_of_two_epochs_do_not_mix, 0, RING_WIRES);
    tcase_add_loop_test(lies, who_is_ahead_is_not_told_off, 0, RING_WIRES);
    tcase_add_loop_test(lies, calls_that_differ_are_both_named, 0, RING_WIRES);
    tcase_add_loop_test(rest, senseless_calls_are_refused, 0, FAULTS);
    tcase_add_test(rest, seats_that_cannot_be);
    suite_add_tcase(suite, rule);
    suite_add_tcase(suite, lies);
    suite_add_tcase(suite, rest);
    return suite;
}
