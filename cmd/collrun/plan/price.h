/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun price: what price.c (the table) and price_why.c (the reasons) share.
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

/* Notes in sentences: what the wire costs, which algorithm a call would take
 * and by how much, and from which size on another one. */
void price_explain(struct output *output,
                   const struct price_question *question);

#endif
