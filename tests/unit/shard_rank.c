/* SPDX-License-Identifier: MIT
 *
 * See shard_rank.h.
 */
#include "shard_rank.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

enum { MICROS = 2 };

static const double rate = 0.0625, momentum = 0.5;

/* The first dense layer is so large that plans cut its parts at cache lines; no
 * size is divisible by 2, 3 or 4. */
static const struct gw_operator operators[SHARD_OPERATORS] = {
    {.kind = GW_OP_DENSE, .in = 62, .out = 104},
    {.kind = GW_OP_RELU, .in = 104, .out = 104},
    {.kind = GW_OP_DENSE, .in = 104, .out = 10},
    {.kind = GW_OP_TANH, .in = 10, .out = 10},
    {.kind = GW_OP_DENSE, .in = 10, .out = 3},
    {.kind = GW_OP_DENSE, .in = 3, .out = 2},
    {.kind = GW_OP_SOFTMAX, .in = 2},
};

static const struct gw_network *network(enum gw_split split)
{
    static _Thread_local struct gw_operator own[SHARD_OPERATORS];
    static _Thread_local struct gw_network made = {
        .name = "shards", .inputs = 62, .classes = 2};
    made.operator_count = SHARD_OPERATORS;
    made.operators = own;
    for (unsigned i = 0; i < SHARD_OPERATORS; i++) {
        own[i] = operators[i];
        own[i].split = split;
    }
    return &made;
}

void shard_setup_print(const struct shard_setup *setup, FILE *file)
{
    static const char *const optimisers[] = {"sgd", "momentum", "adam"};
    fprintf(file,
            "%s, %ux%u ranks in groups of %u, %s, buckets of %zu%s, %u steps\n",
            gw_data_mode_name(setup->mode), setup->data, setup->tensor,
            setup->group, optimisers[setup->optimiser], setup->bucket_bytes,
            setup->overlap ? ", overlapped" : "", setup->steps);
}

unsigned shard_setup_ranks(const struct shard_setup *setup)
{
    return setup->data * (setup->tensor ? setup->tensor : 1);
}

/* ---- joining ---- */

static struct gw_comm *split(struct gw_comm *comm, unsigned color)
{
    struct gw_comm *sub;
    MUST(gw_comm_split(comm, (int)color, 0, &sub, NULL) == GW_OK);
    if (gw_comm_size(sub) == 1)
        gw_comm_destroy(&sub);
    return sub;
}

void shard_rank_join(struct shard_rank *rank, const struct shard_setup *setup,
                     struct gw_comm *comm)
{
    unsigned tensor = setup->tensor ? setup->tensor : 1;
    unsigned group = setup->mode == GW_DATA_REPLICATED ? 1
                     : setup->group                    ? setup->group
                                                       : setup->data;
    unsigned number = gw_comm_rank(comm);
    *rank = (struct shard_rank){
        .comm = comm, .d = number / tensor, .t = number % tensor};
    rank->axis = split(comm, rank->t);
    rank->tensor = split(comm, rank->d);
    rank->group = split(comm, rank->d / group * tensor + rank->t);
    rank->replicas = split(comm, rank->d % group * tensor + rank->t);
}

static void make_layout(struct shard_rank *rank)
{
    const struct shard_setup *setup = rank->setup;
    struct gw_comm *comm = rank->comm;
    struct gw_layout_options options = {
        .mesh = {setup->data, setup->tensor ? setup->tensor : 1, 1},
        .mode = setup->mode,
        .shard_group = setup->group,
        .batch = shard_setup_ranks(setup) * MICROS,
        .micros = MICROS,
        .optimiser_words = gw_optimiser_words(setup->optimiser)};
    struct gw_error why;
    if (gw_layout_new(network(setup->split), &options, &rank->layout, &why))
        fprintf(stderr, "%s\n", why.text);
    MUST(rank->layout);
}

static void end_shards(struct shard_rank *rank)
{
    gw__shards_destroy(&rank->shards);
    gw_layout_destroy(&rank->layout);
}

static struct gw_comm **comms(struct shard_rank *rank, unsigned i)
{
    struct gw_comm **list[] = {&rank->axis, &rank->group, &rank->replicas,
                               &rank->tensor};
    return list[i];
}

static void set_parameters(struct shard_rank *rank)
{
    for (unsigned i = 0; i < SHARD_OPERATORS; i++) {
        size_t count = rank->layout->op_layouts[i].parameters_local;
        float *first = calloc(count + 1, sizeof *first);
        for (size_t k = 0; first && k < count; k++)
            first[k] = shard_first(rank, i, k);
        gw__shards_set(rank->shards, i, first);
        free(first);
    }
}

void shard_rank_begin(struct shard_rank *rank, const struct shard_setup *setup)
{
    static const unsigned all[] = {0, 1, 2, 3, 4, 5, 6};
    struct gw_comm *comm = rank->comm;
    struct gw_error why;
    end_shards(rank);
    rank->setup = setup;
    rank->step = 0;
    make_layout(rank);
    struct gw__shards_config config = {.layout = rank->layout,
                                       .operators = all,
                                       .operator_count = SHARD_OPERATORS,
                                       .group = rank->group,
                                       .replicas = rank->replicas,
                                       .axis = rank->axis,
                                       .tensor = rank->tensor,
                                       .optimiser = setup->optimiser,
                                       .rate = rate,
                                       .momentum = momentum,
                                       .bucket_bytes = setup->bucket_bytes,
                                       .overlap = setup->overlap,
                                       .algo = setup->algo};
    if (gw__shards_new(&config, &rank->shards, &why))
        fprintf(stderr, "%s\n", why.text);
    MUST(rank->shards);
    set_parameters(rank);
    for (unsigned c = 0; c < 4; c++)
        if (*comms(rank, c))
            gw_comm_counters_reset(*comms(rank, c));
}

void shard_rank_leave(struct shard_rank *rank)
{
    end_shards(rank);
    for (unsigned c = 0; c < 4; c++)
        gw_comm_destroy(comms(rank, c));
}

/* ---- a step ---- */

/* Cheap, since it is called for each element, by each rank, for all ranks. */
static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = (a * 0x9e3779b97f4a7c15 + b) * 0xff51afd7ed558ccd + c;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    return x >> 32;
}

float shard_first(const struct shard_rank *rank, unsigned i, size_t k)
{
    uint64_t x = mixed(i, k, rank->t + 1000);
    return (float)(int)(x % 33 - 16) / 16;
}

/* A whole number from -3 to 3. Where ranks hold the same weights, these are
 * summands of one gradient. */
static double slope(const struct shard_rank *rank, unsigned d, unsigned t,
                    unsigned step, unsigned i, size_t k)
{
    double odd = rank->setup->odd != 0 ? rank->setup->odd : 1;
    uint64_t x = mixed((uint64_t)step << 32 | d << 16 | t, i, k);
    return odd * (double)((int)(x % 7) - 3);
}

/* The gathered parameters are those from before the step. */
static void check_values(struct shard_rank *rank, unsigned i)
{
    const float *values, *again;
    struct gw_comm *comm = rank->comm;
    struct gw_error why;
    MUST(gw__shards_acquire(rank->shards, i, &values, &why) == GW_OK);
    MUST(gw__shards_acquire(rank->shards, i, &again, &why) == GW_OK);
    MUST(values == again);
    MUST(!values == (rank->layout->op_layouts[i].parameters_local == 0));
    gw__shards_release(rank->shards, i);
    if (values && rank->step == 0)
        MUST(values[0] == shard_first(rank, i, 0));
    gw__shards_release(rank->shards, i);
}

static void add_gradient(struct shard_rank *rank, unsigned i, unsigned micro)
{
    size_t count = rank->layout->op_layouts[i].parameters_local;
    float *sum = gw__shards_gradient(rank->shards, i);
    struct gw_comm *comm = rank->comm;
    MUST(!sum == (count == 0));
    for (size_t k = 0; k < count; k++)
        if (k % MICROS == micro)
            sum[k] += (float)slope(rank, rank->d, rank->t, rank->step, i, k);
}

void shard_rank_compute(struct shard_rank *rank)
{
    struct gw_comm *comm = rank->comm;
    struct gw_error why;
    for (unsigned micro = 0; micro < MICROS; micro++) {
        for (unsigned i = 0; i < SHARD_OPERATORS; i++)
            check_values(rank, i);
        for (unsigned i = SHARD_OPERATORS; i-- > 0;) {
            check_values(rank, i);
            add_gradient(rank, i, micro);
            if (micro + 1 == MICROS)
                MUST(gw__shards_complete(rank->shards, i, &why) == GW_OK);
            MUST(gw__shards_poll(rank->shards, &why) == GW_OK);
        }
    }
}

void shard_rank_step(struct shard_rank *rank)
{
    struct gw_comm *comm = rank->comm;
    struct gw_error why;
    shard_rank_compute(rank);
    MUST(gw__shards_step(rank->shards, &why) == GW_OK);
    rank->step++;
}

/* ---- the expected result ---- */

static double total(const struct shard_rank *rank, unsigned step, unsigned i,
                    size_t k)
{
    const struct gw_operator_layout *op_layout = &rank->layout->op_layouts[i];
    unsigned tensor = op_layout->weights_partial ? rank->setup->tensor : 1;
    double sum = 0;
    for (unsigned d = 0; d < rank->setup->data; d++)
        for (unsigned t = 0; t < tensor; t++)
            sum += slope(rank, d, op_layout->weights_partial ? t : rank->t,
                         step, i, k);
    return sum;
}

double shard_expected(const struct shard_rank *rank, unsigned i, size_t k,
                      unsigned steps)
{
    double w = (double)shard_first(rank, i, k), v = 0, m = 0;
    for (unsigned s = 0; s < steps; s++) {
        double g = total(rank, s, i, k), t = s + 1;
        switch (rank->setup->optimiser) {
        case GW_SGD:
            w -= rate * g;
            break;
        case GW_MOMENTUM:
            v = momentum * v + g;
            w -= rate * v;
            break;
        case GW_ADAM:
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            w -= rate * (m / (1 - pow(0.9, t))) /
                 (sqrt(v / (1 - pow(0.999, t))) + 1e-8);
        }
    }
    return w;
}

static void check_operator(struct shard_rank *rank, unsigned i)
{
    const float *values;
    struct gw_comm *comm = rank->comm;
    struct gw_error why;
    double slack = rank->setup->optimiser == GW_ADAM ? 1e-6 : 0;
    MUST(gw__shards_acquire(rank->shards, i, &values, &why) == GW_OK);
    for (size_t k = 0; k < rank->layout->op_layouts[i].parameters_local; k++) {
        double want = shard_expected(rank, i, k, rank->step);
        if (fabs((double)values[k] - want) > slack * (1 + fabs(want))) {
            shard_setup_print(rank->setup, stderr);
            fprintf(stderr, "rank %u, operator %u, element %zu: %g, not %g\n",
                    gw_comm_rank(comm), i, k, (double)values[k], want);
            abort();
        }
    }
    gw__shards_release(rank->shards, i);
}

void shard_rank_check(struct shard_rank *rank)
{
    for (unsigned i = 0; i < SHARD_OPERATORS; i++)
        check_operator(rank, i);
}

uint64_t shard_rank_digest(struct shard_rank *rank)
{
    struct gw_comm *comm = rank->comm;
    uint64_t digest = 0;
    for (unsigned i = 0; i < SHARD_OPERATORS; i++) {
        size_t count = rank->layout->op_layouts[i].parameters_local;
        const float *values;
        MUST(gw__shards_acquire(rank->shards, i, &values, NULL) == GW_OK);
        if (values)
            digest = gw_hash(values, count * sizeof *values, digest);
        gw__shards_release(rank->shards, i);
    }
    return digest;
}

uint64_t shard_bytes_sent(const struct gw_comm *comm)
{
    uint64_t bytes = 0;
    for (unsigned peer = 0; comm && peer < gw_comm_size(comm); peer++) {
        struct gw_counters counters;
        gw_comm_counters(comm, peer, &counters);
        bytes += counters.bytes_sent;
    }
    return bytes;
}

uint64_t shard_rank_data_bytes(const struct shard_rank *rank)
{
    return shard_bytes_sent(rank->axis) + shard_bytes_sent(rank->group) +
           shard_bytes_sent(rank->replicas);
}
