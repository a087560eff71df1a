/* SPDX-License-Identifier: MIT
 *
 * A rank's state as one block of bytes: a header that identifies it, then the
 * contents of the shards. It belongs to a position on the mesh: a stage, a
 * share along the tensor axis, a block along the data axis. Ranks with the same
 * position (replicas) may restore each other's state.
 */
#include "parallel_parts.h"

#include <string.h>

struct header {
    char magic[8];
    uint64_t layout; /* hash of all properties that affect the contents */
    uint64_t seed;
    uint32_t stage, place, block;
    uint32_t optimiser;
    uint64_t steps;
    uint64_t bytes;    /* including this header */
    uint64_t checksum; /* of all bytes, computed with 0 here */
};

_Static_assert(sizeof(struct header) == 64, "no holes");

static const char magic[8] = "gwlearn1";

static uint64_t mix_in(uint64_t hash, uint64_t value)
{
    return gw_hash(&value, sizeof value, hash);
}

/* Batch and micro-batches may differ, since they do not affect weights. */
static uint64_t hash_layout(const struct gw_layout *layout)
{
    const struct gw_layout_options *options = &layout->options;
    uint64_t hash = 0;
    hash = mix_in(hash, options->mesh.data);
    hash = mix_in(hash, options->mesh.tensor);
    hash = mix_in(hash, options->mesh.pipe);
    hash = mix_in(hash, options->mode);
    hash = mix_in(hash, options->shard_group);
    hash = mix_in(hash, options->chunks);
    for (unsigned i = 0; i < layout->operator_count; i++) {
        const struct gw_operator *op = &layout->network->operators[i];
        const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
        hash = mix_in(hash, op->kind);
        hash = mix_in(hash, op->in);
        hash = mix_in(hash, op->out);
        hash = mix_in(hash, op_layout->split);
        hash = mix_in(hash, op_layout->virtual_stage);
    }
    return hash;
}

static struct header header_of(const struct gw_parallel *parallel)
{
    struct header header = {
        .layout = hash_layout(parallel->layout),
        .seed = parallel->config.seed,
        .stage = parallel->axes.p,
        .place = parallel->axes.t,
        .block = parallel->axes.d % parallel->layout->options.shard_group,
        .optimiser = parallel->config.optimiser,
        .steps = parallel->steps,
        .bytes = gw_parallel_state_bytes(parallel),
    };
    memcpy(header.magic, magic, sizeof magic);
    return header;
}

static uint64_t checksum_of(const struct header *header, const void *state)
{
    struct header bare = *header;
    bare.checksum = 0;
    uint64_t hash = gw_hash(&bare, sizeof bare, 0);
    return gw_hash((const char *)state + sizeof bare,
                   header->bytes - sizeof bare, hash);
}

size_t gw_parallel_state_bytes(const struct gw_parallel *parallel)
{
    return sizeof(struct header) + gw__shards_state_bytes(parallel->shards);
}

void gw_parallel_save(const struct gw_parallel *parallel, void *state)
{
    struct header header = header_of(parallel);
    gw__shards_save(parallel->shards, (char *)state + sizeof header);
    header.checksum = checksum_of(&header, state);
    memcpy(state, &header, sizeof header);
}

static enum gw_err check_header(const struct header *got,
                                const struct header *want, const void *state,
                                size_t bytes, struct gw_error *why)
{
    if (memcmp(got->magic, want->magic, sizeof got->magic) != 0)
        return gw_fail(why, GW_EDATA, "the data is not the state of a trainer");
    if (got->bytes == bytes && got->checksum != checksum_of(got, state))
        return gw_fail(why, GW_EDATA, "the state is damaged");
    if (got->layout != want->layout || got->optimiser != want->optimiser)
        return gw_fail(why, GW_EDATA,
                       "the state is of another layout or optimiser");
    if (got->seed != want->seed)
        return gw_fail(
            why, GW_EDATA,
            "the state has seed %llu, but this trainer has seed %llu",
            (unsigned long long)got->seed, (unsigned long long)want->seed);
    if (got->stage != want->stage || got->place != want->place ||
        got->block != want->block)
        return gw_fail(why, GW_EDATA,
                       "the state is of stage %u, tensor place %u, block %u, "
                       "but this rank has stage %u, place %u, block %u",
                       got->stage, got->place, got->block, want->stage,
                       want->place, want->block);
    if (got->bytes != bytes || bytes != want->bytes)
        return gw_fail(why, GW_EDATA,
                       "the state has %zu bytes; it should have %llu", bytes,
                       (unsigned long long)want->bytes);
    return GW_OK;
}

enum gw_err gw_parallel_restore(struct gw_parallel *parallel, const void *state,
                                size_t bytes, struct gw_error *why)
{
    struct header got, want = header_of(parallel);
    if (bytes < sizeof got)
        return gw_fail(why, GW_EDATA, "the state of %zu bytes is too short",
                       bytes);
    memcpy(&got, state, sizeof got);
    enum gw_err err = check_header(&got, &want, state, bytes, why);
    if (err)
        return err;
    gw__shards_restore(parallel->shards, (const char *)state + sizeof got);
    parallel->steps = got.steps;
    return GW_OK;
}
