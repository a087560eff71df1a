/* SPDX-License-Identifier: MIT
 *
 * The memory that a process may have. Linux grants more when it is asked, and
 * ends some process when the pages are touched: whoever takes an amount that a
 * user has named compares it with this first.
 */
#ifndef GW__BASE_MEMORY_LIMIT_H
#define GW__BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* In bytes: the least of the machine's memory, its container's, and ulimit -v. */
uint64_t gw__memory_limit(void);

#endif
