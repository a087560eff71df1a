/* SPDX-License-Identifier: MIT
 *
 * The memory of a data set while it is loaded, and its labels. Arrays double,
 * so a file of n bytes costs O(n); no size depends on an index or a label in
 * the file. The distinct labels are a small sorted array. Rows have label ids
 * in order of arrival until the end, when classes get their numbers.
 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

enum gw_err gw__dataset_builder_init(struct gw__dataset_builder *g,
                                     const char *name, bool targets,
                                     struct gw_error *why)
{
    *g = (struct gw__dataset_builder){.name = name, .targets = targets};
    g->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!g->c_locale)
        return gw_fail_errno(why, "%s: the C locale", name);
    g->data = calloc(1, sizeof *g->data);
    if (!g->data) {
        gw__dataset_builder_fini(g);
        return gw_fail(why, GW_ENOMEM, "%s", name);
    }
    return GW_OK;
}

void gw__dataset_builder_fini(struct gw__dataset_builder *g)
{
    gw_dataset_destroy(&g->data);
    free(g->labels);
    free(g->scratch);
    if (g->c_locale)
        freelocale(g->c_locale);
    *g = (struct gw__dataset_builder){0};
}

/* Makes *array hold at least `need` items. */
static bool resize_array(void **array, size_t capacity, size_t item)
{
    void *moved = realloc(*array, capacity * item);
    if (moved)
        *array = moved;
    return moved != NULL;
}

static size_t doubled(size_t capacity, size_t need)
{
    capacity = capacity ? 2 * capacity : 1024;
    return capacity > need ? capacity : need;
}

static bool grow_rows(struct gw__dataset_builder *g)
{
    if (g->data->rows < g->row_capacity)
        return true;
    size_t capacity = doubled(g->row_capacity, 0);
    void *begin = g->data->row_begin, *label = g->data->label;
    void *target = g->data->target;
    bool grown =
        resize_array(&begin, capacity + 1, sizeof *g->data->row_begin) &&
        (g->targets ? resize_array(&target, capacity, sizeof *g->data->target)
                    : resize_array(&label, capacity, sizeof *g->data->label));
    g->data->row_begin = begin;
    g->data->label = label;
    g->data->target = target;
    if (grown)
        g->row_capacity = capacity;
    return grown;
}

static bool grow_entries(struct gw__dataset_builder *g, size_t need)
{
    if (need <= g->nonzero_capacity)
        return true;
    size_t capacity = doubled(g->nonzero_capacity, need);
    void *index = g->data->index, *value = g->data->value;
    bool grown = resize_array(&index, capacity, sizeof *g->data->index) &&
                 resize_array(&value, capacity, sizeof *g->data->value);
    g->data->index = index;
    g->data->value = value;
    if (grown)
        g->nonzero_capacity = capacity;
    return grown;
}

enum gw_err gw__dataset_builder_reserve(struct gw__dataset_builder *g,
                                        size_t nonzeros, struct gw_error *why)
{
    if (g->data->rows == UINT32_MAX)
        return gw_fail(why, GW_EDATA, "%s: more than %u rows", g->name,
                       UINT32_MAX);
    if (!grow_rows(g) || !grow_entries(g, g->data->nonzeros + nonzeros))
        return gw_fail(why, GW_ENOMEM, "%s: line %zu", g->name, g->line);
    return GW_OK;
}

void gw__dataset_builder_row(struct gw__dataset_builder *g, uint32_t label,
                             size_t nonzeros)
{
    struct gw_dataset *data = g->data;
    data->row_begin[data->rows] = data->nonzeros;
    if (g->targets)
        data->target[data->rows++] = g->target;
    else
        data->label[data->rows++] = label;
    data->nonzeros += nonzeros;
}

/* The first label that is not below `value`. */
static unsigned lower_bound(const struct gw__dataset_builder *g, double value)
{
    unsigned low = 0, high = g->data->class_count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (g->labels[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert_label(struct gw__dataset_builder *g, unsigned at,
                         double value)
{
    unsigned count = g->data->class_count;
    if (count == g->label_capacity) {
        size_t capacity = count ? 2 * (size_t)count : 16;
        void *labels = g->labels;
        if (!resize_array(&labels, capacity, sizeof *g->labels))
            return false;
        g->labels = labels;
        g->label_capacity = capacity;
    }
    memmove(&g->labels[at + 1], &g->labels[at],
            (count - at) * sizeof *g->labels);
    g->labels[at] = (struct gw__label){value, count};
    g->data->class_count = count + 1;
    return true;
}

static bool has_label(const struct gw__dataset_builder *g, unsigned at,
                      double value)
{
    return at < g->data->class_count && !(g->labels[at].value < value) &&
           !(g->labels[at].value > value);
}

enum gw_err gw__dataset_builder_label(struct gw__dataset_builder *g,
                                      double value, uint32_t *id,
                                      struct gw_error *why)
{
    unsigned at = g->last_label;
    g->target = value;
    if (g->targets)
        return GW_OK;
    if (!has_label(g, at, value))
        at = lower_bound(g, value);
    if (!has_label(g, at, value)) {
        if (g->data->class_count == GW_CLASSES_MAX)
            return gw_fail(why, GW_EDATA,
                           "%s:%zu: more than %d distinct labels; for numbers "
                           "as labels use the task linear",
                           g->name, g->line, GW_CLASSES_MAX);
        if (!insert_label(g, at, value))
            return gw_fail(why, GW_ENOMEM, "%s: line %zu", g->name, g->line);
    }
    g->last_label = at;
    *id = g->labels[at].id;
    return GW_OK;
}

static int compare_indices(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

enum gw_err gw__dataset_builder_repeated(struct gw__dataset_builder *g,
                                         size_t nonzeros, uint32_t *index,
                                         bool *found, struct gw_error *why)
{
    if (nonzeros > g->scratch_capacity) {
        size_t capacity = doubled(g->scratch_capacity, nonzeros);
        void *scratch = g->scratch;
        if (!resize_array(&scratch, capacity, sizeof *g->scratch))
            return gw_fail(why, GW_ENOMEM, "%s: line %zu", g->name, g->line);
        g->scratch = scratch;
        g->scratch_capacity = capacity;
    }
    memcpy(g->scratch, g->data->index + g->data->nonzeros,
           nonzeros * sizeof *g->scratch);
    qsort(g->scratch, nonzeros, sizeof *g->scratch, compare_indices);
    for (size_t i = 1; i < nonzeros && !*found; i++)
        if (g->scratch[i] == g->scratch[i - 1]) {
            *index = g->scratch[i];
            *found = true;
        }
    return GW_OK;
}

/* Numbers the classes in ascending order of labels. */
static bool number_classes(struct gw__dataset_builder *g)
{
    struct gw_dataset *data = g->data;
    uint32_t *number = malloc(data->class_count * sizeof *number);
    data->classes = malloc(data->class_count * sizeof *data->classes);
    bool room = number && data->classes;
    for (unsigned i = 0; room && i < data->class_count; i++) {
        number[g->labels[i].id] = i;
        data->classes[i] = g->labels[i].value;
    }
    for (size_t i = 0; room && i < data->rows; i++)
        data->label[i] = number[data->label[i]];
    free(number);
    return room;
}

/* Converts indices to start at 0. */
static void shift_indices(struct gw__dataset_builder *g,
                          enum gw_index_base base)
{
    struct gw_dataset *data = g->data;
    data->index_base = base == GW_BASE_AUTO ? !g->zero_seen : (unsigned)base;
    for (size_t i = 0; i < data->nonzeros; i++)
        data->index[i] -= data->index_base;
    if (data->nonzeros > 0)
        data->features = g->index_max + (size_t)1 - data->index_base;
}

enum gw_err gw__dataset_builder_finish(struct gw__dataset_builder *g,
                                       enum gw_index_base base,
                                       struct gw_dataset **data,
                                       struct gw_error *why)
{
    if (g->data->rows == 0)
        return gw_fail(why, GW_EDATA, "%s: the file has no row", g->name);
    if (!g->targets && !number_classes(g))
        return gw_fail(why, GW_ENOMEM, "%s", g->name);
    g->data->row_begin[g->data->rows] = g->data->nonzeros;
    shift_indices(g, base);
    *data = g->data;
    g->data = NULL;
    return GW_OK;
}
