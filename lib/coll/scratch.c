/* SPDX-License-Identifier: MIT
 *
 * Memory that calls borrow for chunks that they only forward, and for buffers
 * that peers cannot map. It is kept from call to call, so that a loop of equal
 * calls allocates once. A larger piece replaces one that is too small. Memory
 * beyond the kept pieces is allocated and freed each time.
 */
#include "comm.h"

#include <gradwire/wire.h>

unsigned char *gw__scratch_acquire(struct gw_comm *comm, size_t bytes,
                                   struct gw_error *why)
{
    struct gw__scratch *best = NULL, *empty = NULL;
    for (unsigned i = 0; i < GW__IDLE_MAX; i++) {
        struct gw__scratch *s = &comm->scratch[i];
        if (s->used)
            continue;
        if (!s->memory || !empty)
            empty = s;
        if (s->bytes >= bytes && (!best || s->bytes < best->bytes))
            best = s;
    }
    if (!best && empty) {
        gw_free(empty->memory);
        empty->bytes = 0;
        empty->memory = gw_alloc(bytes, why);
        if (!empty->memory)
            return NULL;
        empty->bytes = bytes;
        best = empty;
    }
    if (!best)
        return gw_alloc(bytes, why);
    best->used = true;
    return best->memory;
}

void gw__scratch_release(struct gw_comm *comm, unsigned char *memory)
{
    if (!memory)
        return;
    for (unsigned i = 0; i < GW__IDLE_MAX; i++)
        if (comm->scratch[i].memory == memory) {
            comm->scratch[i].used = false;
            return;
        }
    gw_free(memory);
}

void gw__scratch_fini(struct gw_comm *comm)
{
    for (unsigned i = 0; i < GW__IDLE_MAX; i++)
        gw_free(comm->scratch[i].memory);
}
