/* SPDX-License-Identifier: MIT
 *
 * gw_reduce_local for any number of ranks: sources and destinations in batches
 * as large as the kernels take. It works block by block through a buffer on the
 * stack, since the first destination may itself be a source that is still to be
 * read.
 */
#include "coll/comm.h"

enum { BLOCK_BYTES = 8192, BATCH = GW_SOURCES_MAX - 1 };

/* Elements [at, at + count) of sources [begin, end), after `sum` if there is
 * one, into `dest`. */
static void reduce_batch(const struct gw_reduce_local *reduce, size_t at,
                         size_t count, unsigned begin, unsigned end,
                         const void *sum, void *dest)
{
    const void *sources[GW_SOURCES_MAX];
    size_t offset = at * gw_dtype_size(reduce->type);
    unsigned n = 0;
    if (sum)
        sources[n++] = sum;
    for (unsigned s = begin; s < end; s++)
        sources[n++] = (const unsigned char *)reduce->sources[s] + offset;
    struct gw_reduce_local part = {
        .sources = sources,
        .dests = &dest,
        .source_count = n,
        .dest_count = 1,
        .count = count,
        .type = reduce->type,
        .op = reduce->op,
        .scale_ranks = end == reduce->source_count ? reduce->scale_ranks : 1};
    gw_reduce_local(&part);
}

static void store_block(const struct gw_reduce_local *reduce, size_t at,
                        size_t count, const void *result)
{
    size_t offset = at * gw_dtype_size(reduce->type);
    for (unsigned d = 0; d < reduce->dest_count; d++) {
        void *dest = (unsigned char *)reduce->dests[d] + offset;
        struct gw_reduce_local copy = {.sources = &result,
                                       .dests = &dest,
                                       .source_count = 1,
                                       .dest_count = 1,
                                       .count = count,
                                       .type = reduce->type,
                                       .op = reduce->op,
                                       .scale_ranks = 1};
        gw_reduce_local(&copy);
    }
}

void gw__reduce_many(const struct gw_reduce_local *reduce)
{
    if (reduce->source_count <= GW_SOURCES_MAX &&
        reduce->dest_count <= GW_DESTS_MAX) {
        gw_reduce_local(reduce);
        return;
    }
    _Alignas(64) unsigned char sum[BLOCK_BYTES];
    size_t block = BLOCK_BYTES / gw_dtype_size(reduce->type);
    for (size_t at = 0; at < reduce->count; at += block) {
        size_t count = reduce->count - at < block ? reduce->count - at : block;
        for (unsigned s = 0; s < reduce->source_count; s += BATCH) {
            unsigned end = s + BATCH < reduce->source_count
                               ? s + BATCH
                               : reduce->source_count;
            reduce_batch(reduce, at, count, s, end, s ? sum : NULL, sum);
        }
        store_block(reduce, at, count, sum);
    }
}
