/* SPDX-License-Identifier: MIT
 *
 * Creation of a part: the size of each of its tensors on this rank, their
 * offsets on a tape, and the tapes. model_chunk_forward.c and
 * model_chunk_backward.c have the computation.
 *
 * A tape has for each operator: its input if that was converted (or read from
 * the data set), its output, and the gradient of the output. The softmax's
 * output is the gradient of its input. All have separate memory, so that a pass
 * I can leave its results for W.
 */
#include "model_chunk.h"

#include "learn/parallel/reshard.h"
#include "learn/random.h"
#include "pipe/network/network.h"
#include "pipe/runner/runner.h"

#include <gradwire/wire.h>

#include <math.h>
#include <stdlib.h>

/* The input features of operator i of the network. */
static size_t features_of(const struct gw_layout *layout, unsigned i)
{
    return layout->network->operators[i].in;
}

static size_t elements_of(const struct gw__model_chunk *chunk, size_t features,
                          enum gw_sharding sharding)
{
    return gw__shard_elements(chunk->config.layout->rows, features, sharding,
                              chunk->ranks);
}

/* Rounds up to cache lines, for alignment. */
static size_t reserve_tape(struct gw__model_chunk *chunk, size_t elements)
{
    size_t at = chunk->tape_elements;
    chunk->tape_elements += (elements + 15) / 16 * 16;
    return at;
}

static void lay_out_model_chunk(struct gw__model_chunk *chunk)
{
    for (unsigned i = 0; i < chunk->count; i++) {
        const struct gw_operator *op = &chunk->operators[i];
        const struct gw_operator_layout *op_layout = &chunk->op_layouts[i];
        size_t in = elements_of(chunk, op->in, op_layout->in);
        bool read = chunk->first && i == 0 && op->kind != GW_OP_EMBEDDING;
        if (read || (i > 0 && op_layout->forward.needed))
            chunk->in_at[i] = reserve_tape(chunk, in);
        if (op->kind == GW_OP_SOFTMAX) {
            chunk->out_at[i] = reserve_tape(chunk, in);
            continue;
        }
        chunk->out_at[i] =
            reserve_tape(chunk, elements_of(chunk, op->out, op_layout->out));
        size_t slope = elements_of(chunk, op->out, op_layout->grad_out);
        chunk->slope_at[i] = reserve_tape(chunk, slope);
        if (gw__is_added(chunk->config.layout->network, op_layout->index))
            chunk->branch_at[i] = reserve_tape(chunk, slope);
    }
}

/* The widest tensor that is converted before or after an operator. */
static size_t widest(const struct gw__model_chunk *chunk)
{
    size_t features = 0;
    for (unsigned i = 0; i < chunk->count; i++) {
        const struct gw_operator *op = &chunk->operators[i];
        features =
            op->in > features && !(chunk->first && i == 0) ? op->in : features;
        features = op->out > features ? op->out : features;
    }
    return features;
}

static enum gw_err allocate_model_chunk(struct gw__model_chunk *chunk,
                                        struct gw_error *why)
{
    size_t rows = chunk->config.layout->rows, features = widest(chunk);
    size_t *places = calloc(4 * chunk->count, sizeof *places), spread = 0;
    if (!places)
        return gw_fail(why, GW_ENOMEM, "a part of %u operators", chunk->count);
    chunk->in_at = places;
    chunk->out_at = places + chunk->count;
    chunk->slope_at = places + 2 * chunk->count;
    chunk->branch_at = places + 3 * chunk->count;
    lay_out_model_chunk(chunk);
    chunk->values = calloc(1, sizeof *chunk->values);
    if (!chunk->values)
        return gw_fail(why, GW_ENOMEM, "a part of %u operators", chunk->count);
    chunk->values->elements = chunk->tape_elements;
    for (unsigned i = 0; i < chunk->count; i++) {
        struct gw__image_shape shape = gw__model_chunk_image(chunk, i);
        size_t needed = gw__conv_scratch(&shape);
        bool conv = chunk->operators[i].kind == GW_OP_CONV;
        spread = conv && needed > spread ? needed : spread;
    }
    if (spread > 0)
        chunk->spread = gw_alloc(spread * sizeof *chunk->spread, why);
    if (spread > 0 && !chunk->spread)
        return GW_ENOMEM;
    if (chunk->ranks == 1)
        return GW_OK;
    size_t scratch = gw__reshard_scratch(rows, features, chunk->ranks);
    chunk->scratch = gw_alloc(scratch * sizeof *chunk->scratch, why);
    chunk->raw = gw_alloc((rows * features + 1) * sizeof *chunk->raw, why);
    return chunk->scratch && chunk->raw ? GW_OK : GW_ENOMEM;
}

enum gw_err gw__model_chunk_new(const struct gw__model_chunk_config *config,
                                struct gw__model_chunk **chunk,
                                struct gw_error *why)
{
    const struct gw_layout *layout = config->layout;
    unsigned begin = layout->virtual_begin[config->virtual_stage];
    struct gw__model_chunk *made = calloc(1, sizeof *made);
    *chunk = NULL;
    if (!made)
        return gw_fail(why, GW_ENOMEM, "a part of a network");
    made->config = *config;
    made->ranks = config->tensor ? gw_comm_size(config->tensor) : 1;
    made->op_layouts = layout->op_layouts + begin;
    made->operators = layout->network->operators + begin;
    made->count = layout->virtual_begin[config->virtual_stage + 1] - begin;
    made->first = config->virtual_stage == 0;
    made->last = config->virtual_stage + 1 == layout->virtual_stages;
    enum gw_err err = allocate_model_chunk(made, why);
    if (err)
        gw__model_chunk_destroy(&made);
    *chunk = made;
    return err;
}

void gw__model_chunk_destroy(struct gw__model_chunk **chunk)
{
    if (!*chunk)
        return;
    struct gw__tape *tape;
    while ((tape = (*chunk)->idle)) {
        (*chunk)->idle = tape->next;
        free(tape);
    }
    if ((*chunk)->values)
        gw__message_buffers_fini((*chunk)->values);
    free((*chunk)->values);
    gw_free((*chunk)->scratch);
    gw_free((*chunk)->raw);
    gw_free((*chunk)->spread);
    free((*chunk)->in_at);
    free(*chunk);
    *chunk = NULL;
}

enum gw_err gw__tape_acquire(struct gw__model_chunk *chunk,
                             struct gw__tape **tape, struct gw_error *why)
{
    *tape = chunk->idle;
    if (*tape) {
        chunk->idle = (*tape)->next;
        return GW_OK;
    }
    struct gw__tape *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "the activations of a micro-batch");
    enum gw_err err =
        gw__message_buffer_acquire(chunk->values, &made->values, why);
    if (err) {
        free(made);
        return gw_wrap(why, err, "the activations of a micro-batch");
    }
    *tape = made;
    return GW_OK;
}

void gw__tape_release(struct gw__model_chunk *chunk, struct gw__tape **tape)
{
    if (!*tape)
        return;
    (*tape)->next = chunk->idle;
    chunk->idle = *tape;
    *tape = NULL;
}

size_t gw__model_chunk_message(const struct gw_layout *layout, unsigned after)
{
    unsigned next = layout->virtual_begin[after + 1];
    return gw__shard_elements(layout->rows, features_of(layout, next),
                              layout->op_layouts[next].in,
                              layout->options.mesh.tensor);
}

size_t gw__model_chunk_grad_message(const struct gw_layout *layout,
                                    unsigned after)
{
    unsigned next = layout->virtual_begin[after + 1];
    return gw__shard_elements(layout->rows, features_of(layout, next),
                              layout->op_layouts[next - 1].grad_out,
                              layout->options.mesh.tensor);
}

void gw__weights_begin(const struct gw_layout *layout, unsigned index,
                       unsigned place, uint64_t seed, float *values)
{
    const struct gw_operator *op = &layout->network->operators[index];
    const struct gw_operator_layout *op_layout = &layout->op_layouts[index];
    struct gw_operator local =
        gw__operator_local(op, op_layout->local_in, op_layout->local_out);
    size_t inputs, outputs, local_inputs, local_outputs;
    gw__operator_matrix(op, &inputs, &outputs);
    gw__operator_matrix(&local, &local_inputs, &local_outputs);
    size_t row = local_inputs < inputs ? place * local_inputs : 0;
    size_t column = local_outputs < outputs ? place * local_outputs : 0;
    uint64_t stream = gw__mix_in(seed, index);
    double limit = sqrt(6.0 / (double)inputs);
    for (size_t i = 0; i < local_inputs; i++)
        for (size_t j = 0; j < local_outputs; j++) {
            uint64_t number =
                gw__mix_in(stream, (row + i) * outputs + column + j);
            double unit = (double)(number >> 11) * 0x1p-53;
            *values++ = (float)(limit * (2 * unit - 1));
        }
    for (size_t i = local_inputs * local_outputs;
         i < op_layout->parameters_local; i++)
        *values++ = 0;
}
