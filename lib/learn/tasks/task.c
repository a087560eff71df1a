/* SPDX-License-Identifier: MIT
 *
 * Learning tasks: the list of models, and their common code. gradwire/train.h
 * has the idea, task.h the interface of a model; work_item.c iterates over
 * samples.
 */
#include "task.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gw__task_model *const models[] = {
    [GW_TASK_LR] = &gw__task_lr,
    [GW_TASK_LINEAR] = &gw__task_linear,
    [GW_TASK_MF] = &gw__task_mf,
    [GW_TASK_CTR] = &gw__task_ctr,
    [GW_TASK_WORD2VEC] = &gw__task_word2vec,
    [GW_TASK_DEEPWALK] = &gw__task_deepwalk,
    [GW_TASK_DRIFT] = &gw__task_drift,
    [GW_TASK_CARTPOLE] = &gw__task_cartpole,
    [GW_TASK_NET] = &gw__task_net,
};

const char *gw_task_name(enum gw_task_kind kind)
{
    return (unsigned)kind < GW_TASK_KINDS ? models[kind]->name : "?";
}

bool gw_task_shares_rows(enum gw_task_kind kind)
{
    return (unsigned)kind < GW_TASK_KINDS && models[kind]->share;
}

const struct gw__task_model *gw__task_model(const char *name)
{
    for (unsigned i = 0; i < GW_TASK_KINDS; i++)
        if (strcmp(name, models[i]->name) == 0)
            return models[i];
    return NULL;
}

enum gw_err gw_task_defaults(const char *name, struct gw_task_config *config,
                             struct gw_error *why)
{
    for (unsigned i = 0; i < GW_TASK_KINDS; i++)
        if (strcmp(name, models[i]->name) == 0) {
            *config = (struct gw_task_config){
                .kind = (enum gw_task_kind)i,
                .seed = 1,
                .updater = GW_PS_SGD,
                .momentum = 0.9f,
                .beta1 = 0.9f,
                .beta2 = 0.999f,
                .epsilon = 1e-8f,
                .beta = 1,
            };
            models[i]->defaults(config);
            return gw_task_choose_updater(config, config->updater, why);
        }
    return gw_fail(why, GW_EINVAL,
                   "\"%s\" is not a model; use lr, linear, mf, ctr, word2vec, "
                   "deepwalk, drift, cartpole or net",
                   name);
}

static enum gw_err check_updater(const struct gw_task_config *config,
                                 enum gw_ps_updater updater,
                                 struct gw_error *why)
{
    if ((unsigned)config->kind >= GW_TASK_KINDS)
        return gw_fail(why, GW_EINVAL, "unknown model %u",
                       (unsigned)config->kind);
    if ((unsigned)updater >= GW_PS_UPDATERS)
        return gw_fail(why, GW_EINVAL, "unknown updater %u", (unsigned)updater);
    if (models[config->kind]->rates[updater] == 0)
        return gw_fail(why, GW_EINVAL,
                       "%s cannot be trained with the updater %s",
                       models[config->kind]->name, gw_ps_updater_name(updater));
    return GW_OK;
}

enum gw_err gw_task_choose_updater(struct gw_task_config *config,
                                   enum gw_ps_updater updater,
                                   struct gw_error *why)
{
    enum gw_err code = check_updater(config, updater, why);
    if (code)
        return code;
    config->updater = updater;
    config->rate = models[config->kind]->rates[updater];
    return GW_OK;
}

static enum gw_err check_task_config(const struct gw_task_config *config,
                                     struct gw_error *why)
{
    enum gw_err code = check_updater(config, config->updater, why);
    if (code)
        return code;
    const char *name = models[config->kind]->name;
    if (!isfinite(config->rate) || config->rate < 0)
        return gw_fail(
            why, GW_EINVAL,
            "%s: the rate must be a finite number of at least 0, not %g", name,
            (double)config->rate);
    if (config->group >= GW_PS_GROUPS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%s: group %u; groups are numbered below %u", name,
                       config->group, (unsigned)GW_PS_GROUPS_MAX);
    return GW_OK;
}

struct gw_ps_table_config *gw__task_table(struct gw_task *task,
                                          const char *name, uint32_t width,
                                          uint64_t key_bound)
{
    assert(task->table_count < GW_TASK_TABLES_MAX);
    unsigned number = task->table_count++;
    const struct gw_task_config *config = &task->config;
    struct gw_ps_table_config *table = &task->tables[number];
    task->key_bounds[number] = key_bound;
    *table = (struct gw_ps_table_config){
        .width = width,
        .updater = (uint32_t)config->updater,
        .group = config->group,
        .rate = config->rate,
        .momentum = config->momentum,
        .beta1 = config->beta1,
        .beta2 = config->beta2,
        .epsilon = config->epsilon,
        .beta = config->beta,
        .l1 = config->l1,
        .l2 = config->l2,
        .init_seed = config->seed + number,
    };
    snprintf(table->name, sizeof table->name, "%s", name);
    return table;
}

enum gw_err gw_task_new(const struct gw_task_config *config,
                        struct gw_task **task, struct gw_error *why)
{
    *task = NULL;
    enum gw_err code = check_task_config(config, why);
    if (code)
        return code;
    struct gw_task *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "a task");
    made->model = models[config->kind];
    made->config = *config;
    code = made->model->open(made, why);
    if (code) {
        gw_task_destroy(&made);
        return code;
    }
    assert(made->rows > 0 && made->rows < UINT32_MAX);
    made->config.train = made->config.test = made->config.network = NULL;
    if (config->batch == 0 || config->batch > made->rows)
        made->config.batch = made->rows;
    *task = made;
    return GW_OK;
}

void gw_task_destroy(struct gw_task **task)
{
    if (!*task)
        return;
    (*task)->model->close((*task)->data);
    free(*task);
    *task = NULL;
}

const struct gw_task_config *gw_task_config(const struct gw_task *task)
{
    return &task->config;
}

const struct gw_ps_table_config *gw_task_tables(const struct gw_task *task,
                                                unsigned *count)
{
    *count = task->table_count;
    return task->tables;
}

size_t gw_task_rows(const struct gw_task *task)
{
    return task->rows;
}

uint64_t gw_task_bytes_read(const struct gw_task *task)
{
    return task->model->bytes_read ? task->model->bytes_read(task->data) : 0;
}

size_t gw_task_batches(const struct gw_task *task)
{
    return (task->rows + task->config.batch - 1) / task->config.batch;
}

size_t gw_task_batch_rows(const struct gw_task *task, size_t batch)
{
    assert(batch < gw_task_batches(task));
    size_t left = task->rows - batch * task->config.batch;
    return left < task->config.batch ? left : task->config.batch;
}

const char *gw_task_quality(const struct gw_task *task)
{
    return task->model->quality;
}

struct gw_task_score gw_task_compute_score(const struct gw_task *task,
                                           const struct gw_sample_sums *sums)
{
    double samples = sums->samples ? (double)sums->samples : 1;
    double loss = sums->loss / samples;
    return (struct gw_task_score){
        .samples = sums->samples,
        .loss = loss,
        .quality = task->model->squared ? sqrt(2 * loss)
                                        : (double)sums->right / samples,
    };
}
