/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libraft's memory in a simulation. A crashed instance cannot be closed, and
 * stays as it is. So allocations are never freed one by one, but all together
 * after the network of a seed.
 */
#ifndef SIMCLUSTER_RAFTS_MEMORY_H
#define SIMCLUSTER_RAFTS_MEMORY_H

#include <stddef.h>

/* From now on libraft allocates here; ends that. */
void rafts_memory_begin(void);
void rafts_memory_end(void);
/* All allocations are unused. */
void rafts_memory_reset(void);
/* Shrinks the newest allocation to this size. */
void rafts_memory_shrink(void *newest, size_t bytes);

#endif
