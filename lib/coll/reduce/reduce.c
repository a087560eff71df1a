/* SPDX-License-Identifier: MIT
 *
 * gw_reduce_local: n sources, one result, m destinations, one pass.
 *
 * This file is shared by all types, reductions and instruction sets. A kernel
 * takes any length: pairs of vectors, then the remainder under a mask, or in
 * pieces on a CPU without masks. So a call is one call of a kernel, except when
 * it streams to unaligned destinations:
 *
 *     | head, not streamed | the rest, from the first cache line of a dest |
 *
 * Measured (Zen 5, AVX-512, in the first cache): two sources of 8 B in 8.5 ns
 * and of 1000 B in 16 ns, where padding the remainder to whole vectors by
 * memcpy took 19 and 27; eight sources of 8 B in 10 instead of 36. An array 16
 * bytes off the line costs two cache lines per load: 44 ns instead of 29 for
 * two sources of 4 KiB, nothing from 32 KiB on.
 *
 * Copies that do not stream use memcpy: its string instruction (`rep movsb`)
 * does not read the lines that it overwrites. Within the caches, 64 KiB take
 * 0.57 us, and 1.08 by a kernel; below 4 KiB they are equal, except for the 4
 * ns of the call at 100 B.
 *
 * A kernel reads a piece of all sources before it stores that piece, and a
 * source is a destination only as a whole: so working in place is safe.
 * reduce_kernels.h documents a kernel's guarantees about values; reduce_past.c
 * explains when streaming pays.
 */
#include "reduce.h"

#include <string.h>

enum { LINE_BYTES = 64 };

static bool divides(const struct gw_reduce_local *reduce)
{
    return reduce->op == GW_AVG && reduce->scale_ranks > 1;
}

static bool copies(const struct gw_reduce_local *reduce)
{
    return reduce->source_count == 1 && !divides(reduce);
}

/* A copy uses no operation, so a call that moves data may name any. */
static bool foldable(const struct gw_reduce_local *reduce)
{
    return reduce->source_count > 0 && reduce->source_count <= GW_SOURCES_MAX &&
           reduce->dest_count > 0 && reduce->dest_count <= GW_DESTS_MAX &&
           (copies(reduce) || gw_redop_allowed(reduce->op, reduce->type));
}

static gw__reduce_kernel *kernel_of(const struct gw_reduce_local *reduce)
{
    const struct gw__reduce_isa *isa = gw__reduce_current();
    if (copies(reduce))
        return isa->copy;
    if (reduce->op == GW_AVG && !divides(reduce))
        return isa->kernels[reduce->type][GW_SUM];
    return isa->kernels[reduce->type][reduce->op];
}

/* Ordinary copies use memcpy. Several destinations: block by block, so that the
 * source is read from memory once. */
static void copy_blocks(const struct gw_reduce_local *reduce, size_t bytes)
{
    enum { BLOCK_BYTES = 16 << 10 };
    size_t block = reduce->dest_count == 1 ? bytes : BLOCK_BYTES;
    const char *source = reduce->sources[0];
    for (size_t at = 0; at < bytes; at += block) {
        size_t length = bytes - at < block ? bytes - at : block;
        for (unsigned i = 0; i < reduce->dest_count; i++)
            if (reduce->dests[i] != source)
                memcpy((char *)reduce->dests[i] + at, source + at, length);
    }
}

/* The bytes from `dest` to the next cache line. */
static size_t to_line(const void *dest)
{
    return -(uintptr_t)dest % LINE_BYTES;
}

/* Destinations are streamed together if they reach a cache line at the same
 * element: those that agree with the first one that can reach a line. Moves
 * them to the front, stores their number in job->streamed, and returns the
 * distance. */
static size_t arrange(const struct gw_reduce_local *reduce, void **dests,
                      struct gw__reduce_args *args)
{
    size_t head = LINE_BYTES; /* larger than any distance */
    unsigned front = 0, back = reduce->dest_count;
    for (unsigned i = 0; i < reduce->dest_count; i++) {
        size_t distance = to_line(reduce->dests[i]);
        if (front == 0 && distance % gw_dtype_size(reduce->type) == 0)
            head = distance;
        if (distance == head)
            dests[front++] = reduce->dests[i];
        else
            dests[--back] = reduce->dests[i];
    }
    args->dests = dests;
    args->streamed = front;
    return front > 0 ? head : 0;
}

void gw_reduce_local(const struct gw_reduce_local *reduce)
{
    if (!foldable(reduce))
        return;
    gw__reduce_kernel *kernel = kernel_of(reduce);
    size_t bytes = reduce->count * gw_dtype_size(reduce->type);
    if (copies(reduce) && !reduce->stream) {
        copy_blocks(reduce, bytes);
        return;
    }
    struct gw__reduce_args args = {
        .sources = reduce->sources,
        .source_count = reduce->source_count,
        .dests = reduce->dests,
        .dest_count = reduce->dest_count,
        .ranks = reduce->scale_ranks,
    };
    void *dests[GW_DESTS_MAX];
    size_t head = reduce->stream ? arrange(reduce, dests, &args) : 0;
    if (head > 0) {
        struct gw__reduce_args first = args;
        first.streamed = 0;
        first.end = head < bytes ? head : bytes;
        kernel(&first);
        args.begin = first.end;
    }
    args.end = bytes;
    if (args.begin < args.end)
        kernel(&args);
}
