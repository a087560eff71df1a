/* SPDX-License-Identifier: MIT
 *
 * Creation and destruction of a rank's trainer. parallel_parts.h describes the
 * other files, gradwire/parallel.h the purpose.
 *
 * The rank's coordinates (d, t, p) determine its work: stage p its virtual
 * stages of the network, t its share of each of their operators, d its share of
 * the batch.
 */
#include "parallel_parts.h"

#include <gradwire/wire.h>

#include <stdlib.h>

/* ---- consistency checks ---- */

static enum gw_err check_layout(const struct gw_parallel_config *config,
                                struct gw_error *why)
{
    const struct gw_layout *layout = config->layout;
    const struct gw_network *network = layout->network;
    unsigned ranks = gw_mesh_size(&layout->options.mesh);
    if (gw_comm_size(config->comm) != ranks)
        return gw_fail(
            why, GW_EINVAL,
            "the mesh %ux%ux%u has %u ranks, but the communicator has %u",
            layout->options.mesh.data, layout->options.mesh.tensor,
            layout->options.mesh.pipe, ranks, gw_comm_size(config->comm));
    if (layout->options.optimiser_words !=
        gw_optimiser_words(config->optimiser))
        return gw_fail(why, GW_EINVAL,
                       "the layout is for an optimiser with %u numbers per "
                       "parameter; this one has %u",
                       layout->options.optimiser_words,
                       gw_optimiser_words(config->optimiser));
    if (network->operators[network->operator_count - 1].kind != GW_OP_SOFTMAX)
        return gw_fail(why, GW_EINVAL, "%s must end with softmax, its loss",
                       network->name);
    return GW_OK;
}

static enum gw_err check_schedule(const struct gw_parallel_config *config,
                                  struct gw_error *why)
{
    const struct gw_layout_options *options = &config->layout->options;
    const struct gw_schedule *schedule = config->schedule;
    if (schedule->stages == options->mesh.pipe &&
        schedule->micros == options->micros &&
        schedule->chunks == options->chunks)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "the schedule %s has %u stages, %u micro-batches, %u chunks "
                   "per stage; the layout has %u, %u, %u",
                   schedule->name, schedule->stages, schedule->micros,
                   schedule->chunks, options->mesh.pipe, options->micros,
                   options->chunks);
}

static enum gw_err
check_parallel_config(const struct gw_parallel_config *config,
                      struct gw_error *why)
{
    enum gw_err err = check_layout(config, why);
    if (!err)
        err = check_schedule(config, why);
    if (!err && config->algo && !gw_algo_find(GW_ALLREDUCE, config->algo))
        err = gw_fail(why, GW_EINVAL,
                      "\"%s\" is not an all-reduce algorithm; collrun list "
                      "allreduce lists them",
                      config->algo);
    return err;
}

/* ---- this rank's part of the network ---- */

static unsigned virtual_stage_of(const struct gw_parallel *parallel,
                                 unsigned chunk)
{
    return chunk * parallel->layout->options.mesh.pipe + parallel->axes.p;
}

/* Lists the operators of all its virtual stages; *first has the first one of
 * each chunk. */
static void list_operators(struct gw_parallel *parallel, unsigned *first)
{
    const struct gw_layout *layout = parallel->layout;
    for (unsigned c = 0; c < parallel->chunks; c++) {
        unsigned virtual_stage = virtual_stage_of(parallel, c);
        first[c] = parallel->operator_count;
        for (unsigned i = layout->virtual_begin[virtual_stage];
             i < layout->virtual_begin[virtual_stage + 1]; i++)
            parallel->operators[parallel->operator_count++] = i;
    }
}

static enum gw_err begin_weights(struct gw_parallel *parallel,
                                 struct gw_error *why)
{
    for (unsigned i = 0; i < parallel->operator_count; i++) {
        unsigned index = parallel->operators[i];
        size_t count = parallel->layout->op_layouts[index].parameters_local;
        if (count == 0)
            continue;
        float *values = malloc(count * sizeof *values);
        if (!values)
            return gw_fail(why, GW_ENOMEM, "%zu weights", count);
        gw__weights_begin(parallel->layout, index, parallel->axes.t,
                          parallel->config.seed, values);
        gw__shards_set(parallel->shards, i, values);
        free(values);
    }
    return GW_OK;
}

static enum gw_err make_shards(struct gw_parallel *parallel,
                               struct gw_error *why)
{
    const struct gw_parallel_config *config = &parallel->config;
    const struct gw__axes *axes = &parallel->axes;
    struct gw__shards_config shards = {
        .layout = parallel->layout,
        .operators = parallel->operators,
        .operator_count = parallel->operator_count,
        .group = axes->group,
        .replicas = axes->group ? axes->replicas : axes->data,
        .axis = axes->data,
        .tensor = axes->tensor,
        .optimiser = config->optimiser,
        .rate = config->rate,
        .momentum = config->momentum,
        .bucket_bytes = config->bucket_bytes,
        .overlap = config->overlap,
        .algo = config->algo,
    };
    enum gw_err err = gw__shards_new(&shards, &parallel->shards, why);
    return err ? err : begin_weights(parallel, why);
}

static enum gw_err make_model_chunks(struct gw_parallel *parallel,
                                     const unsigned *first,
                                     struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned c = 0; !err && c < parallel->chunks; c++) {
        struct gw__model_chunk_config config = {
            .layout = parallel->layout,
            .virtual_stage = virtual_stage_of(parallel, c),
            .tensor = parallel->axes.tensor,
            .place = parallel->axes.t,
            .shards = parallel->shards,
            .first_shard = first[c],
            .scale = 1.0 / parallel->layout->options.batch,
            .algo = parallel->config.algo,
        };
        err = gw__model_chunk_new(&config, &parallel->model_chunks[c], why);
    }
    return err;
}

/* ---- messages between stages ---- */

/* With one stage the next virtual stage is on this rank, and messages are
 * buffers in memory. */
static enum gw_err make_messages(struct gw_parallel *parallel,
                                 struct gw_error *why)
{
    size_t elements = 0;
    for (unsigned c = 1; c < parallel->chunks; c++)
        elements += gw__model_chunk_message(parallel->layout, c - 1) +
                    gw__model_chunk_grad_message(parallel->layout, c - 1);
    if (elements == 0)
        return GW_OK;
    parallel->messages =
        gw_alloc(elements * parallel->micros * sizeof(float), why);
    if (!parallel->messages)
        return GW_ENOMEM;
    float *next = parallel->messages;
    for (unsigned c = 1; c < parallel->chunks; c++)
        for (unsigned m = 0; m < parallel->micros; m++) {
            size_t at = gw__parallel_at(parallel, c, m);
            parallel->activations[at] = next;
            next += gw__model_chunk_message(parallel->layout, c - 1);
            parallel->gradients[at] = next;
            next += gw__model_chunk_grad_message(parallel->layout, c - 1);
        }
    return GW_OK;
}

static enum gw_err make_pipe(struct gw_parallel *parallel, struct gw_error *why)
{
    if (!parallel->axes.pipe)
        return make_messages(parallel, why);
    struct gw_pipe_config pipe = {
        .comm = parallel->axes.pipe,
        .stage = parallel->axes.p,
        .schedule = parallel->schedule,
        .work = &gw__parallel_work,
        .context = parallel,
        .events = parallel->config.events,
        .predicted_us = parallel->config.predicted_us,
    };
    return gw_pipe_new(&pipe, &parallel->pipe, why);
}

/* ---- the trainer ---- */

static struct gw_parallel *
allocate_parallel(const struct gw_parallel_config *config)
{
    const struct gw_layout *layout = config->layout;
    struct gw_parallel *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->config = *config;
    made->layout = layout;
    made->schedule = config->schedule;
    made->chunks = layout->options.chunks;
    made->micros = layout->options.micros;
    size_t slots = (size_t)made->chunks * made->micros;
    made->operators = calloc(layout->operator_count, sizeof *made->operators);
    made->model_chunks = calloc(made->chunks, sizeof(struct gw__model_chunk *));
    made->tapes = calloc(slots, sizeof(struct gw__tape *));
    made->activations = calloc(slots, sizeof(float *));
    made->gradients = calloc(slots, sizeof(float *));
    made->weights_added = calloc(made->chunks, sizeof *made->weights_added);
    if (!made->operators || !made->model_chunks || !made->tapes ||
        !made->activations || !made->gradients || !made->weights_added)
        gw_parallel_destroy(&made);
    return made;
}

enum gw_err gw_parallel_new(const struct gw_parallel_config *config,
                            struct gw_parallel **parallel, struct gw_error *why)
{
    unsigned first[GW_STAGE_CHUNKS_MAX];
    *parallel = NULL;
    enum gw_err err = check_parallel_config(config, why);
    if (err)
        return err;
    struct gw_parallel *made = allocate_parallel(config);
    if (!made) {
        gw_comm_abort(config->comm, GW_ENOMEM, "a trainer");
        return gw_fail(why, GW_ENOMEM, "a trainer");
    }
    err = gw__axes_init(&made->axes, config->comm, config->layout, why);
    if (!err) {
        list_operators(made, first);
        err = make_shards(made, why);
    }
    if (!err)
        err = make_model_chunks(made, first, why);
    if (!err)
        err = make_pipe(made, why);
    if (err)
        gw_parallel_destroy(&made);
    *parallel = made;
    return err;
}

/* The pipe and the shards may have calls under way, so they are destroyed
 * before the communicators. */
void gw_parallel_destroy(struct gw_parallel **parallel)
{
    struct gw_parallel *gone = *parallel;
    if (!gone)
        return;
    gw_pipe_destroy(&gone->pipe);
    gw__shards_destroy(&gone->shards);
    gw__axes_fini(&gone->axes);
    gw__parallel_drop_tapes(gone);
    for (unsigned c = 0; gone->model_chunks && c < gone->chunks; c++)
        gw__model_chunk_destroy(&gone->model_chunks[c]);
    gw_free(gone->messages);
    free(gone->operators);
    free(gone->model_chunks);
    free(gone->tapes);
    free(gone->activations);
    free(gone->gradients);
    free(gone->weights_added);
    free(gone);
    *parallel = NULL;
}

const struct gw_pipe *gw_parallel_pipe(const struct gw_parallel *parallel)
{
    return parallel->pipe;
}
