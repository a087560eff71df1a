/* SPDX-License-Identifier: MIT
 *
 * A table's updater: checks of its configuration, so that no formula of
 * update_kernels.h can divide zero by zero; the contents of new rows; the
 * choice of the kernel.
 */
#include "update_parts.h"

#include "coll/reduce/reduce.h"

#include <math.h>
#include <string.h>

/* Floats of state per row: arrays of the row's width, and single ones. */
static const struct {
    unsigned arrays, singles;
} states[GW_PS_UPDATERS] = {
    [GW_PS_MOMENTUM] = {1, 0},
    [GW_PS_ADAGRAD] = {1, 0},
    [GW_PS_ADAM] = {2, 1},
    [GW_PS_FTRL] = {2, 0},
};

/* ---- checks ---- */

static enum gw_err check_shape(const struct gw_ps_table_config *config,
                               struct gw_error *why)
{
    if (!memchr(config->name, 0, sizeof config->name))
        return gw_fail(why, GW_EINVAL,
                       "a table's name has no terminating zero");
    if (config->width == 0 || config->width > GW_PS_WIDTH_MAX)
        return gw_fail(why, GW_EINVAL, "a row has %u floats; use 1 to %d",
                       config->width, GW_PS_WIDTH_MAX);
    if (config->updater >= GW_PS_UPDATERS)
        return gw_fail(why, GW_EINVAL, "unknown updater %u", config->updater);
    if (config->group >= GW_PS_GROUPS_MAX)
        return gw_fail(why, GW_EINVAL, "group %u: groups are numbered below %d",
                       config->group, GW_PS_GROUPS_MAX);
    return GW_OK;
}

static enum gw_err check_numbers(const struct gw_ps_table_config *config,
                                 struct gw_error *why)
{
    const struct {
        const char *name;
        float value;
        bool negative; /* negative values are allowed */
    } numbers[] = {
        {"rate", config->rate, true},
        {"momentum", config->momentum, true},
        {"beta1", config->beta1, false},
        {"beta2", config->beta2, false},
        {"epsilon", config->epsilon, false},
        {"beta", config->beta, false},
        {"l1", config->l1, false},
        {"l2", config->l2, false},
        {"init_range", config->init_range, false},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        float value = numbers[i].value;
        if (!isfinite(value))
            return gw_fail(why, GW_EINVAL, "%s must be a finite number",
                           numbers[i].name);
        if (value < 0 && !numbers[i].negative)
            return gw_fail(why, GW_EINVAL, "%s is %g; it must be at least 0",
                           numbers[i].name, (double)value);
    }
    return GW_OK;
}

/* Refuses values that would cause a division by zero. */
static enum gw_err check_quotients(const struct gw_ps_table_config *config,
                                   struct gw_error *why)
{
    uint32_t updater = config->updater;
    if ((updater == GW_PS_ADAGRAD || updater == GW_PS_ADAM) &&
        config->epsilon == 0)
        return gw_fail(why, GW_EINVAL, "%s needs an epsilon above 0",
                       gw_ps_updater_name((enum gw_ps_updater)updater));
    if (updater == GW_PS_ADAM && (config->beta1 >= 1 || config->beta2 >= 1))
        return gw_fail(why, GW_EINVAL, "adam needs beta1 and beta2 below 1");
    if (updater != GW_PS_FTRL)
        return GW_OK;
    float per_rate = 1 / config->rate;
    if (!(config->rate > 0) || !isfinite(per_rate))
        return gw_fail(why, GW_EINVAL, "ftrl needs a rate above 0");
    float base = config->beta * per_rate + config->l2;
    if (!(base > 0) || !isfinite(base))
        return gw_fail(why, GW_EINVAL, "ftrl needs beta or l2 above 0");
    return GW_OK;
}

static enum gw_err check_callback(const struct gw_ps_table_config *config,
                                  bool is_there, unsigned state_floats,
                                  struct gw_error *why)
{
    if (config->updater != GW_PS_CALLBACK)
        return GW_OK;
    if (!is_there)
        return gw_fail(why, GW_EINVAL,
                       "this server has no custom update function");
    if (config->width > GW__CALLBACK_WIDTH_MAX)
        return gw_fail(why, GW_EINVAL,
                       "a row has %u floats; with a custom update function it "
                       "must have at most %d",
                       config->width, GW__CALLBACK_WIDTH_MAX);
    if (state_floats > 4 * GW_PS_WIDTH_MAX)
        return gw_fail(why, GW_EINVAL,
                       "a row has %u floats of state; use at most %d",
                       state_floats, 4 * GW_PS_WIDTH_MAX);
    return GW_OK;
}

enum gw_err
gw__updater_init(struct gw__updater *updater,
                 const struct gw_ps_table_config *config, void *context,
                 void (*callback)(void *, float *, const float *, unsigned),
                 unsigned callback_state, struct gw_error *why)
{
    enum gw_err err = check_shape(config, why);
    if (err == GW_OK)
        err = check_numbers(config, why);
    if (err == GW_OK)
        err = check_quotients(config, why);
    if (err == GW_OK)
        err = check_callback(config, callback != NULL, callback_state, why);
    if (err != GW_OK)
        return gw_wrap(why, err, "table \"%.*s\"", GW_PS_NAME_MAX - 1,
                       config->name);
    bool own = config->updater == GW_PS_CALLBACK;
    *updater = (struct gw__updater){
        .config = *config,
        .state_floats = own ? callback_state
                            : states[config->updater].arrays * config->width +
                                  states[config->updater].singles,
        .context = own ? context : NULL,
        .callback = own ? callback : NULL,
    };
    return GW_OK;
}

/* ---- new rows ---- */

/* The finisher of splitmix64. */
static uint64_t finish_hash(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* Each column takes the next value of splitmix64, seeded by the table's seed
 * and the key. 24 of its bits give exactly k 2^-23 - 1, so that only one
 * product rounds. */
void gw__updater_initial(const struct gw__updater *updater, uint64_t key,
                         float *values)
{
    const struct gw_ps_table_config *config = &updater->config;
    if (config->init_range == 0) {
        memset(values, 0, config->width * sizeof *values);
        return;
    }
    uint64_t state = finish_hash(finish_hash(config->init_seed + 1) ^ key);
    for (uint32_t j = 0; j < config->width; j++) {
        state += 0x9e3779b97f4a7c15U;
        float unit = (float)(finish_hash(state) >> 40) * 0x1p-23F - 1;
        values[j] = config->init_range * unit;
    }
}

void gw__updater_begin(const struct gw__updater *updater, uint64_t key,
                       float *row)
{
    gw__updater_initial(updater, key, row);
    memset(row + updater->config.width, 0, updater->state_floats * sizeof *row);
}

/* ---- updates ---- */

const struct gw__update_isa *gw__update_current(void)
{
#ifdef __x86_64__
    /* All levels of gw_reduce_local except the scalar one have AVX2 and
     * F16C. */
    if (gw__reduce_current() != &gw__reduce_scalar)
        return &gw__update_avx2;
#endif
    return &gw__update_scalar;
}

/* In double precision, since 1 - beta^t is small at first. */
struct gw__adam_corrections
gw__adam_correct(const struct gw_ps_table_config *config, float t)
{
    double m = 1 - pow((double)config->beta1, (double)t);
    double v = 1 - pow((double)config->beta2, (double)t);
    return (struct gw__adam_corrections){
        .t = t,
        .rate = (float)((double)config->rate / m),
        .v_scale = (float)(1 / v),
    };
}

static void call_back(struct gw__update_run *run)
{
    const struct gw__updater *updater = run->updater;
    unsigned width = updater->config.width;
    size_t stride = width + updater->state_floats;
    for (size_t i = 0; i < run->count; i++) {
        const float *gradient = run->gradients + i * width;
        float scaled[GW__CALLBACK_WIDTH_MAX];
        for (unsigned j = 0; j < width; j++)
            scaled[j] = gradient[j] * run->scale;
        updater->callback(updater->context, run->rows + i * stride, scaled,
                          width);
    }
}

gw__update_kernel *gw__updater_kernel(const struct gw__updater *updater)
{
    return updater->callback
               ? call_back
               : gw__update_current()->kernels[updater->config.updater];
}

void gw__updater_apply_run(const struct gw__updater *updater, float *rows,
                           const float *gradients, size_t count, float scale)
{
    struct gw__update_run run = {.updater = updater,
                                 .rows = rows,
                                 .gradients = gradients,
                                 .count = count,
                                 .scale = scale};
    gw__updater_kernel(updater)(&run);
}

void gw__updater_apply(const struct gw__updater *updater, float *row,
                       const float *gradient, float scale)
{
    gw__updater_apply_run(updater, row, gradient, 1, scale);
}

size_t gw__first_bad(const float *values, size_t count)
{
    return gw__update_current()->first_bad(values, count);
}
