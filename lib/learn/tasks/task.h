/* SPDX-License-Identifier: MIT
 *
 * What a learning task consists of. task.c has what all models share, and the
 * list of them; a model is a struct gw__task_model in its own file, which says
 * which keys a run of samples needs and what they contribute.
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
    uint64_t key_bounds[GW_TASK_TABLES_MAX]; /* keys are below */
    size_t rows;                             /* of an epoch */
    size_t test_rows;                        /* 0: there is no test set */
    bool streams; /* rows come in order; what is known is tried on the last */
    void *data;   /* the model's */
};

/* Some samples, and what was found out about them. */
struct gw_unit {
    const struct gw_task *task;
    struct gw_order order; /* of models whose rows are shuffled */
    uint64_t ordered;      /* the epoch of the order; UINT64_MAX: none */
    struct gw__keyset keys[GW_TASK_TABLES_MAX];
    /* The samples: listed, or all from `first` on. */
    enum gw_task_set set;
    uint64_t epoch;
    const uint32_t *listed;
    size_t first, count;
    size_t batch_rows;            /* that a mean is taken over */
    unsigned parts;               /* of the batch */
    bool learning;                /* else it is evaluated */
    void *scratch;                /* scratch_bytes, zero at first */
    struct gw__unlocked unlocked; /* its threads, if there are several */
};

/* What one thread does of a unit: part `part` of `parts` of its samples. */
struct gw__share {
    unsigned part, parts;
    /* By place: how often each row of a table was written; NULL: not counted,
     * this thread is alone. */
    uint32_t *row_writes[GW_TASK_TABLES_MAX];
    struct gw_unit_sums *sums;
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

static inline size_t gw__unit_row(const struct gw_unit *unit, size_t i)
{
    return unit->listed ? unit->listed[i] : unit->first + i;
}

struct gw__task_model {
    const char *name;
    /* Files that are named: samples, and before them a network. A model without
     * any makes its samples up. */
    unsigned files_min, files_max;
    const char *quality;
    bool squared;  /* the loss is half the squared error, the quality its root
                      mean; else the quality is the share of right answers */
    bool shuffled; /* each epoch has an order of its own */
    bool stream;   /* what is known is tried on its last rows, not on all */
    size_t chunk;  /* rows that are evaluated at once */
    size_t scratch_bytes;
    /* Good with each updater; 0: it cannot be used. */
    float rates[GW_PS_UPDATERS];
    /* The rest is set already, but for the rate and what other models have. */
    void (*defaults)(struct gw_task_config *config);
    /* Sets rows, tables and data; what it left in `data` when it fails is
     * closed too. */
    enum gw_err (*open)(struct gw_task *task, struct gw_error *why);
    void (*close)(void *data);                /* NULL allowed for data */
    uint64_t (*bytes_read)(const void *data); /* NULL: not counted */
    /* Adds the keys of the unit's samples. */
    enum gw_err (*prepare)(struct gw_unit *unit, struct gw_error *why);
    /* sums->rows is set already, the rest is zero. */
    void (*compute)(struct gw_unit *unit, const float *const *rows,
                    float *const *gradients, struct gw_unit_sums *sums);
    /* Instead of `compute`, where samples share rows that several threads may
     * write at once: `begin`, a share for each thread, and, if gradients are
     * asked for, `finish` (NULL: nothing is left to do). */
    void (*begin)(struct gw_unit *unit, const float *const *rows,
                  float *const *gradients);
    void (*share)(struct gw_unit *unit, const float *const *rows,
                  float *const *gradients, const struct gw__share *share);
    void (*finish)(struct gw_unit *unit, const float *const *rows,
                   float *const *gradients);
    void (*scratch_fini)(void *scratch); /* NULL: nothing to do */
};

extern const struct gw__task_model gw__task_lr, gw__task_linear, gw__task_mf,
    gw__task_word2vec, gw__task_deepwalk, gw__task_drift, gw__task_cartpole,
    gw__task_net, gw__task_ctr;

/* The model of that name, or NULL. */
const struct gw__task_model *gw__task_model(const char *name);

/* Adds a table of that name that the config's updater changes. */
struct gw_ps_table_config *gw__task_table(struct gw_task *task,
                                          const char *name, uint32_t width,
                                          uint64_t key_bound);
/* Are its tables vectors of words, or of nodes? */
static inline bool gw__task_has_words(const struct gw_task *task)
{
    return task->config.kind == GW_TASK_WORD2VEC ||
           task->config.kind == GW_TASK_DEEPWALK;
}
/* The agent of a cartpole task; who acts is who learns. */
struct gw__agent_config;
void gw__cartpole_agent(const struct gw_task_config *config,
                        struct gw__agent_config *agent);
/* The floats of the unit's rows of a table. */
size_t gw__unit_floats(const struct gw_unit *unit, unsigned table);

#endif
