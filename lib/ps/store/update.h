/* SPDX-License-Identifier: MIT
 *
 * Updaters: how one row of a table changes by one pushed row (gradwire/ps.h has
 * the formulas). A row is `width` values, then the updater's state. Pure.
 */
#ifndef GW__PS_UPDATE_H
#define GW__PS_UPDATE_H

#include <gradwire/ps.h>

/* Rows that a callback changes are at most so wide: their scaled gradient goes
 * over the stack. */
enum { GW__CALLBACK_WIDTH_MAX = 16384 };

/* Bound to a table; small, copied around. */
struct gw__updater {
    struct gw_ps_table_config config;
    unsigned state_floats; /* of a row, behind its values */
    void *context;         /* GW_PS_CALLBACK */
    void (*callback)(void *context, float *row, const float *gradient,
                     unsigned width);
};

/* `callback` and `callback_state` for GW_PS_CALLBACK; GW_EINVAL when it is
 * missing or the config makes no sense (width 0, unknown updater, a rate that
 * is no number, what would make a formula divide by zero: epsilon 0 of
 * adagrad and adam, rate 0 or beta and l2 0 of ftrl). */
GW_MUST_CHECK enum gw_err
gw__updater_init(struct gw__updater *updater,
                 const struct gw_ps_table_config *config, void *context,
                 void (*callback)(void *, float *, const float *, unsigned),
                 unsigned callback_state, struct gw_error *why);

/* Values as a row has them that was never pushed: zeros, or uniform by
 * (init_seed, key, column), the same on every machine. State: zeros. */
void gw__updater_begin(const struct gw__updater *updater, uint64_t key,
                       float *row);
/* One update. `scale` multiplies the gradient first (1: as it is). */
void gw__updater_apply(const struct gw__updater *updater, float *row,
                       const float *gradient, float scale);
/* `count` rows that lie one behind the other (stride width + state_floats) and
 * gradients likewise (stride width): what one call for each would do, faster.
 */
void gw__updater_apply_run(const struct gw__updater *updater, float *rows,
                           const float *gradients, size_t count, float scale);

/* The index of the first value that is a NaN or an infinity; `count` when all
 * are finite. Vectorised: every push goes through it. */
size_t gw__first_bad(const float *values, size_t count);

/* f16 <-> f32, round to nearest even; infinity when too large. */
void gw__to_half(uint16_t *out, const float *in, size_t count);
void gw__from_half(float *out, const uint16_t *in, size_t count);

#endif
