/* SPDX-License-Identifier: MIT
 *
 * TE-CCL's results (SIGCOMM 2024), JSON: which chunk reached which GPU, and the
 * flows by which it got there.
 *
 *     "6-Demand_Met": {"GPU 1": {"GPU 2": {"Chunk 0": 7.4e-07}}},
 *     "7-Flows": ["Chunk 0 from 1 traveled over 1->2 in epoch 0"]
 *
 * GPUs are ranks in the order of their numbers. If every chunk goes to all
 * other GPUs it is an all-gather, if to one it is an all-to-all. A flow that
 * goes "via switches" is one transfer. A flow to a GPU that already has the
 * chunk is left out.
 */
#include "copies.h"
#include "formats.h"

#include <jansson.h>

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TECCL_GPUS_MAX = 1024, TECCL_CHUNKS_MAX = 1 << 16 };

struct teccl {
    const char *name;
    const json_t *demand;
    unsigned gpus[TECCL_GPUS_MAX]; /* their numbers, ascending */
    unsigned ranks;
    unsigned per_gpu; /* chunks of a GPU: largest number and one */
    uint32_t *chunks; /* rank * per_gpu + number: of the plan, or none */
    struct gw_error *why;
};

struct teccl_flow {
    unsigned chunk, owner, src, dst, epoch;
    uint32_t position; /* in the list */
};

#define TECCL_NONE UINT32_MAX

GW_PRINTF(2, 3)
static enum gw_err refuse_teccl(const struct teccl *t, const char *format, ...)
{
    char reason[200];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return gw_fail(t->why, GW_EDATA, "%.200s: %s", t->name, reason);
}

/* The number in "GPU 7" or "Chunk 7"; false: it is something else. */
static bool number_in(const char *text, const char *word, unsigned *number)
{
    size_t length = strlen(word);
    char *end;
    if (strncmp(text, word, length) != 0 || text[length] < '0' ||
        text[length] > '9')
        return false;
    unsigned long value = strtoul(text + length, &end, 10);
    *number = (unsigned)value;
    return *end == 0 && value <= UINT16_MAX;
}

static int by_value(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static unsigned rank_of(const struct teccl *t, unsigned gpu)
{
    const unsigned *found =
        bsearch(&gpu, t->gpus, t->ranks, sizeof *t->gpus, by_value);
    return found ? (unsigned)(found - t->gpus) : t->ranks;
}

static enum gw_err read_gpus(struct teccl *t)
{
    json_t *demand = (json_t *)(uintptr_t)t->demand;
    if (!json_is_object(t->demand))
        return refuse_teccl(t, "\"6-Demand_Met\" must be an object");
    for (void *at = json_object_iter(demand); at;
         at = json_object_iter_next(demand, at)) {
        const char *key = json_object_iter_key(at);
        if (t->ranks == TECCL_GPUS_MAX)
            return refuse_teccl(t, "more than %d GPUs", TECCL_GPUS_MAX);
        if (!number_in(key, "GPU ", &t->gpus[t->ranks]))
            return refuse_teccl(t, "\"%.32s\" must be \"GPU\" and a number",
                                key);
        t->ranks++;
    }
    if (t->ranks == 0)
        return refuse_teccl(t, "\"6-Demand_Met\" has no GPU");
    qsort(t->gpus, t->ranks, sizeof *t->gpus, by_value);
    for (unsigned i = 1; i < t->ranks; i++)
        if (t->gpus[i] == t->gpus[i - 1])
            return refuse_teccl(t, "GPU %u occurs twice", t->gpus[i]);
    return GW_OK;
}

/* A visitor of demands: owner, receiver, number of the chunk. */
typedef enum gw_err demand_visit(struct teccl *, void *context, unsigned owner,
                                 unsigned receiver, unsigned chunk);

static enum gw_err visit_demand(struct teccl *t, demand_visit *visit,
                                void *context, const char *const keys[3])
{
    unsigned owner = 0, gpu = 0, chunk = 0;
    if (!number_in(keys[0], "GPU ", &owner) ||
        !number_in(keys[1], "GPU ", &gpu) ||
        !number_in(keys[2], "Chunk ", &chunk))
        return refuse_teccl(
            t, "\"%.32s\": \"%.32s\": \"%.32s\" is not a demand for a chunk",
            keys[0], keys[1], keys[2]);
    if (rank_of(t, gpu) == t->ranks)
        return refuse_teccl(t, "GPU %u demands a chunk but has none", gpu);
    return visit(t, context, rank_of(t, owner), rank_of(t, gpu), chunk);
}

/* Visits the objects in objects: GPU, GPU, chunk. `depth`: of `keys` so far. */
static enum gw_err each_demand(struct teccl *t, json_t *object, unsigned depth,
                               const char *keys[3], demand_visit *visit,
                               void *context)
{
    enum gw_err err = GW_OK;
    for (void *at = json_object_iter(object); at && !err;
         at = json_object_iter_next(object, at)) {
        keys[depth] = json_object_iter_key(at);
        err = depth == 2 ? visit_demand(t, visit, context, keys)
                         : each_demand(t, json_object_iter_value(at), depth + 1,
                                       keys, visit, context);
    }
    return err;
}

static enum gw_err visit_demands(struct teccl *t, demand_visit *visit,
                                 void *context)
{
    const char *keys[3] = {"", "", ""};
    return each_demand(t, (json_t *)(uintptr_t)t->demand, 0, keys, visit,
                       context);
}

static enum gw_err see_largest(struct teccl *t, void *context, unsigned owner,
                               unsigned receiver, unsigned chunk)
{
    (void)context;
    (void)owner;
    (void)receiver;
    t->per_gpu = chunk + 1 > t->per_gpu ? chunk + 1 : t->per_gpu;
    return GW_OK;
}

/* The demand for a GPU's chunk. */
struct wish {
    unsigned receivers;
    unsigned last; /* one of them */
};

static enum gw_err see_wish(struct teccl *t, void *context, unsigned owner,
                            unsigned receiver, unsigned chunk)
{
    struct wish *wishes = context;
    struct wish *wish = &wishes[owner * (size_t)t->per_gpu + chunk];
    wish->receivers++;
    wish->last = receiver;
    return GW_OK;
}

/* Numbers the chunks of the plan in the order of the GPUs' own, and counts
 * those of each GPU, or of each pair. */
static enum gw_err number_chunks(struct teccl *t, const struct wish *wishes,
                                 bool to_one, unsigned segments,
                                 unsigned *count)
{
    for (unsigned owner = 0; owner < t->ranks; owner++)
        for (unsigned chunk = 0; chunk < t->per_gpu; chunk++) {
            size_t at = owner * (size_t)t->per_gpu + chunk;
            unsigned wanted = to_one ? 1 : t->ranks - 1;
            t->chunks[at] = TECCL_NONE;
            if (wishes[at].receivers == 0)
                continue;
            if (wishes[at].receivers != wanted)
                return refuse_teccl(
                    t,
                    "chunk %u of GPU %u has %u receivers; a plan can be for "
                    "an all-gather or an all-to-all",
                    chunk, t->gpus[owner], wishes[at].receivers);
            unsigned pair = to_one ? owner * t->ranks + wishes[at].last : owner;
            t->chunks[at] = pair * segments + count[pair]++;
        }
    return GW_OK;
}

/* All GPUs, or pairs of different ones, must have the same number. */
static enum gw_err count_segments(const struct teccl *t, const unsigned *count,
                                  bool to_one, unsigned *segments)
{
    unsigned all = to_one ? t->ranks * t->ranks : t->ranks;
    *segments = 0;
    for (unsigned i = 0; i < all; i++) {
        if (to_one && i / t->ranks == i % t->ranks)
            continue;
        if (count[i] == 0 || (*segments && count[i] != *segments))
            return refuse_teccl(
                t, "GPU %u has another number of chunks than the others",
                t->gpus[to_one ? i / t->ranks : i]);
        *segments = count[i];
    }
    return GW_OK;
}

static enum gw_err find_shape(struct teccl *t, struct wish *wishes,
                              unsigned *count, struct gw_plan *shape)
{
    size_t all = (size_t)t->ranks * t->ranks;
    enum gw_err err = visit_demands(t, see_wish, wishes);
    if (err)
        return err;
    bool to_one = t->ranks == 2 ? false : true;
    for (size_t i = 0; i < t->ranks * (size_t)t->per_gpu; i++)
        to_one = to_one && wishes[i].receivers <= 1;
    unsigned segments = 0;
    err = number_chunks(t, wishes, to_one, 0, count);
    if (!err)
        err = count_segments(t, count, to_one, &segments);
    memset(count, 0, all * sizeof *count);
    if (!err && segments == 0)
        err = refuse_teccl(t, "no GPU demands a chunk");
    if (!err)
        err = number_chunks(t, wishes, to_one, segments, count);
    *shape = (struct gw_plan){.collective = to_one ? GW_ALLTOALL : GW_ALLGATHER,
                              .ranks = t->ranks,
                              .chunks = segments * t->ranks *
                                        (to_one ? t->ranks : 1)};
    return err;
}

/* ---- flows ---- */

static enum gw_err read_flow(const struct teccl *t, const json_t *item,
                             uint32_t position, struct teccl_flow *flow)
{
    const char *text = json_string_value(item);
    int used = 0;
    *flow = (struct teccl_flow){.position = position};
    if (!text ||
        sscanf(text, "Chunk %6u from %6u traveled over %6u->%6u in epoch %9u%n",
               &flow->chunk, &flow->owner, &flow->src, &flow->dst, &flow->epoch,
               &used) < 5 ||
        (text[used] && strncmp(text + used, " via switches", 13) != 0))
        return refuse_teccl(
            t,
            "\"7-Flows\"[%u]: \"%.80s\" is not \"Chunk C from G "
            "traveled over A->B in epoch E\"",
            position, text ? text : "");
    unsigned gpus[] = {flow->owner, flow->src, flow->dst};
    for (int i = 0; i < 3; i++)
        if (rank_of(t, gpus[i]) == t->ranks)
            return refuse_teccl(t, "\"7-Flows\"[%u]: GPU %u has no demand",
                                position, gpus[i]);
    return GW_OK;
}

static int by_epoch(const void *one, const void *other)
{
    const struct teccl_flow *a = one, *b = other;
    if (a->epoch != b->epoch)
        return a->epoch > b->epoch ? 1 : -1;
    return (a->position > b->position) - (a->position < b->position);
}

static enum gw_err move_flow(const struct teccl *t,
                             const struct teccl_flow *flow,
                             struct gw__copies *copies)
{
    unsigned owner = rank_of(t, flow->owner), src = rank_of(t, flow->src);
    unsigned dst = rank_of(t, flow->dst);
    uint32_t chunk = flow->chunk < t->per_gpu
                         ? t->chunks[owner * (size_t)t->per_gpu + flow->chunk]
                         : TECCL_NONE;
    if (chunk == TECCL_NONE)
        return refuse_teccl(
            t, "\"7-Flows\"[%u]: no GPU demands chunk %u of GPU %u",
            flow->position, flow->chunk, flow->owner);
    if (src == dst)
        return refuse_teccl(t, "\"7-Flows\"[%u]: GPU %u sends to itself",
                            flow->position, flow->src);
    if (!gw__copies_holds(copies, src, chunk))
        return refuse_teccl(t,
                            "\"7-Flows\"[%u]: GPU %u sends chunk %u of GPU %u "
                            "in epoch %u, but does not have it",
                            flow->position, flow->src, flow->chunk, flow->owner,
                            flow->epoch);
    if (gw__copies_holds(copies, dst, chunk))
        return GW_OK;
    return gw__copies_send(copies, gw__copies_value(copies, src, chunk), dst,
                           flow->epoch, t->why);
}

static enum gw_err move_flows(const struct teccl *t, const json_t *list,
                              struct gw__copies *copies)
{
    size_t count = json_array_size(list);
    struct teccl_flow *flows = calloc(count + 1, sizeof *flows);
    enum gw_err err = GW_OK;
    if (!flows)
        return gw_fail(t->why, GW_ENOMEM, "%.200s", t->name);
    for (size_t i = 0; i < count && !err; i++)
        err = read_flow(t, json_array_get(list, i), (uint32_t)i, &flows[i]);
    if (!err)
        qsort(flows, count, sizeof *flows, by_epoch);
    for (size_t i = 0; i < count && !err; i++)
        err = move_flow(t, &flows[i], copies);
    free(flows);
    return err;
}

static enum gw_err plan_flows(const struct teccl *t, const json_t *list,
                              const struct gw_plan *shape,
                              struct gw_plan **plan)
{
    struct gw__copies copies;
    unsigned rank, chunk;
    assert(t->ranks > 0);
    enum gw_err err = gw__copies_init(&copies, shape, t->why);
    if (!err)
        err = move_flows(t, list, &copies);
    if (!err && gw__copies_missing(&copies, &rank, &chunk)) {
        unsigned block = gw_plan_block(shape, chunk);
        unsigned owner =
            shape->collective == GW_ALLTOALL ? block / t->ranks : block;
        err = refuse_teccl(t,
                           "the result is incomplete: no flow brings GPU %u "
                           "all chunks of GPU %u",
                           t->gpus[rank], t->gpus[owner]);
    }
    if (!err)
        err = gw__copies_plan(&copies, "teccl", plan, t->why);
    gw__copies_fini(&copies);
    return err;
}

static enum gw_err import_teccl(struct teccl *t, const json_t *list,
                                struct gw_plan **plan)
{
    struct gw_plan shape = {.ranks = 1, .chunks = 1};
    if (!json_is_array(list))
        return refuse_teccl(t, "\"7-Flows\" must be a list");
    enum gw_err err = read_gpus(t);
    if (!err)
        err = visit_demands(t, see_largest, NULL);
    if (err)
        return err;
    if (t->ranks * (size_t)t->per_gpu > TECCL_CHUNKS_MAX * (size_t)64)
        return refuse_teccl(t, "%u chunks per GPU are too many", t->per_gpu);
    size_t cells = t->ranks * (size_t)t->per_gpu + 1;
    struct wish *wishes = calloc(cells, sizeof *wishes);
    unsigned *count = calloc((size_t)t->ranks * t->ranks + 1, sizeof *count);
    t->chunks = calloc(cells, sizeof *t->chunks);
    bool room = wishes && count && t->chunks;
    err = room ? find_shape(t, wishes, count, &shape) : GW_ENOMEM;
    if (!room)
        gw_fail(t->why, GW_ENOMEM, "%.200s", t->name);
    if (room && !err)
        err = plan_flows(t, list, &shape, plan);
    free(t->chunks);
    free(count);
    free(wishes);
    return err;
}

enum gw_err gw__teccl_import(const json_t *json, const char *name,
                             struct gw_plan **plan, struct gw_error *why)
{
    struct gw_error reason = {0};
    struct teccl t = {.name = name,
                      .demand = json_object_get(json, "6-Demand_Met"),
                      .why = &reason};
    *plan = NULL;
    enum gw_err err = import_teccl(&t, json_object_get(json, "7-Flows"), plan);
    if (err && strncmp(reason.text, name, strlen(name)) != 0)
        gw_wrap(&reason, err, "%.200s", name);
    return err ? gw_fail(why, err, "%s", reason.text) : GW_OK;
}
