/* SPDX-License-Identifier: MIT
 *
 * Every conversion of a tensor along the tensor axis: the result is the share
 * in the table of gradwire/layout.h, and every rank sends the amount of the
 * formula, for divisible and other sizes.
 */
#include "learn/parallel/reshard.h"

#include "ranks.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_reshard(void);

struct tensor {
    size_t rows, features;
};

/* Element (i, j) of the tensor; and rank t's summand of it. Whole numbers, so
 * that sums are exact. */
static float whole_at(size_t i, size_t j)
{
    return (float)((i * 31 + j * 7) % 1000);
}

static float summand_at(size_t i, size_t j, unsigned t, unsigned ranks)
{
    float others = 0;
    for (unsigned q = 1; q < ranks; q++)
        others += (float)(q * (i + j));
    return t == 0 ? whole_at(i, j) - others : (float)(t * (i + j));
}

#define MUST(condition, r, i)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: %zux%zu, %s to %s, rank %u, at %zu: %s\n", \
                    __FILE__, __LINE__, (r)->rows, (r)->features,              \
                    gw_sharding_name((r)->from), gw_sharding_name((r)->to),    \
                    gw_comm_rank((r)->comm), (size_t)(i), #condition);         \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* Element k of rank t's part. */
static float part_at(const struct gw__reshard *r, enum gw_sharding sharding,
                     size_t k, unsigned t, unsigned ranks)
{
    size_t width = r->features / (sharding == GW_BY_FEATURE ? ranks : 1);
    size_t i = k / width, j = k % width;
    if (sharding == GW_BY_ROW)
        i += t * (r->rows / ranks);
    if (sharding == GW_BY_FEATURE)
        j += t * width;
    return sharding == GW_PARTIAL ? summand_at(i, j, t, ranks) : whole_at(i, j);
}

static uint64_t formula(const struct gw__reshard *r, uint64_t ranks)
{
    uint64_t count = r->rows * r->features;
    uint64_t share = (count + ranks - 1) / ranks * sizeof(float);
    if (r->from == GW_REPLICATED)
        return 0;
    if (r->from == GW_PARTIAL)
        return (r->to == GW_REPLICATED ? 2 : 1) * (ranks - 1) * share;
    return (ranks - 1) * (r->to == GW_REPLICATED ? share : share / ranks);
}

static uint64_t sent(const struct gw_comm *comm)
{
    uint64_t bytes = 0;
    for (unsigned peer = 0; peer < gw_comm_size(comm); peer++) {
        struct gw_counters counters;
        gw_comm_counters(comm, peer, &counters);
        bytes += counters.bytes_sent;
    }
    return bytes;
}

static void convert(struct gw__reshard *r)
{
    unsigned ranks = gw_comm_size(r->comm), t = gw_comm_rank(r->comm);
    size_t before = gw__shard_elements(r->rows, r->features, r->from, ranks);
    size_t after = gw__shard_elements(r->rows, r->features, r->to, ranks);
    size_t scratch = gw__reshard_scratch(r->rows, r->features, ranks);
    float *in = calloc(before + 1, sizeof *in);
    float *room = calloc(scratch + 1, sizeof *room);
    struct gw_error why;
    r->out = calloc(after + 1, sizeof *r->out);
    r->in = in;
    r->scratch = room;
    MUST(in && room && r->out, r, 0);
    for (size_t k = 0; k < before; k++)
        in[k] = part_at(r, r->from, k, t, ranks);
    r->out[after] = room[scratch] = 77;
    gw_comm_counters_reset(r->comm);
    MUST(gw__reshard(r, &why) == GW_OK, r, 0);
    MUST(sent(r->comm) == formula(r, ranks), r, sent(r->comm));
    for (size_t k = 0; k < after; k++)
        MUST(r->out[k] == part_at(r, r->to, k, t, ranks), r, k);
    for (size_t k = 0; k < before; k++)
        MUST(in[k] == part_at(r, r->from, k, t, ranks), r, k);
    MUST(r->out[after] == 77 && room[scratch] == 77, r, after);
    free(in);
    free(room);
    free(r->out);
}

static void all_conversions(struct gw_comm *comm, void *context)
{
    const struct tensor *tensor = context;
    size_t ranks = gw_comm_size(comm);
    bool divides = tensor->rows % ranks == 0 && tensor->features % ranks == 0;
    for (unsigned from = GW_REPLICATED; from <= GW_PARTIAL; from++)
        for (unsigned to = GW_REPLICATED; to < GW_PARTIAL; to++) {
            struct gw__reshard r = {.comm = comm,
                                    .rows = tensor->rows,
                                    .features = tensor->features,
                                    .from = (enum gw_sharding)from,
                                    .to = (enum gw_sharding)to};
            bool shares = from == GW_BY_ROW || from == GW_BY_FEATURE ||
                          to != GW_REPLICATED;
            if (from != to && (divides || !shares))
                convert(&r);
        }
}

/* Some are not divisible, and can only be reduced; an all-reduce cuts large
 * ones at multiples of 16 elements. */
static struct tensor tensors[] = {{4, 4},    {8, 12},   {3, 7},   {1, 1},
                                  {64, 128}, {100, 84}, {31, 71}, {128, 516}};

START_TEST(conversions)
{
    static const char *const wires[] = {"shm", "ipc"};
    for (unsigned ranks = 2; ranks <= 4; ranks += 2) {
        struct gw_comm_config config = {.wire = wires[_i % 2]};
        run_ranks(&config, ranks, all_conversions, &tensors[_i]);
    }
}
END_TEST

Suite *suite_reshard(void)
{
    Suite *suite = suite_create("reshard");
    TCase *tcase = tcase_create("reshard");
    tcase_add_loop_test(tcase, conversions, 0,
                        sizeof tensors / sizeof *tensors);
    suite_add_tcase(suite, tcase);
    return suite;
}
