/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The meaning of "size" and "bus bandwidth", as in nccl-tests.
 */
#ifndef SIZES_H
#define SIZES_H

#include <gradwire/plan.h>

/* The size column: the buffer of broadcast, reduce and all-reduce; for the
 * collectives of blocks, all blocks. The inverse of plan_count. */
uint64_t size_bytes(enum gw_collective collective, unsigned ranks, size_t count,
                    size_t elem_bytes);
/* busbw / algbw, the part of the size that must cross a rank's link: 2(p-1)/p
 * for all-reduce, 1 for broadcast and reduce, (p-1)/p for the collectives of
 * blocks. */
double size_bus_factor(enum gw_collective collective, unsigned ranks);

#endif
