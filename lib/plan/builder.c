/* SPDX-License-Identifier: MIT
 *
 * Builds plans by appending transfers; this file owns their memory. An
 * algorithm reads as its rank arithmetic, because the first error sticks in the
 * builder and `finish` returns it. A builder may also pass its transfers on
 * without storing them (stream.h). Read on in semantics.c (the promise of a
 * plan) and algo/ (one algorithm per file).
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { CONDITIONS_MAX = 1 << 28 };

struct gw_builder {
    struct gw_plan plan;
    size_t transfer_capacity;
    size_t step_capacity;
    const struct gw__run_sink *sink; /* NULL: store the plan */
    bool step_begun;                 /* with a sink: the step has a transfer */
    struct gw_error error;
};

enum gw_err gw_builder_new(enum gw_collective collective, unsigned ranks,
                           unsigned chunks, unsigned root,
                           struct gw_builder **builder, struct gw_error *why)
{
    *builder = NULL;
    if (ranks == 0 || ranks > GW_RANKS_MAX)
        return gw_fail(why, GW_EINVAL, "a plan must have 1 to %d ranks, not %u",
                       GW_RANKS_MAX, ranks);
    if (chunks == 0 || chunks > GW_CHUNKS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "a plan must have 1 to %d chunks, not %u", GW_CHUNKS_MAX,
                       chunks);
    if (root >= ranks)
        return gw_fail(
            why, GW_EINVAL,
            "the root is %u, but there are only %u ranks, numbered from 0",
            root, ranks);
    struct gw_builder *b = calloc(1, sizeof *b);
    if (!b)
        return gw_fail(why, GW_ENOMEM, "plan of %u ranks", ranks);
    b->plan.collective = collective;
    b->plan.ranks = ranks;
    b->plan.chunks = chunks;
    b->plan.root = root;
    *builder = b;
    return GW_OK;
}

static bool grow_array(struct gw_builder *b, void **array, size_t *capacity,
                       size_t need, size_t item)
{
    if (need <= *capacity)
        return true;
    size_t larger = *capacity ? 2 * *capacity : 64;
    void *moved = realloc(*array, larger * item);
    if (!moved) {
        gw_fail(&b->error, GW_ENOMEM, "plan of %u ranks", b->plan.ranks);
        return false;
    }
    *array = moved;
    *capacity = larger;
    return true;
}

static bool step_is_empty(const struct gw_plan *plan)
{
    return plan->steps > 0 &&
           plan->step_begin[plan->steps - 1] == plan->transfer_count;
}

void gw_builder_step(struct gw_builder *b)
{
    struct gw_plan *plan = &b->plan;
    if (b->sink) {
        plan->steps += plan->steps == 0 || b->step_begun;
        b->step_begun = false;
        return;
    }
    if (b->error.code || step_is_empty(plan))
        return;
    void *steps = plan->step_begin;
    bool grown = grow_array(b, &steps, &b->step_capacity, plan->steps + 2,
                            sizeof *plan->step_begin);
    plan->step_begin = steps;
    if (grown)
        plan->step_begin[plan->steps++] = plan->transfer_count;
}

static bool transfer_is_sane(struct gw_builder *b, unsigned src, unsigned dst,
                             unsigned chunk, bool copies)
{
    const struct gw_plan *plan = &b->plan;
    if (src >= plan->ranks || dst >= plan->ranks)
        gw_fail(&b->error, GW_EPLAN,
                "step %u: %u>%u: there are only %u ranks, numbered from 0",
                plan->steps, src, dst, plan->ranks);
    else if (src == dst && !copies)
        gw_fail(&b->error, GW_EPLAN, "step %u: rank %u sends to itself",
                plan->steps, src);
    else if (chunk >= plan->chunks)
        gw_fail(&b->error, GW_EPLAN,
                "step %u: c%u: there are only %u chunks, numbered from 0",
                plan->steps, chunk, plan->chunks);
    else if (plan->transfer_count >= GW_TRANSFERS_MAX)
        gw_fail(&b->error, GW_EPLAN, "a plan can have at most %d transfers",
                GW_TRANSFERS_MAX);
    return !b->error.code;
}

/* To the sink, if there is one. */
static void hand_on(struct gw_builder *b, const struct gw__run *run)
{
    struct gw_plan *plan = &b->plan;
    struct gw__run counted = *run;
    unsigned last = run->chunk + (run->count - 1) * run->stride;
    if (!transfer_is_sane(b, run->src, run->dst, last, false))
        return;
    if (plan->steps == 0)
        gw_builder_step(b);
    b->step_begun = true;
    counted.step = plan->steps - 1;
    if (!b->sink->add(b->sink->context, &counted))
        gw_fail(&b->error, GW_ENOMEM, "an algorithm of %u ranks", plan->ranks);
}

static bool scratch_is_sane(struct gw_builder *b, unsigned scratch)
{
    if (scratch <= GW_SCRATCH_MAX)
        return true;
    gw_fail(&b->error, GW_EPLAN,
            "step %u: scratch %u: a rank can have at most %d per chunk",
            b->plan.steps, scratch, GW_SCRATCH_MAX);
    return false;
}

void gw_builder_transfer(struct gw_builder *b, const struct gw_transfer *t)
{
    struct gw_plan *plan = &b->plan;
    bool copies = t->src_scratch != t->dst_scratch;
    unsigned scratch =
        t->src_scratch > t->dst_scratch ? t->src_scratch : t->dst_scratch;
    if (b->error.code)
        return;
    if (b->sink) {
        gw_fail(&b->error, GW_EPLAN, "an algorithm cannot use scratch");
        return;
    }
    if (!transfer_is_sane(b, t->src, t->dst, t->chunk, copies) ||
        !scratch_is_sane(b, scratch))
        return;
    if (plan->steps == 0)
        gw_builder_step(b);
    void *transfers = plan->transfers;
    bool grown = grow_array(b, &transfers, &b->transfer_capacity,
                            plan->transfer_count + 1, sizeof *plan->transfers);
    plan->transfers = transfers;
    if (!grown)
        return;
    plan->scratch = scratch > plan->scratch ? scratch : plan->scratch;
    plan->transfers[plan->transfer_count++] = *t;
}

void gw_builder_add(struct gw_builder *b, unsigned src, unsigned dst,
                    unsigned chunk, enum gw_action action)
{
    struct gw_plan *plan = &b->plan;
    if (!b->error.code && (unsigned)action > GW_TOKEN)
        gw_fail(&b->error, GW_EPLAN, "step %u: unknown action %u", plan->steps,
                (unsigned)action);
    if (!b->error.code && b->sink)
        hand_on(b, &(struct gw__run){.src = src,
                                     .dst = dst,
                                     .chunk = chunk,
                                     .stride = 1,
                                     .count = 1,
                                     .action = action});
    if (b->error.code || b->sink ||
        !transfer_is_sane(b, src, dst, chunk, false))
        return;
    gw_builder_transfer(b, &(struct gw_transfer){
                               .src = (uint16_t)src,
                               .dst = (uint16_t)dst,
                               .chunk = chunk & 0xffffff,
                               .action = (unsigned)action & 3,
                           });
}

bool gw__builder_failed(const struct gw_builder *b)
{
    return b->error.code != GW_OK;
}

bool gw__builder_streams(const struct gw_builder *b)
{
    return b->sink != NULL;
}

void gw__builder_run(struct gw_builder *b, const struct gw__run *run)
{
    if (b->sink && !b->error.code && run->count > 0)
        hand_on(b, run);
    for (unsigned i = 0; i < run->count && !b->sink; i++)
        gw_builder_add(b, run->src, run->dst, run->chunk + i * run->stride,
                       run->action);
}

void gw__builder_around(struct gw_builder *b, const struct gw__run *run,
                        unsigned blocks)
{
    struct gw__run part = *run;
    part.chunk = run->chunk % blocks;
    part.stride = 1;
    part.count =
        run->count < blocks - part.chunk ? run->count : blocks - part.chunk;
    gw__builder_run(b, &part);
    part.chunk = 0;
    part.count = run->count - part.count;
    gw__builder_run(b, &part);
}

/* The conditions of a custom plan; false after an error. */
static bool make_conditions(struct gw_builder *b)
{
    struct gw_plan *plan = &b->plan;
    size_t count = (size_t)plan->ranks * plan->chunks;
    if (plan->conditions)
        return true;
    if (count > CONDITIONS_MAX)
        gw_fail(
            &b->error, GW_EPLAN,
            "a custom plan can have at most %d chunks of all ranks, not %zu",
            CONDITIONS_MAX, count);
    else if (!(plan->conditions = calloc(count, 1)))
        gw_fail(&b->error, GW_ENOMEM, "conditions of %u ranks", plan->ranks);
    return plan->conditions;
}

void gw_builder_condition(struct gw_builder *b, unsigned rank, unsigned chunk,
                          unsigned conditions)
{
    struct gw_plan *plan = &b->plan;
    if (b->error.code)
        return;
    if (plan->collective != GW_CUSTOM)
        gw_fail(&b->error, GW_EPLAN,
                "%s has conditions of its own; only custom is given them",
                gw_collective_name(plan->collective));
    else if (rank >= plan->ranks || chunk >= plan->chunks)
        gw_fail(&b->error, GW_EPLAN,
                "rank %u has or wants c%u, but there are only %u ranks and %u "
                "chunks, numbered from 0",
                rank, chunk, plan->ranks, plan->chunks);
    else if (conditions == 0 || conditions > (GW_HAS | GW_WANTS))
        gw_fail(&b->error, GW_EPLAN, "rank %u, c%u: unknown condition %u", rank,
                chunk, conditions);
    else if (make_conditions(b))
        plan->conditions[rank * (size_t)plan->chunks + chunk] |=
            (unsigned char)conditions;
}

void gw__builder_conditions(struct gw_builder *b, const struct gw_plan *plan)
{
    const unsigned char *conditions = plan->conditions;
    for (unsigned rank = 0; conditions && rank < plan->ranks; rank++)
        for (unsigned chunk = 0; chunk < plan->chunks; chunk++, conditions++)
            if (*conditions)
                gw_builder_condition(b, rank, chunk, *conditions);
}

void gw_builder_ports(struct gw_builder *b, unsigned ports)
{
    b->plan.ports = ports;
}

void gw_builder_name(struct gw_builder *b, const char *algo)
{
    size_t length = strnlen(algo, sizeof b->plan.algo - 1);
    memcpy(b->plan.algo, algo, length);
    b->plan.algo[length] = 0;
}

void gw_builder_destroy(struct gw_builder **builder)
{
    struct gw_builder *b = *builder;
    if (!b)
        return;
    free(b->plan.step_begin);
    free(b->plan.transfers);
    free(b->plan.conditions);
    free(b);
    *builder = NULL;
}

enum gw_err gw_builder_finish(struct gw_builder **builder,
                              struct gw_plan **plan, struct gw_error *why)
{
    struct gw_builder *b = *builder;
    *plan = NULL;
    if (step_is_empty(&b->plan))
        b->plan.steps--;
    void *steps = b->plan.step_begin;
    bool room = grow_array(b, &steps, &b->step_capacity, b->plan.steps + 1,
                           sizeof *b->plan.step_begin);
    b->plan.step_begin = steps;
    struct gw_plan *made = malloc(sizeof *made);
    if (!made)
        gw_fail(&b->error, GW_ENOMEM, "plan of %u ranks", b->plan.ranks);
    if (!room || !made || b->error.code) {
        enum gw_err code = gw_fail(why, b->error.code, "%s", b->error.text);
        free(made);
        gw_builder_destroy(builder);
        return code;
    }
    b->plan.step_begin[b->plan.steps] = b->plan.transfer_count;
    *made = b->plan;
    *plan = made;
    free(b);
    *builder = NULL;
    return GW_OK;
}

void gw_plan_destroy(struct gw_plan **plan)
{
    if (!*plan)
        return;
    free((*plan)->step_begin);
    free((*plan)->transfers);
    free((*plan)->conditions);
    free(*plan);
    *plan = NULL;
}

enum gw_err gw__algo_stream(const struct gw_algo *algo,
                            const struct gw_algo_args *args,
                            const struct gw__run_sink *sink, unsigned *steps,
                            struct gw_error *why)
{
    *steps = 0;
    if (args->ranks == 0 || args->ranks > GW__STREAM_RANKS_MAX ||
        !algo->valid(args->ranks))
        return gw_fail(why, GW_EINVAL, "%s %s does not support %u ranks",
                       gw_collective_name(algo->collective), algo->name,
                       args->ranks);
    if (args->root >= args->ranks)
        return gw_fail(
            why, GW_EINVAL,
            "the root is %u, but there are only %u ranks, numbered from 0",
            args->root, args->ranks);
    struct gw_builder b = {.sink = sink};
    b.plan.collective = algo->collective;
    b.plan.ranks = args->ranks;
    b.plan.chunks = algo->chunks(args);
    b.plan.root = args->root;
    algo->emit(&b, args);
    free(b.plan.conditions);
    *steps =
        b.plan.steps > 0 && !b.step_begun ? b.plan.steps - 1 : b.plan.steps;
    return b.error.code ? gw_fail(why, b.error.code, "%s", b.error.text)
                        : GW_OK;
}

uint64_t gw_plan_hash(const struct gw_plan *plan)
{
    uint32_t shape[6] = {(uint32_t)plan->collective,
                         plan->ranks,
                         plan->chunks,
                         plan->root,
                         plan->ports,
                         plan->steps};
    uint64_t hash = gw_hash(shape, sizeof shape, 0);
    if (plan->conditions)
        hash =
            gw_hash(plan->conditions, (size_t)plan->ranks * plan->chunks, hash);
    hash = gw_hash(plan->transfers,
                   plan->transfer_count * sizeof *plan->transfers, hash);
    return gw_hash(plan->step_begin,
                   (plan->steps + (size_t)1) * sizeof *plan->step_begin, hash);
}
