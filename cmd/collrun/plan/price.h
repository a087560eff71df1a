/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the parts of collrun price: price.c (the table) and price_why.c
 * (the reasons).
 */
#ifndef PRICE_H
#define PRICE_H

#include "common/output.h"

#include <gradwire/gradwire.h>

struct price_question {
    const char *wire;
    enum gw_collective collective;
    unsigned ranks;
    uint64_t bytes;
    size_t count, elem_bytes;
};

/* Notes in sentences: the wire's costs, the algorithm of a call and its
 * advantage, and the size at which another one is better. */
void price_explain(struct output *output,
                   const struct price_question *question);

#endif
