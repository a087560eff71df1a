/* SPDX-License-Identifier: MIT
 *
 * Contributor sets at the place of the additions: see contributor_sets.h.
 */
#include "contributor_sets.h"

#include "ring/plans/chosen_plans.h"

#include <assert.h>
#include <string.h>

void gw__contributor_sets_begin(struct gw__contributor_sets *l, uint64_t op,
                                unsigned node, unsigned chunks,
                                const struct gw_nodes *target)
{
    assert(chunks > 0 && chunks <= GW__REPORT_CHUNKS_MAX);
    assert(node < GW__NODES_MAX);
    l->op = op;
    l->node = node;
    l->chunks = chunks;
    l->target = *target;
    l->final_count = 0;
    l->frozen = false;
    for (unsigned c = 0; c < chunks; c++)
        l->sets[c] = gw__nodes_only(node);
}

static enum gw_err refuse_chunk(const struct gw__contributor_sets *l,
                                unsigned chunk, struct gw_nodes nodes,
                                const char *what, struct gw_error *why)
{
    char text[96];
    gw__nodes_text(&nodes, text, sizeof text);
    return gw_fail(why, GW_EWRONG, "op %llu, chunk %u: node %s %s",
                   (unsigned long long)l->op, chunk, text, what);
}

static enum gw_err check_incoming(const struct gw__contributor_sets *l,
                                  unsigned chunk,
                                  const struct gw_nodes *incoming,
                                  struct gw_error *why)
{
    assert(chunk < l->chunks);
    if (l->frozen)
        return gw_fail(why, GW_ECLOSED, "op %llu waits for a decision",
                       (unsigned long long)l->op);
    if (!gw__nodes_within(*incoming, l->target))
        return refuse_chunk(l, chunk, gw__nodes_minus(*incoming, l->target),
                            "must not be counted", why);
    return GW_OK;
}

enum gw_err gw__contributor_sets_add(struct gw__contributor_sets *l,
                                     unsigned chunk,
                                     const struct gw_nodes *incoming,
                                     struct gw_error *why)
{
    enum gw_err err = check_incoming(l, chunk, incoming, why);
    if (err)
        return err;
    struct gw_nodes twice = gw__nodes_and(*incoming, l->sets[chunk]);
    if (!gw__nodes_is_empty(twice))
        return refuse_chunk(l, chunk, twice, "would be counted twice", why);
    l->sets[chunk] = gw__nodes_or(l->sets[chunk], *incoming);
    return GW_OK;
}

enum gw_err gw__contributor_sets_replace(struct gw__contributor_sets *l,
                                         unsigned chunk,
                                         const struct gw_nodes *incoming,
                                         struct gw_error *why)
{
    enum gw_err err = check_incoming(l, chunk, incoming, why);
    if (!err)
        l->sets[chunk] = *incoming;
    return err;
}

bool gw__contributor_sets_final(const struct gw__contributor_sets *l,
                                unsigned chunk)
{
    assert(chunk < l->chunks);
    return gw__nodes_equal(l->sets[chunk], l->target);
}

bool gw__contributor_sets_complete(struct gw__contributor_sets *l)
{
    while (l->final_count < l->chunks &&
           gw__contributor_sets_final(l, l->final_count))
        l->final_count++;
    return l->final_count == l->chunks;
}

void gw__contributor_sets_freeze(struct gw__contributor_sets *l)
{
    l->frozen = true;
}

/* A bare input is not a partial result: its owner can always use it again. In a
 * large ring partial results are not reported at all: each member of a tree has
 * another set, and a few more steps compute them again. So the reports of most
 * members are the same. */
void gw__contributor_sets_report(const struct gw__contributor_sets *l,
                                 const struct gw__places *places,
                                 struct gw__holdings *holdings)
{
    struct gw__held_chunk held[GW__REPORT_CHUNKS_MAX];
    struct gw_nodes own = gw__nodes_only(l->node);
    bool large = places->count > GW__RING_PLAN_MOST;
    for (unsigned c = 0; c < l->chunks; c++) {
        held[c].final = gw__contributor_sets_final(l, c);
        held[c].set = l->sets[c];
        if (!held[c].final && (large || gw__nodes_equal(own, l->sets[c])))
            held[c].set = (struct gw_nodes){{0}};
    }
    gw__holdings_pack(holdings, places, held, l->chunks);
}

void gw__contributor_sets_retarget(struct gw__contributor_sets *l,
                                   const struct gw_nodes *target,
                                   const struct gw_nodes *start)
{
    l->target = *target;
    l->final_count = 0;
    l->frozen = false;
    memcpy(l->sets, start, l->chunks * sizeof *start);
}
