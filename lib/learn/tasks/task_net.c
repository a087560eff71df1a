/* SPDX-License-Identifier: MIT
 *
 * A network of gradwire-network(5) whose parameters are on servers. It is run
 * row by row, by the part (part.h) of a mesh with one rank, so a row's
 * contribution does not depend on other rows. Each row's gradient is rounded as
 * in exact.h. So the weights have the same bits for any number of workers,
 * parts and servers, and the same as with data-parallel ranks.
 *
 * The table "net" is dense: all parameters in the order of the operators,
 * divided into rows of ROW_FLOATS. It contains the learned difference. Every
 * worker computes the initial weights from the seed and adds the difference, so
 * initial weights are never sent.
 *
 * An embedding has its own table, "embedding", with a row for each feature of
 * the data. It is sparse: an item only needs the features in its rows. This is
 * the way to train click-through models whose vocabulary exceeds a worker's
 * memory (Cheng et al., "Wide & deep learning for recommender systems", 2016).
 */
#include "task.h"

#include "learn/exact.h"
#include "learn/network/model_chunk.h"
#include "pipe/network/network.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_FLOATS = 32 };
/* Tables. */
enum { NET, EMBEDDING };

struct net_data {
    struct gw_network *network;
    struct gw_layout *layout; /* for one rank and one row */
    struct gw_dataset *train, *test;
    float *first;       /* initial dense parameters, by operator */
    size_t floats;      /* number of dense parameters */
    unsigned embedding; /* floats per feature; 0: no embedding */
};

struct net_scratch {
    struct gw__model_chunk *model;
    struct gw__tape *tape;
    /* dense parameters; in one block of memory */
    float *values, *gradient, *decay;
    /* A single row for a network with an embedding: a data set whose k-th
     * feature is k, and the rows of the table for these features. */
    struct gw_dataset row;
    size_t row_begin[2], row_capacity;
    uint32_t label;
    float *row_values, *row_gradient; /* in one block of memory */
    /* The pointers for the part, by operator. */
    struct gw__weights weights;
    const float *value_of[GW_OPERATORS_MAX];
    float *gradient_of[GW_OPERATORS_MAX];
};

static void net_defaults(struct gw_task_config *config)
{
    config->epochs = 10;
    config->batch = 64;
    config->updater = GW_PS_MOMENTUM;
    config->net.scale = true;
}

/* ---- data ---- */

static void close_net(void *data)
{
    struct net_data *net = data;
    if (!net)
        return;
    gw_layout_destroy(&net->layout);
    gw_network_destroy(&net->network);
    gw_dataset_destroy(&net->train);
    gw_dataset_destroy(&net->test);
    free(net->first);
    free(net);
}

static enum gw_err load_network(struct net_data *net, const char *path,
                                struct gw_error *why)
{
    const struct gw_layout_options alone = {.mesh = {1, 1, 1}, .batch = 1};
    enum gw_err code = gw_network_load(path, &net->network, why);
    if (code)
        return code;
    const struct gw_operator *first = net->network->operators;
    net->floats = gw_network_parameters(net->network);
    if (first->kind == GW_OP_EMBEDDING) {
        net->embedding = first->out;
        net->floats -= gw_operator_parameters(first);
    }
    if (net->floats > GW_PARAMETERS_MAX)
        return gw_fail(why, GW_EINVAL, "%s: more than %d parameters", path,
                       GW_PARAMETERS_MAX);
    return gw_layout_new(net->network, &alone, &net->layout, why);
}

static enum gw_err make_first(struct net_data *net, uint64_t seed,
                              struct gw_error *why)
{
    float *next = net->first = calloc(net->floats + 1, sizeof *net->first);
    if (!next)
        return gw_fail(why, GW_ENOMEM, "net: %zu parameters", net->floats);
    for (unsigned i = net->embedding > 0; i < net->layout->operator_count;
         i++) {
        gw__weights_begin(net->layout, i, 0, seed, next);
        next += net->layout->op_layouts[i].parameters;
    }
    return GW_OK;
}

static enum gw_err load_rows(struct net_data *net,
                             const struct gw_task_config *config,
                             struct gw_error *why)
{
    size_t ignored;
    enum gw_err code =
        gw_libsvm_load(config->train, GW_BASE_AUTO, &net->train, why);
    if (code)
        return code;
    if (net->train->features > net->network->inputs ||
        net->train->class_count > net->network->classes)
        return gw_fail(
            why, GW_EDATA,
            "%s: %zu features and %u classes, but %s needs %u and %u",
            config->train, net->train->features, net->train->class_count,
            net->network->name, net->network->inputs, net->network->classes);
    if (config->test) {
        code = gw_libsvm_load(config->test,
                              (enum gw_index_base)net->train->index_base,
                              &net->test, why);
        if (!code)
            code = gw_dataset_match(net->test, net->train, &ignored, why);
    }
    return code ? gw_wrap(why, code, "%s", config->test) : GW_OK;
}

/* One common factor for all values, so that zeros stay zero. */
static void scale_data(struct net_data *net)
{
    float factor = 1 / gw_dataset_largest(net->train);
    if (!isfinite(factor))
        return; /* all values are zero or denormal */
    gw_dataset_scale(net->train, factor);
    if (net->test)
        gw_dataset_scale(net->test, factor);
}

static enum gw_err open_net(struct gw_task *task, struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    if (!config->network || !config->train)
        return gw_fail(why, GW_EINVAL,
                       "net: give a network and a training file");
    struct net_data *net = task->data = calloc(1, sizeof *net);
    if (!net)
        return gw_fail(why, GW_ENOMEM, "net");
    enum gw_err code = load_network(net, config->network, why);
    if (!code)
        code = make_first(net, config->seed, why);
    if (!code)
        code = load_rows(net, config, why);
    if (code)
        return code;
    if (config->batch > GW__EXACT_ROWS_MAX ||
        (!config->batch && net->train->rows > GW__EXACT_ROWS_MAX))
        return gw_fail(why, GW_EINVAL, "net: a batch can have at most %d rows",
                       GW__EXACT_ROWS_MAX);
    if (config->net.scale)
        scale_data(net);
    task->rows = net->train->rows;
    task->test_rows = net->test ? net->test->rows : 0;
    uint32_t rows = (uint32_t)(net->floats / ROW_FLOATS + 1);
    struct gw_ps_table_config *table =
        gw__task_table(task, "net", ROW_FLOATS, rows);
    table->dense = rows;
    table->l2 = 0; /* part of the gradient */
    if (net->embedding)
        gw__task_table(task, "embedding", net->embedding, net->network->inputs)
            ->init_range = (float)sqrt(6.0 / net->network->inputs);
    return GW_OK;
}

/* ---- items ---- */

/* Sets the pointers for each operator. Those for the embedding and its gradient
 * are set for each item and row. */
static void point(struct net_scratch *s, const struct net_data *net)
{
    size_t at = 0;
    for (unsigned i = net->embedding > 0; i < net->layout->operator_count;
         i++) {
        s->value_of[i] = s->values + at;
        s->gradient_of[i] = s->gradient + at;
        at += net->layout->op_layouts[i].parameters;
    }
    s->weights = (struct gw__weights){s->value_of, s->gradient_of};
}

static enum gw_err init_scratch(struct net_scratch *s,
                                const struct net_data *net,
                                struct gw_error *why)
{
    if (s->tape)
        return GW_OK;
    struct gw__model_chunk_config config = {
        .layout = net->layout, .weights = &s->weights, .scale = 1};
    gw__model_chunk_destroy(&s->model); /* of an earlier attempt */
    free(s->values);
    s->values = calloc(3 * net->floats + 1, sizeof *s->values);
    if (!s->values)
        return gw_fail(why, GW_ENOMEM, "net: %zu parameters", net->floats);
    s->gradient = s->values + net->floats;
    s->decay = s->gradient + net->floats;
    s->row.row_begin = s->row_begin;
    s->row.label = &s->label;
    point(s, net);
    enum gw_err code = gw__model_chunk_new(&config, &s->model, why);
    return code ? code : gw__tape_acquire(s->model, &s->tape, why);
}

/* Makes room for the features of any row of the item. */
static bool reserve_row(struct net_scratch *s, size_t features, unsigned width)
{
    if (features <= s->row_capacity)
        return true;
    free(s->row.index);
    free(s->row_values);
    s->row.index = malloc(features * sizeof *s->row.index);
    s->row_values = malloc(2 * features * width * sizeof *s->row_values);
    s->row_capacity = s->row.index && s->row_values ? features : 0;
    for (size_t k = 0; k < s->row_capacity; k++)
        s->row.index[k] = (uint32_t)k;
    s->row_gradient = s->row_values + s->row_capacity * width;
    return s->row_capacity > 0;
}

static const struct gw_dataset *data_of(const struct gw_work_item *item)
{
    const struct net_data *net = item->task->data;
    return item->set == GW_TASK_TEST ? net->test : net->train;
}

static bool add_features(struct gw_work_item *item, unsigned width)
{
    const struct gw_dataset *data = data_of(item);
    size_t most = 1;
    bool added = true;
    for (size_t i = 0; added && i < item->count; i++) {
        size_t row = gw__work_item_row(item, i), begin = data->row_begin[row];
        size_t end = data->row_begin[row + 1];
        most = end - begin > most ? end - begin : most;
        for (size_t k = begin; added && k < end; k++)
            added = gw__keyset_add(&item->keys[EMBEDDING], data->index[k]);
    }
    return added && reserve_row(item->scratch, most, width);
}

static enum gw_err prepare_net(struct gw_work_item *item, struct gw_error *why)
{
    const struct net_data *net = item->task->data;
    enum gw_err code = init_scratch(item->scratch, net, why);
    bool added = true;
    if (code)
        return code;
    for (uint64_t k = 0; added && item->count && k < item->task->key_bounds[0];
         k++)
        added = gw__keyset_add(&item->keys[0], k);
    if (added && net->embedding)
        added = add_features(item, net->embedding);
    return added ? GW_OK : gw_fail(why, GW_ENOMEM, "net: its keys");
}

/* ---- rows ---- */

/* Computes the current weights, and the gradient of l2/2 |w|^2 without
 * biases. */
static void begin_weights(struct net_scratch *s,
                          const struct gw_work_item *item, const float *learnt)
{
    const struct net_data *net = item->task->data;
    float l2 = item->task->config.l2;
    for (size_t k = 0; k < net->floats; k++)
        s->values[k] = net->first[k] + learnt[k];
    memset(s->decay, 0, net->floats * sizeof *s->decay);
    for (unsigned i = net->embedding > 0; i < net->layout->operator_count;
         i++) {
        size_t at = (size_t)(s->value_of[i] - s->values);
        const struct gw_operator *op = &net->network->operators[i];
        size_t weights = gw_operator_parameters(op) - gw__operator_biases(op);
        for (size_t k = at; k < at + weights; k++)
            s->decay[k] = l2 * s->values[k];
    }
}

static void add_exactly(float *restrict into, const float *restrict gradient,
                        size_t count, double share)
{
    for (size_t k = 0; k < count; k++)
        into[k] += gw__exact_share((double)gradient[k], share);
}

/* The offset in the pulled embedding of the row's k-th feature. */
static size_t embedding_offset(const struct gw_work_item *item, size_t row,
                               size_t k)
{
    const struct gw_dataset *data = data_of(item);
    uint32_t feature = data->index[data->row_begin[row] + k];
    return (size_t)gw__keyset_place(&item->keys[EMBEDDING], feature) *
           item->task->tables[EMBEDDING].width;
}

static void gather_embedding(struct gw_work_item *item, size_t row,
                             const float *table)
{
    const struct gw_dataset *data = data_of(item);
    struct net_scratch *s = item->scratch;
    size_t width = item->task->tables[EMBEDDING].width;
    s->row_begin[1] = data->row_begin[row + 1] - data->row_begin[row];
    s->row.value = data->value + data->row_begin[row];
    s->label = data->label[row];
    for (size_t k = 0; k < s->row_begin[1]; k++)
        memcpy(s->row_values + k * width,
               table + embedding_offset(item, row, k),
               width * sizeof *s->row_values);
    memset(s->row_gradient, 0, s->row_begin[1] * width * sizeof(float));
    s->value_of[0] = s->row_values;
    s->gradient_of[0] = s->row_gradient;
}

static void scatter(struct gw_work_item *item, size_t row, float *gradient,
                    double share)
{
    const struct net_scratch *s = item->scratch;
    size_t width = item->task->tables[EMBEDDING].width;
    for (size_t k = 0; k < s->row_begin[1]; k++)
        add_exactly(gradient + embedding_offset(item, row, k),
                    s->row_gradient + k * width, width, share);
}

/* Adds the row's loss and, unless `gradients` is NULL, its gradient. */
static void add_row_gradient(struct gw_work_item *item, size_t row,
                             const float *const *tables,
                             float *const *gradients,
                             struct gw__loss_sum *loss_sum)
{
    const struct net_data *net = item->task->data;
    struct net_scratch *s = item->scratch;
    double share = 1 / (double)item->batch_rows;
    uint32_t number = net->embedding ? 0 : (uint32_t)row;
    struct gw__rows rows = {net->embedding ? &s->row : data_of(item), &number,
                            1};
    struct gw__model_chunk_pass pass = {.rows = &rows, .loss_sum = loss_sum};
    if (net->embedding)
        gather_embedding(item, row, tables[EMBEDDING]);
    /* A part on a single rank cannot fail. */
    enum gw_err code = gw__model_chunk_forward(s->model, s->tape, &pass, NULL);
    assert(!code);
    if (!gradients)
        return;
    memcpy(s->gradient, s->decay, net->floats * sizeof *s->gradient);
    pass.kind = GW_BACKWARD;
    code = gw__model_chunk_backward(s->model, s->tape, &pass, NULL);
    assert(!code);
    assert(gradients[NET]);
    add_exactly(gradients[NET], s->gradient, net->floats, share);
    if (net->embedding) {
        assert(gradients[EMBEDDING]);
        scatter(item, row, gradients[EMBEDDING], share);
    }
}

static void compute_net(struct gw_work_item *item, const float *const *rows,
                        float *const *gradients, struct gw_sample_sums *sums)
{
    struct gw__loss_sum loss_sum = {0};
    /* A work item without rows has no gradient for a sparse table. */
    for (unsigned t = 0; gradients && t < item->task->table_count; t++)
        if (gradients[t])
            memset(gradients[t], 0,
                   gw__work_item_floats(item, t) * sizeof(float));
    if (item->count)
        begin_weights(item->scratch, item, rows[NET]);
    for (size_t i = 0; i < item->count; i++)
        add_row_gradient(item, gw__work_item_row(item, i), rows, gradients,
                         &loss_sum);
    sums->loss = loss_sum.loss;
    sums->right = loss_sum.right;
    sums->samples = item->count;
}

static void scratch_fini(void *scratch)
{
    struct net_scratch *s = scratch;
    if (s->model)
        gw__tape_release(s->model, &s->tape);
    gw__model_chunk_destroy(&s->model);
    free(s->row.index);
    free(s->row_values);
    free(s->values);
}

const struct gw__task_model gw__task_net = {
    .name = "net",
    .files_min = 2,
    .files_max = 2,
    .quality = "accuracy",
    .shuffled = true,
    .chunk = 4096,
    .scratch_bytes = sizeof(struct net_scratch),
    .rates = {[GW_PS_SGD] = 0.5f,
              [GW_PS_MOMENTUM] = 0.05f,
              [GW_PS_ADAGRAD] = 0.05f,
              [GW_PS_ADAM] = 0.01f,
              [GW_PS_CALLBACK] = 0.5f},
    .defaults = net_defaults,
    .open = open_net,
    .close = close_net,
    .prepare = prepare_net,
    .compute = compute_net,
    .scratch_fini = scratch_fini,
};
