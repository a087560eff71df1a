/* SPDX-License-Identifier: MIT
 *
 * Sparse linear models on LibSVM data: binary logistic regression (lr), and
 * least squares (linear). They differ only in the loss and slope of a score.
 * The table "w" has one weight per row: key 0 is the bias, key j + 1 the weight
 * of feature j. An item only needs the weights of the features in its rows, so
 * a model may be much larger than a worker's memory. The gradient is the mean
 * over the batch, so the rate is independent of the batch and the number of
 * parts. The training rows are in memory, or each item reads its own from the
 * file (row_file.h). With FTRL-proximal and l1 most weights stay zero (McMahan
 * et al., "Ad click prediction: a view from the trenches", KDD 2013).
 */
#include "task.h"

#include "base/file.h"
#include "learn/data/row_stream.h"
#include "learn/logistic.h"

#include <stdlib.h>
#include <sys/stat.h>

struct lr_data {
    struct gw_dataset *train, *test;
    struct gw__row_file *file;     /* rows on demand, instead of `train` */
    uint64_t bytes_read;           /* for `train` */
    struct gw__row_stream *stream; /* or rows of a stream */
    struct gw_dataset stream_shape;
};

struct lr_scratch {
    double *sums; /* one gradient entry per key */
    size_t capacity;
    struct gw__row_reader reader; /* the item's rows, if on demand */
};

static void lr_defaults(struct gw_task_config *config)
{
    config->epochs = 10;
    config->batch = 100;
    config->updater = GW_PS_FTRL;
    config->beta = 0.01f;
}

static void linear_defaults(struct gw_task_config *config)
{
    config->epochs = 10;
    config->batch = 100;
    config->updater = GW_PS_ADAGRAD;
}

static bool is_regression(const struct gw_task *task)
{
    return task->config.kind == GW_TASK_LINEAR;
}

static void close_lr(void *data)
{
    struct lr_data *lr = data;
    if (!lr)
        return;
    gw_dataset_destroy(&lr->train);
    gw_dataset_destroy(&lr->test);
    gw__row_file_close(&lr->file);
    gw__row_stream_close(&lr->stream);
    free(lr);
}

/* The properties of all training rows. */
static const struct gw_dataset *shape_of(const struct lr_data *lr)
{
    return lr->file     ? &lr->file->index.shape
           : lr->stream ? &lr->stream_shape
                        : lr->train;
}

static uint64_t bytes_read(const void *data)
{
    const struct lr_data *lr = data;
    return lr->file     ? atomic_load(&lr->file->bytes_read)
           : lr->stream ? atomic_load(&lr->stream->bytes_read)
                        : lr->bytes_read;
}

static enum gw_err load_dataset(const struct gw_task *task, const char *path,
                                enum gw_index_base base,
                                struct gw_dataset **data, struct gw_error *why)
{
    return is_regression(task) ? gw_libsvm_load_targets(path, base, data, why)
                               : gw_libsvm_load(path, base, data, why);
}

static enum gw_err load_test(const struct gw_task *task, const char *path,
                             struct gw_error *why)
{
    struct lr_data *lr = task->data;
    const struct gw_dataset *shape = shape_of(lr);
    size_t ignored;
    enum gw_err code = load_dataset(
        task, path, (enum gw_index_base)shape->index_base, &lr->test, why);
    if (code)
        return code;
    code = gw_dataset_match(lr->test, shape, &ignored, why);
    return code ? gw_wrap(why, code, "%s", path) : GW_OK;
}

static enum gw_err open_stream(struct gw_task *task, struct lr_data *lr,
                               struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    if (!is_regression(task))
        return gw_fail(why, GW_EINVAL, "only linear can read a stream, not %s",
                       task->model->name);
    if (config->stream.features == 0 || config->stream.rows == 0)
        return gw_fail(why, GW_EINVAL,
                       "linear: a stream needs features=F, the largest index, "
                       "and rows=R, the rows per epoch");
    task->streams = true;
    lr->stream_shape = (struct gw_dataset){.rows = config->stream.rows,
                                           .features = config->stream.features,
                                           .index_base = 1};
    return gw__row_stream_open(config->train, config->stream.features,
                               &lr->stream, why);
}

static enum gw_err open_train(struct gw_task *task, struct lr_data *lr,
                              struct gw_error *why)
{
    const char *path = task->config.train;
    struct stat about = {.st_size = 0};
    bool regular = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    uint64_t bytes = regular ? (uint64_t)about.st_size : 0;
    if (S_ISDIR(about.st_mode))
        return open_stream(task, lr, why);
    if (task->config.stream.features || task->config.stream.rows)
        return gw_fail(
            why, GW_EINVAL,
            "features= and rows= need a stream, which is the file -");
    if (task->config.on_demand || bytes > gw__file_bytes_max())
        return gw__row_file_open(path, is_regression(task), &lr->file, why);
    lr->bytes_read = bytes;
    return load_dataset(task, path, GW_BASE_AUTO, &lr->train, why);
}

static enum gw_err open_lr(struct gw_task *task, struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    if (!config->train)
        return gw_fail(why, GW_EINVAL,
                       "%s: the training file is missing; give one",
                       task->model->name);
    struct lr_data *lr = task->data = calloc(1, sizeof *lr);
    if (!lr)
        return gw_fail(why, GW_ENOMEM, "lr");
    enum gw_err code = open_train(task, lr, why);
    if (code)
        return code;
    const struct gw_dataset *shape = shape_of(lr);
    if (!is_regression(task) && shape->class_count != 2)
        return gw_fail(why, GW_EDATA,
                       "%s: lr needs two labels, but there are %u",
                       config->train, shape->class_count);
    if (config->test)
        code = load_test(task, config->test, why);
    if (code)
        return code;
    task->rows = shape->rows;
    task->test_rows = lr->test ? lr->test->rows : 0;
    gw__task_table(task, "w", 1, shape->features + 1);
    return GW_OK;
}

static const struct gw_dataset *data_of(const struct gw_work_item *item)
{
    const struct lr_data *lr = item->task->data;
    const struct lr_scratch *scratch = item->scratch;
    return item->set == GW_TASK_TEST ? lr->test
           : lr->train               ? lr->train
                                     : scratch->reader.rows.data;
}

/* Rows read on demand are the item's rows only. */
static size_t dataset_row(const struct gw_work_item *item, size_t i)
{
    const struct lr_data *lr = item->task->data;
    return lr->train || item->set == GW_TASK_TEST ? gw__work_item_row(item, i)
                                                  : i;
}

/* The last item of a stream may be smaller. An evaluation uses the last rows
 * received. */
static enum gw_err fetch_stream(struct gw_work_item *item,
                                struct gw__row_stream *stream,
                                struct gw_error *why)
{
    struct lr_scratch *scratch = item->scratch;
    uint64_t rows = item->task->rows, first = item->epoch * rows + item->first;
    uint64_t end = (item->epoch + 1) * rows;
    uint64_t arrived = item->learning ? end : gw__row_stream_count(stream);
    uint64_t missing = arrived < end ? end - arrived : 0;
    first = first > missing ? first - missing : 0;
    return gw__row_stream_read(stream, &scratch->reader, first, item->count,
                               &item->count, why);
}

static enum gw_err fetch(struct gw_work_item *item, struct gw_error *why)
{
    const struct lr_data *lr = item->task->data;
    struct lr_scratch *scratch = item->scratch;
    if (lr->stream && item->set != GW_TASK_TEST)
        return fetch_stream(item, lr->stream, why);
    return lr->file && item->set != GW_TASK_TEST
               ? gw__row_file_read(lr->file, &scratch->reader, item->listed,
                                   item->first, item->count, why)
               : GW_OK;
}

static bool reserve_sums(struct lr_scratch *scratch, size_t count)
{
    if (count <= scratch->capacity)
        return true;
    double *moved = realloc(scratch->sums, count * sizeof *moved);
    if (!moved)
        return false;
    scratch->sums = moved;
    scratch->capacity = count;
    return true;
}

static enum gw_err prepare_lr_rows(struct gw_work_item *item,
                                   struct gw_error *why)
{
    enum gw_err code = fetch(item, why);
    if (code)
        return code;
    const struct gw_dataset *data = data_of(item);
    struct gw__keyset *keys = &item->keys[0];
    size_t entries = 1;
    bool added = item->count == 0 || gw__keyset_add(keys, 0);
    for (size_t i = 0; added && i < item->count; i++) {
        size_t row = dataset_row(item, i);
        entries += data->row_begin[row + 1] - data->row_begin[row];
        for (size_t k = data->row_begin[row]; k < data->row_begin[row + 1]; k++)
            added &= gw__keyset_add(keys, (uint64_t)data->index[k] + 1);
    }
    size_t bound = shape_of(item->task->data)->features + 1;
    if (!added ||
        !reserve_sums(item->scratch, entries < bound ? entries : bound))
        return gw_fail(why, GW_ENOMEM, "%s: the keys of %zu rows",
                       item->task->model->name, item->count);
    return GW_OK;
}

static double score(const struct gw_dataset *data, size_t row,
                    const struct gw__keyset *keys, const float *weights)
{
    double z = (double)weights[0];
    for (size_t k = data->row_begin[row]; k < data->row_begin[row + 1]; k++) {
        uint32_t place = gw__keyset_place(keys, (uint64_t)data->index[k] + 1);
        z += (double)weights[place] * (double)data->value[k];
    }
    return z;
}

static void add_unlocked(double *sums, uint32_t *counts, size_t place,
                         double value)
{
    uint32_t count = gw__row_write_begin(counts, place);
    gw__unlocked_add_double(&sums[place], value);
    gw__row_write_end(counts, place, count);
}

/* Returns the number of rows written. */
static size_t add_slope(const struct gw_dataset *data, size_t row,
                        const struct gw__keyset *keys, double slope,
                        double *sums, uint32_t *counts)
{
    size_t first = data->row_begin[row], end = data->row_begin[row + 1];
    add_unlocked(sums, counts, 0, slope);
    for (size_t k = first; k < end; k++) {
        uint32_t place = gw__keyset_place(keys, (uint64_t)data->index[k] + 1);
        add_unlocked(sums, counts, place, slope * (double)data->value[k]);
    }
    return 1 + end - first;
}

/* Adds the loss of a row with score z to sums; returns dloss/dz. */
static double row_loss(const struct gw_dataset *data, size_t row, double z,
                       struct gw_sample_sums *sums)
{
    if (data->target) {
        double error = z - data->target[row];
        sums->loss += error * error / 2;
        return error;
    }
    struct gw__logistic logistic = gw__logistic(z, data->label[row] == 1);
    sums->loss += logistic.loss;
    sums->right += logistic.right;
    return logistic.slope;
}

/* The sums of this part are f64, so rounding occurs only before sending. */
static void clear_sums(struct gw_work_item *item, const float *const *rows,
                       float *const *gradients)
{
    double *into = ((struct lr_scratch *)item->scratch)->sums;
    (void)rows;
    for (size_t i = 0; gradients && i < item->keys[0].count; i++)
        into[i] = 0;
}

static void share_rows(struct gw_work_item *item, const float *const *rows,
                       float *const *gradients, const struct gw__share *share)
{
    const struct gw_dataset *data = data_of(item);
    const struct gw__keyset *keys = &item->keys[0];
    double *into = ((struct lr_scratch *)item->scratch)->sums;
    /* local copy during the computation */
    struct gw_sample_sums sums = *share->sums;
    size_t first = gw__share_begin(share, item->count);
    size_t end = gw__share_end(share, item->count);
    for (size_t i = first; i < end; i++) {
        size_t row = dataset_row(item, i);
        double slope =
            row_loss(data, row, score(data, row, keys, rows[0]), &sums);
        if (gradients)
            sums.row_writes +=
                add_slope(data, row, keys, slope, into, share->row_writes[0]);
    }
    sums.samples = end - first;
    *share->sums = sums;
}

static void write_means(struct gw_work_item *item, const float *const *rows,
                        float *const *gradients)
{
    const double *into = ((struct lr_scratch *)item->scratch)->sums;
    double mean = 1 / (double)item->batch_rows;
    (void)rows;
    for (size_t i = 0; i < item->keys[0].count; i++)
        gradients[0][i] = (float)(into[i] * mean);
}

static void scratch_fini(void *scratch)
{
    struct lr_scratch *lr = scratch;
    free(lr->sums);
    gw__row_reader_fini(&lr->reader);
}

const struct gw__task_model gw__task_lr = {
    .name = "lr",
    .files_min = 1,
    .files_max = 1,
    .quality = "accuracy",
    .shuffled = true,
    .chunk = 4096,
    .scratch_bytes = sizeof(struct lr_scratch),
    .rates = {[GW_PS_SGD] = 0.2f,
              [GW_PS_MOMENTUM] = 0.02f,
              [GW_PS_ADAGRAD] = 0.1f,
              [GW_PS_ADAM] = 0.02f,
              [GW_PS_FTRL] = 0.12f,
              [GW_PS_CALLBACK] = 0.2f},
    .defaults = lr_defaults,
    .open = open_lr,
    .close = close_lr,
    .bytes_read = bytes_read,
    .prepare = prepare_lr_rows,
    .begin = clear_sums,
    .share = share_rows,
    .finish = write_means,
    .scratch_fini = scratch_fini,
};

const struct gw__task_model gw__task_linear = {
    .name = "linear",
    .files_min = 1,
    .files_max = 1,
    .quality = "rmse",
    .squared = true,
    .shuffled = true,
    .chunk = 4096,
    .scratch_bytes = sizeof(struct lr_scratch),
    .rates = {[GW_PS_SGD] = 0.1f,
              [GW_PS_MOMENTUM] = 0.01f,
              [GW_PS_ADAGRAD] = 0.2f,
              [GW_PS_ADAM] = 0.02f,
              [GW_PS_FTRL] = 0.2f,
              [GW_PS_CALLBACK] = 0.1f},
    .defaults = linear_defaults,
    .open = open_lr,
    .close = close_lr,
    .bytes_read = bytes_read,
    .prepare = prepare_lr_rows,
    .begin = clear_sums,
    .share = share_rows,
    .finish = write_means,
    .scratch_fini = scratch_fini,
};
