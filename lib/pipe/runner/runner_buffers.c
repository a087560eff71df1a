/* SPDX-License-Identifier: MIT
 *
 * Buffers for messages, from gw_alloc, so that shared memory passes them by
 * pointer. They are only freed at the end, since each step needs the same
 * buffers. Each gw_alloc costs a descriptor, so a slab has several buffers.
 */
#include "runner.h"

#include <gradwire/wire.h>

#include <stdlib.h>

enum { SLAB_BYTES = 1 << 20, SLAB_BUFFERS_MAX = 32, ALIGN_BYTES = 64 };

static size_t buffer_bytes(const struct gw__message_buffers *b)
{
    size_t bytes = b->elements * sizeof(float);
    size_t whole = (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    return whole ? whole : ALIGN_BYTES;
}

static size_t slab_buffers(size_t buffer_bytes)
{
    size_t count = SLAB_BYTES / buffer_bytes;
    if (count < 1)
        return 1;
    return count < SLAB_BUFFERS_MAX ? count : SLAB_BUFFERS_MAX;
}

static enum gw_err grow_slabs(struct gw__message_buffers *b,
                              struct gw_error *why)
{
    size_t bytes = buffer_bytes(b), count = slab_buffers(bytes);
    void **slabs = realloc(b->slabs, (b->slab_count + 1) * sizeof *slabs);
    if (slabs)
        b->slabs = slabs;
    float **idle = realloc(b->idle, (b->total + count) * sizeof *idle);
    if (idle)
        b->idle = idle;
    if (!slabs || !idle)
        return gw_fail(why, GW_ENOMEM, "%zu buffers", b->total + count);
    unsigned char *slab = gw_alloc(count * bytes, why);
    if (!slab)
        return why ? why->code : GW_ENOMEM;
    b->slabs[b->slab_count++] = slab;
    b->total += count;
    for (size_t i = count; i-- > 0;)
        b->idle[b->idle_count++] = (float *)(void *)(slab + i * bytes);
    return GW_OK;
}

enum gw_err gw__message_buffer_acquire(struct gw__message_buffers *b,
                                       float **buffer, struct gw_error *why)
{
    enum gw_err err = b->idle_count == 0 ? grow_slabs(b, why) : GW_OK;
    *buffer = err ? NULL : b->idle[--b->idle_count];
    return err;
}

void gw__message_buffer_release(struct gw__message_buffers *b, float *buffer)
{
    if (buffer)
        b->idle[b->idle_count++] = buffer;
}

void gw__message_buffers_fini(struct gw__message_buffers *b)
{
    for (size_t i = 0; i < b->slab_count; i++)
        gw_free(b->slabs[i]);
    free(b->slabs);
    free(b->idle);
    *b = (struct gw__message_buffers){.elements = b->elements};
}
