/* SPDX-License-Identifier: MIT
 *
 * The functions of the learner that tricks.c and race.c call.
 */
#ifndef TRICKS_H
#define TRICKS_H

#include <gradwire/gradwire.h>

/* Applies all updates to the table: the row of keys[i], of `width` floats, grows
 * by rows[i * width ...]. A key may occur several times. */
enum gw_err push_all(struct gw_ps *ps, unsigned table, unsigned width,
                     size_t count, const uint64_t *keys, const float *rows,
                     struct gw_error *why);

/* *at += value, by many threads at once. */
void add(float *at, float value);

#endif
