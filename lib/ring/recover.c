/* SPDX-License-Identifier: MIT
 *
 * From partial results to a plan: see recover.h. For each chunk a route is
 * chosen (its first rank and the number of additions). Then the steps are
 * emitted: step s has the s-th hop of every chunk.
 */
#include "recover.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* How one chunk is completed. */
struct route {
    bool spread;    /* there are final copies */
    unsigned first; /* else: the rank whose value travels */
    unsigned adds;  /* hops until it is final */
};

struct maker {
    const struct gw__recovery_case *c;
    struct gw__recovery *recovery;
    struct route *routes; /* of each chunk */
};

static uint64_t bit(unsigned node)
{
    return (uint64_t)1 << node;
}

static uint64_t held(const struct gw__recovery_case *c, unsigned rank,
                     unsigned chunk)
{
    bool has_report = c->held && c->held[rank];
    uint64_t set = has_report ? c->held[rank]->sets[chunk] : 0;
    return set ? set : bit(c->nodes[rank]);
}

static uint64_t *start_of(const struct maker *m, unsigned rank, unsigned chunk)
{
    return &m->recovery->sets[(size_t)rank * m->c->chunks + chunk];
}

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
static unsigned best_holder(const struct gw__recovery_case *c, unsigned chunk)
{
    unsigned first = first_in_order(c, chunk), best = first;
    int most = 1;
    for (unsigned i = 0; i < c->ranks; i++) {
        unsigned rank = (first + i) % c->ranks;
        uint64_t set = held(c, rank, chunk);
        int count = __builtin_popcountll(set);
        if (!(set & ~c->target) && count > most) {
            best = rank;
            most = count;
        }
    }
    return best;
}

/* Hops from `first` until the value contains all nodes of the target. */
static unsigned hops_to_add(const struct gw__recovery_case *c, unsigned first,
                            uint64_t set)
{
    unsigned hops = 0;
    for (unsigned i = 1; i < c->ranks && set != c->target; i++) {
        uint64_t node = bit(c->nodes[(first + i) % c->ranks]);
        if (node & c->target & ~set)
            hops = i;
        set |= node & c->target;
    }
    return hops;
}

/* Additions in a value with this set. */
static unsigned sums_in(uint64_t set)
{
    return (unsigned)__builtin_popcountll(set) - 1;
}

static void count_chunk(const struct maker *m, unsigned chunk, uint64_t kept)
{
    struct gw__recovery *r = m->recovery;
    bool redone = false;
    for (unsigned rank = 0; rank < m->c->ranks; rank++)
        redone = redone || held(m->c, rank, chunk) & ~m->c->target;
    if (redone)
        r->chunks_redone++;
    else if (sums_in(kept) > 0)
        r->chunks_kept++;
    else
        r->chunks_fresh++;
    r->sums_kept += sums_in(kept);
}

/* A single survivor has the result when it has its input. */
static void count_spread(const struct maker *m)
{
    struct gw__recovery *r = m->recovery;
    unsigned sums = sums_in(m->c->target);
    r->chunks_spread += sums > 0;
    r->chunks_fresh += sums == 0;
    r->sums_kept += sums;
}

/* Chooses the chunk's route, and the value from which each rank starts. */
static void choose_route(const struct maker *m, unsigned chunk)
{
    const struct gw__recovery_case *c = m->c;
    struct route *route = &m->routes[chunk];
    *route = (struct route){.spread = false};
    for (unsigned rank = 0; rank < c->ranks; rank++) {
        bool complete = held(c, rank, chunk) == c->target;
        *start_of(m, rank, chunk) = complete ? c->target : bit(c->nodes[rank]);
        route->spread = route->spread || complete;
    }
    if (route->spread) {
        count_spread(m);
        return;
    }
    route->first = best_holder(c, chunk);
    uint64_t kept = held(c, route->first, chunk);
    if (kept & ~c->target) /* all partials contain an excluded node */
        kept = bit(c->nodes[route->first]);
    *start_of(m, route->first, chunk) = kept;
    route->adds = hops_to_add(c, route->first, kept);
    count_chunk(m, chunk, kept);
}

/* ---- emitting ---- */

/* The s-th hop of a value that travels from its first rank. */
static void emit_transfer(const struct maker *m, struct gw_builder *b,
                          unsigned chunk, unsigned s)
{
    const struct route *route = &m->routes[chunk];
    unsigned p = m->c->ranks, src = (route->first + s) % p, dst = (src + 1) % p;
    if (s >= route->adds + p - 1)
        return;
    uint64_t in_it = *start_of(m, route->first, chunk);
    bool adds = s < route->adds && !(in_it & bit(m->c->nodes[dst]));
    gw_builder_add(b, src, dst, chunk, adds ? GW_ADD : GW_REPLACE);
}

/* Every copy moves on to the right, up to the next copy. */
static void emit_spread(const struct maker *m, struct gw_builder *b,
                        unsigned chunk, unsigned s)
{
    unsigned p = m->c->ranks;
    for (unsigned rank = 0; rank < p; rank++) {
        unsigned away = 0;
        while (*start_of(m, (rank + p - away) % p, chunk) != m->c->target)
            away++;
        if (away == s + 1)
            gw_builder_add(b, (rank + p - 1) % p, rank, chunk, GW_REPLACE);
    }
}

static void emit(const struct maker *m, struct gw_builder *b)
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

static void start_with_inputs(const struct maker *m)
{
    for (unsigned rank = 0; rank < m->c->ranks; rank++)
        for (unsigned chunk = 0; chunk < m->c->chunks; chunk++)
            *start_of(m, rank, chunk) = bit(m->c->nodes[rank]);
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
        if (c->held[i] && c->held[i]->chunks != c->chunks)
            return gw_fail(why, GW_EMISMATCH,
                           "node %u has %u chunks, but others have %u",
                           c->nodes[i], c->held[i]->chunks, c->chunks);
    return GW_OK;
}

/* Is the data of every node in the target available, from a final copy or as
 * the input of a survivor? Is every survivor in the target? */
static enum gw_err check_target(const struct gw__recovery_case *c,
                                struct gw_error *why)
{
    uint64_t alive = 0;
    for (unsigned i = 0; i < c->ranks; i++)
        alive |= bit(c->nodes[i]);
    if (alive & ~c->target)
        return gw_fail(why, GW_EINVAL,
                       "node %d is alive, but its data is excluded",
                       __builtin_ctzll(alive & ~c->target));
    for (unsigned chunk = 0; c->target & ~alive && chunk < c->chunks; chunk++) {
        bool complete = false;
        for (unsigned i = 0; i < c->ranks; i++)
            complete = complete || held(c, i, chunk) == c->target;
        if (!complete)
            return gw_fail(why, GW_EINVAL,
                           "the data of node %d is included, but no final copy "
                           "of chunk %u survives",
                           __builtin_ctzll(c->target & ~alive), chunk);
    }
    return GW_OK;
}

static void make_routes(const struct maker *m, struct gw_builder *b)
{
    for (unsigned chunk = 0; chunk < m->c->chunks; chunk++)
        choose_route(m, chunk);
    emit(m, b);
}

static enum gw_err make_recovery(const struct maker *m, struct gw_error *why)
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
    } else
        make_routes(m, b);
    return gw_builder_finish(&b, &m->recovery->plan, why);
}

enum gw_err gw__recovery_make(const struct gw__recovery_case *c,
                              struct gw__recovery *recovery,
                              struct gw_error *why)
{
    struct maker m = {.c = c, .recovery = recovery};
    memset(recovery, 0, sizeof *recovery);
    enum gw_err err = check_shape(c, why);
    if (!err)
        err = check_target(c, why);
    if (err)
        return err;
    recovery->sets =
        calloc((size_t)c->ranks * c->chunks, sizeof *recovery->sets);
    m.routes = calloc(c->chunks, sizeof *m.routes);
    recovery->start =
        (struct gw__start){.sets = recovery->sets, .full = c->target};
    err = recovery->sets && m.routes
              ? make_recovery(&m, why)
              : gw_fail(why, GW_ENOMEM, "recovery of %u ranks", c->ranks);
    free(m.routes);
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
