/* SPDX-License-Identifier: MIT
 *
 * A learning task with one worker and tables in this process, and the
 * properties of every model: keys ascend, gradients are slopes, parts of a
 * batch add up, and a seed determines everything.
 */
#ifndef TASK_RUN_H
#define TASK_RUN_H

#include <gradwire/train.h>

struct task_run {
    struct gw_task_config config;
    struct gw_task *task;
    struct gw_work_item *item;
    struct gw_table_store *store;
    unsigned table_count;
    const struct gw_ps_table_config *tables;
    float *rows[GW_TASK_TABLES_MAX], *gradients[GW_TASK_TABLES_MAX];
    struct gw_error why;
    char path[2][40]; /* files made by task_file */
};

/* Writes text to a file of its own; returns the path. */
const char *task_file(struct task_run *run, int number, const char *text,
                      size_t bytes);
/* Makes everything from run->config. */
void task_begin(struct task_run *run);
/* Frees everything except the files. */
void task_end(struct task_run *run);
/* As task_end, and removes the files. */
void task_clean(struct task_run *run);

/* Prepares an item, and pulls its rows to run->rows. */
void task_pull(struct task_run *run, const struct gw_work_item_id *id);
struct gw_sample_sums task_compute(struct task_run *run, bool gradients);
/* Trains epochs [first, end) and returns the score over them. */
struct gw_task_score task_train(struct task_run *run, uint64_t first,
                                uint64_t end, unsigned parts);
struct gw_task_score task_score(struct task_run *run, enum gw_task_set set,
                                uint64_t epochs);

/* Fails unless the values are that close. */
void task_expect_close(float is, float wanted, double tolerance);
void task_expect_keys(struct task_run *run);
/* gradients * scale is the slope of the loss at run->rows. */
void task_expect_slopes(struct task_run *run, double scale, double tolerance);
void task_expect_parts(struct task_run *run, uint64_t batch, unsigned parts);
/* Two runs with run->config give the same bits; another seed gives others. */
void task_expect_seed(struct task_run *run, uint64_t epochs, unsigned parts);
/* gw_task_new fails with this code, and `text` is part of the error text. */
void task_expect_refused(struct task_run *run, enum gw_err code,
                         const char *text);

#endif
