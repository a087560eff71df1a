/* SPDX-License-Identifier: MIT
 *
 * Processing of a loaded data set: scaling, and matching a test set to the
 * classes and features of its training set.
 */
#include <gradwire/learn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void gw_dataset_destroy(struct gw_dataset **data)
{
    if (!*data)
        return;
    free((*data)->row_begin);
    free((*data)->index);
    free((*data)->value);
    free((*data)->label);
    free((*data)->classes);
    free((*data)->target);
    free(*data);
    *data = NULL;
}

float gw_dataset_largest(const struct gw_dataset *data)
{
    float largest = 0;
    for (size_t i = 0; i < data->nonzeros; i++)
        largest = fmaxf(largest, fabsf(data->value[i]));
    return largest;
}

void gw_dataset_scale(struct gw_dataset *data, float factor)
{
    for (size_t i = 0; i < data->nonzeros; i++)
        data->value[i] *= factor;
}

static int compare_labels(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets number[c] to the number in `train` of class c of `test`. */
static enum gw_err translate_classes(const struct gw_dataset *test,
                                     const struct gw_dataset *train,
                                     uint32_t *number, struct gw_error *why)
{
    for (unsigned i = 0; i < test->class_count; i++) {
        const double *found =
            bsearch(&test->classes[i], train->classes, train->class_count,
                    sizeof *train->classes, compare_labels);
        if (!found)
            return gw_fail(why, GW_EDATA,
                           "the label %g does not occur in the training data",
                           test->classes[i]);
        number[i] = (uint32_t)(found - train->classes);
    }
    return GW_OK;
}

static size_t drop_features(struct gw_dataset *data, size_t features)
{
    size_t kept = 0, begin = 0;
    for (size_t row = 0; row < data->rows; row++) {
        size_t end = data->row_begin[row + 1];
        for (size_t i = begin; i < end; i++)
            if (data->index[i] < features) {
                data->index[kept] = data->index[i];
                data->value[kept++] = data->value[i];
            }
        begin = end;
        data->row_begin[row + 1] = kept;
    }
    size_t dropped = data->nonzeros - kept;
    data->nonzeros = kept;
    data->features = features;
    return dropped;
}

/* `number` and `classes` have room for the classes of `test` and of `train`. On
 * success `classes` belongs to `test`. */
static enum gw_err adopt(struct gw_dataset *test,
                         const struct gw_dataset *train, uint32_t *number,
                         double *classes, struct gw_error *why)
{
    enum gw_err code = translate_classes(test, train, number, why);
    if (code)
        return code;
    for (size_t row = 0; row < test->rows; row++)
        test->label[row] = number[test->label[row]];
    memcpy(classes, train->classes, train->class_count * sizeof *classes);
    free(test->classes);
    test->classes = classes;
    test->class_count = train->class_count;
    return GW_OK;
}

enum gw_err gw_dataset_match(struct gw_dataset *test,
                             const struct gw_dataset *train, size_t *ignored,
                             struct gw_error *why)
{
    if (test->target) {
        *ignored = drop_features(test, train->features);
        return GW_OK;
    }
    uint32_t *number = malloc(test->class_count * sizeof *number);
    double *classes = malloc(train->class_count * sizeof *classes);
    enum gw_err code = GW_ENOMEM;
    if (number && classes)
        code = adopt(test, train, number, classes, why);
    else
        gw_fail(why, code, "%u classes", train->class_count);
    free(number);
    if (code)
        free(classes);
    else
        *ignored = drop_features(test, train->features);
    return code;
}
