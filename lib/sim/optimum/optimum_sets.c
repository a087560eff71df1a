/* SPDX-License-Identifier: MIT
 *
 * Bounds by sets of ranks.
 *
 * allreduce: divide the ranks into k sets. For each part of the buffer k - 1
 * messages between sets are needed before one set can have the sum, and k - 1
 * more until all have it (one-way gossip: Harary, Schwenk, J. Franklin Inst.
 * 297, 1974). A message leaves its set through the smallest cut c(i) around
 * it, so time >= 2 (k - 1) n / sum of c(i). With single ranks and one NIC each
 * this is the well-known 2 (p-1)/p n (Patarasuk, Yuan 2009). A plan that
 * reaches it exists if it equals twice the time of the all-gather: reduce-
 * scatter on the same trees backwards, then all-gather.
 *
 * alltoall: of a set of s ranks, s (p - s) blocks leave through its cut.
 */
#include "bounds.h"
#include "cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sets {
    struct gw_optimum *o;
    const struct gw_topology *t;
    const struct gw__network *n;
    bool *group; /* of each rank */
    double best; /* the largest bound, to compare */
};

/* Is numerator / (factor * capacity) the largest so far? Then it counts. */
static enum gw_err offer(struct sets *s, uint64_t numerator, uint64_t factor,
                         int64_t capacity, bool *better, struct gw_error *why)
{
    *better = false;
    if (capacity < 0)
        return gw_fail(why, GW_ENOMEM, "a cut of %u ranks", s->n->ranks);
    double ratio = (double)numerator / (double)factor / (double)capacity;
    if (capacity == 0 || ratio <= s->best)
        return GW_OK;
    s->best = ratio;
    *better = true;
    return gw__optimum_ratio(s->o, numerator, factor,
                             (uint64_t)capacity * s->n->unit, why);
}

enum grouping { BY_RANK, BY_HOST, BY_RACK, GROUPINGS };

static const char *name_of(const struct sets *s, unsigned rank,
                           enum grouping by)
{
    return by == BY_RACK ? gw_topology_rack(s->t, rank)
                         : gw_topology_host(s->t, rank);
}

/* Puts `rank`, or all ranks of its host or rack, in the group; returns how
 * many. 0: a rank before it is in the same group. */
static unsigned form_group(struct sets *s, unsigned rank, enum grouping by)
{
    unsigned count = 0;
    const char *name = name_of(s, rank, by);
    for (unsigned r = 0; r < s->n->ranks; r++) {
        s->group[r] =
            by == BY_RANK ? r == rank : strcmp(name_of(s, r, by), name) == 0;
        if (s->group[r] && r < rank)
            return 0;
        count += s->group[r];
    }
    return count;
}

/* ---- allreduce ---- */

static enum gw_err partition(struct sets *s, enum grouping by,
                             struct gw_error *why)
{
    static const char *const names[GROUPINGS] = {"ranks", "hosts", "racks"};
    uint64_t sets = 0;
    int64_t sum = 0;
    bool better;
    for (unsigned r = 0; r < s->n->ranks && sum >= 0; r++) {
        if (form_group(s, r, by) == 0)
            continue;
        int64_t cut = gw__cut_of_group(s->n, s->group);
        sum = cut < 0 ? cut : sum + cut;
        sets++;
    }
    if (sets < 2)
        return GW_OK;
    enum gw_err err = offer(s, 2 * (sets - 1), 1, sum, &better, why);
    if (!better || err)
        return err;
    snprintf(s->o->cut, sizeof s->o->cut, "the links out of all %s", names[by]);
    snprintf(s->o->reason, sizeof s->o->reason,
             "%llu buffers must pass %s together",
             (unsigned long long)(2 * (sets - 1)), s->o->cut);
    return GW_OK;
}

/* The sides of the all-gather's cut; and do its trees reach the bound? */
static enum gw_err two_sides(struct sets *s, const struct gw__certificate *c,
                             const struct gw_optimum *gather,
                             struct gw_error *why)
{
    bool better;
    int64_t out = gw__cut_of_group(s->n, c->inside);
    for (unsigned r = 0; r < s->n->ranks; r++)
        s->group[r] = !c->inside[r];
    int64_t back = gw__cut_of_group(s->n, s->group);
    enum gw_err err =
        offer(s, 2, 1, out < 0 || back < 0 ? -1 : out + back, &better, why);
    if (!better || err)
        return err;
    memcpy(s->o->cut, gather->cut, sizeof s->o->cut);
    snprintf(s->o->reason, sizeof s->o->reason,
             "the buffer must pass %s in both directions", s->o->cut);
    return GW_OK;
}

static enum gw_err bound_allreduce(struct sets *s, struct gw_error *why)
{
    struct gw__certificate c;
    struct gw_optimum gather, twice = *s->o;
    enum gw_err err =
        gw_optimum_find(s->t, GW_ALLGATHER, s->n->ranks, 0, &gather, why);
    if (err)
        return err;
    err = gw__optimum_cut(s->n, GW_ALLGATHER, 0, &c, why);
    for (enum grouping by = BY_RANK; by < GROUPINGS && !err; by++)
        err = partition(s, by, why);
    if (!err)
        err = two_sides(s, &c, &gather, why);
    if (!err)
        err = gw__optimum_ratio(&twice, 2 * gather.numerator, 1,
                                gather.denominator, why);
    s->o->reached = gather.reached && twice.numerator == s->o->numerator &&
                    twice.denominator == s->o->denominator;
    gw__certificate_fini(&c);
    return err;
}

/* ---- alltoall ---- */

/* The ranks of the group to the others. */
static enum gw_err offer_blocks(struct sets *s, unsigned count,
                                const char *name, struct gw_error *why)
{
    bool better;
    uint64_t ranks = s->n->ranks, blocks = count * (ranks - count);
    enum gw_err err =
        offer(s, blocks, ranks, gw__cut_of_group(s->n, s->group), &better, why);
    if (!better || err)
        return err;
    snprintf(s->o->cut, sizeof s->o->cut, "the links out of %s", name);
    snprintf(s->o->reason, sizeof s->o->reason, "%llu blocks must pass %s",
             (unsigned long long)blocks, s->o->cut);
    return GW_OK;
}

static enum gw_err bound_alltoall(struct sets *s, struct gw_error *why)
{
    static const char *const kinds[GROUPINGS] = {"host", "host", "rack"};
    char name[64];
    enum gw_err err = GW_OK;
    for (enum grouping by = BY_RANK; by < GROUPINGS; by++)
        for (unsigned rank = 0; rank < s->n->ranks && !err; rank++) {
            unsigned count = form_group(s, rank, by);
            if (count == 0 || count == s->n->ranks)
                continue;
            snprintf(name, sizeof name, "%s %s", kinds[by],
                     name_of(s, rank, by));
            err = offer_blocks(s, count, name, why);
        }
    return err;
}

enum gw_err gw__optimum_sets(struct gw_optimum *optimum,
                             const struct gw_topology *topology,
                             const struct gw__network *network,
                             struct gw_error *why)
{
    struct sets s = {.o = optimum, .t = topology, .n = network};
    s.group = calloc(network->nodes, sizeof *s.group);
    if (!s.group)
        return gw_fail(why, GW_ENOMEM, "a bound of %u ranks", network->ranks);
    enum gw_err err = optimum->collective == GW_ALLREDUCE
                          ? bound_allreduce(&s, why)
                          : bound_alltoall(&s, why);
    free(s.group);
    return err;
}
