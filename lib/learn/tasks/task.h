/* SPDX-License-Identifier: MIT
 *
 * The internals of a learning task. task.c has the common code and the list of
 * models. A model is a struct gw__task_model in its own file; it determines the
 * keys that a range of samples needs, and their contributions.
 */
#ifndef GW__TASK_H
#define GW__TASK_H

#include "keyset.h"
#include "unlocked.h"

#include <gradwire/train.h>

struct gw_task {
    const struct gw__task_model *model;
    struct gw_task_config config;
    unsigned table_count;
    struct gw_ps_table_config tables[GW_TASK_TABLES_MAX];
    uint64_t key_bounds[GW_TASK_TABLES_MAX]; /* limits of keys */
    size_t rows;                             /* per epoch */
    size_t test_rows;                        /* 0: no test set */
    /* rows arrive in order; evaluation uses the last known ones */
    bool streams;
    void *data; /* of the model */
};

/* A range of samples, and the results for them. */
struct gw_work_item {
    const struct gw_task *task;
    struct gw_order order; /* for models with shuffled rows */
    uint64_t ordered;      /* the epoch of `order`; UINT64_MAX: none */
    struct gw__keyset keys[GW_TASK_TABLES_MAX];
    /* The samples: listed, or all from `first` on. */
    enum gw_task_set set;
    uint64_t epoch;
    const uint32_t *listed;
    size_t first, count;
    size_t batch_rows;            /* size of the batch, for means */
    unsigned parts;               /* number of parts of the batch */
    bool learning;                /* false: evaluation */
    void *scratch;                /* scratch_bytes, initially zero */
    struct gw__unlocked unlocked; /* its threads, if more than one */
};

/* The work of one thread: part `part` of `parts` of the item's samples. */
struct gw__share {
    unsigned part, parts;
    /* By place: number of writes to each row of a table; NULL: not counted,
     * with a single thread. */
    uint32_t *row_writes[GW_TASK_TABLES_MAX];
    struct gw_sample_sums *sums;
};

static inline size_t gw__share_begin(const struct gw__share *share,
                                     size_t count)
{
    return count * share->part / share->parts;
}

static inline size_t gw__share_end(const struct gw__share *share, size_t count)
{
    return count * (share->part + 1) / share->parts;
}

static inline size_t gw__work_item_row(const struct gw_work_item *item,
                                       size_t i)
{
    return item->listed ? item->listed[i] : item->first + i;
}

struct gw__task_model {
    const char *name;
    /* Number of input files: an optional network, then samples. A model without
     * files generates its samples. */
    unsigned files_min, files_max;
    const char *quality;
    /* the loss is half the squared error and the quality its root mean;
     * otherwise the quality is the accuracy */
    bool squared;
    bool shuffled; /* each epoch has its own order */
    bool stream;   /* evaluation uses the last known rows, not all */
    size_t chunk;  /* rows per step of an evaluation */
    size_t scratch_bytes;
    /* Good learning rates for each updater; 0: not supported. */
    float rates[GW_PS_UPDATERS];
    /* Sets the model's own defaults; common fields are already set, except the
     * rate. */
    void (*defaults)(struct gw_task_config *config);
    /* Sets rows, tables and data. On failure `data` is closed, too. */
    enum gw_err (*open)(struct gw_task *task, struct gw_error *why);
    void (*close)(void *data);                /* accepts NULL */
    uint64_t (*bytes_read)(const void *data); /* NULL: not counted */
    /* Adds the keys of the item's samples. */
    enum gw_err (*prepare)(struct gw_work_item *item, struct gw_error *why);
    /* sums->rows is already set, the rest is zero. */
    void (*compute)(struct gw_work_item *item, const float *const *rows,
                    float *const *gradients, struct gw_sample_sums *sums);
    /* Alternative to `compute` if several threads may write the samples' rows
     * concurrently: `begin`, one `share` per thread and, with gradients,
     * `finish` (may be NULL). */
    void (*begin)(struct gw_work_item *item, const float *const *rows,
                  float *const *gradients);
    void (*share)(struct gw_work_item *item, const float *const *rows,
                  float *const *gradients, const struct gw__share *share);
    void (*finish)(struct gw_work_item *item, const float *const *rows,
                   float *const *gradients);
    void (*scratch_fini)(void *scratch); /* NULL: not needed */
};

extern const struct gw__task_model gw__task_lr, gw__task_linear, gw__task_mf,
    gw__task_word2vec, gw__task_deepwalk, gw__task_drift, gw__task_cartpole,
    gw__task_net, gw__task_ctr;

/* Finds a model by name, or NULL. */
const struct gw__task_model *gw__task_model(const char *name);

/* Adds a table with the config's updater. */
struct gw_ps_table_config *gw__task_table(struct gw_task *task,
                                          const char *name, uint32_t width,
                                          uint64_t key_bound);
/* Do its tables have vectors of words or nodes? */
static inline bool gw__task_has_words(const struct gw_task *task)
{
    return task->config.kind == GW_TASK_WORD2VEC ||
           task->config.kind == GW_TASK_DEEPWALK;
}
/* The agent of a cartpole task; it learns from its own actions. */
struct gw__agent_config;
void gw__cartpole_agent(const struct gw_task_config *config,
                        struct gw__agent_config *agent);
/* The size of the item's rows of a table, in floats. */
size_t gw__work_item_floats(const struct gw_work_item *item, unsigned table);

#endif
