/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The values of a pattern: a table a rank, and the table of their reduction.
 */
#ifndef PATTERN_VALUES_H
#define PATTERN_VALUES_H

#include "pattern.h"

enum { VALUES_PERIOD = 4093, VALUES_BYTES_MAX = 8 };

struct values {
    size_t elem_bytes;
    unsigned char bytes[VALUES_PERIOD * VALUES_BYTES_MAX];
};

/* What `rank` puts in. */
void values_of_rank(const struct pattern *, unsigned rank, struct values *);
/* What comes out when all ranks' tables are reduced, element by element. */
void values_reduced(const struct pattern *, struct values *);

#endif
