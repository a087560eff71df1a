/* SPDX-License-Identifier: MIT
 *
 * Plans with few steps: the question to the solver (steps_solver.h), asked with
 * more and more rounds from the bound of the topology on, and the plan of the
 * answer. A reduction is the answer backwards: from the ranks to the owner of a
 * chunk, and added.
 */
#include "steps_solver.h"

#include <math.h>
#include <stdlib.h>

struct steps {
    const struct gw_topology *topology;
    const struct gw_steps *wanted;
    struct gw__steps_question question;
    struct gw__steps_answer answer;
    uint32_t *owner;
    unsigned *link_room;
    bool *may_send;
};

static bool has_blocks(enum gw_collective collective)
{
    return !gw_collective_rooted(collective);
}

static enum gw_err check_limits(const struct gw_steps *w, struct gw_error *why)
{
    bool known = w->collective == GW_BROADCAST || w->collective == GW_REDUCE ||
                 w->collective == GW_ALLGATHER ||
                 w->collective == GW_REDUCE_SCATTER ||
                 w->collective == GW_ALLREDUCE;
    if (!known)
        return gw_fail(why, GW_EINVAL,
                       "steps are searched for broadcast, reduce, allgather, "
                       "reduce_scatter and allreduce, not %s",
                       gw_collective_name(w->collective));
    if (w->ranks < 2 || w->ranks > GW_STEPS_RANKS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "steps are searched for 2 to %d ranks, not %u",
                       GW_STEPS_RANKS_MAX, w->ranks);
    if (w->steps < 1 || w->steps > GW_STEPS_MAX || w->chunks < 1 ||
        w->chunks > GW_STEPS_CHUNKS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "steps and chunks must be 1 to %d, not %u and %u",
                       GW_STEPS_MAX, w->steps, w->chunks);
    return GW_OK;
}

/* The chunks per round of each link: its rate by that of the slowest one.
 * Returns the rate of the slowest one; 0: none has a limit. */
static uint64_t set_rooms(struct steps *s)
{
    uint64_t least = 0;
    struct gw_topology_link link;
    unsigned links = gw_topology_links(s->topology);
    for (unsigned i = 0; i < links; i++) {
        gw_topology_link(s->topology, i, &link);
        if (link.rate > 0 && (least == 0 || link.rate < least))
            least = link.rate;
    }
    for (unsigned i = 0; i < links && least > 0; i++) {
        gw_topology_link(s->topology, i, &link);
        uint64_t room = link.rate / least;
        s->link_room[i] = room < 1000 ? (unsigned)room : 1000;
    }
    return least;
}

/* The fewest rounds by the bound: a round takes a chunk's time on the slowest
 * link. */
static enum gw_err bound_rounds(struct steps *s, uint64_t slowest,
                                unsigned *rounds, struct gw_error *why)
{
    struct gw_optimum o;
    const struct gw_steps *w = s->wanted;
    bool blocks = has_blocks(w->collective);
    enum gw_err err =
        gw_optimum_find(s->topology, blocks ? GW_ALLGATHER : GW_BROADCAST,
                        w->ranks, w->root, &o, why);
    if (err)
        return err;
    double chunks = (double)w->chunks * (blocks ? w->ranks : 1);
    double least =
        chunks * (double)o.numerator * (double)slowest / (double)o.denominator;
    *rounds = (unsigned)ceil(least - 1e-9);
    *rounds = *rounds > w->steps ? *rounds : w->steps;
    return GW_OK;
}

static void set_pairs(struct steps *s)
{
    unsigned ranks = s->wanted->ranks, links[GW_PATH_LINKS_MAX];
    for (unsigned src = 0; src < ranks; src++) {
        unsigned least = GW_PATH_LINKS_MAX;
        for (int pass = 0; pass < 2; pass++)
            for (unsigned dst = 0; dst < ranks; dst++) {
                unsigned count =
                    src == dst ? GW_PATH_LINKS_MAX + 1
                               : gw_topology_path(s->topology, src, dst, links);
                least = count < least ? count : least;
                s->may_send[src * ranks + dst] =
                    src != dst && (!s->wanted->nearest || count == least);
            }
    }
}

static enum gw_err prepare(struct steps *s, unsigned *least,
                           struct gw_error *why)
{
    const struct gw_steps *w = s->wanted;
    bool blocks = has_blocks(w->collective);
    unsigned chunks = w->chunks * (blocks ? w->ranks : 1);
    s->owner = calloc(chunks, sizeof *s->owner);
    s->link_room = calloc(gw_topology_links(s->topology), sizeof *s->link_room);
    s->answer.sent = calloc((size_t)chunks * w->ranks * w->ranks, 1);
    s->may_send = calloc((size_t)w->ranks * w->ranks, sizeof *s->may_send);
    if (!s->owner || !s->link_room || !s->answer.sent || !s->may_send)
        return gw_fail(why, GW_ENOMEM, "a plan of %u chunks", chunks);
    set_pairs(s);
    for (unsigned c = 0; c < chunks; c++)
        s->owner[c] = blocks ? c / w->chunks : w->root;
    s->question = (struct gw__steps_question){.topology = s->topology,
                                              .ranks = w->ranks,
                                              .steps = w->steps,
                                              .chunks = chunks,
                                              .timeout_ms = w->timeout_ms,
                                              .owner = s->owner,
                                              .link_room = s->link_room,
                                              .may_send = s->may_send};
    return bound_rounds(s, set_rooms(s), least, why);
}

/* ---- the plan ---- */

static void add_step(const struct steps *s, struct gw_builder *builder,
                     unsigned step, bool up)
{
    const struct gw__steps_question *q = &s->question;
    gw_builder_step(builder);
    for (unsigned c = 0; c < q->chunks; c++)
        for (unsigned src = 0; src < q->ranks; src++)
            for (unsigned dst = 0; dst < q->ranks; dst++)
                if (s->answer.sent[((size_t)c * q->ranks + src) * q->ranks +
                                   dst] == step)
                    gw_builder_add(builder, up ? dst : src, up ? src : dst, c,
                                   up ? GW_ADD : GW_REPLACE);
}

static enum gw_err build_plan(const struct steps *s, struct gw_plan **plan,
                              struct gw_error *why)
{
    struct gw_verdict verdict;
    struct gw_builder *builder;
    const struct gw_steps *w = s->wanted;
    unsigned steps = s->question.steps;
    enum gw_collective op = w->collective;
    enum gw_err err = gw_builder_new(op, w->ranks, s->question.chunks, w->root,
                                     &builder, why);
    if (err)
        return err;
    gw_builder_name(builder, "steps");
    for (unsigned i = 0; i < steps && gw_collective_reduces(op); i++)
        add_step(s, builder, steps - i, true);
    for (unsigned i = 0;
         i < steps && op != GW_REDUCE && op != GW_REDUCE_SCATTER; i++)
        add_step(s, builder, i + 1, false);
    err = gw_builder_finish(&builder, plan, why);
    return err ? err : gw_plan_verify(*plan, 0, &verdict, why);
}

/* ---- the search ---- */

/* Any plan of so many steps has one with a round per chunk on its links. */
static unsigned most_rounds(const struct steps *s, unsigned least)
{
    const struct gw_steps *w = s->wanted;
    unsigned pairs = w->ranks * s->question.chunks;
    return w->rounds ? w->rounds : least > pairs ? least : pairs;
}

static enum gw_err search(struct steps *s, unsigned least,
                          struct gw_steps_result *result, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    unsigned most = most_rounds(s, least);
    /* Without a limit on rounds: do so few steps suffice at all? */
    if (s->wanted->rounds == 0) {
        s->question.rounds = most;
        err = gw__steps_solve(&s->question, &s->answer, why);
        if (err || !s->answer.exists)
            return err;
        s->answer.exists = false;
    }
    for (unsigned r = least; r <= most && !err && !s->answer.exists; r++) {
        s->question.rounds = result->rounds = r;
        err = gw__steps_solve(&s->question, &s->answer, why);
    }
    return err;
}

enum gw_err gw_synthesize_steps(const struct gw_topology *topology,
                                const struct gw_steps *wanted,
                                struct gw_plan **plan,
                                struct gw_steps_result *result,
                                struct gw_error *why)
{
    struct steps s = {.topology = topology, .wanted = wanted};
    *plan = NULL;
    *result = (struct gw_steps_result){0};
    enum gw_err err = check_limits(wanted, why);
    if (!err)
        err = prepare(&s, &result->rounds_least, why);
    if (!err)
        err = search(&s, result->rounds_least, result, why);
    result->exists = !err && s.answer.exists;
    if (result->exists)
        err = build_plan(&s, plan, why);
    if (err)
        gw_plan_destroy(plan);
    free(s.owner);
    free(s.link_room);
    free(s.answer.sent);
    free(s.may_send);
    return err;
}
