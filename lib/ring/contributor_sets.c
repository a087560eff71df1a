/* SPDX-License-Identifier: MIT
 *
 * Contributor sets at the place of the additions: see contributor_sets.h.
 */
#include "contributor_sets.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void gw__contributor_sets_begin(struct gw__contributor_sets *l, uint64_t op,
                                unsigned node, unsigned chunks, uint64_t target)
{
    assert(chunks > 0 && chunks <= GW__REPORT_CHUNKS_MAX);
    assert(node < GW__NODES_MAX);
    *l = (struct gw__contributor_sets){.op = op,
                                       .node = node,
                                       .members = chunks,
                                       .chunks = chunks,
                                       .target = target};
    for (unsigned c = 0; c < chunks; c++)
        l->sets[c] = (uint64_t)1 << node;
}

/* "2", or "2, 5". */
static void nodes_text(uint64_t nodes, char out[96])
{
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; i < GW__NODES_MAX && used + 8 < 96; i++)
        if (nodes >> i & 1)
            used += (size_t)snprintf(out + used, 96 - used, "%s%u",
                                     used ? ", " : "", i);
}

static enum gw_err refuse_chunk(const struct gw__contributor_sets *l,
                                unsigned chunk, uint64_t nodes,
                                const char *what, struct gw_error *why)
{
    char text[96];
    nodes_text(nodes, text);
    return gw_fail(why, GW_EWRONG, "op %llu, chunk %u: node %s %s",
                   (unsigned long long)l->op, chunk, text, what);
}

static enum gw_err check_incoming(const struct gw__contributor_sets *l,
                                  unsigned chunk, uint64_t incoming,
                                  struct gw_error *why)
{
    assert(chunk < l->chunks);
    if (l->frozen)
        return gw_fail(why, GW_ECLOSED, "op %llu waits for a decision",
                       (unsigned long long)l->op);
    if (incoming & ~l->target)
        return refuse_chunk(l, chunk, incoming & ~l->target,
                            "must not be counted", why);
    return GW_OK;
}

enum gw_err gw__contributor_sets_add(struct gw__contributor_sets *l,
                                     unsigned chunk, uint64_t incoming,
                                     struct gw_error *why)
{
    enum gw_err err = check_incoming(l, chunk, incoming, why);
    if (err)
        return err;
    if (incoming & l->sets[chunk])
        return refuse_chunk(l, chunk, incoming & l->sets[chunk],
                            "would be counted twice", why);
    l->sets[chunk] |= incoming;
    return GW_OK;
}

enum gw_err gw__contributor_sets_replace(struct gw__contributor_sets *l,
                                         unsigned chunk, uint64_t incoming,
                                         struct gw_error *why)
{
    enum gw_err err = check_incoming(l, chunk, incoming, why);
    if (!err)
        l->sets[chunk] = incoming;
    return err;
}

bool gw__contributor_sets_final(const struct gw__contributor_sets *l,
                                unsigned chunk)
{
    assert(chunk < l->chunks);
    return l->sets[chunk] == l->target;
}

bool gw__contributor_sets_complete(const struct gw__contributor_sets *l)
{
    for (unsigned c = 0; c < l->chunks; c++)
        if (!gw__contributor_sets_final(l, c))
            return false;
    return true;
}

void gw__contributor_sets_freeze(struct gw__contributor_sets *l)
{
    l->frozen = true;
}

/* A bare input is not a partial result: its owner can always use it again. */
void gw__contributor_sets_report(const struct gw__contributor_sets *l,
                                 struct gw__holdings *holdings)
{
    memset(holdings, 0, sizeof *holdings);
    holdings->members = l->members;
    holdings->chunks = l->chunks;
    for (unsigned c = 0; c < l->chunks; c++) {
        bool final = gw__contributor_sets_final(l, c);
        bool bare = l->sets[c] == (uint64_t)1 << l->node;
        holdings->sets[c] = bare && !final ? 0 : l->sets[c];
        holdings->finals[c / 64] |= (uint64_t) final << c % 64;
    }
}

void gw__contributor_sets_retarget(struct gw__contributor_sets *l,
                                   uint64_t target, const uint64_t *start)
{
    l->target = target;
    l->frozen = false;
    memcpy(l->sets, start, l->chunks * sizeof *start);
}
