/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The values of a pattern: one table per rank, and the table of their
 * reduction.
 */
#ifndef PATTERN_VALUES_H
#define PATTERN_VALUES_H

#include "pattern.h"

enum { VALUES_PERIOD = 4093, VALUES_BYTES_MAX = 8 };

struct values {
    size_t elem_bytes;
    unsigned char bytes[VALUES_PERIOD * VALUES_BYTES_MAX];
};

/* The input values of `rank`. */
void values_of_rank(const struct pattern *, unsigned rank, struct values *);
/* The reduction of the tables of the first `ranks` ranks, element by element. */
void values_reduced(const struct pattern *, unsigned ranks, struct values *);
/* Of a custom plan: the reduction of the tables of the ranks that have a chunk. */
void values_of_chunk(const struct pattern *, unsigned chunk, struct values *);

#endif
