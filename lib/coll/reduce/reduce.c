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

static bool foldable(const struct gw_reduce_local *fold)
{
    return fold->source_count > 0 && fold->source_count <= GW_SOURCES_MAX &&
           fold->dest_count > 0 && fold->dest_count <= GW_DESTS_MAX &&
           gw_redop_allowed(fold->op, fold->type);
}

static bool divides(const struct gw_reduce_local *fold)
{
    return fold->op == GW_AVG && fold->scale_ranks > 1;
}

static bool copies(const struct gw_reduce_local *fold)
{
    return fold->source_count == 1 && !divides(fold);
}

static gw__reduce_kernel *kernel_of(const struct gw_reduce_local *fold)
{
    const struct gw__reduce_isa *isa = gw__reduce_current();
    if (copies(fold))
        return isa->copy;
    if (fold->op == GW_AVG && !divides(fold))
        return isa->kernels[fold->type][GW_SUM];
    return isa->kernels[fold->type][fold->op];
}

/* Ordinary copies use memcpy. Several destinations: block by block, so that the
 * source is read from memory once. */
static void copy_blocks(const struct gw_reduce_local *fold, size_t bytes)
{
    enum { BLOCK_BYTES = 16 << 10 };
    size_t block = fold->dest_count == 1 ? bytes : BLOCK_BYTES;
    const char *source = fold->sources[0];
    for (size_t at = 0; at < bytes; at += block) {
        size_t length = bytes - at < block ? bytes - at : block;
        for (unsigned i = 0; i < fold->dest_count; i++)
            if (fold->dests[i] != source)
                memcpy((char *)fold->dests[i] + at, source + at, length);
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
static size_t arrange(const struct gw_reduce_local *fold, void **dests,
                      struct gw__reduce_job *job)
{
    size_t head = LINE_BYTES; /* larger than any distance */
    unsigned front = 0, back = fold->dest_count;
    for (unsigned i = 0; i < fold->dest_count; i++) {
        size_t distance = to_line(fold->dests[i]);
        if (front == 0 && distance % gw_dtype_size(fold->type) == 0)
            head = distance;
        if (distance == head)
            dests[front++] = fold->dests[i];
        else
            dests[--back] = fold->dests[i];
    }
    job->dests = dests;
    job->streamed = front;
    return front > 0 ? head : 0;
}

void gw_reduce_local(const struct gw_reduce_local *fold)
{
    if (!foldable(fold))
        return;
    gw__reduce_kernel *kernel = kernel_of(fold);
    size_t bytes = fold->count * gw_dtype_size(fold->type);
    if (copies(fold) && !fold->stream) {
        copy_blocks(fold, bytes);
        return;
    }
    struct gw__reduce_job job = {
        .sources = fold->sources,
        .source_count = fold->source_count,
        .dests = fold->dests,
        .dest_count = fold->dest_count,
        .ranks = fold->scale_ranks,
    };
    void *dests[GW_DESTS_MAX];
    size_t head = fold->stream ? arrange(fold, dests, &job) : 0;
    if (head > 0) {
        struct gw__reduce_job first = job;
        first.streamed = 0;
        first.end = head < bytes ? head : bytes;
        kernel(&first);
        job.begin = first.end;
    }
    job.end = bytes;
    if (job.begin < job.end)
        kernel(&job);
}
