/* SPDX-License-Identifier: MIT
 *
 * The last events, in memory: cheap enough to be always on, and read after a
 * failure. A new record overwrites the oldest.
 *
 * Storing a record takes 4 ns, also in a buffer of 4 MiB; reading the clock for
 * it takes 23. An all-reduce of 1 MiB without windows (33 us, 2 ranks) has
 * about eight: 0.5 to 1 %, and one of 128 KiB (5.3 us) 1 to 1.5 %. See
 * tests/bench/events.c.
 */
#include "event/sink.h"

#include <stdlib.h>

struct ring {
    struct gw_sink sink;
    uint64_t emitted; /* in all; record i is at i % capacity */
    size_t capacity;
    struct gw_event events[];
};

static void ring_emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct ring *ring = (struct ring *)sink;
    ring->events[ring->emitted++ % ring->capacity] = *event;
}

static void ring_close(struct gw_sink *sink)
{
    free(sink);
}

enum gw_err gw_sink_ring(size_t capacity, struct gw_sink **sink,
                         struct gw_error *why)
{
    *sink = NULL;
    if (capacity == 0)
        return gw_fail(why, GW_EINVAL,
                       "a ring sink must have room for at least one event");
    size_t head = sizeof(struct ring), item = sizeof(struct gw_event);
    if (capacity > (SIZE_MAX - head) / item)
        return gw_fail(why, GW_ENOMEM, "ring sink of %zu events", capacity);
    enum gw_err code =
        gw__sink_new(head + capacity * item, ring_emit, ring_close, sink, why);
    if (code == GW_OK)
        ((struct ring *)*sink)->capacity = capacity;
    return code;
}

size_t gw_sink_ring_read(const struct gw_sink *sink, struct gw_event *out,
                         size_t capacity, uint64_t *dropped)
{
    const struct ring *ring = (const struct ring *)sink;
    uint64_t kept =
        ring->emitted < ring->capacity ? ring->emitted : ring->capacity;
    uint64_t oldest = ring->emitted - kept;
    size_t count = kept < capacity ? kept : capacity;
    for (size_t i = 0; i < count; i++)
        out[i] = ring->events[(oldest + i) % ring->capacity];
    if (dropped)
        *dropped = oldest;
    return count;
}
