/* SPDX-License-Identifier: MIT
 *
 * The memory that a process may use. Linux grants more than it has and kills a
 * process when the pages are touched. So code that allocates an amount named by
 * the user checks it against this limit first.
 */
#ifndef GW__BASE_MEMORY_LIMIT_H
#define GW__BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* In bytes: the least of the machine's memory, its container's, and ulimit -v.
 */
uint64_t gw__memory_limit(void);

#endif
