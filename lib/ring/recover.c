/* SPDX-License-Identifier: MIT
 *
 * From partial results to a plan: see recover.h. For each chunk a route is
 * chosen (its first rank and the number of additions). Then the steps are
 * emitted: step s has the s-th hop of every chunk. The other form, trees, is in
 * plans/recover_tree.c.
 */
#include "ring/plans/recover_maker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The first survivor in the order in which a clean run adds the chunk. */
static unsigned first_in_order(const struct gw__recovery_case *c,
                               unsigned chunk)
{
    assert(c->ranks > 0); /* check_shape */
    for (unsigned i = 1; i <= c->initial_count; i++) {
        unsigned node = c->initial_members[(chunk + i) % c->initial_count];
        for (unsigned rank = 0; rank < c->ranks; rank++)
            if (c->nodes[rank] == node)
                return rank;
    }
    return chunk % c->ranks;
}

/* The holder of the largest usable partial result; of equal ones the first in
 * order. */
static unsigned best_holder(const struct gw__recovery_maker *m, unsigned chunk)
{
    const struct gw__recovery_case *c = m->c;
    unsigned first = first_in_order(c, chunk), best = first, most = 1;
    for (unsigned i = 0; m->held && i < c->ranks; i++) {
        unsigned rank = (first + i) % c->ranks;
        struct gw_nodes set = gw__held(m, rank, chunk);
        unsigned count = gw__nodes_count(set);
        if (count > most && gw__nodes_within(set, c->target)) {
            best = rank;
            most = count;
        }
    }
    return best;
}

/* Hops from `first` until the value contains all nodes of the target. */
static unsigned hops_to_add(const struct gw__recovery_case *c, unsigned first,
                            struct gw_nodes set)
{
    unsigned hops = 0;
    for (unsigned i = 1; i < c->ranks; i++) {
        unsigned node = c->nodes[(first + i) % c->ranks];
        if (gw__nodes_has(&c->target, node) && !gw__nodes_has(&set, node))
            hops = i;
    }
    return hops;
}

void gw__count_chunk(const struct gw__recovery_maker *m, unsigned chunk,
                     unsigned sums)
{
    struct gw__recovery *r = m->recovery;
    bool redone = false;
    for (unsigned rank = 0; m->held && !redone && rank < m->c->ranks; rank++)
        redone = !gw__nodes_within(gw__held(m, rank, chunk), m->c->target);
    if (redone)
        r->chunks_redone++;
    else if (sums > 0)
        r->chunks_kept++;
    else
        r->chunks_fresh++;
    r->sums_kept += sums;
}

/* A single survivor has the result when it has its input. */
void gw__count_spread(const struct gw__recovery_maker *m)
{
    struct gw__recovery *r = m->recovery;
    unsigned sums = gw__sums_in(m->c->target);
    r->chunks_spread += sums > 0;
    r->chunks_fresh += sums == 0;
    r->sums_kept += sums;
}

/* The distance of each rank to the next final copy on its left. */
static void measure_spread(const struct gw__recovery_maker *m, unsigned chunk)
{
    unsigned p = m->c->ranks, away = 0;
    uint16_t *of = &m->away[(size_t)chunk * p];
    for (unsigned i = 0; i < 2 * p; i++) {
        unsigned rank = i % p;
        away = gw__nodes_equal(*gw__start_of(m, rank, chunk), m->c->target)
                   ? 0
                   : away + 1;
        of[rank] = (uint16_t)away;
    }
}

/* Chooses the chunk's route, and the value from which each rank starts. */
static void choose_route(const struct gw__recovery_maker *m, unsigned chunk)
{
    const struct gw__recovery_case *c = m->c;
    struct gw__route *route = &m->routes[chunk];
    *route = (struct gw__route){.spread = false};
    for (unsigned rank = 0; rank < c->ranks; rank++) {
        bool complete = gw__nodes_equal(gw__held(m, rank, chunk), c->target);
        *gw__start_of(m, rank, chunk) =
            complete ? c->target : gw__nodes_only(c->nodes[rank]);
        route->spread = route->spread || complete;
    }
    if (route->spread) {
        measure_spread(m, chunk);
        gw__count_spread(m);
        return;
    }
    route->first = best_holder(m, chunk);
    struct gw_nodes kept = gw__held(m, route->first, chunk);
    if (!gw__nodes_within(kept, c->target)) /* so do all partial sums */
        kept = gw__nodes_only(c->nodes[route->first]);
    *gw__start_of(m, route->first, chunk) = kept;
    route->adds = hops_to_add(c, route->first, kept);
    gw__count_chunk(m, chunk, gw__sums_in(kept));
}

/* ---- emitting ---- */

/* The s-th hop of a value that travels from its first rank. */
static void emit_transfer(const struct gw__recovery_maker *m,
                          struct gw_builder *b, unsigned chunk, unsigned s)
{
    const struct gw__route *route = &m->routes[chunk];
    unsigned p = m->c->ranks, src = (route->first + s) % p, dst = (src + 1) % p;
    if (s >= route->adds + p - 1)
        return;
    const struct gw_nodes *in_it = gw__start_of(m, route->first, chunk);
    bool adds = s < route->adds && !gw__nodes_has(in_it, m->c->nodes[dst]);
    gw_builder_add(b, src, dst, chunk, adds ? GW_ADD : GW_REPLACE);
}

/* Every copy moves on to the right, up to the next copy. */
static void emit_spread(const struct gw__recovery_maker *m,
                        struct gw_builder *b, unsigned chunk, unsigned s)
{
    unsigned p = m->c->ranks;
    for (unsigned rank = 0; rank < p; rank++)
        if (m->away[(size_t)chunk * p + rank] == s + 1)
            gw_builder_add(b, (rank + p - 1) % p, rank, chunk, GW_REPLACE);
}

static void emit(const struct gw__recovery_maker *m, struct gw_builder *b)
{
    unsigned p = m->c->ranks;
    gw_builder_name(b, "recovery");
    for (unsigned s = 0; p > 1 && s < 2 * (p - 1); s++) {
        gw_builder_step(b);
        for (unsigned chunk = 0; chunk < m->c->chunks; chunk++)
            if (m->routes[chunk].spread)
                emit_spread(m, b, chunk, s);
            else
                emit_transfer(m, b, chunk, s);
    }
}

/* ---- an undisturbed op with a plan of its own ---- */

static void start_with_inputs(const struct gw__recovery_maker *m)
{
    for (unsigned rank = 0; rank < m->c->ranks; rank++)
        for (unsigned chunk = 0; chunk < m->c->chunks; chunk++)
            *gw__start_of(m, rank, chunk) = gw__nodes_only(m->c->nodes[rank]);
    m->recovery->chunks_fresh = m->c->chunks;
}

static void copy_chosen(const struct gw_plan *plan, struct gw_builder *b)
{
    gw_builder_name(b, plan->algo);
    for (unsigned s = 0; s < plan->steps; s++) {
        gw_builder_step(b);
        for (size_t t = plan->step_begin[s]; t < plan->step_begin[s + 1]; t++)
            gw_builder_transfer(b, &plan->transfers[t]);
    }
}

/* ---- the case ---- */

static enum gw_err check_shape(const struct gw__recovery_case *c,
                               struct gw_error *why)
{
    const struct gw__places places = {c->initial_count, c->initial_members};
    if (c->ranks == 0 || c->ranks > GW__NODES_MAX || c->initial_count == 0 ||
        c->initial_count > GW__NODES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "a recovery of %u of %u members is impossible", c->ranks,
                       c->initial_count);
    if (c->chunks == 0 || c->chunks > GW__REPORT_CHUNKS_MAX)
        return gw_fail(why, GW_EINVAL, "a recovery of %u chunks is impossible",
                       c->chunks);
    if (c->chosen &&
        (c->chosen->ranks != c->ranks || c->chosen->chunks != c->chunks))
        return gw_fail(why, GW_EINVAL,
                       "plan %s has %u ranks and %u chunks, the op has %u and "
                       "%u",
                       c->chosen->algo, c->chosen->ranks, c->chosen->chunks,
                       c->ranks, c->chunks);
    for (unsigned i = 0; c->held && i < c->ranks; i++)
        if (c->held[i] && !gw__holdings_match(c->held[i], &places, c->chunks))
            return gw_fail(why, GW_EMISMATCH,
                           "node %u has %u chunks of %u members, but others "
                           "have %u chunks of other members",
                           c->nodes[i], c->held[i]->chunks, c->held[i]->places,
                           c->chunks);
    return GW_OK;
}

static bool has_final_copy(const struct gw__recovery_maker *m, unsigned chunk)
{
    for (unsigned i = 0; i < m->c->ranks; i++)
        if (gw__nodes_equal(gw__held(m, i, chunk), m->c->target))
            return true;
    return false;
}

/* Is the data of every node in the target available, from a final copy or as
 * the input of a survivor? Is every survivor in the target? */
static enum gw_err check_target(const struct gw__recovery_maker *m,
                                struct gw_error *why)
{
    const struct gw__recovery_case *c = m->c;
    struct gw_nodes alive = {{0}};
    for (unsigned i = 0; i < c->ranks; i++)
        gw__nodes_add(&alive, c->nodes[i]);
    struct gw_nodes excluded = gw__nodes_minus(alive, c->target);
    struct gw_nodes gone = gw__nodes_minus(c->target, alive);
    if (!gw__nodes_is_empty(excluded))
        return gw_fail(why, GW_EINVAL,
                       "node %u is alive, but its data is excluded",
                       gw__nodes_next(&excluded, 0));
    for (unsigned chunk = 0; !gw__nodes_is_empty(gone) && chunk < c->chunks;
         chunk++)
        if (!has_final_copy(m, chunk))
            return gw_fail(why, GW_EINVAL,
                           "the data of node %u is included, but no final copy "
                           "of chunk %u survives",
                           gw__nodes_next(&gone, 0), chunk);
    return GW_OK;
}

static void make_routes(const struct gw__recovery_maker *m,
                        struct gw_builder *b)
{
    for (unsigned chunk = 0; chunk < m->c->chunks; chunk++)
        choose_route(m, chunk);
    emit(m, b);
}

static enum gw_err make_plan(const struct gw__recovery_maker *m,
                             struct gw_error *why)
{
    const struct gw__recovery_case *c = m->c;
    struct gw_builder *b;
    enum gw_err err =
        gw_builder_new(GW_ALLREDUCE, c->ranks, c->chunks, 0, &b, why);
    if (err)
        return err;
    if (c->chosen) {
        start_with_inputs(m);
        copy_chosen(c->chosen, b);
    } else if (c->trees)
        gw__recovery_trees(m, b);
    else
        make_routes(m, b);
    return gw_builder_finish(&b, &m->recovery->plan, why);
}

/* Makes the tables; false: out of memory. */
static bool init_maker(struct gw__recovery_maker *m)
{
    const struct gw__recovery_case *c = m->c;
    const struct gw__places places = {c->initial_count, c->initial_members};
    size_t cells = (size_t)c->ranks * c->chunks;
    m->recovery->sets = calloc(cells, sizeof *m->recovery->sets);
    m->routes = calloc(c->chunks, sizeof *m->routes);
    m->away = calloc(cells, sizeof *m->away);
    m->trees = c->trees ? gw__recovery_trees_new(c->chunks, c->ranks) : NULL;
    m->held = c->held ? calloc(cells, sizeof *m->held) : NULL;
    if (!m->recovery->sets || !m->routes || !m->away || (c->held && !m->held) ||
        (c->trees && !m->trees))
        return false;
    for (unsigned i = 0; c->held && i < c->ranks; i++)
        if (c->held[i])
            gw__holdings_unpack(c->held[i], &places,
                                &m->held[(size_t)i * c->chunks]);
    return true;
}

static enum gw_err make_recovery(struct gw__recovery_maker *m,
                                 struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (!init_maker(m))
        return gw_fail(why, GW_ENOMEM, "recovery of %u ranks", m->c->ranks);
    m->recovery->start =
        (struct gw__start){.sets = m->recovery->sets, .full = m->c->target};
    err = check_target(m, why);
    return err ? err : make_plan(m, why);
}

enum gw_err gw__recovery_make(const struct gw__recovery_case *c,
                              struct gw__recovery *recovery,
                              struct gw_error *why)
{
    struct gw__recovery_maker m = {.c = c, .recovery = recovery};
    memset(recovery, 0, sizeof *recovery);
    enum gw_err err = check_shape(c, why);
    if (!err)
        err = make_recovery(&m, why);
    free(m.routes);
    free(m.away);
    free(m.held);
    free(m.trees);
    if (err)
        gw__recovery_fini(recovery);
    return err;
}

void gw__recovery_fini(struct gw__recovery *recovery)
{
    gw_plan_destroy(&recovery->plan);
    free(recovery->sets);
    memset(recovery, 0, sizeof *recovery);
}

enum gw_err gw__recovery_verify(const struct gw__recovery *recovery,
                                unsigned link_chunks,
                                struct gw_verdict *verdict,
                                struct gw_error *why)
{
    return gw__plan_verify_from(recovery->plan, &recovery->start, link_chunks,
                                verdict, why);
}
