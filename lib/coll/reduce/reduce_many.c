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
static void fold_batch(const struct gw_reduce_local *fold, size_t at,
                       size_t count, unsigned begin, unsigned end,
                       const void *sum, void *dest)
{
    const void *sources[GW_SOURCES_MAX];
    size_t offset = at * gw_dtype_size(fold->type);
    unsigned n = 0;
    if (sum)
        sources[n++] = sum;
    for (unsigned s = begin; s < end; s++)
        sources[n++] = (const unsigned char *)fold->sources[s] + offset;
    struct gw_reduce_local part = {
        .sources = sources,
        .dests = &dest,
        .source_count = n,
        .dest_count = 1,
        .count = count,
        .type = fold->type,
        .op = fold->op,
        .scale_ranks = end == fold->source_count ? fold->scale_ranks : 1};
    gw_reduce_local(&part);
}

static void store_block(const struct gw_reduce_local *fold, size_t at,
                        size_t count, const void *result)
{
    size_t offset = at * gw_dtype_size(fold->type);
    for (unsigned d = 0; d < fold->dest_count; d++) {
        void *dest = (unsigned char *)fold->dests[d] + offset;
        struct gw_reduce_local copy = {.sources = &result,
                                       .dests = &dest,
                                       .source_count = 1,
                                       .dest_count = 1,
                                       .count = count,
                                       .type = fold->type,
                                       .op = fold->op,
                                       .scale_ranks = 1};
        gw_reduce_local(&copy);
    }
}

void gw__reduce_many(const struct gw_reduce_local *fold)
{
    if (fold->source_count <= GW_SOURCES_MAX &&
        fold->dest_count <= GW_DESTS_MAX) {
        gw_reduce_local(fold);
        return;
    }
    _Alignas(64) unsigned char sum[BLOCK_BYTES];
    size_t block = BLOCK_BYTES / gw_dtype_size(fold->type);
    for (size_t at = 0; at < fold->count; at += block) {
        size_t count = fold->count - at < block ? fold->count - at : block;
        for (unsigned s = 0; s < fold->source_count; s += BATCH) {
            unsigned end =
                s + BATCH < fold->source_count ? s + BATCH : fold->source_count;
            fold_batch(fold, at, count, s, end, s ? sum : NULL, sum);
        }
        store_block(fold, at, count, sum);
    }
}
