/* SPDX-License-Identifier: MIT
 *
 * Loss and accuracy over a whole data set, by forward passes. The rows are
 * divided into blocks of the size of a micro-batch and assigned round robin to
 * the data coordinates. Each has the same number of blocks, with padding rows
 * at the end, so that ranks that gather weights together do so equally often.
 * Stages pass the blocks on in order, and work concurrently on different
 * blocks.
 */
#include "parallel_parts.h"

#include <gradwire/wire.h>

#include <stdlib.h>

struct evaluation {
    struct gw_parallel *parallel;
    struct gw__rows rows;
    uint32_t *row;
    float *in, *out; /* messages */
    struct gw__loss_sum *loss_sum;
};

static void fill_block(struct evaluation *evaluation, size_t block)
{
    size_t count = evaluation->rows.count, all = evaluation->rows.data->rows;
    for (size_t i = 0; i < count; i++) {
        size_t row = block * count + i;
        evaluation->row[i] = row < all ? (uint32_t)row : GW__NO_ROW;
    }
}

/* Stage p is rank p of the pipe axis. */
static enum gw_err receive(struct evaluation *evaluation,
                           unsigned virtual_stage, struct gw_error *why)
{
    struct gw_comm *pipe = evaluation->parallel->axes.pipe;
    const struct gw_layout *layout = evaluation->parallel->layout;
    if (virtual_stage == 0)
        return GW_OK;
    if (!pipe) { /* the output of this rank itself */
        float *out = evaluation->out;
        evaluation->out = evaluation->in;
        evaluation->in = out;
        return GW_OK;
    }
    enum gw_err err =
        gw_recv(pipe, evaluation->in,
                gw__model_chunk_message(layout, virtual_stage - 1), GW_F32,
                (virtual_stage - 1) % layout->options.mesh.pipe);
    if (err)
        gw_fail(why, err, "pipe axis: %s", gw_comm_error(pipe)->text);
    return err;
}

static enum gw_err send_activations(struct evaluation *evaluation,
                                    unsigned virtual_stage,
                                    struct gw_error *why)
{
    struct gw_comm *pipe = evaluation->parallel->axes.pipe;
    const struct gw_layout *layout = evaluation->parallel->layout;
    if (!pipe || virtual_stage + 1 == layout->virtual_stages)
        return GW_OK;
    enum gw_err err = gw_send(
        pipe, evaluation->out, gw__model_chunk_message(layout, virtual_stage),
        GW_F32, (virtual_stage + 1) % layout->options.mesh.pipe);
    if (err)
        gw_fail(why, err, "pipe axis: %s", gw_comm_error(pipe)->text);
    return err;
}

static enum gw_err compute_chunk(struct evaluation *evaluation, unsigned chunk,
                                 struct gw_error *why)
{
    struct gw__model_chunk *model = evaluation->parallel->model_chunks[chunk];
    struct gw__tape *tape = NULL;
    struct gw__model_chunk_pass pass = {
        .kind = GW_FORWARD,
        .rows = &evaluation->rows,
        .in = model->first ? NULL : evaluation->in,
        .out = model->last ? NULL : evaluation->out,
        .loss_sum = evaluation->loss_sum};
    enum gw_err err = gw__tape_acquire(model, &tape, why);
    if (!err)
        err = gw__model_chunk_forward(model, tape, &pass, why);
    gw__tape_release(model, &tape);
    return err;
}

static enum gw_err go_through(struct evaluation *evaluation,
                              struct gw_error *why)
{
    const struct gw_layout *layout = evaluation->parallel->layout;
    unsigned data = layout->options.mesh.data;
    unsigned stages = layout->options.mesh.pipe;
    size_t per_round = (size_t)layout->rows * data;
    size_t rounds = (evaluation->rows.data->rows + per_round - 1) / per_round;
    enum gw_err err = GW_OK;
    for (size_t r = 0; !err && r < rounds; r++) {
        fill_block(evaluation, r * data + evaluation->parallel->axes.d);
        for (unsigned c = 0; !err && c < evaluation->parallel->chunks; c++) {
            unsigned virtual_stage = c * stages + evaluation->parallel->axes.p;
            err = receive(evaluation, virtual_stage, why);
            if (!err)
                err = compute_chunk(evaluation, c, why);
            if (!err)
                err = send_activations(evaluation, virtual_stage, why);
        }
    }
    return err;
}

/* The size of this rank's largest message. */
static size_t largest_message(const struct gw_layout *layout)
{
    size_t largest = 1;
    for (unsigned after = 0; after + 1 < layout->virtual_stages; after++) {
        size_t elements = gw__model_chunk_message(layout, after);
        largest = elements > largest ? elements : largest;
    }
    return largest;
}

static enum gw_err evaluate(struct gw_parallel *parallel,
                            const struct gw_dataset *data, struct gw_error *why)
{
    const struct gw_layout *layout = parallel->layout;
    size_t bytes = largest_message(layout) * sizeof(float);
    struct evaluation evaluation = {
        .parallel = parallel,
        .row = calloc(layout->rows, sizeof *evaluation.row),
        .in = gw_alloc(bytes, why),
        .out = gw_alloc(bytes, why),
        .loss_sum = &parallel->loss_sum};
    evaluation.rows = (struct gw__rows){
        .data = data, .row = evaluation.row, .count = layout->rows};
    enum gw_err err =
        evaluation.row && evaluation.in && evaluation.out
            ? go_through(&evaluation, why)
            : gw_fail(why, GW_ENOMEM, "messages of %zu bytes", bytes);
    free(evaluation.row);
    gw_free(evaluation.in);
    gw_free(evaluation.out);
    return err;
}

enum gw_err gw_parallel_evaluate(struct gw_parallel *parallel,
                                 const struct gw_dataset *data,
                                 struct gw_parallel_report *report,
                                 struct gw_error *why)
{
    struct gw_error own = {0};
    uint64_t begin_ns = gw_now_ns();
    *report = (struct gw_parallel_report){0};
    enum gw_err err = gw__parallel_check(parallel, data, why);
    if (err)
        return err;
    parallel->loss_sum = (struct gw__loss_sum){0};
    err = evaluate(parallel, data, &own);
    gw__shards_times_reset(parallel->shards);
    if (err)
        err = gw__parallel_fail(parallel, err, &own);
    else
        err = gw__parallel_reduce_loss(parallel, data->rows, report, &own);
    report->step_us = (double)(gw_now_ns() - begin_ns) / 1000;
    if (err)
        return gw_fail(why, err, "evaluating: %s", own.text);
    return GW_OK;
}
