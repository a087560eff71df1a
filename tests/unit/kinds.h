/* SPDX-License-Identifier: MIT
 *
 * Calls of any kind by three ranks, with known results; see kinds.c.
 */
#ifndef KINDS_H
#define KINDS_H

#include <gradwire/gradwire.h>

enum { KIND_RANKS = 3, KIND_ROOT = 1 };

struct kind {
    enum gw_collective collective;
    size_t count; /* elements, of int32 */
    bool in_place;
    const char *algo; /* NULL: the automatic choice */
};

/* Fills `in` and `out`, which have room for KIND_RANKS * count elements, with
 * data of this round, makes the call, and checks the result and the input. Ends
 * the process with an error message after any difference. */
void kind_call(struct gw_comm *comm, const struct kind *kind, unsigned round,
               int32_t *in, int32_t *out);

#endif
