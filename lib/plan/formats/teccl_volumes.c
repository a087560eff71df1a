/* SPDX-License-Identifier: MIT
 *
 * TE-CCL's results of its linear program, JSON: an all-to-all in which a chunk
 * may be divided. There is no demand; a chunk goes to the GPU where its flow
 * ends.
 *
 *     "6-Flows": ["Chunk 4 from 2 traveled over 2->1 with volume 0.4 in epoch 0"]
 *
 * A chunk gets as many parts as the common denominator of all volumes, and a flow
 * moves parts of it that its sender has. Which ones does not matter: all parts
 * that a GPU only passes on leave it again.
 */
#include "copies.h"
#include "formats.h"

#include <jansson.h>

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VOLUME_GPUS_MAX = 1024,
    VOLUME_CHUNKS_MAX = 4096,
    VOLUME_CELLS_MAX = 1 << 22,
    VOLUME_PARTS_MAX = 128
};
#define VOLUME_TOLERANCE 1e-4 /* of a part: the solver's volumes are rounded */

struct volume_flow {
    unsigned chunk, owner, src, dst, epoch;
    double volume;
    unsigned parts;
    uint32_t position; /* in the list */
    bool done;
};

struct volumes {
    const char *name;
    struct volume_flow *flows;
    size_t count;
    unsigned gpus[VOLUME_GPUS_MAX]; /* their numbers, ascending */
    unsigned ranks;
    unsigned per_gpu; /* chunks of a GPU: largest number and one */
    unsigned parts;   /* of a chunk */
    double *arrived;  /* (owner * per_gpu + chunk) * ranks + GPU: volume */
    uint32_t *firsts; /* owner * per_gpu + chunk: first of the plan, or none */
    uint16_t *places; /* (owner * per_gpu + chunk) * parts + part: its GPU */
    struct gw_error *why;
};

#define VOLUME_NONE UINT32_MAX

GW_PRINTF(2, 3)
static enum gw_err refuse_volume(const struct volumes *v, const char *format,
                                 ...)
{
    char reason[200];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return gw_fail(v->why, GW_EDATA, "%.200s: %s", v->name, reason);
}

/* ---- reading ---- */

static enum gw_err read_volume(const struct volumes *v, const json_t *item,
                               struct volume_flow *flow)
{
    const char *text = json_string_value(item);
    int used = 0;
    if (!text ||
        sscanf(text,
               "Chunk %6u from %6u traveled over %6u->%6u with volume %31lf in "
               "epoch %9u%n",
               &flow->chunk, &flow->owner, &flow->src, &flow->dst,
               &flow->volume, &flow->epoch, &used) < 6 ||
        (text[used] && strncmp(text + used, " via switches", 13) != 0))
        return refuse_volume(v,
                             "\"6-Flows\"[%u]: \"%.80s\" is not \"Chunk C from "
                             "G traveled over A->B with volume V in epoch E\"",
                             flow->position, text ? text : "");
    if (!(flow->volume > 0 && flow->volume <= VOLUME_PARTS_MAX))
        return refuse_volume(v, "\"6-Flows\"[%u]: the volume must be in 0..%d",
                             flow->position, VOLUME_PARTS_MAX);
    if (flow->chunk >= VOLUME_CHUNKS_MAX)
        return refuse_volume(v, "\"6-Flows\"[%u]: the chunk must be in 0..%d",
                             flow->position, VOLUME_CHUNKS_MAX - 1);
    if (flow->src == flow->dst)
        return refuse_volume(v, "\"6-Flows\"[%u]: GPU %u sends to itself",
                             flow->position, flow->src);
    return GW_OK;
}

/* The place of a number among the GPUs, where it is or would be. */
static unsigned gpu_place(const struct volumes *v, unsigned gpu)
{
    unsigned low = 0, high = v->ranks;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (v->gpus[middle] < gpu)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum gw_err add_gpu(struct volumes *v, unsigned gpu)
{
    unsigned place = gpu_place(v, gpu);
    if (place < v->ranks && v->gpus[place] == gpu)
        return GW_OK;
    if (v->ranks == VOLUME_GPUS_MAX)
        return refuse_volume(v, "more than %d GPUs", VOLUME_GPUS_MAX);
    memmove(&v->gpus[place + 1], &v->gpus[place],
            (v->ranks - place) * sizeof *v->gpus);
    v->gpus[place] = gpu;
    v->ranks++;
    return GW_OK;
}

static enum gw_err read_volumes(struct volumes *v, const json_t *list)
{
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < v->count && !err; i++) {
        struct volume_flow *flow = &v->flows[i];
        *flow = (struct volume_flow){.position = (uint32_t)i};
        err = read_volume(v, json_array_get(list, i), flow);
        if (!err)
            err = add_gpu(v, flow->owner);
        if (!err)
            err = add_gpu(v, flow->src);
        if (!err)
            err = add_gpu(v, flow->dst);
        if (flow->chunk >= v->per_gpu)
            v->per_gpu = flow->chunk + 1;
    }
    for (size_t i = 0; i < v->count && !err; i++) {
        struct volume_flow *flow = &v->flows[i];
        flow->owner = gpu_place(v, flow->owner);
        flow->src = gpu_place(v, flow->src);
        flow->dst = gpu_place(v, flow->dst);
    }
    if (!err && v->count == 0)
        err = refuse_volume(v, "\"6-Flows\" has no flow");
    return err;
}

/* ---- parts ---- */

static bool divides_all(const struct volumes *v, unsigned parts)
{
    for (size_t i = 0; i < v->count; i++) {
        double exact = v->flows[i].volume * parts;
        if (fabs(exact - nearbyint(exact)) > VOLUME_TOLERANCE ||
            nearbyint(exact) < 1)
            return false;
    }
    return true;
}

static enum gw_err find_parts(struct volumes *v)
{
    v->parts = 1;
    while (v->parts <= VOLUME_PARTS_MAX && !divides_all(v, v->parts))
        v->parts++;
    if (v->parts > VOLUME_PARTS_MAX)
        return refuse_volume(v,
                             "the volumes of \"6-Flows\" have no common "
                             "denominator up to %d",
                             VOLUME_PARTS_MAX);
    for (size_t i = 0; i < v->count; i++)
        v->flows[i].parts = (unsigned)nearbyint(v->flows[i].volume * v->parts);
    return GW_OK;
}

/* ---- receivers ---- */

static size_t chunk_at(const struct volumes *v, unsigned owner, unsigned chunk)
{
    return owner * (size_t)v->per_gpu + chunk;
}

static void add_arrivals(struct volumes *v)
{
    for (size_t i = 0; i < v->count; i++) {
        const struct volume_flow *flow = &v->flows[i];
        double *row =
            &v->arrived[chunk_at(v, flow->owner, flow->chunk) * v->ranks];
        row[flow->dst] += flow->parts;
        row[flow->src] -= flow->parts;
    }
}

/* The GPU at which all parts of a chunk end; `ranks`: it has no flow. */
static enum gw_err find_receiver(const struct volumes *v, unsigned owner,
                                 unsigned chunk, unsigned *receiver)
{
    const double *row = &v->arrived[chunk_at(v, owner, chunk) * v->ranks];
    bool moves = false;
    *receiver = v->ranks;
    for (unsigned gpu = 0; gpu < v->ranks; gpu++) {
        moves = moves || row[gpu] < 0 || row[gpu] > 0;
        if ((unsigned)fabs(row[gpu]) == v->parts && row[gpu] > 0)
            *receiver = gpu;
    }
    if (!moves || *receiver < v->ranks)
        return GW_OK;
    return refuse_volume(v,
                         "chunk %u of GPU %u has no GPU at which all of it "
                         "arrives",
                         chunk, v->gpus[owner]);
}

/* Numbers the chunks of each pair of GPUs in their order, from `firsts` of the
 * pair on; `counted` has those of each pair. */
static enum gw_err number_pairs(struct volumes *v, unsigned segments,
                                unsigned *counted)
{
    enum gw_err err = GW_OK;
    for (unsigned owner = 0; owner < v->ranks && !err; owner++)
        for (unsigned chunk = 0; chunk < v->per_gpu && !err; chunk++) {
            unsigned receiver;
            uint32_t *first = &v->firsts[chunk_at(v, owner, chunk)];
            *first = VOLUME_NONE;
            err = find_receiver(v, owner, chunk, &receiver);
            if (err || receiver == v->ranks)
                continue;
            unsigned pair = owner * v->ranks + receiver;
            *first = (pair * segments + counted[pair]++) * v->parts;
        }
    return err;
}

/* What a rank sends to the others, whose numbers of chunks are `counted`. */
static enum gw_err check_pairs_of(struct volumes *v, unsigned rank,
                                  const unsigned *counted, unsigned segments)
{
    for (unsigned to = 0; to < v->ranks; to++)
        if (to != rank && (counted[to] != segments || segments == 0))
            return refuse_volume(
                v,
                "GPU %u sends %u chunks to GPU %u, but GPU %u sends %u to "
                "GPU %u: this is not an all-to-all",
                v->gpus[rank], counted[to], v->gpus[to], v->gpus[0], segments,
                v->gpus[1]);
    return GW_OK;
}

static enum gw_err count_pairs(struct volumes *v, unsigned *counted,
                               struct gw_plan *shape)
{
    size_t pairs = (size_t)v->ranks * v->ranks;
    enum gw_err err = number_pairs(v, 0, counted);
    unsigned segments = v->ranks > 1 ? counted[1] : 0;
    for (unsigned rank = 0; rank < v->ranks && !err; rank++)
        err = check_pairs_of(v, rank, counted + (size_t)rank * v->ranks,
                             segments);
    if (err)
        return err;
    if (pairs * segments * v->parts > VOLUME_CELLS_MAX)
        return refuse_volume(v, "more than %d parts of chunks",
                             VOLUME_CELLS_MAX);
    *shape = (struct gw_plan){.collective = GW_ALLTOALL,
                              .ranks = v->ranks,
                              .chunks = (unsigned)pairs * segments * v->parts};
    memset(counted, 0, pairs * sizeof *counted);
    return number_pairs(v, segments, counted);
}

/* ---- moving ---- */

static int by_epoch(const void *one, const void *other)
{
    const struct volume_flow *a = one, *b = other;
    if (a->epoch != b->epoch)
        return a->epoch > b->epoch ? 1 : -1;
    return (a->position > b->position) - (a->position < b->position);
}

static uint16_t *places_of(const struct volumes *v,
                           const struct volume_flow *flow)
{
    return &v->places[chunk_at(v, flow->owner, flow->chunk) * v->parts];
}

static unsigned count_held(const struct volumes *v,
                           const struct volume_flow *flow)
{
    const uint16_t *places = places_of(v, flow);
    unsigned held = 0;
    for (unsigned part = 0; part < v->parts; part++)
        held += places[part] == flow->src;
    return held;
}

static enum gw_err move_parts(const struct volumes *v, struct volume_flow *flow,
                              struct gw__copies *copies)
{
    uint16_t *places = places_of(v, flow);
    uint32_t first = v->firsts[chunk_at(v, flow->owner, flow->chunk)];
    unsigned left = flow->parts;
    enum gw_err err = GW_OK;
    flow->done = true;
    for (unsigned part = 0; part < v->parts && left && !err; part++) {
        if (places[part] != flow->src)
            continue;
        places[part] = (uint16_t)flow->dst;
        left--;
        if (first != VOLUME_NONE &&
            !gw__copies_holds(copies, flow->dst, first + part))
            err = gw__copies_send(
                copies, gw__copies_value(copies, flow->src, first + part),
                flow->dst, flow->epoch, v->why);
    }
    return err;
}

static enum gw_err refuse_flow(const struct volumes *v,
                               const struct volume_flow *flow)
{
    return refuse_volume(
        v,
        "\"6-Flows\"[%u]: GPU %u sends a volume of %g of chunk %u of GPU %u in "
        "epoch %u, but has only %g of it",
        flow->position, v->gpus[flow->src], flow->volume, flow->chunk,
        v->gpus[flow->owner], flow->epoch,
        (double)count_held(v, flow) / v->parts);
}

/* The flows of an epoch in an order in which they can happen. */
static enum gw_err move_epoch(const struct volumes *v, size_t begin, size_t end,
                              struct gw__copies *copies)
{
    size_t left = end - begin;
    enum gw_err err = GW_OK;
    while (left > 0) {
        size_t before = left, waiting = end;
        for (size_t i = begin; i < end && !err; i++) {
            struct volume_flow *flow = &v->flows[i];
            if (flow->done)
                continue;
            if (count_held(v, flow) < flow->parts) {
                waiting = waiting == end ? i : waiting;
                continue;
            }
            err = move_parts(v, flow, copies);
            left--;
        }
        if (err)
            return err;
        if (left == before)
            return refuse_flow(v, &v->flows[waiting]);
    }
    return GW_OK;
}

static enum gw_err move_volumes(const struct volumes *v,
                                struct gw__copies *copies)
{
    enum gw_err err = GW_OK;
    size_t chunks = v->ranks * (size_t)v->per_gpu;
    for (size_t i = 0; i < chunks * v->parts; i++)
        v->places[i] = (uint16_t)(i / v->parts / v->per_gpu);
    qsort(v->flows, v->count, sizeof *v->flows, by_epoch);
    for (size_t begin = 0, end; begin < v->count && !err; begin = end) {
        for (end = begin + 1; end < v->count; end++)
            if (v->flows[end].epoch != v->flows[begin].epoch)
                break;
        err = move_epoch(v, begin, end, copies);
    }
    return err;
}

static enum gw_err plan_volumes(const struct volumes *v,
                                const struct gw_plan *shape,
                                struct gw_plan **plan)
{
    struct gw__copies copies;
    unsigned rank, chunk;
    enum gw_err err = gw__copies_init(&copies, shape, v->why);
    if (!err)
        err = move_volumes(v, &copies);
    if (!err && gw__copies_missing(&copies, &rank, &chunk))
        err = refuse_volume(v, "no flow brings GPU %u all of its chunks",
                            v->gpus[rank]);
    if (!err)
        err = gw__copies_plan(&copies, "teccl", plan, v->why);
    gw__copies_fini(&copies);
    return err;
}

static enum gw_err import_volumes(struct volumes *v, const json_t *list,
                                  struct gw_plan **plan)
{
    struct gw_plan shape;
    enum gw_err err = read_volumes(v, list);
    if (!err)
        err = find_parts(v);
    if (err)
        return err;
    size_t chunks = v->ranks * (size_t)v->per_gpu;
    if (chunks * (v->ranks > v->parts ? v->ranks : v->parts) > VOLUME_CELLS_MAX)
        return refuse_volume(v, "%u GPUs with %u chunks are too many", v->ranks,
                             v->per_gpu);
    unsigned *counted = calloc((size_t)v->ranks * v->ranks, sizeof *counted);
    v->arrived = calloc(chunks * v->ranks, sizeof *v->arrived);
    v->firsts = calloc(chunks, sizeof *v->firsts);
    v->places = calloc(chunks * v->parts, sizeof *v->places);
    if (counted && v->arrived && v->firsts && v->places) {
        add_arrivals(v);
        err = count_pairs(v, counted, &shape);
        if (!err)
            err = plan_volumes(v, &shape, plan);
    } else
        err = gw_fail(v->why, GW_ENOMEM, "%.200s", v->name);
    free(counted);
    return err;
}

enum gw_err gw__teccl_volumes_import(const json_t *json, const char *name,
                                     struct gw_plan **plan,
                                     struct gw_error *why)
{
    struct gw_error reason = {0};
    const json_t *list = json_object_get(json, "6-Flows");
    struct volumes v = {
        .name = name, .count = json_array_size(list), .why = &reason};
    *plan = NULL;
    v.flows = calloc(v.count + 1, sizeof *v.flows);
    enum gw_err err = GW_OK;
    if (!v.flows)
        err = gw_fail(&reason, GW_ENOMEM, "%.200s", name);
    else if (!json_is_array(list))
        err = refuse_volume(&v, "\"6-Flows\" must be a list");
    else
        err = import_volumes(&v, list, plan);
    free(v.places);
    free(v.firsts);
    free(v.arrived);
    free(v.flows);
    if (err && strncmp(reason.text, name, strlen(name)) != 0)
        gw_wrap(&reason, err, "%.200s", name);
    return err ? gw_fail(why, err, "%s", reason.text) : GW_OK;
}
