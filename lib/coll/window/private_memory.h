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
    size_t at;          /* of the part in the fragment, in bytes */
    size_t elems;
};

/* The address of an operand in this process, or in that of its rank. */
struct gw__location {
    unsigned char *here; /* NULL: not mapped */
    uint64_t there;      /* private memory; 0: unreachable */
};

/* Chooses whether peers copy the call's buffers if they are private, and makes
 * room for copies. Without room they are staged. */
void gw__private_memory_choose(struct gw_comm *comm, const struct gw_call *call,
                               struct gw__prepared_call *prepared);
/* Names memory for peers: to map it, or if `copies`, to copy it. */
struct gw__memory_range gw__private_memory_show(struct gw_comm *comm,
                                                const void *memory,
                                                size_t bytes, bool copies);

/* Has a touched rank posted private memory? */
bool gw__private_memory_is_touched(const struct gw__window_call *w);
/* Do all peers live? To be asked before copies and after them. */
bool gw__private_memory_is_safe(const struct gw__window_call *w,
                                unsigned *lost);
/* Runs a part of a step whose operands may be private. False: the memory of
 * rank `*lost` is unreachable. */
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
/* Reduces comm->reduce_sources into comm->reduce_dests; `past` the caches. */
void gw__run_loop(const struct gw__window_call *w,
                  const struct gw__prepared_step *s, unsigned dest_count,
                  size_t elems, bool past);

#endif
