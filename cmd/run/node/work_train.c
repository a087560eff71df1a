/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training as a replicated state (work.h). A member's gradient is the sum over
 * the rows of its shard, followed by the loss, the right answers and the number
 * of rows, so that the step divides by the rows that counted:
 *
 *     w = w - rate (1/rows sum over contributors (gradients) + l2 w)
 *
 * The rate falls along a cosine over the used share of the data (not over
 * steps, whose number depends on the members): Loshchilov and Hutter, SGDR,
 * 2017, without restarts.
 */
#include "work.h"

#include <math.h>
#include <string.h>

enum { EXTRA_LOSS, EXTRA_RIGHT, EXTRA_ROWS, EXTRAS };

/* ---- the layout of the state ---- */

static float *parameters_of(void *state)
{
    return (float *)((struct work_head *)state + 1);
}

static size_t shards_offset(const struct work *work)
{
    size_t floats = 2 * work->model->parameter_count;
    return sizeof(struct work_head) + (floats * sizeof(float) + 7) / 8 * 8;
}

static struct gw_shards *shards_in(const struct work *work, void *state)
{
    return (struct gw_shards *)((char *)state + shards_offset(work));
}

const struct gw_shards *work_train_shards(const struct work *work,
                                          const void *state)
{
    return (const struct gw_shards *)((const char *)state +
                                      shards_offset(work));
}

/* The model whose parameters are in the state; not to be written through when
 * the state is const. */
static struct gw_model model_in(const struct work *work, void *state)
{
    struct gw_model model = *work->model;
    model.parameters = parameters_of(state);
    model.velocity = model.parameters + model.parameter_count;
    return model;
}

static struct gw_model const_model_in(const struct work *work,
                                      const void *state)
{
    union {
        const void *in;
        void *out;
    } view = {.in = state};
    return model_in(work, view.out);
}

/* ---- before the first step ---- */

/* One factor for all values, so that the largest is 1. */
static void scale_rows(struct work *work)
{
    float factor = 1 / gw__row_source_largest(&work->train);
    if (!isfinite(factor))
        return;
    gw__row_source_scale(&work->train, factor);
    if (work->test)
        gw_dataset_scale(work->test, factor);
}

static enum gw_err load_test(struct work *work, struct gw_error *why)
{
    size_t ignored;
    const char *path = work->order.test;
    if (!*path)
        return GW_OK;
    enum gw_index_base base =
        work->train.shape->index_base ? GW_BASE_1 : GW_BASE_0;
    enum gw_err code = gw_libsvm_load(path, base, &work->test, why);
    if (code)
        return code;
    code = gw_dataset_match(work->test, work->train.shape, &ignored, why);
    return code ? gw_wrap(why, code, "%s", path) : GW_OK;
}

static enum gw_err load_model(struct work *work, struct gw_error *why)
{
    enum gw_model_kind kind;
    enum gw_err code = gw_model_parse(work->order.model, &kind, why);
    if (!code)
        code = gw__row_source_open(&work->train, work->order.file,
                                   work->order.on_demand, why);
    if (!code)
        code = load_test(work, why);
    if (code)
        return code;
    scale_rows(work);
    code = gw_model_new(kind, work->train.shape, &work->model, why);
    return code ? gw_wrap(why, code, "%s", work->order.file) : GW_OK;
}

enum gw_err work_train_load(struct work *work, uint64_t seed,
                            struct gw_error *why)
{
    enum gw_err code = load_model(work, why);
    if (!code)
        code = gw_order_init(&work->rows, work->train.shape->rows,
                             work->order.batch, seed, why);
    if (!code)
        code = gw_sums_init(&work->sums, work->model, why);
    if (code)
        return code;
    size_t batches = gw_order_batches(&work->rows);
    if (batches >= GW_NONE)
        return gw_fail(why, GW_EINVAL, "%zu batches per epoch are too many",
                       batches);
    gw_order_shuffle(&work->rows, work->shuffled);
    work->state_bytes =
        shards_offset(work) + gw_shards_bytes((uint32_t)batches);
    work->type = GW_F32;
    work->count = work->model->parameter_count + EXTRAS;
    work->mine = gw_alloc(work->count * sizeof(float), why);
    return work->mine ? GW_OK : GW_ENOMEM;
}

void work_train_begin(const struct work *work, void *state)
{
    gw_shards_init(shards_in(work, state),
                   (uint32_t)gw_order_batches(&work->rows));
}

/* ---- a step ---- */

static void shuffle_for(struct work *work, uint64_t epoch)
{
    if (work->shuffled == (unsigned)epoch)
        return;
    work->shuffled = (unsigned)epoch;
    gw_order_shuffle(&work->rows, work->shuffled);
}

enum gw_err work_train_contribute(struct work *work, const void *state,
                                  unsigned place, struct gw_error *why)
{
    const struct gw_shards *shards = work_train_shards(work, state);
    const struct gw_model model = const_model_in(work, state);
    uint32_t shard = gw_shards_of(shards, place);
    size_t rows = 0;
    float *mine = work->mine, *extra = mine + model.parameter_count;
    memset(mine, 0, work->count * sizeof *mine);
    if (shard == GW_NONE)
        return GW_OK;
    shuffle_for(work, shards->epoch);
    const uint32_t *row = gw_order_share(&work->rows, shard, 0, 1, &rows);
    uint64_t before = gw__row_source_bytes_read(&work->train);
    enum gw_err code = gw__row_source_gradient(&work->train, &model, row, rows,
                                               &work->sums, why);
    if (code)
        return code;
    work->data_bytes += gw__row_source_bytes_read(&work->train) - before;
    for (size_t i = 0; i < model.parameter_count; i++)
        mine[i] = (float)work->sums.gradient[i];
    extra[EXTRA_LOSS] = (float)work->sums.loss;
    extra[EXTRA_RIGHT] = (float)work->sums.right;
    extra[EXTRA_ROWS] = (float)rows;
    return GW_OK;
}

static double rate_at(const struct work *work, const struct gw_shards *shards)
{
    double used =
        (double)shards->epoch + (double)shards->done / (double)shards->count;
    double share = used / (double)work->order.epochs;
    return work->order.rate * 0.5 * (1 + cos(M_PI * share));
}

/* A loss 100 times worse than guessing is not noise. */
static bool is_hopeless(const struct work *work, const struct work_head *head)
{
    double guessing = log((double)work->train.shape->class_count);
    return head->epoch_loss / head->epoch_rows > 100 * guessing;
}

static void begin_data_epoch(const struct work *work, struct work_head *head,
                             uint64_t epoch)
{
    head->diverged = is_hopeless(work, head);
    head->until = !head->diverged &&
                  head->epoch_loss / head->epoch_rows < work->order.until;
    head->done = head->diverged || head->until || epoch >= work->order.epochs;
    if (!head->done)
        head->epoch_loss = head->epoch_right = head->epoch_rows = 0;
}

void work_train_apply(struct work *work, void *state,
                      const struct gw_ring_result *result)
{
    struct work_head *head = state;
    struct gw_shards *shards = shards_in(work, state);
    struct gw_model model = model_in(work, state);
    const float *sums = result->data;
    const float *extra = sums + model.parameter_count;
    double loss = (double)extra[EXTRA_LOSS], rows = (double)extra[EXTRA_ROWS];
    uint64_t epoch = shards->epoch;
    if (!isfinite(loss)) {
        head->done = head->diverged = 1;
        return;
    }
    const struct gw_sgd sgd = {rate_at(work, shards), work->order.momentum,
                               work->order.l2};
    if (rows > 0) { /* none: all members with rows are dead and do not count */
        if (!gw_model_step(&model, &sgd, sums, (size_t)rows)) {
            head->done = head->diverged = 1;
            return;
        }
        head->loss = loss / rows;
    }
    head->epoch_loss += loss;
    head->epoch_right += (double)extra[EXTRA_RIGHT];
    head->epoch_rows += rows;
    gw_shards_complete(shards, result);
    if (shards->epoch != epoch)
        begin_data_epoch(work, head, shards->epoch);
}

/* ---- at the end ---- */

void work_score(struct work *work, const void *state, struct score *score)
{
    const struct gw_model model = const_model_in(work, state);
    const struct gw_dataset *test = work->test;
    size_t rows = work->train.shape->rows;
    struct gw_error why;
    bool read = gw__row_source_evaluate(&work->train, &model, 0, rows,
                                        &work->sums, &why) == GW_OK;
    score->train_loss = read ? work->sums.loss / (double)rows : (double)NAN;
    score->train_accuracy =
        read ? (double)work->sums.right / (double)rows : (double)NAN;
    score->test_loss = score->test_accuracy = (double)NAN;
    score->digest = gw_model_digest(&model);
    if (!test)
        return;
    gw_model_evaluate(&model, test, 0, test->rows, &work->sums);
    score->test_loss = work->sums.loss / (double)test->rows;
    score->test_accuracy = (double)work->sums.right / (double)test->rows;
}
