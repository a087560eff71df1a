/* SPDX-License-Identifier: MIT
 *
 * The internals of the updaters:
 *
 *   update.c          checks a table's updater, begins rows, chooses kernels
 *   update_kernels.h  the formulas, for any length of vector
 *   update_scalar.c   compiled for vectors of 16 bytes, for any CPU
 *   update_avx2.c     compiled for vectors of 32 bytes, with F16C
 *   half.c            f16 where the CPU has no instruction for it
 *
 * All levels give the same bits, for a run of rows as for one row: each float
 * is computed alone, by additions, products, quotients and roots that IEEE 754
 * rounds in one way, and the compiler must not contract two of them into one.
 */
#ifndef GW__PS_UPDATE_PARTS_H
#define GW__PS_UPDATE_PARTS_H

#include "update.h"

/* `count` adjacent rows and as many gradients. */
struct gw__update_run {
    const struct gw__updater *updater;
    float *rows;
    const float *gradients;
    size_t count;
    float scale;
    /* The previous row's corrections: rows that are always pushed together have
     * the same t, so powers are rarely computed. */
    struct gw__adam_corrections {
        float t;
        float rate;    /* rate / (1 - beta1^t) */
        float v_scale; /* 1 / (1 - beta2^t) */
    } adam;
};

typedef void gw__update_kernel(struct gw__update_run *run);

struct gw__update_isa {
    gw__update_kernel *kernels[GW_PS_UPDATERS]; /* without GW_PS_CALLBACK */
    size_t (*first_bad)(const float *values, size_t count);
    /* Convert whole vectors only; return the number of values converted. NULL:
     * none. */
    size_t (*to_half)(uint16_t *out, const float *in, size_t count);
    size_t (*from_half)(float *out, const uint16_t *in, size_t count);
};

extern const struct gw__update_isa gw__update_scalar;
#ifdef __x86_64__
extern const struct gw__update_isa gw__update_avx2;
#endif

/* Belongs to the current level of gw_reduce_local. */
const struct gw__update_isa *gw__update_current(void);
/* The kernel for runs with this updater. */
gw__update_kernel *gw__updater_kernel(const struct gw__updater *updater);
/* The corrections for a row's t-th update. */
struct gw__adam_corrections
gw__adam_correct(const struct gw_ps_table_config *config, float t);
/* Writes the values of a new row, without its state. */
void gw__updater_initial(const struct gw__updater *updater, uint64_t key,
                         float *values);

#endif
