/* SPDX-License-Identifier: MIT
 *
 * Window passes over private memory, which peers copy. See private_memory.c.
 */
#ifndef GW__PRIVATE_MEMORY_H
#define GW__PRIVATE_MEMORY_H

#include "control_block.h"

/* A part of every operand of a step. */
struct gw__part {
    uint32_t fragment;
    size_t fragment_at; /* of the fragment in the chunk, in bytes */
    size_t elems;
};

/* The address of an operand in this process, or in that of its rank. */
struct gw__location {
    unsigned char *here; /* NULL: not mapped */
    uint64_t there;      /* private memory; 0: unreachable */
};

/* The value of comm->copies_from. */
size_t gw__private_memory_from(const struct gw_comm *comm);
/* Should peers copy the buffers of the call if they cannot map them, and may
 * they? Otherwise these are staged. */
bool gw__private_memory_pays(const struct gw_comm *comm,
                             const struct gw_call *call);
/* Names memory for peers, to map it, or to copy it. GW__MEMORY_NONE: it must be
 * staged. */
struct gw__memory_range
gw__private_memory_show(struct gw_comm *comm, const struct gw__prepared_call *p,
                        const void *memory, size_t bytes);

/* Has a touched rank posted private memory? */
bool gw__private_memory_is_touched(const struct gw__window_call *w);
/* Runs a part of a step that moves data, and whose operands may be private.
 * False: the memory of rank `*lost` is unreachable. */
bool gw__private_memory_run(const struct gw__window_call *w,
                            const struct gw__prepared_step *s,
                            const struct gw__part *part, unsigned *lost);

/* pass.c */
struct gw__location gw__source_location(const struct gw__window_call *w,
                                        const struct gw__operand *operand,
                                        const struct gw__part *part);
struct gw__location gw__dest_location(const struct gw__window_call *w,
                                      const struct gw__operand *operand,
                                      const struct gw__part *part);

#endif
