/* SPDX-License-Identifier: MIT
 *
 * Filters for pushes, with error feedback (Stich, Cordonnier, Jaggi,
 * "Sparsified SGD with Memory", 2018). A value that is not sent remains and is
 * added to the next push of its key. So no gradient is lost: sent values and
 * remainders always add up to the pushed values.
 *
 *     row = pushed + remainder
 *     If max |row| < significant, the whole row remains.
 *     Of the values of all other rows, the largest `top_share` are sent and the
 *     rest remains. A row without a sent value is not sent.
 *
 * gw__filter_drain removes all remainders. The client calls it when it closes
 * and for a push without keys.
 *
 * Pure. Values are finite.
 */
#ifndef GW__PS_FILTER_H
#define GW__PS_FILTER_H

#include <gradwire/base.h>

struct gw__filter;

GW_MUST_CHECK enum gw_err gw__filter_new(uint32_t width, float top_share,
                                         float significant,
                                         struct gw__filter **filter,
                                         struct gw_error *why);
/* NULL allowed. */
void gw__filter_destroy(struct gw__filter **filter);
/* Writes the rows to send to out_keys and out_values, which have room for the
 * whole push. GW_ENOMEM: nothing has changed. */
GW_MUST_CHECK enum gw_err
gw__filter_pass(struct gw__filter *filter, const uint64_t *keys, size_t count,
                const float *values, uint64_t *out_keys, float *out_values,
                size_t *out_count, struct gw_error *why);
/* Returns rows from the last gw__filter_pass that could not be sent. */
void gw__filter_return(struct gw__filter *filter, const uint64_t *keys,
                       size_t count, const float *values);
/* The number of rows with a remainder. */
size_t gw__filter_rows(const struct gw__filter *filter);
/* Moves all remainders out; there is room for gw__filter_rows() rows. */
void gw__filter_drain(struct gw__filter *filter, uint64_t *keys, float *values);

#endif
