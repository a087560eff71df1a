/* SPDX-License-Identifier: MIT
 *
 * Filters of what is pushed, with error feedback (Stich, Cordonnier, Jaggi,
 * "Sparsified SGD with Memory", 2018): what does not travel is kept and added
 * to the next push of the key, so nothing is ever lost: what has travelled and
 * what is kept add up to what was pushed.
 *
 *     row     = pushed + kept
 *     too small (max |row| < significant): all of it is kept
 *     of the values of the other rows the largest `top_share` travel, the rest
 *     is kept; a row of which nothing travels is not sent
 *
 * What is kept leaves when everything is taken (gw__filter_take): the client
 * does so when it closes, and for a push of no keys.
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
/* What travels of a push goes to out_keys and out_values, which have room for
 * all of it. GW_ENOMEM: nothing has changed. */
GW_MUST_CHECK enum gw_err
gw__filter_pass(struct gw__filter *filter, const uint64_t *keys, size_t count,
                const float *values, uint64_t *out_keys, float *out_values,
                size_t *out_count, struct gw_error *why);
/* It has not travelled after all: kept, for rows that `pass` has just seen. */
void gw__filter_return(struct gw__filter *filter, const uint64_t *keys,
                       size_t count, const float *values);
/* Rows of which something is kept. */
size_t gw__filter_rows(const struct gw__filter *filter);
/* All of them, which then are kept no longer; room for gw__filter_rows. */
void gw__filter_take(struct gw__filter *filter, uint64_t *keys, float *values);

#endif
