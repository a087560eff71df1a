/* SPDX-License-Identifier: MIT
 *
 * Every collective, by every algorithm, over every wire, against a scalar
 * reference: the specification of lib/coll. Ranks are threads. Slices are tiny,
 * so that a chunk of a few hundred elements already has several. Counters must
 * equal the price of the plan.
 */
#include "elements.h"
#include "ranks.h"

#include <gradwire/wire.h>

#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 256 };

/* One call, the same on all ranks. */
struct workload {
    struct gw_call call;
    bool in_place, shared; /* shared: buffers from gw_alloc */
};

/* Small, so that sums of 17 are exact in bf16 too. */
static int64_t value(const struct workload *workload, unsigned rank, size_t i)
{
    size_t x = i * 7 + rank * 3;
    if (workload->call.op == GW_PROD)
        return x % 5 == 0 ? 2 : 1;
    if (workload->call.op >= GW_LAND)
        return (int64_t)(x % 11 ? 1 + x % 7 : 0);
    return (int64_t)(x % 4);
}

static bool is_float(enum gw_dtype type)
{
    return type >= GW_F16;
}

static double reduced(const struct workload *workload, unsigned ranks, size_t i)
{
    int64_t sum = value(workload, 0, i);
    for (unsigned r = 1; r < ranks; r++)
        sum = reduce_whole(workload->call.op, sum, value(workload, r, i));
    if (workload->call.op >= GW_LAND && workload->call.op <= GW_LOR &&
        ranks == 1)
        return (double)sum;
    if (workload->call.op != GW_AVG)
        return (double)sum;
    return is_float(workload->call.type) ? (double)sum / ranks
                                         : (double)(sum / (int64_t)ranks);
}

/* Elements of `in` and `out` of a rank, before and after. */
static size_t in_elems(const struct workload *workload, unsigned ranks)
{
    enum gw_collective c = workload->call.collective;
    bool blocks = c == GW_SCATTER || c == GW_REDUCE_SCATTER || c == GW_ALLTOALL;
    return workload->call.count * (blocks ? ranks : 1);
}

static size_t out_elems(const struct workload *workload, unsigned ranks)
{
    enum gw_collective c = workload->call.collective;
    bool blocks =
        c == GW_GATHER || c == GW_ALLGATHER || c == GW_ALLTOALL ||
        (workload->in_place && (c == GW_SCATTER || c == GW_REDUCE_SCATTER));
    return workload->call.count * (blocks ? ranks : 1);
}

/* Where the input begins in `out` when in place. */
static size_t own_block(const struct workload *workload, unsigned rank)
{
    enum gw_collective c = workload->call.collective;
    return c == GW_GATHER || c == GW_ALLGATHER ? rank * workload->call.count
                                               : 0;
}

/* The offset of the result in `out`, its length, and its expected values. */
static size_t result_elems(const struct workload *workload, unsigned ranks,
                           unsigned rank)
{
    bool root = rank == workload->call.root;
    switch (workload->call.collective) {
    case GW_BARRIER:
        return 0;
    case GW_EXSCAN:
        return rank > 0 ? workload->call.count : 0;
    case GW_REDUCE:
        return root ? workload->call.count : 0;
    case GW_GATHER:
        return root ? workload->call.count * ranks : 0;
    case GW_ALLGATHER:
    case GW_ALLTOALL:
        return workload->call.count * ranks;
    default:
        return workload->call.count;
    }
}

static size_t result_begin(const struct workload *workload, unsigned rank)
{
    enum gw_collective c = workload->call.collective;
    bool shifted = workload->in_place &&
                   (c == GW_REDUCE_SCATTER ||
                    (c == GW_SCATTER && rank == workload->call.root));
    return shifted ? rank * workload->call.count : 0;
}

static double expected(const struct workload *workload, unsigned ranks,
                       unsigned rank, size_t i)
{
    size_t n = workload->call.count;
    switch (workload->call.collective) {
    case GW_BROADCAST:
        return (double)value(workload, workload->call.root, i);
    case GW_SCATTER:
        return (double)value(workload, workload->call.root, rank * n + i);
    case GW_GATHER:
    case GW_ALLGATHER:
        return (double)value(workload, (unsigned)(i / n), i % n);
    case GW_REDUCE_SCATTER:
        return reduced(workload, ranks, rank * n + i);
    case GW_ALLTOALL:
        return (double)value(workload, (unsigned)(i / n), rank * n + i % n);
    case GW_SCAN:
        return reduced(workload, rank + 1, i);
    case GW_EXSCAN:
        return reduced(workload, rank, i);
    default:
        return reduced(workload, ranks, i);
    }
}

static void describe(const struct gw_comm *comm,
                     const struct workload *workload, char *text, size_t room)
{
    snprintf(text, room, "%s %s %s rank %u of %u: %zu %s %s root %u%s%s",
             gw_comm_wire(comm), gw_collective_name(workload->call.collective),
             workload->call.algo ? workload->call.algo : "auto",
             gw_comm_rank(comm), gw_comm_size(comm), workload->call.count,
             gw_dtype_name(workload->call.type),
             gw_redop_name(workload->call.op), workload->call.root,
             workload->in_place ? " in place" : "",
             workload->shared ? " shared" : "");
}

static void give_up(const struct gw_comm *comm, const struct workload *workload,
                    const char *sentence)
{
    char text[256];
    describe(comm, workload, text, sizeof text);
    fprintf(stderr, "%s: %s\n", text, sentence);
    abort();
}

static void check_result(const struct gw_comm *comm,
                         const struct workload *workload, const void *out)
{
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    size_t begin = result_begin(workload, rank);
    size_t count = result_elems(workload, p, rank);
    for (size_t i = 0; i < count; i++) {
        double want = expected(workload, p, rank, i);
        double got = get_element(out, workload->call.type, begin + i);
        double slack =
            workload->call.op == GW_AVG && is_float(workload->call.type) ? 0.01
                                                                         : 0;
        if (!(fabs(got - want) <= slack)) {
            char why[80];
            snprintf(why, sizeof why, "element %zu is %g, not %g", i, got,
                     want);
            give_up(comm, workload, why);
        }
    }
}

static void check_counters(const struct gw_comm *comm,
                           const struct workload *workload)
{
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    struct gw_algo_args args = {.ranks = p, .root = workload->call.root};
    struct gw_plan *plan;
    struct gw_error why;
    uint64_t messages[64], bytes[64];
    if (gw_plan_make(workload->call.collective, workload->call.algo, &args,
                     &plan, &why))
        give_up(comm, workload, why.text);
    size_t count =
        workload->call.collective == GW_BARRIER ? 0 : workload->call.count;
    gw_plan_price_rank(plan, count, gw_dtype_size(workload->call.type), rank,
                       messages, bytes);
    for (unsigned q = 0; q < p; q++) {
        struct gw_counters counted;
        gw_comm_counters(comm, q, &counted);
        if (counted.messages_sent != messages[q] ||
            counted.bytes_sent != bytes[q])
            give_up(comm, workload,
                    "counters differ from the price of the plan");
    }
    /* A receiver counts as its own what the senders' prices predict for it. */
    for (unsigned q = 0; q < p; q++) {
        struct gw_counters counted;
        gw_comm_counters(comm, q, &counted);
        gw_plan_price_rank(plan, count, gw_dtype_size(workload->call.type), q,
                           messages, bytes);
        if (counted.messages_received != messages[rank] ||
            counted.bytes_received != bytes[rank])
            give_up(comm, workload, "the received bytes differ from the price");
    }
    gw_plan_destroy(&plan);
}

static void *new_buffer(bool shared, size_t bytes)
{
    void *memory = shared ? gw_alloc(bytes, NULL) : calloc(1, bytes + 1);
    if (!memory)
        abort();
    return memory;
}

static void free_buffer(bool shared, void *memory)
{
    if (shared)
        gw_free(memory);
    else
        free(memory);
}

static void run_workload(struct gw_comm *comm, const struct workload *workload)
{
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    struct gw_call call = workload->call;
    size_t elem = gw_dtype_size(call.type);
    size_t ins = in_elems(workload, p), outs = out_elems(workload, p);
    if (workload->in_place && outs < ins)
        outs = ins;
    unsigned char *in = new_buffer(workload->shared, ins * elem + 64);
    unsigned char *out = new_buffer(workload->shared, outs * elem + 64);
    memset(out, 0x55, outs * elem + 64);
    unsigned char *from = workload->in_place ? out : in;
    size_t begin = workload->in_place ? own_block(workload, rank) : 0;
    for (size_t i = 0; i < ins; i++)
        put_element(from, call.type, begin + i, value(workload, rank, i));
    unsigned char *before = malloc(ins * elem + 1);
    if (!before)
        abort();
    memcpy(before, in, ins * elem);
    call.in = workload->in_place ? GW_IN_PLACE : in;
    call.out = out;
    gw_comm_counters_reset(comm);
    if (gw_run(comm, &call))
        give_up(comm, workload, gw_comm_error(comm)->text);
    check_result(comm, workload, out);
    if (memcmp(before, in, ins * elem) != 0)
        give_up(comm, workload, "the input was changed");
    for (size_t i = outs * elem; i < outs * elem + 64; i++)
        if (out[i] != 0x55)
            give_up(comm, workload, "bytes behind the output were changed");
    if (call.algo)
        check_counters(comm, workload);
    free(before);
    free_buffer(workload->shared, in);
    free_buffer(workload->shared, out);
}

/* Every algorithm with one shape; types and reductions rotate. */
static void sweep(struct gw_comm *comm, void *context)
{
    static const size_t counts[] = {0, 1, 5, 64, 333, 1500, 5000};
    unsigned p = gw_comm_size(comm);
    unsigned turn = p + *(const unsigned *)context;
    size_t algos;
    const struct gw_algo *const *list = gw_algo_list(&algos);
    for (size_t a = 0; a < algos; a++) {
        if (!list[a]->valid(p))
            continue;
        for (unsigned k = 0; k < sizeof counts / sizeof *counts; k++, turn++) {
            struct workload workload = {
                .call = {.collective = list[a]->collective,
                         .algo = list[a]->name,
                         .count = counts[k],
                         .type = turn % GW_DTYPE_COUNT,
                         .op = turn / 5 % GW_REDOP_COUNT},
                .in_place = turn % 3 == 0,
                .shared = turn % 2 == 0};
            if (gw_collective_rooted(workload.call.collective))
                workload.call.root = turn % p;
            if (!gw_redop_allowed(workload.call.op, workload.call.type))
                workload.call.op = turn % GW_LAND;
            if (workload.call.collective == GW_BARRIER)
                workload.call.count = 0;
            if (workload.call.collective >= GW_SCAN &&
                workload.call.op == GW_AVG)
                workload.call.op = GW_MAX;
            run_workload(comm, &workload);
        }
    }
}

/* Wires behave the same for every number of ranks, so a few are enough; SLOW
 * tries all. */
static const struct wire_case {
    const char *wire;
    bool no_windows;
    unsigned every_up_to, also[3]; /* numbers of ranks */
} wires[] = {
    {"shm", false, 9, {11, 16, 17}},
    {"shm", true, 9, {17}},
    {"ipc", false, 9, {12}},
    {"tcp", false, 9, {13}},
};

enum { RANKS_MAX = 17 };

static bool is_tried(const struct wire_case *c, unsigned ranks)
{
    bool also = false;
    for (unsigned i = 0; i < sizeof c->also / sizeof *c->also; i++)
        also = also || ranks == c->also[i];
    return ranks <= c->every_up_to || also || getenv("SLOW");
}

START_TEST(every_algorithm_is_right)
{
    struct wire_case c = wires[_i];
    for (unsigned p = 1; p <= RANKS_MAX; p++) {
        if (!is_tried(&c, p))
            continue;
        struct gw_comm_config config = {
            .wire = c.wire, .no_windows = c.no_windows, .slice_bytes = SLICE};
        unsigned shift = (unsigned)_i;
        run_ranks(&config, p, sweep, &shift);
    }
}
END_TEST

/* All types and reductions, on one shape. */
static void all_types(struct gw_comm *comm, void *context)
{
    (void)context;
    for (unsigned type = 0; type < GW_DTYPE_COUNT; type++)
        for (unsigned op = 0; op < GW_REDOP_COUNT; op++) {
            if (!gw_redop_allowed((enum gw_redop)op, (enum gw_dtype)type))
                continue;
            struct workload workload = {
                .call = {.collective = GW_ALLREDUCE,
                         .algo = op % 2 ? "ring" : "partitioned",
                         .count = 700,
                         .type = (enum gw_dtype)type,
                         .op = (enum gw_redop)op},
                .shared = op % 2};
            run_workload(comm, &workload);
        }
}

START_TEST(every_type_and_reduction_is_right)
{
    struct gw_comm_config config = {.wire = wires[_i].wire,
                                    .no_windows = wires[_i].no_windows,
                                    .slice_bytes = SLICE};
    run_ranks(&config, 3, all_types, NULL);
}
END_TEST

/* Large enough for the default slices and for passes over memory. */
static void large(struct gw_comm *comm, void *context)
{
    (void)context;
    static const enum gw_collective ops[] = {
        GW_ALLREDUCE,      GW_BROADCAST, GW_REDUCE, GW_ALLGATHER,
        GW_REDUCE_SCATTER, GW_ALLTOALL,  GW_GATHER, GW_SCATTER};
    for (unsigned i = 0; i < 4 * sizeof ops / sizeof *ops; i++) {
        struct workload workload = {
            .call = {.collective = ops[i / 4], .count = 300001, .type = GW_F32},
            .in_place = i % 2 && ops[i / 4] != GW_BROADCAST,
            .shared = i / 2 % 2};
        run_workload(comm, &workload);
    }
}

START_TEST(large_calls_are_right)
{
    struct gw_comm_config config = {.wire = wires[_i].wire,
                                    .no_windows = wires[_i].no_windows};
    run_ranks(&config, 3, large, NULL);
}
END_TEST

/* A suite for each wire, so that the wires are tested in parallel. */
static Suite *suite_of(int wire, const char *name)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, every_algorithm_is_right, wire, wire + 1);
    tcase_add_loop_test(tcase, every_type_and_reduction_is_right, wire,
                        wire + 1);
    tcase_add_loop_test(tcase, large_calls_are_right, wire, wire + 1);
    suite_add_tcase(suite, tcase);
    return suite;
}

Suite *suite_coll_shm(void);
Suite *suite_coll_shm_messages(void);
Suite *suite_coll_ipc(void);
Suite *suite_coll_tcp(void);

Suite *suite_coll_shm(void)
{
    return suite_of(0, "coll over shm");
}

Suite *suite_coll_shm_messages(void)
{
    return suite_of(1, "coll over shm, by messages");
}

Suite *suite_coll_ipc(void)
{
    return suite_of(2, "coll over ipc");
}

Suite *suite_coll_tcp(void)
{
    return suite_of(3, "coll over tcp");
}
