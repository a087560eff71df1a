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
struct job {
    struct gw_call call;
    bool in_place, shared; /* shared: buffers from gw_alloc */
};

/* Small, so that sums of 17 are exact in bf16 too. */
static int64_t value(const struct job *job, unsigned rank, size_t i)
{
    size_t x = i * 7 + rank * 3;
    if (job->call.op == GW_PROD)
        return x % 5 == 0 ? 2 : 1;
    if (job->call.op >= GW_LAND)
        return (int64_t)(x % 11 ? 1 + x % 7 : 0);
    return (int64_t)(x % 4);
}

static bool is_float(enum gw_dtype type)
{
    return type >= GW_F16;
}

static double reduced(const struct job *job, unsigned ranks, size_t i)
{
    int64_t sum = value(job, 0, i);
    for (unsigned r = 1; r < ranks; r++)
        sum = fold_whole(job->call.op, sum, value(job, r, i));
    if (job->call.op >= GW_LAND && job->call.op <= GW_LOR && ranks == 1)
        return (double)sum;
    if (job->call.op != GW_AVG)
        return (double)sum;
    return is_float(job->call.type) ? (double)sum / ranks
                                    : (double)(sum / (int64_t)ranks);
}

/* Elements of `in` and `out` of a rank, before and after. */
static size_t in_elems(const struct job *job, unsigned ranks)
{
    enum gw_collective c = job->call.collective;
    bool blocks = c == GW_SCATTER || c == GW_REDUCE_SCATTER || c == GW_ALLTOALL;
    return job->call.count * (blocks ? ranks : 1);
}

static size_t out_elems(const struct job *job, unsigned ranks)
{
    enum gw_collective c = job->call.collective;
    bool blocks =
        c == GW_GATHER || c == GW_ALLGATHER || c == GW_ALLTOALL ||
        (job->in_place && (c == GW_SCATTER || c == GW_REDUCE_SCATTER));
    return job->call.count * (blocks ? ranks : 1);
}

/* Where the input begins in `out` when in place. */
static size_t own_block(const struct job *job, unsigned rank)
{
    enum gw_collective c = job->call.collective;
    return c == GW_GATHER || c == GW_ALLGATHER ? rank * job->call.count : 0;
}

/* The offset of the result in `out`, its length, and its expected values. */
static size_t result_elems(const struct job *job, unsigned ranks, unsigned rank)
{
    bool root = rank == job->call.root;
    switch (job->call.collective) {
    case GW_BARRIER:
        return 0;
    case GW_REDUCE:
        return root ? job->call.count : 0;
    case GW_GATHER:
        return root ? job->call.count * ranks : 0;
    case GW_ALLGATHER:
    case GW_ALLTOALL:
        return job->call.count * ranks;
    default:
        return job->call.count;
    }
}

static size_t result_begin(const struct job *job, unsigned rank)
{
    enum gw_collective c = job->call.collective;
    bool shifted =
        job->in_place &&
        (c == GW_REDUCE_SCATTER || (c == GW_SCATTER && rank == job->call.root));
    return shifted ? rank * job->call.count : 0;
}

static double expected(const struct job *job, unsigned ranks, unsigned rank,
                       size_t i)
{
    size_t n = job->call.count;
    switch (job->call.collective) {
    case GW_BROADCAST:
        return (double)value(job, job->call.root, i);
    case GW_SCATTER:
        return (double)value(job, job->call.root, rank * n + i);
    case GW_GATHER:
    case GW_ALLGATHER:
        return (double)value(job, (unsigned)(i / n), i % n);
    case GW_REDUCE_SCATTER:
        return reduced(job, ranks, rank * n + i);
    case GW_ALLTOALL:
        return (double)value(job, (unsigned)(i / n), rank * n + i % n);
    default:
        return reduced(job, ranks, i);
    }
}

static void describe(const struct gw_comm *comm, const struct job *job,
                     char *text, size_t room)
{
    snprintf(text, room, "%s %s %s rank %u of %u: %zu %s %s root %u%s%s",
             gw_comm_wire(comm), gw_collective_name(job->call.collective),
             job->call.algo ? job->call.algo : "auto", gw_comm_rank(comm),
             gw_comm_size(comm), job->call.count, gw_dtype_name(job->call.type),
             gw_redop_name(job->call.op), job->call.root,
             job->in_place ? " in place" : "", job->shared ? " shared" : "");
}

static void give_up(const struct gw_comm *comm, const struct job *job,
                    const char *sentence)
{
    char text[256];
    describe(comm, job, text, sizeof text);
    fprintf(stderr, "%s: %s\n", text, sentence);
    abort();
}

static void check_result(const struct gw_comm *comm, const struct job *job,
                         const void *out)
{
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    size_t begin = result_begin(job, rank);
    size_t count = result_elems(job, p, rank);
    for (size_t i = 0; i < count; i++) {
        double want = expected(job, p, rank, i);
        double got = get_element(out, job->call.type, begin + i);
        double slack =
            job->call.op == GW_AVG && is_float(job->call.type) ? 0.01 : 0;
        if (!(fabs(got - want) <= slack)) {
            char why[80];
            snprintf(why, sizeof why, "element %zu is %g, not %g", i, got,
                     want);
            give_up(comm, job, why);
        }
    }
}

static void check_counters(const struct gw_comm *comm, const struct job *job)
{
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    struct gw_algo_args args = {.ranks = p, .root = job->call.root};
    struct gw_plan *plan;
    struct gw_error why;
    uint64_t messages[64], bytes[64];
    if (gw_plan_make(job->call.collective, job->call.algo, &args, &plan, &why))
        give_up(comm, job, why.text);
    size_t count = job->call.collective == GW_BARRIER ? 0 : job->call.count;
    gw_plan_price_rank(plan, count, gw_dtype_size(job->call.type), rank,
                       messages, bytes);
    for (unsigned q = 0; q < p; q++) {
        struct gw_counters counted;
        gw_comm_counters(comm, q, &counted);
        if (counted.messages_sent != messages[q] ||
            counted.bytes_sent != bytes[q])
            give_up(comm, job, "counters differ from the price of the plan");
    }
    /* A receiver counts as its own what the senders' prices predict for it. */
    for (unsigned q = 0; q < p; q++) {
        struct gw_counters counted;
        gw_comm_counters(comm, q, &counted);
        gw_plan_price_rank(plan, count, gw_dtype_size(job->call.type), q,
                           messages, bytes);
        if (counted.messages_received != messages[rank] ||
            counted.bytes_received != bytes[rank])
            give_up(comm, job, "what was received differs from the price");
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

static void run_job(struct gw_comm *comm, const struct job *job)
{
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    struct gw_call call = job->call;
    size_t elem = gw_dtype_size(call.type);
    size_t ins = in_elems(job, p), outs = out_elems(job, p);
    if (job->in_place && outs < ins)
        outs = ins;
    unsigned char *in = new_buffer(job->shared, ins * elem + 64);
    unsigned char *out = new_buffer(job->shared, outs * elem + 64);
    memset(out, 0x55, outs * elem + 64);
    unsigned char *from = job->in_place ? out : in;
    size_t begin = job->in_place ? own_block(job, rank) : 0;
    for (size_t i = 0; i < ins; i++)
        put_element(from, call.type, begin + i, value(job, rank, i));
    unsigned char *before = malloc(ins * elem + 1);
    if (!before)
        abort();
    memcpy(before, in, ins * elem);
    call.in = job->in_place ? GW_IN_PLACE : in;
    call.out = out;
    gw_comm_counters_reset(comm);
    if (gw_run(comm, &call))
        give_up(comm, job, gw_comm_error(comm)->text);
    check_result(comm, job, out);
    if (memcmp(before, in, ins * elem) != 0)
        give_up(comm, job, "the input was changed");
    for (size_t i = outs * elem; i < outs * elem + 64; i++)
        if (out[i] != 0x55)
            give_up(comm, job, "bytes behind the output were changed");
    if (call.algo)
        check_counters(comm, job);
    free(before);
    free_buffer(job->shared, in);
    free_buffer(job->shared, out);
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
            struct job job = {.call = {.collective = list[a]->collective,
                                       .algo = list[a]->name,
                                       .count = counts[k],
                                       .type = turn % GW_DTYPE_COUNT,
                                       .op = turn / 5 % GW_REDOP_COUNT},
                              .in_place = turn % 3 == 0,
                              .shared = turn % 2 == 0};
            if (gw_collective_rooted(job.call.collective))
                job.call.root = turn % p;
            if (!gw_redop_allowed(job.call.op, job.call.type))
                job.call.op = turn % GW_LAND;
            if (job.call.collective == GW_BARRIER)
                job.call.count = 0;
            run_job(comm, &job);
        }
    }
}

/* The message wires behave the same for every number of ranks, so a few are
 * enough; SLOW tries all. */
static const struct wire_case {
    const char *wire;
    bool no_windows;
    unsigned every_up_to, also; /* numbers of ranks */
} wires[] = {
    {"shm", false, 17, 17},
    {"shm", true, 9, 17},
    {"ipc", false, 9, 12},
    {"tcp", false, 9, 13},
};

enum { RANKS_MAX = 17 };

static bool is_tried(const struct wire_case *c, unsigned ranks)
{
    return ranks <= c->every_up_to || ranks == c->also || getenv("SLOW");
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
            struct job job = {.call = {.collective = GW_ALLREDUCE,
                                       .algo = op % 2 ? "ring" : "partitioned",
                                       .count = 700,
                                       .type = (enum gw_dtype)type,
                                       .op = (enum gw_redop)op},
                              .shared = op % 2};
            run_job(comm, &job);
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
        struct job job = {
            .call = {.collective = ops[i / 4], .count = 300001, .type = GW_F32},
            .in_place = i % 2 && ops[i / 4] != GW_BROADCAST,
            .shared = i / 2 % 2};
        run_job(comm, &job);
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
