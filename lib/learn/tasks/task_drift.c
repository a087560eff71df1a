/* SPDX-License-Identifier: MIT
 *
 * Online learning: linear regression on an endless stream with a moving truth.
 * Row t has normal features x and
 *
 *     y = w(t) . x + noise,   w_j(t) = sin(2 pi (t / period + phase_j))
 *
 * so the true weights always move, with constant magnitude. An item's loss is
 * that of predictions before its rows are learned: the prequential error,
 * test-then-train (Dawid 1984; Gama et al. 2013). Without learning the mean
 * squared error is features / 2 above that of the noise. A constant rate
 * follows the truth; a falling rate (AdaGrad, FTRL) lags more and more. Rows
 * are generated from the seed and t on demand.
 *
 * The table "w" is dense: each row needs all weights.
 */
#include "task.h"

#include "learn/random.h"

#include <math.h>
#include <stdlib.h>

enum {
    FEATURES_MAX = 1 << 16,
    TEST_ROWS = 1000 /* few enough that the truth hardly moves */
};

struct drift_scratch {
    double *row;    /* features */
    double *sums;   /* gradient, in the same block of memory */
    double *phases; /* of the truth */
};

static void set_defaults(struct gw_task_config *config)
{
    config->epochs = 10;
    config->batch = 100;
    config->drift.features = 32;
    config->drift.rows = 20000;
    config->drift.noise = 0.1;
    config->drift.period = 100000;
}

static void free_drift(void *data)
{
    free(data);
}

static enum gw_err open_drift(struct gw_task *task, struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    if (config->train || config->test)
        return gw_fail(why, GW_EINVAL,
                       "drift makes its own data; give no file");
    if (config->drift.features == 0 || config->drift.features > FEATURES_MAX)
        return gw_fail(why, GW_EINVAL, "drift: %u features; use 1 to %d",
                       config->drift.features, FEATURES_MAX);
    if (config->drift.rows == 0 || config->drift.rows >= UINT32_MAX)
        return gw_fail(why, GW_EINVAL, "drift: an epoch cannot have %zu rows",
                       config->drift.rows);
    if (!(config->drift.noise >= 0) || !(config->drift.period > 0))
        return gw_fail(
            why, GW_EINVAL,
            "drift: the noise %g must be at least 0, and the period %g above 0",
            config->drift.noise, config->drift.period);
    task->rows = config->drift.rows;
    task->test_rows = task->rows < TEST_ROWS ? task->rows : TEST_ROWS;
    gw__task_table(task, "w", 1, config->drift.features)->dense =
        config->drift.features;
    return GW_OK;
}

static bool init_scratch(struct drift_scratch *scratch,
                         const struct gw_task_config *config)
{
    size_t features = config->drift.features;
    struct gw_rng rng;
    scratch->row = malloc(3 * features * sizeof *scratch->row);
    if (!scratch->row)
        return false;
    scratch->sums = scratch->row + features;
    scratch->phases = scratch->sums + features;
    gw_rng_seed(&rng, gw__mix_in(config->seed, 0));
    for (size_t j = 0; j < features; j++)
        scratch->phases[j] = gw_rng_unit(&rng);
    return true;
}

static enum gw_err prepare_rows(struct gw_work_item *item, struct gw_error *why)
{
    const struct gw_task_config *config = &item->task->config;
    struct drift_scratch *scratch = item->scratch;
    bool ready = scratch->row || init_scratch(scratch, config);
    for (size_t j = 0; ready && item->count && j < config->drift.features; j++)
        ready = gw__keyset_add(&item->keys[0], j);
    if (!ready)
        return gw_fail(why, GW_ENOMEM, "drift: %u features",
                       config->drift.features);
    return GW_OK;
}

/* Generates row t; returns its y. */
static double make_row(const struct gw_task_config *config,
                       const struct drift_scratch *scratch, uint64_t t)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, gw__mix_in(gw__mix_in(config->seed, 1), t));
    double y = config->drift.noise * gw__gaussian(&rng);
    double turns = (double)t / config->drift.period;
    for (size_t j = 0; j < config->drift.features; j++) {
        double weight = sin(2 * M_PI * (turns + scratch->phases[j]));
        scratch->row[j] = gw__gaussian(&rng);
        y += weight * scratch->row[j];
    }
    return y;
}

static void compute_gradient(struct gw_work_item *item,
                             const float *const *rows, float *const *gradients,
                             struct gw_sample_sums *sums)
{
    const struct gw_task_config *config = &item->task->config;
    const struct drift_scratch *scratch = item->scratch;
    size_t features = config->drift.features;
    double share = 1 / (double)item->batch_rows;
    for (size_t j = 0; j < features; j++)
        scratch->sums[j] = 0;
    for (size_t i = 0; i < item->count; i++) {
        uint64_t t =
            item->epoch * config->drift.rows + gw__work_item_row(item, i);
        double error = -make_row(config, scratch, t);
        for (size_t j = 0; j < features; j++)
            error += (double)rows[0][j] * scratch->row[j];
        for (size_t j = 0; j < features; j++)
            scratch->sums[j] += error * scratch->row[j];
        sums->loss += error * error / 2;
    }
    sums->samples = item->count;
    for (size_t j = 0; gradients && j < item->keys[0].count; j++)
        gradients[0][j] = (float)(scratch->sums[j] * share);
}

static void scratch_fini(void *scratch)
{
    free(((struct drift_scratch *)scratch)->row);
}

const struct gw__task_model gw__task_drift = {
    .name = "drift",
    .quality = "rmse",
    .squared = true,
    .stream = true,
    .chunk = 1 << 16,
    .scratch_bytes = sizeof(struct drift_scratch),
    .rates = {[GW_PS_SGD] = 0.5f,
              [GW_PS_MOMENTUM] = 0.05f,
              [GW_PS_ADAGRAD] = 1,
              [GW_PS_ADAM] = 0.02f,
              [GW_PS_FTRL] = 1,
              [GW_PS_CALLBACK] = 0.5f},
    .defaults = set_defaults,
    .open = open_drift,
    .close = free_drift,
    .prepare = prepare_rows,
    .compute = compute_gradient,
    .scratch_fini = scratch_fini,
};
