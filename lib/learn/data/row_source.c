/* SPDX-License-Identifier: MIT
 *
 * Access to training rows in memory or in a file; see row_source.h.
 */
#include "row_source.h"

#include "base/file.h"

#include <sys/stat.h>

enum { ROWS_AT_ONCE = 1024 }; /* for an evaluation */

static bool too_long(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
           (uint64_t)about.st_size > gw__file_bytes_max();
}

enum gw_err gw__row_source_open(struct gw__row_source *source, const char *path,
                                bool on_demand, struct gw_error *why)
{
    *source = (struct gw__row_source){.factor = 1};
    enum gw_err code =
        on_demand || too_long(path)
            ? gw__row_file_open(path, false, &source->file, why)
            : gw_libsvm_load(path, GW_BASE_AUTO, &source->data, why);
    if (!code)
        source->shape =
            source->file ? &source->file->index.shape : source->data;
    return code;
}

void gw__row_source_close(struct gw__row_source *source)
{
    gw_dataset_destroy(&source->data);
    gw__row_file_close(&source->file);
    gw__row_reader_fini(&source->reader);
}

float gw__row_source_largest(const struct gw__row_source *source)
{
    return source->file ? source->file->index.largest
                        : gw_dataset_largest(source->data);
}

void gw__row_source_scale(struct gw__row_source *source, float factor)
{
    source->factor = factor;
    if (source->data)
        gw_dataset_scale(source->data, factor);
}

uint64_t gw__row_source_bytes_read(const struct gw__row_source *source)
{
    return source->file ? atomic_load(&source->file->bytes_read) : 0;
}

uint64_t gw__row_source_bytes(const struct gw__row_source *source)
{
    if (!source->file)
        return 0;
    const uint64_t *offsets = source->file->index.offsets;
    return offsets[source->shape->rows] - offsets[0];
}

/* Reads the listed rows, or all from `first` on. */
static enum gw_err fetch(struct gw__row_source *source, const uint32_t *listed,
                         size_t first, size_t count, struct gw_error *why)
{
    enum gw_err code = gw__row_file_read(source->file, &source->reader, listed,
                                         first, count, why);
    if (!code)
        gw_dataset_scale(source->reader.rows.data, source->factor);
    return code;
}

enum gw_err gw__row_source_gradient(struct gw__row_source *source,
                                    const struct gw_model *model,
                                    const uint32_t *rows, size_t row_count,
                                    struct gw_sums *sums, struct gw_error *why)
{
    if (source->data) {
        gw_model_gradient(model, source->data, rows, row_count, sums);
        return GW_OK;
    }
    enum gw_err code = fetch(source, rows, 0, row_count, why);
    if (!code)
        gw_model_gradient(model, source->reader.rows.data, NULL, row_count,
                          sums);
    return code;
}

/* Row by row, so that the losses are always added in one order. */
static void add_rows(const struct gw_model *model,
                     const struct gw_dataset *data, struct gw_sums *sums)
{
    double loss = sums->loss;
    uint64_t right = sums->right;
    for (size_t row = 0; row < data->rows; row++) {
        gw_model_evaluate(model, data, row, row + 1, sums);
        loss += sums->loss;
        right += sums->right;
    }
    sums->loss = loss;
    sums->right = right;
}

enum gw_err gw__row_source_evaluate(struct gw__row_source *source,
                                    const struct gw_model *model, size_t begin,
                                    size_t end, struct gw_sums *sums,
                                    struct gw_error *why)
{
    if (source->data) {
        gw_model_evaluate(model, source->data, begin, end, sums);
        return GW_OK;
    }
    sums->loss = 0;
    sums->right = 0;
    for (size_t row = begin, count; row < end; row += count) {
        count = end - row < ROWS_AT_ONCE ? end - row : ROWS_AT_ONCE;
        enum gw_err code = fetch(source, NULL, row, count, why);
        if (code)
            return code;
        add_rows(model, source->reader.rows.data, sums);
    }
    return GW_OK;
}
