/* SPDX-License-Identifier: MIT
 *
 * Creation of a part: the size of each of its tensors on this rank, their
 * offsets on a tape, and the tapes. part_forward.c and part_backward.c have the
 * computation.
 *
 * A tape has for each operator: its input if that was converted (or read from
 * the data set), its output, and the gradient of the output. The softmax's
 * output is the gradient of its input. All have separate memory, so that a pass
 * I can leave its results for W.
 */
#include "part.h"

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

static size_t elements_of(const struct gw__part *part, size_t features,
                          enum gw_sharding sharding)
{
    return gw__shard_elements(part->config.layout->rows, features, sharding,
                              part->ranks);
}

/* Rounds up to cache lines, for alignment. */
static size_t reserve_tape(struct gw__part *part, size_t elements)
{
    size_t at = part->tape_elements;
    part->tape_elements += (elements + 15) / 16 * 16;
    return at;
}

static void lay_out_part(struct gw__part *part)
{
    for (unsigned i = 0; i < part->count; i++) {
        const struct gw_operator *op = &part->operators[i];
        const struct gw_placed *placed = &part->placed[i];
        size_t in = elements_of(part, op->in, placed->in);
        bool read = part->first && i == 0 && op->kind != GW_OP_EMBEDDING;
        if (read || (i > 0 && placed->forward.needed))
            part->in_at[i] = reserve_tape(part, in);
        if (op->kind == GW_OP_SOFTMAX) {
            part->out_at[i] = reserve_tape(part, in);
            continue;
        }
        part->out_at[i] =
            reserve_tape(part, elements_of(part, op->out, placed->out));
        size_t slope = elements_of(part, op->out, placed->grad_out);
        part->slope_at[i] = reserve_tape(part, slope);
        if (gw__is_added(part->config.layout->network, placed->index))
            part->branch_at[i] = reserve_tape(part, slope);
    }
}

/* The widest tensor that is converted before or after an operator. */
static size_t widest(const struct gw__part *part)
{
    size_t features = 0;
    for (unsigned i = 0; i < part->count; i++) {
        const struct gw_operator *op = &part->operators[i];
        features =
            op->in > features && !(part->first && i == 0) ? op->in : features;
        features = op->out > features ? op->out : features;
    }
    return features;
}

static enum gw_err allocate_part(struct gw__part *part, struct gw_error *why)
{
    size_t rows = part->config.layout->rows, features = widest(part);
    size_t *places = calloc(4 * part->count, sizeof *places), spread = 0;
    if (!places)
        return gw_fail(why, GW_ENOMEM, "a part of %u operators", part->count);
    part->in_at = places;
    part->out_at = places + part->count;
    part->slope_at = places + 2 * part->count;
    part->branch_at = places + 3 * part->count;
    lay_out_part(part);
    part->values = calloc(1, sizeof *part->values);
    if (!part->values)
        return gw_fail(why, GW_ENOMEM, "a part of %u operators", part->count);
    part->values->elements = part->tape_elements;
    for (unsigned i = 0; i < part->count; i++) {
        struct gw__image_shape shape = gw__part_image(part, i);
        size_t needed = gw__conv_scratch(&shape);
        bool conv = part->operators[i].kind == GW_OP_CONV;
        spread = conv && needed > spread ? needed : spread;
    }
    if (spread > 0)
        part->spread = gw_alloc(spread * sizeof *part->spread, why);
    if (spread > 0 && !part->spread)
        return GW_ENOMEM;
    if (part->ranks == 1)
        return GW_OK;
    size_t scratch = gw__reshard_scratch(rows, features, part->ranks);
    part->scratch = gw_alloc(scratch * sizeof *part->scratch, why);
    part->raw = gw_alloc((rows * features + 1) * sizeof *part->raw, why);
    return part->scratch && part->raw ? GW_OK : GW_ENOMEM;
}

enum gw_err gw__part_new(const struct gw__part_config *config,
                         struct gw__part **part, struct gw_error *why)
{
    const struct gw_layout *layout = config->layout;
    unsigned begin = layout->piece_begin[config->piece];
    struct gw__part *made = calloc(1, sizeof *made);
    *part = NULL;
    if (!made)
        return gw_fail(why, GW_ENOMEM, "a part of a network");
    made->config = *config;
    made->ranks = config->tensor ? gw_comm_size(config->tensor) : 1;
    made->placed = layout->placed + begin;
    made->operators = layout->network->operators + begin;
    made->count = layout->piece_begin[config->piece + 1] - begin;
    made->first = config->piece == 0;
    made->last = config->piece + 1 == layout->pieces;
    enum gw_err err = allocate_part(made, why);
    if (err)
        gw__part_destroy(&made);
    *part = made;
    return err;
}

void gw__part_destroy(struct gw__part **part)
{
    if (!*part)
        return;
    struct gw__tape *tape;
    while ((tape = (*part)->idle)) {
        (*part)->idle = tape->next;
        free(tape);
    }
    if ((*part)->values)
        gw__message_buffers_fini((*part)->values);
    free((*part)->values);
    gw_free((*part)->scratch);
    gw_free((*part)->raw);
    gw_free((*part)->spread);
    free((*part)->in_at);
    free(*part);
    *part = NULL;
}

enum gw_err gw__part_take(struct gw__part *part, struct gw__tape **tape,
                          struct gw_error *why)
{
    *tape = part->idle;
    if (*tape) {
        part->idle = (*tape)->next;
        return GW_OK;
    }
    struct gw__tape *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "the activations of a micro-batch");
    enum gw_err err = gw__message_buffer_take(part->values, &made->values, why);
    if (err) {
        free(made);
        return gw_wrap(why, err, "the activations of a micro-batch");
    }
    *tape = made;
    return GW_OK;
}

void gw__part_give(struct gw__part *part, struct gw__tape **tape)
{
    if (!*tape)
        return;
    (*tape)->next = part->idle;
    part->idle = *tape;
    *tape = NULL;
}

size_t gw__part_message(const struct gw_layout *layout, unsigned after)
{
    unsigned next = layout->piece_begin[after + 1];
    return gw__shard_elements(layout->rows, features_of(layout, next),
                              layout->placed[next].in,
                              layout->options.mesh.tensor);
}

size_t gw__part_gradient_message(const struct gw_layout *layout, unsigned after)
{
    unsigned next = layout->piece_begin[after + 1];
    return gw__shard_elements(layout->rows, features_of(layout, next),
                              layout->placed[next - 1].grad_out,
                              layout->options.mesh.tensor);
}

void gw__weights_begin(const struct gw_layout *layout, unsigned index,
                       unsigned place, uint64_t seed, float *values)
{
    const struct gw_operator *op = &layout->network->operators[index];
    const struct gw_placed *placed = &layout->placed[index];
    struct gw_operator local =
        gw__operator_local(op, placed->local_in, placed->local_out);
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
    for (size_t i = local_inputs * local_outputs; i < placed->parameters_local;
         i++)
        *values++ = 0;
}
