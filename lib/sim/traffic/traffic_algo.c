/* SPDX-License-Identifier: MIT
 *
 * Creates the messages of an algorithm from the runs that it emits. All runs
 * from one rank to another in one step are one message, and the messages of a
 * pair of ranks are sequential. The runs themselves are not kept.
 */
#include "traffic.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DENSE_RANKS_MAX = 4096 };

/* The last message of each pair of ranks, in a table of all pairs or a hash
 * table of those that occur. */
struct pairs {
    uint32_t *dense; /* index of the message + 1 */
    struct pair {
        uint64_t pair; /* 0: empty */
        uint32_t message;
    } * table;
    size_t room, count;
};

/* The newest message of a sender. */
struct recent {
    uint32_t dst, message;
};

struct builder {
    struct gw__traffic *f;
    struct gw__traffic_values *values;
    unsigned ranks, step;
    struct pairs pairs;
    struct recent *recent;
};

/* ---- waits ---- */

static uint32_t *waiters_of(struct gw__traffic *f, uint32_t value)
{
    uint32_t number = gw__traffic_number(value);
    if (gw__traffic_kind(value) == GW__TRAFFIC_OWN)
        return &gw__message_at(f, number)->waiters;
    if (gw__traffic_kind(value) == GW__TRAFFIC_EXTRA)
        return &gw__extra_at(f, number)->waiters;
    while (f->kept.count <= number) {
        uint32_t *next = gw__vector_push(&f->kept, sizeof *next);
        if (!next)
            return NULL;
        *next = GW__NOTHING;
    }
    return (uint32_t *)f->kept.items + number;
}

bool gw__traffic_wait(struct gw__traffic *f, uint32_t value, uint32_t code)
{
    uint32_t *list = waiters_of(f, value), number = gw__traffic_number(code);
    if (!list || f->edges.count >= gw__traffic_number(UINT32_MAX))
        return false;
    struct gw__traffic_message *m = gw__message_at(f, number);
    if (gw__traffic_kind(code) == GW__TRAFFIC_EXTRA) {
        gw__extra_at(f, number)->needs++;
    } else if (gw__traffic_kind(code) == GW__TRAFFIC_OWN) {
        m->needs++;
    } else {
        m->dependencies++;
        if (m->next_waiter == GW__UNLINKED) {
            m->next_waiter = *list;
            *list = code;
            return true;
        }
    }
    struct gw__traffic_edge *edge = gw__vector_push(&f->edges, sizeof *edge);
    if (!edge)
        return false;
    *edge = (struct gw__traffic_edge){code, *list};
    *list = gw__traffic_code(GW__TRAFFIC_EDGE, (uint32_t)f->edges.count - 1);
    return true;
}

/* ---- pairs ---- */

static struct pair *find_bucket(const struct pairs *pairs, uint64_t pair)
{
    uint64_t hash = pair * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 30) & (pairs->room - 1);
    while (pairs->table[at].pair && pairs->table[at].pair != pair)
        at = (at + 1) & (pairs->room - 1);
    return &pairs->table[at];
}

static bool widen_pairs(struct pairs *pairs)
{
    struct pairs wider = {.room = pairs->room ? 2 * pairs->room : 1024,
                          .count = pairs->count};
    wider.table = calloc(wider.room, sizeof *wider.table);
    if (!wider.table)
        return false;
    for (size_t i = 0; i < pairs->room; i++)
        if (pairs->table[i].pair)
            *find_bucket(&wider, pairs->table[i].pair) = pairs->table[i];
    free(pairs->table);
    *pairs = wider;
    return true;
}

/* Finds the entry with the pair's last message, 0: none. NULL: out of
 * memory. */
static uint32_t *last_of(struct builder *b, unsigned src, unsigned dst)
{
    struct pairs *pairs = &b->pairs;
    if (pairs->dense)
        return &pairs->dense[(size_t)src * b->ranks + dst];
    if (2 * pairs->count >= pairs->room && !widen_pairs(pairs))
        return NULL;
    uint64_t pair = ((uint64_t)src << 32 | dst) + 1;
    struct pair *there = find_bucket(pairs, pair);
    if (!there->pair) {
        there->pair = pair;
        pairs->count++;
    }
    return &there->message;
}

/* ---- messages ---- */

static uint32_t step_first(const struct gw__traffic *f)
{
    const uint32_t *begin = f->step_begin.items;
    return begin[f->step_begin.count - 1];
}

bool gw__traffic_new_message(struct gw__traffic *f, uint32_t src, uint32_t dst,
                             uint32_t *last)
{
    uint32_t number = (uint32_t)f->messages.count, before = *last;
    struct gw__traffic_message *m = gw__vector_push(&f->messages, sizeof *m);
    if (!m)
        return false;
    *m = (struct gw__traffic_message){.src = src,
                                      .dst = dst,
                                      .next = GW__NOTHING,
                                      .cause = GW__NOTHING,
                                      .dependencies = before > 0,
                                      .next_waiter = GW__UNLINKED,
                                      .needs = 1,
                                      .waiters = GW__NOTHING};
    if (before > 0)
        gw__message_at(f, before - 1)->next = number;
    *last = number + 1;
    return true;
}

/* Finds or creates the pair's message of this step. */
static bool message_of(struct builder *b, const struct gw__run *run,
                       uint32_t *message)
{
    struct recent *recent = &b->recent[run->src];
    uint32_t first = step_first(b->f);
    if (recent->message > first && recent->dst == run->dst) {
        *message = recent->message - 1;
        return true;
    }
    uint32_t *last = last_of(b, run->src, run->dst);
    if (!last || (*last <= first &&
                  !gw__traffic_new_message(b->f, run->src, run->dst, last)))
        return false;
    *recent = (struct recent){run->dst, *last};
    *message = *last - 1;
    return true;
}

/* How many elements of the run, which begins in `part`, are below `end`? */
static uint64_t below(const struct gw__run *run, unsigned part, unsigned end)
{
    uint64_t count = part < end ? (end - part - 1) / run->stride + 1 : 0;
    return count < run->count ? count : run->count;
}

/* ... for a run within one block. */
static uint64_t bytes_of_levels(const struct gw__traffic *f,
                                const struct gw__run *run, unsigned part)
{
    const struct gw__traffic_level *levels = f->levels.items;
    uint64_t bytes = 0, before = 0;
    for (size_t i = 0; i < f->levels.count; i++) {
        uint64_t here = below(run, part, levels[i].end);
        bytes += (here - before) * levels[i].bytes;
        before = here;
    }
    return bytes;
}

uint64_t gw__traffic_bytes(const struct gw__traffic *f,
                           const struct gw__run *run)
{
    const uint64_t *begin = f->part_begin;
    uint64_t bytes = 0;
    unsigned part = run->chunk % f->parts;
    if (f->parts == 1)
        return run->count * begin[1];
    if (run->stride == 1 && part + run->count <= f->parts)
        return begin[part + run->count] - begin[part];
    if (part + (uint64_t)(run->count - 1) * run->stride < f->parts)
        return bytes_of_levels(f, run, part);
    for (unsigned i = 0; i < run->count; i++) {
        part = (run->chunk + i * run->stride) % f->parts;
        bytes += begin[part + 1] - begin[part];
    }
    return bytes;
}

static bool begin_step(struct builder *b, unsigned step)
{
    struct gw__traffic *f = b->f;
    if (f->step_begin.count > 0 &&
        !gw__traffic_values_step(b->values, step_first(f)))
        return false;
    uint32_t *first = gw__vector_push(&f->step_begin, sizeof *first);
    if (!first)
        return false;
    *first = (uint32_t)f->messages.count;
    b->step = step;
    return true;
}

static bool add_run(void *context, const struct gw__run *run)
{
    struct builder *b = context;
    uint32_t message;
    if ((b->f->step_begin.count == 0 || run->step != b->step) &&
        !begin_step(b, run->step))
        return false;
    if (!message_of(b, run, &message))
        return false;
    /* checked by gw__traffic_check */
    assert(message < GW__TRAFFIC_MESSAGES_MAX);
    gw__message_at(b->f, message)->bytes += gw__traffic_bytes(b->f, run);
    return gw__traffic_values_read(b->values, message, run) &&
           gw__traffic_values_write(b->values, message, run);
}

/* ---- the whole algorithm ---- */

static bool add_to_levels(struct gw__traffic *f, unsigned part, uint64_t bytes)
{
    struct gw__traffic_level *level = f->levels.items;
    if (part > 0 && level[f->levels.count - 1].bytes == bytes) {
        level[f->levels.count - 1].end = part + 1;
        return true;
    }
    level = gw__vector_push(&f->levels, sizeof *level);
    if (level)
        *level = (struct gw__traffic_level){part + 1, bytes};
    return level != NULL;
}

/* Computes the offsets of the parts of a block, like gw_plan_extent for
 * a plan. */
static bool make_parts(struct builder *b, unsigned chunks)
{
    const struct gw_topology_run *job = b->f->job;
    struct gw_plan shape = {.collective = job->algo->collective,
                            .ranks = b->ranks,
                            .chunks = chunks};
    struct gw__traffic *f = b->f;
    f->parts = gw_plan_segments(&shape);
    f->part_begin = calloc((size_t)f->parts + 1, sizeof *f->part_begin);
    for (unsigned i = 0; f->part_begin && i < f->parts; i++) {
        size_t offset, length = 0;
        if (job->algo->collective != GW_BARRIER)
            gw_plan_extent(&shape, i, job->count, job->elem_bytes, &offset,
                           &length);
        f->part_begin[i + 1] = f->part_begin[i] + length * job->elem_bytes;
        if (!add_to_levels(f, i, length * job->elem_bytes))
            return false;
    }
    return f->part_begin != NULL;
}

static enum gw_err prepare_builder(struct builder *b, unsigned chunks,
                                   struct gw_error *why)
{
    bool dense = b->ranks <= DENSE_RANKS_MAX;
    if (dense)
        b->pairs.dense =
            calloc((size_t)b->ranks * b->ranks, sizeof *b->pairs.dense);
    b->recent = calloc(b->ranks, sizeof *b->recent);
    if (!make_parts(b, chunks) || !b->recent || (dense && !b->pairs.dense))
        return gw_fail(why, GW_ENOMEM, "a simulation of %u ranks", b->ranks);
    return gw__traffic_values_new(b->f, chunks, &b->values, why);
}

static enum gw_err emit(struct builder *b, struct gw_error *why)
{
    struct gw__traffic *f = b->f;
    const struct gw__run_sink sink = {.context = b, .add = add_run};
    enum gw_err err =
        gw__algo_stream(f->job->algo, f->job->args, &sink, &f->steps, why);
    if (!err && f->step_begin.count > 0 &&
        !gw__traffic_values_step(b->values, step_first(f)))
        err = gw_fail(why, GW_ENOMEM, "a simulation of %u ranks", b->ranks);
    return err;
}

enum gw_err gw__traffic_of_algo(struct gw__traffic *f, struct gw_error *why)
{
    const struct gw_algo_args *args = f->job->args;
    struct builder b = {.f = f, .ranks = args->ranks};
    unsigned chunks = f->job->algo->chunks(args);
    bool pairs = f->job->algo->collective == GW_ALLTOALL;
    uint64_t blocks = pairs ? (uint64_t)args->ranks * args->ranks : chunks;
    if (blocks > GW_CHUNKS_MAX || chunks == 0)
        return gw_fail(why, GW_EINVAL,
                       "%s of %u ranks moves %" PRIu64
                       " different chunks; at most %d can be simulated",
                       gw_collective_name(f->job->algo->collective),
                       args->ranks, blocks, GW_CHUNKS_MAX);
    uint64_t messages;
    enum gw_err err = prepare_builder(&b, chunks, why);
    if (!err)
        err = gw__traffic_check(f->job->algo, args,
                                gw__traffic_values_room(b.values), &messages,
                                why);
    if (!err)
        err = emit(&b, why);
    gw__traffic_values_destroy(&b.values);
    free(b.pairs.dense);
    free(b.pairs.table);
    free(b.recent);
    return err;
}
