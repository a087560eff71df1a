/* SPDX-License-Identifier: MIT
 *
 * One collective, called by all groups of a mesh axis, on a topology. The plan
 * of one group is copied for each group, with the ranks of its members and with
 * chunk numbers of its own, and the union is simulated as one plan. So groups
 * that share a link slow each other down. Stages, and thus chunks, may have
 * buffers of different sizes.
 *
 * Two algorithms are tried, one with the fewest bytes and one with the fewest
 * rounds, unless the costs name one. Results are cached, since a search over layouts asks for few
 * different calls many times.
 */
#include "layout_axis.h"

#include <gradwire/topology.h>

#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next; /* in the same bucket */
    struct gw__axis_call call;
    uint64_t *bytes; /* memory of call.bytes */
    struct gw__axis_time time;
};

enum { BUCKETS = 1024, ELEMENT = sizeof(float) };

struct gw_layout_timer {
    const struct gw_topology *topology;
    struct gw_layout_costs costs;
    struct entry *buckets[BUCKETS];
};

static const char *const algorithms[GW_COLLECTIVES][2] = {
    [GW_ALLREDUCE] = {"ring", "recursive_doubling"},
    [GW_ALLGATHER] = {"ring", "recursive_doubling"},
    [GW_REDUCE_SCATTER] = {"ring", "recursive_halving"},
    [GW_ALLTOALL] = {"pairwise", "bruck"},
};

/* ---- timer ---- */

enum gw_err gw_layout_timer_new(const struct gw_topology *topology,
                                const struct gw_layout_costs *costs,
                                struct gw_layout_timer **timer,
                                struct gw_error *why)
{
    *timer = NULL;
    if (!(costs->work_per_us >= 0) || !(costs->message_us >= 0) ||
        !(costs->reduce_us_per_byte >= 0))
        return gw_fail(why, GW_EINVAL, "costs must be 0 or more");
    if (costs->allreduce && !gw_algo_find(GW_ALLREDUCE, costs->allreduce))
        return gw_fail(why, GW_EINVAL,
                       "\"%.60s\" is not an all-reduce algorithm",
                       costs->allreduce);
    *timer = calloc(1, sizeof **timer);
    if (!*timer)
        return gw_fail(why, GW_ENOMEM, "a timer of layouts");
    (*timer)->topology = topology;
    (*timer)->costs = *costs;
    return GW_OK;
}

static void free_entry(struct entry *entry)
{
    free(entry->bytes);
    free(entry->time.link_bytes);
    free(entry);
}

void gw_layout_timer_destroy(struct gw_layout_timer **timer)
{
    if (!*timer)
        return;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct entry *entry; (entry = (*timer)->buckets[i]);) {
            (*timer)->buckets[i] = entry->next;
            free_entry(entry);
        }
    free(*timer);
    *timer = NULL;
}

unsigned gw__timer_links(const struct gw_layout_timer *timer)
{
    return gw_topology_links(timer->topology);
}

unsigned gw__timer_ranks(const struct gw_layout_timer *timer)
{
    return gw_topology_ranks(timer->topology);
}

const struct gw_layout_costs *
gw__timer_costs(const struct gw_layout_timer *timer)
{
    return &timer->costs;
}

/* ---- groups and their members ---- */

static unsigned group_size(const struct gw__axis_call *call)
{
    return call->axis == GW__AXIS_TENSOR   ? call->mesh.tensor
           : call->axis == GW__AXIS_DATA   ? call->group
           : call->axis == GW__AXIS_ACROSS ? call->mesh.data / call->group
                                           : 2;
}

/* The number of groups of one stage. */
static unsigned group_count(const struct gw__axis_call *call)
{
    unsigned ranks = call->mesh.data * call->mesh.tensor;
    return call->axis == GW__AXIS_PIPE ? ranks : ranks / group_size(call);
}

/* The rank of a group's member. */
static unsigned member_rank(const struct gw__axis_call *call, unsigned stage,
                            unsigned group, unsigned member)
{
    const struct gw_mesh *mesh = &call->mesh;
    unsigned d = 0, t = group % mesh->tensor, rest = group / mesh->tensor;
    switch (call->axis) {
    case GW__AXIS_TENSOR:
        d = group;
        t = member;
        break;
    case GW__AXIS_DATA:
        d = rest * call->group + member;
        break;
    case GW__AXIS_ACROSS:
        d = member * call->group + rest;
        break;
    case GW__AXIS_PIPE:
        d = rest;
        stage = member == 0 ? stage : call->peer;
        break;
    }
    return gw_mesh_position(mesh, call->order, d, t, stage);
}

/* ---- the plan of all groups ---- */

struct all_groups {
    const struct gw__axis_call *call;
    const struct gw_plan *one; /* of one group */
    struct gw_builder *builder;
    uint64_t *chunk_bytes;
};

/* Adds step `step` of every group. */
static void add_step(const struct all_groups *all, unsigned step)
{
    const struct gw__axis_call *call = all->call;
    const struct gw_plan *one = all->one;
    unsigned count = group_count(call);
    gw_builder_step(all->builder);
    for (unsigned g = 0; g < count * call->stages; g++)
        for (size_t i = one->step_begin[step]; i < one->step_begin[step + 1];
             i++) {
            const struct gw_transfer *x = &one->transfers[i];
            unsigned stage = call->stage + g / count;
            gw_builder_add(
                all->builder, member_rank(call, stage, g % count, x->src),
                member_rank(call, stage, g % count, x->dst),
                g * one->chunks + x->chunk, (enum gw_action)x->action);
        }
}

static void size_chunks(const struct all_groups *all)
{
    const struct gw_plan *one = all->one;
    unsigned count = group_count(all->call);
    for (unsigned g = 0; g < count * all->call->stages; g++)
        for (unsigned c = 0; c < one->chunks; c++) {
            size_t offset, length;
            gw_plan_extent(one, c, all->call->bytes[g / count] / ELEMENT,
                           ELEMENT, &offset, &length);
            all->chunk_bytes[(size_t)g * one->chunks + c] = length * ELEMENT;
        }
}

static enum gw_err simulate(const struct gw_layout_timer *timer,
                            const struct gw__axis_call *call,
                            const struct gw_plan *one,
                            struct gw_topology_result **result,
                            struct gw_error *why)
{
    unsigned chunks = group_count(call) * call->stages * one->chunks;
    struct all_groups all = {.call = call, .one = one};
    struct gw_plan *plan = NULL;
    enum gw_err err = gw_builder_new(GW_ALLREDUCE, gw_mesh_size(&call->mesh),
                                     chunks, 0, &all.builder, why);
    if (err)
        return err;
    for (unsigned step = 0; step < one->steps; step++)
        add_step(&all, step);
    err = gw_builder_finish(&all.builder, &plan, why);
    all.chunk_bytes = calloc(chunks, sizeof *all.chunk_bytes);
    if (!err && !all.chunk_bytes)
        err = gw_fail(why, GW_ENOMEM, "%u chunks", chunks);
    if (!err && all.chunk_bytes) {
        size_chunks(&all);
        const struct gw_topology_run run = {
            .plan = plan,
            .elem_bytes = ELEMENT,
            .chunk_bytes = all.chunk_bytes,
            .message_us = timer->costs.message_us,
            .reduce_us_per_byte = timer->costs.reduce_us_per_byte,
        };
        err = gw_topology_simulate(timer->topology, &run, result, why);
    }
    free(all.chunk_bytes);
    gw_plan_destroy(&plan);
    return err;
}

/* ---- selection of the algorithm ---- */

/* Stores the result in the entry if it is the first or faster. */
static enum gw_err try_plan(const struct gw_layout_timer *timer,
                            struct entry *entry, const struct gw_plan *one,
                            const char *algo, struct gw_error *why)
{
    struct gw_topology_result *result = NULL;
    enum gw_err err = simulate(timer, &entry->call, one, &result, why);
    struct gw__axis_time *time = &entry->time;
    const struct gw_mesh *mesh = &entry->call.mesh;
    uint64_t senders = (uint64_t)mesh->data * mesh->tensor * entry->call.stages;
    if (!err && result && (!time->algo || result->time_us < time->time_us)) {
        uint64_t *before = time->link_bytes;
        *time = (struct gw__axis_time){.time_us = result->time_us,
                                       .algo = algo,
                                       .bytes = result->bytes / senders,
                                       .link_bytes = result->link_bytes};
        result->link_bytes = before;
    }
    gw_topology_result_destroy(&result);
    return err;
}

static enum gw_err try_algo(const struct gw_layout_timer *timer,
                            struct entry *entry, const char *algo,
                            struct gw_error *why)
{
    unsigned ranks = group_size(&entry->call);
    enum gw_collective collective = entry->call.collective;
    struct gw_plan *one;
    if (!gw_algo_find(collective, algo)->valid(ranks))
        return GW_OK;
    enum gw_err err = gw_plan_make(
        collective, algo, &(struct gw_algo_args){.ranks = ranks}, &one, why);
    if (!err)
        err = try_plan(timer, entry, one, algo, why);
    gw_plan_destroy(&one);
    return err;
}

/* One message from member 0 to member 1. */
static enum gw_err try_message(const struct gw_layout_timer *timer,
                               struct entry *entry, struct gw_error *why)
{
    struct gw_transfer transfer = {.src = 0, .dst = 1, .action = GW_REPLACE};
    size_t begin[] = {0, 1};
    const struct gw_plan one = {.collective = GW_BROADCAST,
                                .ranks = 2,
                                .chunks = 1,
                                .steps = 1,
                                .transfer_count = 1,
                                .step_begin = begin,
                                .transfers = &transfer};
    return try_plan(timer, entry, &one, "", why);
}

static enum gw_err measure_call(const struct gw_layout_timer *timer,
                                struct entry *entry, struct gw_error *why)
{
    if (entry->call.axis == GW__AXIS_PIPE)
        return try_message(timer, entry, why);
    const char *const *algo = algorithms[entry->call.collective];
    const char *named =
        entry->call.collective == GW_ALLREDUCE ? timer->costs.allreduce : NULL;
    enum gw_err err = named ? try_algo(timer, entry, named, why) : GW_OK;
    if (err || entry->time.algo)
        return err;
    err = try_algo(timer, entry, algo[0], why);
    return err ? err : try_algo(timer, entry, algo[1], why);
}

/* ---- cached results ---- */

static bool same(const struct gw__axis_call *a, const struct gw__axis_call *b)
{
    return a->axis == b->axis && a->collective == b->collective &&
           a->mesh.data == b->mesh.data && a->mesh.tensor == b->mesh.tensor &&
           a->mesh.pipe == b->mesh.pipe && a->order == b->order &&
           a->group == b->group && a->stage == b->stage &&
           a->stages == b->stages && a->peer == b->peer &&
           memcmp(a->bytes, b->bytes, a->stages * sizeof *a->bytes) == 0;
}

static unsigned bucket_of(const struct gw__axis_call *call)
{
    const unsigned numbers[] = {
        call->axis,  call->collective, call->mesh.data, call->mesh.tensor,
        call->order, call->group,      call->stage,     call->peer};
    uint64_t hash = gw_hash(numbers, sizeof numbers, 0);
    hash = gw_hash(call->bytes, call->stages * sizeof *call->bytes, hash);
    return (unsigned)(hash % BUCKETS);
}

static struct entry *new_entry(const struct gw__axis_call *call)
{
    size_t bytes = call->stages * sizeof *call->bytes;
    struct entry *made = calloc(1, sizeof *made);
    uint64_t *kept = malloc(bytes);
    if (!made || !kept) {
        free(made);
        free(kept);
        return NULL;
    }
    memcpy(kept, call->bytes, bytes);
    made->call = *call;
    made->call.bytes = made->bytes = kept;
    return made;
}

enum gw_err gw__axis_time(struct gw_layout_timer *timer,
                          const struct gw__axis_call *call,
                          const struct gw__axis_time **time,
                          struct gw_error *why)
{
    struct entry **bucket = &timer->buckets[bucket_of(call)];
    struct entry *entry = *bucket;
    while (entry && !same(&entry->call, call))
        entry = entry->next;
    if (entry) {
        *time = &entry->time;
        return GW_OK;
    }
    entry = new_entry(call);
    if (!entry)
        return gw_fail(why, GW_ENOMEM, "a collective of a layout");
    enum gw_err err = measure_call(timer, entry, why);
    if (err) {
        free_entry(entry);
        return err;
    }
    entry->next = *bucket;
    *bucket = entry;
    *time = &entry->time;
    return GW_OK;
}
