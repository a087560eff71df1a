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

struct walk {
    struct gw_parallel *parallel;
    struct gw__rows rows;
    uint32_t *row;
    float *in, *out; /* messages */
    struct gw__judged *judged;
};

static void fill_block(struct walk *walk, size_t block)
{
    size_t count = walk->rows.count, all = walk->rows.data->rows;
    for (size_t i = 0; i < count; i++) {
        size_t row = block * count + i;
        walk->row[i] = row < all ? (uint32_t)row : GW__NO_ROW;
    }
}

/* Stage p is rank p of the pipe axis. */
static enum gw_err receive(struct walk *walk, unsigned piece,
                           struct gw_error *why)
{
    struct gw_comm *pipe = walk->parallel->axes.pipe;
    const struct gw_layout *layout = walk->parallel->layout;
    if (piece == 0)
        return GW_OK;
    if (!pipe) { /* the output of this rank itself */
        float *out = walk->out;
        walk->out = walk->in;
        walk->in = out;
        return GW_OK;
    }
    enum gw_err err =
        gw_recv(pipe, walk->in, gw__part_message(layout, piece - 1), GW_F32,
                (piece - 1) % layout->options.mesh.pipe);
    if (err)
        gw_fail(why, err, "pipe axis: %s", gw_comm_error(pipe)->text);
    return err;
}

static enum gw_err send_activations(struct walk *walk, unsigned piece,
                                    struct gw_error *why)
{
    struct gw_comm *pipe = walk->parallel->axes.pipe;
    const struct gw_layout *layout = walk->parallel->layout;
    if (!pipe || piece + 1 == layout->pieces)
        return GW_OK;
    enum gw_err err = gw_send(pipe, walk->out, gw__part_message(layout, piece),
                              GW_F32, (piece + 1) % layout->options.mesh.pipe);
    if (err)
        gw_fail(why, err, "pipe axis: %s", gw_comm_error(pipe)->text);
    return err;
}

static enum gw_err compute_chunk(struct walk *walk, unsigned chunk,
                                 struct gw_error *why)
{
    struct gw__part *part = walk->parallel->parts[chunk];
    struct gw__tape *tape = NULL;
    struct gw__part_pass pass = {.kind = GW_FORWARD,
                                 .rows = &walk->rows,
                                 .in = part->first ? NULL : walk->in,
                                 .out = part->last ? NULL : walk->out,
                                 .judged = walk->judged};
    enum gw_err err = gw__part_take(part, &tape, why);
    if (!err)
        err = gw__part_forward(part, tape, &pass, why);
    gw__part_give(part, &tape);
    return err;
}

static enum gw_err go_through(struct walk *walk, struct gw_error *why)
{
    const struct gw_layout *layout = walk->parallel->layout;
    unsigned data = layout->options.mesh.data;
    unsigned stages = layout->options.mesh.pipe;
    size_t per_round = (size_t)layout->rows * data;
    size_t rounds = (walk->rows.data->rows + per_round - 1) / per_round;
    enum gw_err err = GW_OK;
    for (size_t r = 0; !err && r < rounds; r++) {
        fill_block(walk, r * data + walk->parallel->axes.d);
        for (unsigned c = 0; !err && c < walk->parallel->chunks; c++) {
            unsigned piece = c * stages + walk->parallel->axes.p;
            err = receive(walk, piece, why);
            if (!err)
                err = compute_chunk(walk, c, why);
            if (!err)
                err = send_activations(walk, piece, why);
        }
    }
    return err;
}

/* The size of this rank's largest message. */
static size_t largest_message(const struct gw_layout *layout)
{
    size_t largest = 1;
    for (unsigned after = 0; after + 1 < layout->pieces; after++) {
        size_t elements = gw__part_message(layout, after);
        largest = elements > largest ? elements : largest;
    }
    return largest;
}

static enum gw_err evaluate(struct gw_parallel *parallel,
                            const struct gw_dataset *data, struct gw_error *why)
{
    const struct gw_layout *layout = parallel->layout;
    size_t bytes = largest_message(layout) * sizeof(float);
    struct walk walk = {.parallel = parallel,
                        .row = calloc(layout->rows, sizeof *walk.row),
                        .in = gw_alloc(bytes, why),
                        .out = gw_alloc(bytes, why),
                        .judged = &parallel->judged};
    walk.rows =
        (struct gw__rows){.data = data, .row = walk.row, .count = layout->rows};
    enum gw_err err =
        walk.row && walk.in && walk.out
            ? go_through(&walk, why)
            : gw_fail(why, GW_ENOMEM, "messages of %zu bytes", bytes);
    free(walk.row);
    gw_free(walk.in);
    gw_free(walk.out);
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
    parallel->judged = (struct gw__judged){0};
    err = evaluate(parallel, data, &own);
    gw__shards_times_reset(parallel->shards);
    if (err)
        err = gw__parallel_fail(parallel, err, &own);
    else
        err = gw__parallel_judge(parallel, data->rows, report, &own);
    report->step_us = (double)(gw_now_ns() - begin_ns) / 1000;
    if (err)
        return gw_fail(why, err, "evaluating: %s", own.text);
    return GW_OK;
}
