/* SPDX-License-Identifier: MIT
 *
 * A step: the passes of this rank's stage in the order of the schedule, by
 * gw_pipe or, with one stage only, here; the end of the shards' step, which
 * changes the weights; and the loss, summed over all ranks. This sum uses the
 * caller's communicator, so that no axis counts it. It includes the number of
 * ranks with a parameter that is not finite, so all ranks end a diverging
 * training in the same step.
 *
 * The batch is divided by rows: data coordinate d has its d-th share, and
 * micro-batch m the m-th share of that.
 */
#include "parallel_parts.h"

#include <math.h>
#include <string.h>

enum gw_err gw__parallel_check(const struct gw_parallel *parallel,
                               const struct gw_dataset *data,
                               struct gw_error *why)
{
    const struct gw_network *network = parallel->layout->network;
    if (data->features > network->inputs)
        return gw_fail(why, GW_EINVAL,
                       "the data has %zu features, but %s needs %u",
                       data->features, network->name, network->inputs);
    if (data->class_count > network->classes)
        return gw_fail(why, GW_EINVAL, "the data has %u classes, but %s has %u",
                       data->class_count, network->name, network->classes);
    return GW_OK;
}

/* Infinite parameters may be missed: tanh makes finite numbers of infinite
 * sums. So a loss far above log(classes), that of guessing, counts as
 * divergence, too. */
static bool is_hopeless(const struct gw_parallel *parallel, double loss)
{
    return !(loss <= 1e6 * log(parallel->layout->network->classes));
}

enum gw_err gw__parallel_reduce_loss(struct gw_parallel *parallel, size_t rows,
                                     struct gw_parallel_report *report,
                                     struct gw_error *why)
{
    enum { LOSS, RIGHT, DIVERGED, SUMS };
    struct gw_comm *comm = parallel->config.comm;
    double mine[SUMS] = {parallel->loss_sum.loss,
                         (double)parallel->loss_sum.right,
                         gw__shards_diverged(parallel->shards)};
    double all[SUMS] = {0};
    enum gw_err err = gw_allreduce(comm, mine, all, SUMS, GW_F64, GW_SUM);
    if (err)
        return gw_fail(why, err, "adding up the loss: %s",
                       gw_comm_error(comm)->text);
    report->loss = all[LOSS] / (double)rows;
    report->right = (uint64_t)all[RIGHT];
    bool broken = all[DIVERGED] > 0;
    if (!broken && !is_hopeless(parallel, report->loss))
        return GW_OK;
    return gw_fail(why, GW_EWRONG,
                   "training diverges in step %llu: the loss is %g%s; try a "
                   "lower rate",
                   (unsigned long long)parallel->steps, report->loss,
                   broken ? ", and a parameter is infinite or NaN" : "");
}

/* Checks the rows of all ranks, so that all ranks report the same error. */
static enum gw_err check_rows(const struct gw_parallel *parallel,
                              const struct gw_dataset *data,
                              const uint32_t *rows, struct gw_error *why)
{
    for (unsigned i = 0; i < parallel->layout->options.batch; i++)
        if (rows[i] >= data->rows)
            return gw_fail(why, GW_EINVAL,
                           "the batch has row %u, but the data has only %zu "
                           "rows, numbered from 0",
                           rows[i], data->rows);
    return GW_OK;
}

/* With one stage messages go from chunk to chunk in memory. */
static enum gw_err run_pass(struct gw_parallel *parallel,
                            const struct gw_pass *pass, struct gw_error *why)
{
    const struct gw_stage_work *work = &gw__parallel_work;
    size_t here = gw__parallel_at(parallel, pass->chunk, pass->micro);
    size_t next = here + parallel->micros;
    bool last = pass->chunk + 1U == parallel->chunks;
    if (pass->kind == GW_FORWARD)
        return work->forward(parallel, pass->chunk, pass->micro,
                             parallel->activations[here],
                             last ? NULL : parallel->activations[next], why);
    return work->backward(parallel, pass->chunk, pass->micro,
                          (enum gw_pass_kind)pass->kind,
                          last ? NULL : parallel->gradients[next],
                          parallel->gradients[here], why);
}

static enum gw_err run_passes(struct gw_parallel *parallel,
                              struct gw_error *why)
{
    const struct gw_schedule *schedule = parallel->schedule;
    if (parallel->pipe)
        return gw_pipe_step(parallel->pipe, (unsigned)parallel->steps, why);
    for (size_t i = 0; i < schedule->pass_count; i++) {
        const struct gw_pass *pass = &schedule->passes[i];
        enum gw_err err = run_pass(parallel, pass, why);
        if (err)
            return gw_wrap(why, err, "step %llu, %c%u",
                           (unsigned long long)parallel->steps,
                           gw_pass_symbol((enum gw_pass_kind)pass->kind),
                           pass->micro);
    }
    return GW_OK;
}

static uint64_t collectives_of(const struct gw_parallel *parallel)
{
    uint64_t sum = 0;
    for (unsigned c = 0; c < parallel->chunks; c++)
        sum += parallel->model_chunks[c]->collectives;
    return sum;
}

static void begin_step(struct gw_parallel *parallel,
                       const struct gw_dataset *data, const uint32_t *rows)
{
    size_t mine = (size_t)parallel->layout->rows * parallel->micros;
    parallel->data = data;
    parallel->rows = rows + parallel->axes.d * mine;
    parallel->loss_sum = (struct gw__loss_sum){0};
    memset(parallel->weights_added, 0,
           parallel->chunks * sizeof *parallel->weights_added);
    parallel->collectives = collectives_of(parallel);
    gw__axes_reset(&parallel->axes);
}

static void end_step(struct gw_parallel *parallel,
                     struct gw_parallel_report *report)
{
    struct gw_parallel_counts *counts = &parallel->counts;
    gw__axes_count(&parallel->axes, counts);
    counts->tensor_collectives +=
        (unsigned)(collectives_of(parallel) - parallel->collectives);
    counts->steps++;
    parallel->steps++;
    gw__shards_times(parallel->shards, &report->comm_us, &report->exposed_us);
}

/* Each rank reports the end of the step, the first one also its result. */
static void emit_step(const struct gw_parallel *parallel,
                      const struct gw_parallel_report *report)
{
    struct gw_sink *sink = parallel->config.events;
    unsigned rank = gw_comm_rank(parallel->config.comm);
    struct gw_event event = {.time_ns = gw_now_ns(),
                             .kind = GW_EV_STEP,
                             .value = (int64_t)parallel->steps,
                             .rank = rank,
                             .peer = GW_NONE,
                             .op = GW_NONE,
                             .step = (uint32_t)parallel->steps,
                             .chunk = GW_NONE};
    if (!sink)
        return;
    gw_emit(sink, &event);
    event.kind = GW_EV_LOSS;
    event.value = llround(report->loss * 1e9);
    if (rank == 0)
        gw_emit(sink, &event);
}

enum gw_err gw__parallel_fail(struct gw_parallel *parallel, enum gw_err code,
                              struct gw_error *own)
{
    const struct gw_mesh *mesh = &parallel->layout->options.mesh;
    struct gw_comm *comm = parallel->config.comm;
    own->code = code;
    if ((mesh->data > 1) + (mesh->tensor > 1) + (mesh->pipe > 1) > 1)
        gw_wrap(own, code, "rank %u (data %u, tensor %u, stage %u)",
                gw_comm_rank(comm), parallel->axes.d, parallel->axes.t,
                parallel->axes.p);
    if (!gw_comm_error(comm)->code)
        gw_comm_abort(comm, code, own->text);
    return code;
}

enum gw_err gw_parallel_step(struct gw_parallel *parallel,
                             const struct gw_dataset *data,
                             const uint32_t *rows,
                             struct gw_parallel_report *report,
                             struct gw_error *why)
{
    struct gw_error own = {0};
    uint64_t begin_ns = gw_now_ns();
    *report = (struct gw_parallel_report){0};
    enum gw_err err = gw__parallel_check(parallel, data, why);
    if (!err)
        err = check_rows(parallel, data, rows, why);
    if (err)
        return err;
    begin_step(parallel, data, rows);
    err = run_passes(parallel, &own);
    if (!err)
        err = gw__shards_step(parallel->shards, &own);
    if (err) {
        err = gw__parallel_fail(parallel, err, &own);
    } else {
        end_step(parallel, report);
        err = gw__parallel_reduce_loss(
            parallel, parallel->layout->options.batch, report, &own);
    }
    if (!err)
        emit_step(parallel, report);
    report->step_us = (double)(gw_now_ns() - begin_ns) / 1000;
    if (err && why)
        *why = own;
    return err;
}

void gw_parallel_counts(const struct gw_parallel *parallel,
                        struct gw_parallel_counts *counts)
{
    *counts = parallel->counts;
    gw__shards_memory(parallel->shards, false, &counts->parameter_bytes,
                      &counts->gradient_bytes, &counts->optimiser_bytes,
                      &counts->gathered_bytes);
}

void gw_parallel_counts_reset(struct gw_parallel *parallel)
{
    struct gw_parallel_counts counts = {0};
    gw__shards_memory(parallel->shards, true, &counts.parameter_bytes,
                      &counts.gradient_bytes, &counts.optimiser_bytes,
                      &counts.gathered_bytes);
    parallel->counts = (struct gw_parallel_counts){0};
}
