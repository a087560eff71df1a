/* SPDX-License-Identifier: MIT
 *
 * The data of one rank's operators: parameters and gradients, in memory that
 * collectives use in place, and the optimiser's state. This file creates and
 * frees them, and determines the owner of each element:
 *
 *     0            own           own + block        count      whole
 *     |-------------|=================|----------------|0000000|
 *
 * whole = g blocks, g the size of the shard group. The last `whole - count`
 * elements are zero and stay so, since their gradient is. Continue with
 * shards_parts.h.
 */
#include "shards_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_operator_layout *
op_layout_of(const struct gw__shards_config *config, unsigned i)
{
    return &config->layout->op_layouts[config->operators[i]];
}

static unsigned size_of(const struct gw_comm *comm)
{
    return comm ? gw_comm_size(comm) : 1;
}

static enum gw_err check_shards_config(const struct gw__shards_config *config,
                                       struct gw_error *why)
{
    const struct gw_layout_options *options = &config->layout->options;
    unsigned data = options->mesh.data, group = options->shard_group;
    assert(group > 0); /* set by gw_layout_new */
    unsigned replicas = size_of(group > 1 ? config->replicas : config->axis);
    if (size_of(group > 1 ? config->group : NULL) != group ||
        replicas != data / group)
        return gw_fail(why, GW_EINVAL,
                       "%u ranks share a copy and %u have the same block, but "
                       "the layout has %u and %u",
                       size_of(config->group), replicas, group, data / group);
    for (unsigned i = 0; i < config->operator_count; i++)
        if (op_layout_of(config, i)->weights_partial &&
            op_layout_of(config, i)->parameters_local &&
            options->mesh.tensor > 1 &&
            size_of(config->tensor) != options->mesh.tensor)
            return gw_fail(why, GW_EINVAL,
                           "operator %u: its gradients are summed along the "
                           "tensor axis, which has %u ranks instead of %u",
                           config->operators[i] + 1, size_of(config->tensor),
                           options->mesh.tensor);
    return GW_OK;
}

/* Lists the operators with parameters. */
static void list_held(struct gw__shards *shards,
                      const struct gw__shards_config *config)
{
    const struct gw_layout *layout = config->layout;
    size_t group = layout->options.shard_group;
    unsigned rank = shards->group ? gw_comm_rank(shards->group) : 0;
    for (unsigned i = 0; i < config->operator_count; i++) {
        const struct gw_operator_layout *op_layout = op_layout_of(config, i);
        shards->held_of[i] = GW_NONE;
        if (op_layout->parameters_local == 0)
            continue;
        size_t block = gw_layout_block(layout, op_layout->parameters_local);
        shards->held_of[i] = shards->held_count;
        shards->held[shards->held_count++] =
            (struct gw__held){.partial = op_layout->weights_partial,
                              .count = op_layout->parameters_local,
                              .block = block,
                              .whole = block * group,
                              .own = block * rank};
    }
}

/* Allocates the arrays, in the order of `held`. */
static enum gw_err allocate_shards(struct gw__shards *shards,
                                   struct gw_error *why)
{
    unsigned words = gw_optimiser_words(shards->optimiser.kind);
    for (unsigned i = 0; i < shards->held_count; i++) {
        const struct gw__held *held = &shards->held[i];
        shards->value_count += shards->gathers ? held->block : held->whole;
        shards->state_count += words * held->block;
    }
    shards->values = gw_alloc(shards->value_count * sizeof(float), why);
    if (!shards->values)
        return why ? why->code : GW_ENOMEM;
    shards->gradients = gw_alloc(shards->value_count * sizeof(float), why);
    if (!shards->gradients)
        return why ? why->code : GW_ENOMEM;
    shards->states = calloc(shards->state_count + 1, sizeof(float));
    if (!shards->states)
        return gw_fail(why, GW_ENOMEM, "the state of %zu parameters",
                       shards->state_count);
    enum gw_err err =
        gw__shard_pool_init(&shards->gathered, shards->held_count, why);
    return err ? err
               : gw__shard_pool_init(&shards->summands, shards->held_count,
                                     why);
}

static void lay_out_shards(struct gw__shards *shards)
{
    unsigned words = gw_optimiser_words(shards->optimiser.kind);
    float *values = shards->values, *gradients = shards->gradients;
    float *states = shards->states;
    for (unsigned i = 0; i < shards->held_count; i++) {
        struct gw__held *held = &shards->held[i];
        size_t length = shards->gathers ? held->block : held->whole;
        held->values = values;
        held->gradient = gradients;
        held->state = states;
        values += length;
        gradients += length;
        states += words * held->block;
    }
}

/* Selects the algorithms of all collective calls. */
static void plan_calls(struct gw__shards *shards)
{
    const char *algo = shards->config.algo;
    for (unsigned i = 0; i < shards->held_count; i++) {
        struct gw__held *held = &shards->held[i];
        gw__sum_init(&held->parallel, held->partial ? shards->tensor : NULL,
                     held->whole, GW_F32, GW_SUM, algo);
        gw__sum_init(&held->sum, shards->group ? shards->replicas : NULL,
                     held->block, GW_F32, GW_SUM, algo);
        if (!shards->group)
            continue;
        held->scatter_algo = gw__bandwidth_optimal_algo(
            shards->group, GW_REDUCE_SCATTER, held->block, sizeof(float));
        held->gather_algo = gw__bandwidth_optimal_algo(
            shards->group, GW_ALLGATHER, held->block, sizeof(float));
    }
}

static struct gw_comm *if_shared(struct gw_comm *comm)
{
    return size_of(comm) > 1 ? comm : NULL;
}

static void choose_partners(struct gw__shards *shards)
{
    const struct gw__shards_config *config = &shards->config;
    bool grouped = config->layout->options.shard_group > 1;
    shards->group = grouped ? if_shared(config->group) : NULL;
    shards->replicas = if_shared(grouped ? config->replicas : config->axis);
    shards->tensor = if_shared(config->tensor);
    shards->gathers =
        shards->group && config->layout->options.mode == GW_DATA_SHARDED;
}

static struct gw__shards *new_shards(const struct gw__shards_config *config)
{
    struct gw__shards *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    size_t room = (size_t)config->operator_count + 1;
    made->config = *config;
    made->config.operators = NULL;
    made->operator_count = config->operator_count;
    made->optimiser = (struct gw__optimiser){.kind = config->optimiser,
                                             .rate = config->rate,
                                             .momentum = config->momentum};
    made->held_of = calloc(room, sizeof *made->held_of);
    made->held = calloc(room, sizeof *made->held);
    if (!made->held_of || !made->held)
        gw__shards_destroy(&made);
    return made;
}

enum gw_err gw__shards_new(const struct gw__shards_config *config,
                           struct gw__shards **shards, struct gw_error *why)
{
    *shards = NULL;
    enum gw_err err = check_shards_config(config, why);
    if (err)
        return err;
    struct gw__shards *made = new_shards(config);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "the shards of %u operators",
                       config->operator_count);
    choose_partners(made);
    list_held(made, config);
    err = allocate_shards(made, why);
    if (!err) {
        lay_out_shards(made);
        plan_calls(made);
        err = gw__shard_buckets_init(made, why);
    }
    if (err) {
        gw__shards_destroy(&made);
        return err;
    }
    *shards = made;
    return GW_OK;
}

/* If a step has begun, this rank's next messages will not come, even if no call
 * is under way. */
static void cancel_calls(struct gw__shards *shards)
{
    static const char *const sentence = "training ended during a step";
    if (shards->group && shards->reducer && shards->reducer->begun > 0)
        gw_comm_abort(shards->group, GW_ECLOSED, sentence);
    for (unsigned i = 0; shards->held && i < shards->held_count; i++) {
        struct gw__held *held = &shards->held[i];
        gw__request_cancel(shards->group, &held->request, sentence);
        gw__sum_cancel(&held->parallel, sentence);
        gw__sum_cancel(&held->sum, sentence);
    }
    gw_reducer_free(&shards->reducer);
}

void gw__shards_destroy(struct gw__shards **shards)
{
    struct gw__shards *gone = *shards;
    if (!gone)
        return;
    cancel_calls(gone);
    gw__shard_pool_fini(&gone->gathered);
    gw__shard_pool_fini(&gone->summands);
    gw_free(gone->values);
    gw_free(gone->gradients);
    free(gone->states);
    free(gone->held_of);
    free(gone->held);
    free(gone->buckets);
    free(gone);
    *shards = NULL;
}
