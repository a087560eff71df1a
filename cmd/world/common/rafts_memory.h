/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libraft's memory in a simulation. An instance that crashes cannot be closed:
 * it is left where it is. So nothing is freed one by one, and all of it when the
 * network of a seed is over.
 */
#ifndef WORLD_RAFTS_MEMORY_H
#define WORLD_RAFTS_MEMORY_H

#include <stddef.h>

/* libraft allocates here from now on, and no more. */
void rafts_memory_begin(void);
void rafts_memory_end(void);
/* Nothing that was allocated is used any more. */
void rafts_memory_reset(void);
/* The newest allocation needs no more than this. */
void rafts_memory_shrink(void *newest, size_t bytes);

#endif
