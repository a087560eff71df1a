/* SPDX-License-Identifier: MIT
 *
 * Updaters: the effect of one pushed row on a row of a table (gradwire/ps.h has
 * the formulas). A row has `width` values, then the updater's state. Pure.
 */
#ifndef GW__PS_UPDATE_H
#define GW__PS_UPDATE_H

#include <gradwire/ps.h>

/* The width of rows for callbacks is limited, since their scaled gradient is on
 * the stack. */
enum { GW__CALLBACK_WIDTH_MAX = 16384 };

/* Bound to a table; small, so it is copied. */
struct gw__updater {
    struct gw_ps_table_config config;
    unsigned state_floats; /* per row, after its values */
    void *context;         /* GW_PS_CALLBACK */
    void (*callback)(void *context, float *row, const float *gradient,
                     unsigned width);
};

/* GW_PS_CALLBACK needs `callback` and `callback_state`. GW_EINVAL: they are
 * missing, or the config is invalid: width 0, unknown updater, a rate that is
 * not a number, or a value that would divide by zero (epsilon 0 for adagrad and
 * adam, rate 0 or beta and l2 0 for ftrl). */
GW_MUST_CHECK enum gw_err
gw__updater_init(struct gw__updater *updater,
                 const struct gw_ps_table_config *config, void *context,
                 void (*callback)(void *, float *, const float *, unsigned),
                 unsigned callback_state, struct gw_error *why);

/* Initialises a new row. Values: zeros, or uniform by (init_seed, key, column),
 * the same on every machine. State: zeros. */
void gw__updater_begin(const struct gw__updater *updater, uint64_t key,
                       float *row);
/* Applies one update. The gradient is multiplied by `scale` first (1:
 * unchanged). */
void gw__updater_apply(const struct gw__updater *updater, float *row,
                       const float *gradient, float scale);
/* The same for `count` contiguous rows (stride width + state_floats) and
 * gradients (stride width), but faster. */
void gw__updater_apply_run(const struct gw__updater *updater, float *rows,
                           const float *gradients, size_t count, float scale);

/* The index of the first NaN or infinity; `count` if all are finite.
 * Vectorised, since every push is checked. */
size_t gw__first_bad(const float *values, size_t count);

/* f16 <-> f32, round to nearest even; values that are too large become
 * infinity. */
void gw__to_half(uint16_t *out, const float *in, size_t count);
void gw__from_half(float *out, const uint16_t *in, size_t count);

#endif
