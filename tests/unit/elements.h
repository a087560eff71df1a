/* SPDX-License-Identifier: MIT
 *
 * Elements of any type, one at a time.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include <gradwire/gradwire.h>

/* Stores the small whole number `v` as element `i`. */
void put_element(void *buffer, enum gw_dtype type, size_t i, int64_t v);
double get_element(const void *buffer, enum gw_dtype type, size_t i);
/* The reduction of two small whole numbers. */
int64_t reduce_whole(enum gw_redop op, int64_t a, int64_t b);

#endif
