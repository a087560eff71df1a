/* SPDX-License-Identifier: MIT
 *
 * Forward passes. Each operator computes this rank's part of its output. If the
 * next operator needs another sharding, the output is converted, also before it
 * is sent. The other functions of this file are shared with backward passes.
 */
#include "part.h"

#include "learn/parallel/reshard.h"
#include "pipe/network/network.h"

#include <string.h>

const float *gw__part_input(const struct gw__part *part,
                            const struct gw__tape *tape, unsigned i)
{
    if (i == 0)
        return part->first ? tape->values + part->in_at[0] : tape->in;
    return tape->values + (part->placed[i].forward.needed
                               ? part->in_at[i]
                               : part->out_at[i - 1]);
}

struct gw__rows gw__part_rows(const struct gw__part *part,
                              const struct gw__rows *rows,
                              enum gw_sharding sharding)
{
    struct gw__rows some = *rows;
    if (sharding == GW_BY_ROW) {
        some.count /= part->ranks;
        some.row += part->config.place * some.count;
    }
    return some;
}

/* This rank's first input feature of an operator. */
static size_t first_feature(const struct gw__part *part, unsigned i)
{
    size_t mine = part->placed[i].local_in;
    return mine < part->operators[i].in ? part->config.place * mine : 0;
}

struct gw__vocabulary gw__part_words(const struct gw__part *part, unsigned i)
{
    return (struct gw__vocabulary){.first = first_feature(part, i),
                                   .count = part->placed[i].local_in,
                                   .width = part->placed[i].local_out};
}

struct gw__dense gw__part_dense(const struct gw__part *part, unsigned i)
{
    size_t rows = part->config.layout->rows;
    const struct gw_placed *placed = &part->placed[i];
    return (struct gw__dense){
        .rows = placed->in == GW_BY_ROW ? rows / part->ranks : rows,
        .in = placed->local_in,
        .out = placed->local_out};
}

struct gw__image_shape gw__part_image(const struct gw__part *part, unsigned i)
{
    const struct gw_operator *op = &part->operators[i];
    const struct gw_placed *placed = &part->placed[i];
    return (struct gw__image_shape){
        .rows = gw__part_dense(part, i).rows,
        .in = gw__image_share(op->image_in, placed->local_in),
        .out = gw__image_share(op->image_out, placed->local_out),
        .height = op->kernel_height,
        .width = op->kernel_width};
}

unsigned gw__part_source(const struct gw__part *part, unsigned i)
{
    return part->operators[i].source - part->placed[0].index;
}

size_t gw__part_elements(const struct gw__part *part, unsigned i)
{
    return gw__shard_elements(part->config.layout->rows, part->operators[i].in,
                              part->placed[i].in, part->ranks);
}

enum gw_err gw__part_wrap(const struct gw__part *part, unsigned i,
                          enum gw_err code, struct gw_error *why)
{
    return gw_wrap(why, code, "operator %u, %s", part->placed[i].index + 1,
                   gw_operator_name(part->operators[i].kind));
}

enum gw_err gw__part_convert(struct gw__part *part,
                             const struct gw_conversion *conversion,
                             size_t features, const float *in, float *out,
                             size_t copied, struct gw_error *why)
{
    if (!conversion->needed) {
        memcpy(out, in, copied * sizeof *out);
        return GW_OK;
    }
    part->collectives += conversion->collective != GW_COLLECTIVES;
    struct gw__reshard reshard = {.comm = part->config.tensor,
                                  .rows = part->config.layout->rows,
                                  .features = features,
                                  .from = conversion->from,
                                  .to = conversion->to,
                                  .in = in,
                                  .out = out,
                                  .scratch = part->scratch,
                                  .algo = part->config.algo};
    return gw__reshard(&reshard, why);
}

/* Only the first rank adds the biases of an operator that is split by rows. */
static const float *biases_of(const struct gw__part *part, unsigned i,
                              const float *weights, size_t count)
{
    bool biased =
        part->placed[i].split != GW_SPLIT_ROWS || part->config.place == 0;
    return biased ? weights + part->placed[i].parameters_local - count : NULL;
}

static void dense(const struct gw__part *part, unsigned i, const float *x,
                  const float *weights, float *y)
{
    struct gw__dense shape = gw__part_dense(part, i);
    gw__dense_forward(&shape, x, weights,
                      biases_of(part, i, weights, shape.out), y);
}

static void conv(const struct gw__part *part, unsigned i, const float *x,
                 const float *weights, float *y)
{
    struct gw__image_shape shape = gw__part_image(part, i);
    gw__conv_forward(&shape, x, weights,
                     biases_of(part, i, weights, shape.out.channels),
                     part->spread, y);
}

static void add_branch(const struct gw__part *part, const struct gw__tape *tape,
                       unsigned i, const float *x, float *y)
{
    const float *branch = tape->values + part->out_at[gw__part_source(part, i)];
    size_t elements = gw__part_elements(part, i);
    for (size_t k = 0; k < elements; k++)
        y[k] = x[k] + branch[k];
}

/* If all ranks have all scores, only the first one evaluates them. */
static void compute_loss(const struct gw__part *part,
                         const struct gw__rows *rows, unsigned i,
                         const float *scores, float *slopes,
                         struct gw__judged *judged)
{
    struct gw__judged unheard = {0};
    bool mine = part->placed[i].in == GW_BY_ROW || part->config.place == 0;
    gw__softmax(rows, scores, part->operators[i].in, part->config.scale, slopes,
                mine ? judged : &unheard);
}

static void run_operator(const struct gw__part *part, struct gw__tape *tape,
                         const struct gw__part_pass *pass, unsigned i,
                         const float *weights)
{
    struct gw__rows rows = gw__part_rows(part, pass->rows, part->placed[i].in);
    float *y = tape->values + part->out_at[i];
    struct gw__vocabulary words = gw__part_words(part, i);
    enum gw_operator_kind kind = part->operators[i].kind;
    if (part->first && i == 0 && kind != GW_OP_EMBEDDING)
        gw__rows_dense(
            &rows,
            part->placed[0].in == GW_BY_FEATURE ? first_feature(part, 0) : 0,
            part->placed[0].local_in, tape->values + part->in_at[0]);
    const float *x = gw__part_input(part, tape, i);
    struct gw__image_shape image = gw__part_image(part, i);
    switch (kind) {
    case GW_OP_EMBEDDING:
        gw__embedding_forward(&words, &rows, weights, y);
        break;
    case GW_OP_DENSE:
        dense(part, i, x, weights, y);
        break;
    case GW_OP_CONV:
        conv(part, i, x, weights, y);
        break;
    case GW_OP_MAXPOOL:
        gw__maxpool(&image, x, y);
        break;
    case GW_OP_FLATTEN: /* the channels are already contiguous */
        memcpy(y, x, gw__part_elements(part, i) * sizeof *y);
        break;
    case GW_OP_ADD:
        add_branch(part, tape, i, x, y);
        break;
    case GW_OP_RELU:
        gw__relu(x, y, gw__part_elements(part, i));
        break;
    case GW_OP_TANH:
        gw__tanh(x, y, gw__part_elements(part, i));
        break;
    case GW_OP_SOFTMAX:
        compute_loss(part, &rows, i, x, y, pass->judged);
        break;
    }
}

/* Copies the output to the next operator's input, here or in a message. */
static enum gw_err pass_on(struct gw__part *part, struct gw__tape *tape,
                           const struct gw__part_pass *pass, unsigned i,
                           struct gw_error *why)
{
    const struct gw_conversion *next = &part->placed[i + 1].forward;
    const float *y = tape->values + part->out_at[i];
    size_t features = part->operators[i].out;
    size_t elements = gw__shard_elements(part->config.layout->rows, features,
                                         part->placed[i].out, part->ranks);
    if (i + 1 == part->count)
        return gw__part_convert(part, next, features, y, pass->out, elements,
                                why);
    if (!next->needed)
        return GW_OK;
    return gw__part_convert(part, next, features, y,
                            tape->values + part->in_at[i + 1], 0, why);
}

static enum gw_err forward(struct gw__part *part, struct gw__tape *tape,
                           const struct gw__part_pass *pass, unsigned i,
                           struct gw_error *why)
{
    bool learns = part->placed[i].parameters_local > 0;
    const float *weights = NULL;
    enum gw_err err = GW_OK;
    if (learns)
        err = gw__part_use(part, i, &weights, why);
    if (err)
        return err;
    run_operator(part, tape, pass, i, weights);
    if (learns)
        gw__part_drop(part, i);
    if (part->operators[i].kind != GW_OP_SOFTMAX)
        err = pass_on(part, tape, pass, i, why);
    return err ? err : gw__part_poll(part, why);
}

enum gw_err gw__part_forward(struct gw__part *part, struct gw__tape *tape,
                             const struct gw__part_pass *pass,
                             struct gw_error *why)
{
    tape->in = pass->in;
    for (unsigned i = 0; i < part->count; i++) {
        enum gw_err err = forward(part, tape, pass, i, why);
        if (err)
            return gw__part_wrap(part, i, err, why);
    }
    return GW_OK;
}
