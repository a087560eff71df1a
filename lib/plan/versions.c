/* SPDX-License-Identifier: MIT
 *
 * Numbers the versions that transfers read and write. A plan mentions a row of a
 * chunk repeatedly; a transfer sends the version that the last earlier step
 * wrote. With versions the waits of a run are simple: a send waits for its
 * version, a write waits for the version before it and for all ranks that still
 * read that one.
 */
#include "verify.h"

#include <stdlib.h>

/* The history so far of a row of the current chunk. */
struct copy {
    uint32_t chunk;   /* the current chunk, counted from 1 */
    uint32_t step;    /* of the last write, counted from 1; 0: none */
    uint32_t writes;  /* steps that write here */
    uint32_t version; /* the newest, once begun */
    bool begun;
};

struct numbering {
    const struct gw__index *index;
    struct gw__versions *versions;
    struct copy *copies; /* of each row */
};

static struct copy *copy_of(struct numbering *n, uint32_t row, unsigned chunk)
{
    struct copy *copy = &n->copies[row];
    if (copy->chunk != chunk + 1)
        *copy = (struct copy){.chunk = chunk + 1};
    return copy;
}

/* Counts the steps that write into each copy of the chunk. */
static void count_writes(struct numbering *n, uint32_t i, uint32_t end)
{
    for (; i < end; i++) {
        uint32_t t = n->index->by_chunk.item[i];
        const struct gw_transfer *x = &n->index->plan->transfers[t];
        const struct gw_plan *plan = n->index->plan;
        struct copy *dst = copy_of(n, gw__dst_row(plan, x), x->chunk);
        copy_of(n, gw__src_row(plan, x), x->chunk);
        dst->writes += dst->step != n->index->step[t] + 1;
        dst->step = n->index->step[t] + 1;
    }
}

/* The first version of a copy, and room for those that follow it. */
static void begin_copy(struct numbering *n, struct copy *copy)
{
    if (copy->begun)
        return;
    copy->begun = true;
    copy->version = n->versions->count;
    n->versions->first[copy->version] = true;
    n->versions->count += 1 + copy->writes;
    copy->step = 0;
}

/* Reads come first: all transfers of a step read the version from before it. */
static void number_step(struct numbering *n, uint32_t begin, uint32_t end)
{
    const struct gw_plan *plan = n->index->plan;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t t = n->index->by_chunk.item[i];
        uint32_t src = gw__src_row(plan, &plan->transfers[t]);
        n->versions->read[t] = n->copies[src].version;
    }
    for (uint32_t i = begin; i < end; i++) {
        uint32_t t = n->index->by_chunk.item[i];
        struct copy *dst = &n->copies[gw__dst_row(plan, &plan->transfers[t])];
        dst->version += dst->step != n->index->step[t] + 1;
        dst->step = n->index->step[t] + 1;
        n->versions->write[t] = dst->version;
    }
}

static void number_chunk(struct numbering *n, uint32_t begin, uint32_t end)
{
    const struct gw_plan *plan = n->index->plan;
    count_writes(n, begin, end);
    for (uint32_t i = begin; i < end; i++) {
        uint32_t t = n->index->by_chunk.item[i];
        const struct gw_transfer *x = &plan->transfers[t];
        begin_copy(n, &n->copies[gw__src_row(plan, x)]);
        begin_copy(n, &n->copies[gw__dst_row(plan, x)]);
    }
    while (begin < end) {
        uint32_t step_end = gw__index_step_end(n->index, begin, end);
        number_step(n, begin, step_end);
        begin = step_end;
    }
}

static bool fill_versions(struct gw__versions *v, const struct gw__index *index)
{
    struct numbering n = {
        .index = index,
        .versions = v,
        .copies = calloc(gw__rows(index->plan), sizeof *n.copies),
    };
    if (!n.copies)
        return false;
    const uint32_t *begin = index->by_chunk.begin;
    for (unsigned chunk = 0; chunk < index->plan->chunks; chunk++)
        number_chunk(&n, begin[chunk], begin[chunk + 1]);
    free(n.copies);
    v->first[v->count] = true;
    return gw__buckets_init(&v->readers, v->read, index->transfers, v->count) &&
           gw__buckets_init(&v->writers, v->write, index->transfers, v->count);
}

/* A transfer mentions two copies and makes at most one version. */
enum gw_err gw__versions_init(struct gw__versions *versions,
                              const struct gw__index *index,
                              struct gw_error *why)
{
    size_t transfers = (size_t)index->transfers + 1;
    *versions = (struct gw__versions){
        .first = calloc(3 * transfers, sizeof *versions->first),
        .read = malloc(transfers * sizeof *versions->read),
        .write = malloc(transfers * sizeof *versions->write),
    };
    if (versions->first && versions->read && versions->write &&
        fill_versions(versions, index))
        return GW_OK;
    gw__versions_fini(versions);
    return gw_fail(why, GW_ENOMEM, "versions of %u transfers",
                   index->transfers);
}

void gw__versions_fini(struct gw__versions *versions)
{
    free(versions->first);
    free(versions->read);
    free(versions->write);
    gw__buckets_fini(&versions->readers);
    gw__buckets_fini(&versions->writers);
    *versions = (struct gw__versions){0};
}
