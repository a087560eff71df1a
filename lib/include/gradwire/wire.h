/* SPDX-License-Identifier: MIT
 *
 * Memory that peers on the same host can map. Collectives over the shm wire
 * read such buffers where they lie and store into them directly; other memory
 * works too, at the price of a copy.
 */
#ifndef GRADWIRE_WIRE_H
#define GRADWIRE_WIRE_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `bytes` of zeroed memory, aligned to 4096. NULL and *why on failure:
 * GW_ENOSPC names the place that is full. The memory has no name in the file
 * system and vanishes with its last user, however that ends. */
GW_API void *gw_alloc(size_t bytes, struct gw_error *why);
/* NULL is allowed. Not while a call uses it. */
GW_API void gw_free(void *memory);

/* The wires that this build has, NULL-terminated: "shm", "ipc", "tcp". */
GW_API const char *const *gw_wire_list(void);

#ifdef __cplusplus
}
#endif
#endif
