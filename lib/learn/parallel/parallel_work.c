/* SPDX-License-Identifier: MIT
 *
 * The pipeline's callbacks: one pass of one micro-batch through one of the
 * trainer's virtual stages. A forward pass takes a tape; the last of its
 * backward passes gives it back.
 */
#include "parallel_parts.h"

static size_t elements(void *context, unsigned after, unsigned micro)
{
    const struct gw_parallel *parallel = context;
    (void)micro;
    return gw__model_chunk_message(parallel->layout, after);
}

static size_t gradient_elements(void *context, unsigned after, unsigned micro)
{
    const struct gw_parallel *parallel = context;
    (void)micro;
    return gw__model_chunk_grad_message(parallel->layout, after);
}

static struct gw__rows rows_of(const struct gw_parallel *parallel,
                               unsigned micro)
{
    size_t count = parallel->layout->rows;
    return (struct gw__rows){.data = parallel->data,
                             .row = parallel->rows + micro * count,
                             .count = count};
}

/* The tape of a micro-batch in a chunk, for its forward pass. */
static enum gw_err acquire_tape(struct gw_parallel *parallel, unsigned chunk,
                                struct gw__tape **tape, struct gw_error *why)
{
    struct gw__model_chunk *model = parallel->model_chunks[chunk];
    if (gw__tape_acquire(model, tape, why))
        return why->code;
    uint64_t *most = &parallel->counts.activation_bytes;
    parallel->tape_bytes += model->tape_elements * sizeof(float);
    *most = parallel->tape_bytes > *most ? parallel->tape_bytes : *most;
    return GW_OK;
}

static void release_tape(struct gw_parallel *parallel, unsigned chunk,
                         struct gw__tape **tape)
{
    struct gw__model_chunk *model = parallel->model_chunks[chunk];
    if (*tape)
        parallel->tape_bytes -= model->tape_elements * sizeof(float);
    gw__tape_release(model, tape);
}

static enum gw_err forward(void *context, unsigned chunk, unsigned micro,
                           const float *in, float *out, struct gw_error *why)
{
    struct gw_parallel *parallel = context;
    struct gw__model_chunk *model = parallel->model_chunks[chunk];
    struct gw__tape **tape =
        &parallel->tapes[gw__parallel_at(parallel, chunk, micro)];
    struct gw__rows rows = rows_of(parallel, micro);
    struct gw__model_chunk_pass pass = {.kind = GW_FORWARD,
                                        .rows = &rows,
                                        .in = in,
                                        .out = out,
                                        .loss_sum = &parallel->loss_sum};
    enum gw_err err = acquire_tape(parallel, chunk, tape, why);
    return err ? err : gw__model_chunk_forward(model, *tape, &pass, why);
}

static enum gw_err backward(void *context, unsigned chunk, unsigned micro,
                            enum gw_pass_kind kind, const float *grad_out,
                            float *grad_in, struct gw_error *why)
{
    struct gw_parallel *parallel = context;
    struct gw__model_chunk *model = parallel->model_chunks[chunk];
    struct gw__tape **tape =
        &parallel->tapes[gw__parallel_at(parallel, chunk, micro)];
    struct gw__rows rows = rows_of(parallel, micro);
    bool ends = kind != GW_BACKWARD_INPUT;
    parallel->weights_added[chunk] += ends;
    struct gw__model_chunk_pass pass = {
        .kind = kind,
        .rows = &rows,
        .in = grad_out,
        .out = grad_in,
        .complete = ends && parallel->weights_added[chunk] == parallel->micros};
    enum gw_err err = gw__model_chunk_backward(model, *tape, &pass, why);
    if (!err && ends)
        release_tape(parallel, chunk, tape);
    return err;
}

const struct gw_stage_work gw__parallel_work = {
    .elements = elements,
    .forward = forward,
    .backward = backward,
    .gradient_elements = gradient_elements,
};

void gw__parallel_drop_tapes(struct gw_parallel *parallel)
{
    if (!parallel->model_chunks || !parallel->tapes)
        return;
    for (unsigned c = 0; c < parallel->chunks; c++)
        for (unsigned m = 0; parallel->model_chunks[c] && m < parallel->micros;
             m++)
            release_tape(parallel, c,
                         &parallel->tapes[gw__parallel_at(parallel, c, m)]);
}
