/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The life of a stage that trains its part of a real network. The rows of a
 * step depend only on the seed and the step's number, so a replacement
 * continues exactly where its predecessor was.
 */
#include "common/command.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

struct trainer {
    struct run_spec *spec;
    struct gw_comm *comm;
    struct reporter *report;
    struct run_tap tap;
    unsigned stage;
    struct gw_parallel *parallel;
    struct gw_order order;
    void *state; /* the state saved after each step, and losses */
    size_t state_bytes;
    double losses; /* of the steps of this epoch: the same on all stages */
    bool until;    /* the stop rule holds */
};

static bool should_stop(const struct trainer *t, unsigned batch)
{
    const struct run_net *net = t->spec->net;
    return batch + 1 == net->batches && t->losses / net->batches < net->until;
}

static enum gw_err resume_trainer(struct trainer *t, struct gw_error *why)
{
    const void *state;
    size_t bytes;
    unsigned step = t->spec->first_step;
    if (step == 0)
        return GW_OK;
    enum gw_err err =
        run_safe_get(t->spec->safe, t->stage, step - 1, &state, &bytes, why);
    if (!err)
        err = gw_parallel_restore(t->parallel, state, bytes - sizeof t->losses,
                                  why);
    if (err)
        return err;
    memcpy(&t->losses, (const char *)state + bytes - sizeof t->losses,
           sizeof t->losses);
    t->until = should_stop(t, (step - 1) % t->spec->net->batches);
    if ((step % t->spec->net->batches) != 0)
        gw_order_shuffle(&t->order, step / t->spec->net->batches);
    return GW_OK;
}

static enum gw_err trainer_init(struct trainer *t, struct gw_error *why)
{
    const struct run_spec *spec = t->spec;
    const struct run_net *net = spec->net;
    const struct gw_parallel_config config = {
        .comm = t->comm,
        .layout = net->layout,
        .schedule = spec->schedule,
        .optimiser = net->optimiser,
        .rate = net->rate,
        .momentum = net->momentum,
        .seed = common.seed,
        .events = &t->tap.sink,
        .predicted_us = spec->predicted_us,
    };
    run_tap_init(&t->tap, t->spec, t->stage, t->report);
    enum gw_err err = gw_order_init(&t->order, net->train->rows, net->batch,
                                    common.seed, why);
    if (!err)
        err = gw_parallel_new(&config, &t->parallel, why);
    if (err)
        return err;
    t->state_bytes = gw_parallel_state_bytes(t->parallel) + sizeof t->losses;
    t->state = malloc(t->state_bytes);
    if (!t->state)
        return gw_fail(why, GW_ENOMEM, "the state of stage %u", t->stage);
    return resume_trainer(t, why);
}

static void trainer_fini(struct trainer *t)
{
    free(t->state);
    gw_parallel_destroy(&t->parallel);
    gw_order_fini(&t->order);
}

static void report_loss(const struct trainer *t, unsigned step, double loss,
                        double accuracy, bool finished)
{
    const struct run_loss report = {.step = step,
                                    .finished = finished,
                                    .loss = loss,
                                    .accuracy = accuracy,
                                    .until = t->until};
    const struct gw_event event = {.time_ns = gw_now_ns(),
                                   .kind = GW_EV_LOSS,
                                   .value = (int64_t)(loss * 1e9),
                                   .peer = GW_NONE,
                                   .op = GW_NONE,
                                   .chunk = GW_NONE,
                                   .step = step};
    if (t->stage != 0)
        return;
    if (!finished)
        gw_emit(t->tap.to, &event);
    report_send(t->report, &report, sizeof report);
}

static enum gw_err save_state(struct trainer *t, unsigned step,
                              struct gw_error *why)
{
    if (!t->spec->elastic)
        return GW_OK;
    gw_parallel_save(t->parallel, t->state);
    memcpy((char *)t->state + t->state_bytes - sizeof t->losses, &t->losses,
           sizeof t->losses);
    return run_safe_keep(t->spec->safe, t->stage, step, t->state,
                         t->state_bytes, why);
}

/* Batches are of one size, so the mean of their losses is that of the rows. A
 * replacement has both from the saved state. */
static void count_loss(struct trainer *t, unsigned batch, double loss)
{
    t->losses = batch == 0 ? loss : t->losses + loss;
    t->until = should_stop(t, batch);
}

static enum gw_err train_step(struct trainer *t, unsigned step,
                              struct gw_error *why)
{
    const struct run_net *net = t->spec->net;
    struct gw_parallel_report report;
    unsigned batch = step % net->batches;
    if (batch == 0)
        gw_order_shuffle(&t->order, step / net->batches);
    if (gw_barrier(t->comm))
        return gw_fail(why, gw_comm_error(t->comm)->code, "%s",
                       gw_comm_error(t->comm)->text);
    enum gw_err err = gw_parallel_step(
        t->parallel, net->train, t->order.row + (size_t)batch * net->batch,
        &report, why);
    if (!err)
        count_loss(t, batch, report.loss);
    if (!err)
        err = save_state(t, step, why);
    if (!err)
        report_loss(t, step, report.loss, (double)report.right / net->batch,
                    false);
    return err;
}

static enum gw_err evaluate_test_set(struct trainer *t, struct gw_error *why)
{
    const struct run_net *net = t->spec->net;
    const struct gw_dataset *data = net->test ? net->test : net->train;
    struct gw_parallel_report report;
    enum gw_err err = gw_parallel_evaluate(t->parallel, data, &report, why);
    if (!err)
        report_loss(t, t->spec->steps, report.loss,
                    (double)report.right / (double)data->rows, true);
    return err;
}

enum gw_err run_train(struct gw_comm *comm, struct reporter *report,
                      struct run_spec *spec, struct gw_error *why)
{
    struct trainer trainer = {.spec = spec,
                              .comm = comm,
                              .report = report,
                              .stage = gw_comm_rank(comm)};
    enum gw_err err = trainer_init(&trainer, why);
    for (unsigned step = spec->first_step;
         step < spec->steps && !trainer.until && !err; step++)
        err = interrupted ? gw_fail(why, GW_EINTR, "interrupted")
                          : train_step(&trainer, step, why);
    if (!err)
        err = evaluate_test_set(&trainer, why);
    trainer_fini(&trainer);
    return err;
}
