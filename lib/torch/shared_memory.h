/* SPDX-License-Identifier: MIT
 *
 * Tensors in memory that the peers of this host can map. Collectives read and
 * write them in place: an all-reduce of 25 MiB takes a quarter of the time that
 * it takes with other memory.
 */
#ifndef TORCH_SHARED_MEMORY_H
#define TORCH_SHARED_MEMORY_H

namespace gradwire {

/* From here on, large tensors that this thread makes are in such memory, until
 * the matching call with `false`. Calls may be nested. If there is not enough of
 * it, tensors are where they always are. */
void share_memory(bool on);

} // namespace gradwire

#endif
