/* SPDX-License-Identifier: MIT
 *
 * The rules of state_validity.h.
 */
#include "state_validity.h"

#include <string.h>

static uint64_t bit(unsigned node)
{
    return (uint64_t)1 << node;
}

/* ---- facts ---- */

void gw__state_validity_copied(struct gw__state_validity *claim,
                               const struct gw__state_validity_copy *copy)
{
    gw__state_validity_forget(claim);
    claim->copied = true;
    claim->copy = *copy;
}

void gw__state_validity_forget(struct gw__state_validity *claim)
{
    memset(claim, 0, sizeof *claim);
}

/* An op that goes forward has all of its contributors' data. */
bool gw__copy_is_void(const struct gw__state_validity_copy *copy,
                      const struct gw__decision *decisions, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (decisions[i].fate == GW__EXCLUDE &&
            decisions[i].op + 1 == copy->ops &&
            decisions[i].epoch > copy->epoch)
            return true;
    return false;
}

bool gw__state_validity_decided(struct gw__state_validity *claim,
                                const struct gw__decision *decisions,
                                unsigned count)
{
    if (!claim->copied || !gw__copy_is_void(&claim->copy, decisions, count))
        return true;
    gw__state_validity_forget(claim);
    return false;
}

bool gw__state_validity_heard(struct gw__state_validity *claim, unsigned from,
                              uint64_t ops, uint64_t digest)
{
    if (!claim->copied || ops != claim->copy.ops)
        return true;
    if (digest != claim->copy.digest)
        return false;
    claim->same |= bit(from);
    return true;
}

void gw__state_validity_heard_nothing(struct gw__state_validity *claim,
                                      unsigned from, uint64_t ring_epoch)
{
    if (ring_epoch < claim->nothing_epoch)
        return;
    if (ring_epoch > claim->nothing_epoch)
        claim->nothing = 0;
    claim->nothing_epoch = ring_epoch;
    claim->nothing |= bit(from);
}

bool gw__state_validity_lasts(const struct gw__view *before,
                              const struct gw__view *now)
{
    for (unsigned i = 0; i < before->ring_count; i++) {
        int rank = gw__view_rank(now, before->ring[i].node);
        if (rank >= 0 && gw__id_equal(now->ring[rank].incarnation,
                                      before->ring[i].incarnation))
            return true;
    }
    return before->ring_count == 0;
}

/* ---- conclusions ---- */

/* The first op of `self`. False: it is not in the ring. */
static bool first_op(const struct gw__view *view, struct gw__process self,
                     uint64_t *op)
{
    int rank = gw__view_rank(view, self.node);
    if (rank < 0 ||
        !gw__id_equal(view->ring[rank].incarnation, self.incarnation))
        return false;
    *op = view->ring[rank].from_op;
    return true;
}

/* Members that took part in ops before that one. */
static uint64_t elders_of(const struct gw__view *view, uint64_t op)
{
    uint64_t nodes = 0;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].from_op < op)
            nodes |= bit(view->ring[i].node);
    return nodes;
}

static uint64_t others(const struct gw__view *view, struct gw__process self)
{
    return gw__view_nodes(view) & ~bit(self.node);
}

static uint64_t without(const struct gw__state_validity *claim,
                        const struct gw__view *view)
{
    return claim->nothing_epoch == view->ring_epoch ? claim->nothing : 0;
}

enum gw__worth gw__state_validity_worth(const struct gw__state_validity *claim,
                                        const struct gw__view *view,
                                        struct gw__process self)
{
    uint64_t from_op;
    if (!first_op(view, self, &from_op))
        return GW__STATE_VALIDITY_WAITS;
    if (from_op == 0)
        return claim->copied && claim->copy.ops > 0 ? GW__STATE_VALIDITY_LOST
                                                    : GW__STATE_VALIDITY_STANDS;
    uint64_t elders = elders_of(view, from_op);
    if (claim->copied && claim->copy.ops == from_op && !(elders & ~claim->same))
        return GW__STATE_VALIDITY_STANDS;
    if (gw__state_validity_is_empty(claim, view, self) &&
        !(others(view, self) & ~without(claim, view)))
        return GW__STATE_VALIDITY_LOST;
    return GW__STATE_VALIDITY_WAITS;
}

uint64_t gw__state_validity_asks(const struct gw__state_validity *claim,
                                 const struct gw__view *view,
                                 struct gw__process self)
{
    uint64_t from_op;
    if (gw__state_validity_worth(claim, view, self) !=
            GW__STATE_VALIDITY_WAITS ||
        !first_op(view, self, &from_op))
        return 0;
    if (gw__state_validity_is_empty(claim, view, self))
        return others(view, self) & ~without(claim, view);
    bool has_it = claim->copied && claim->copy.ops == from_op;
    return has_it ? elders_of(view, from_op) & ~claim->same : 0;
}

bool gw__state_validity_is_empty(const struct gw__state_validity *claim,
                                 const struct gw__view *view,
                                 struct gw__process self)
{
    uint64_t from_op;
    return first_op(view, self, &from_op) && from_op > 0 &&
           elders_of(view, from_op) == 0 &&
           !(claim->copied && claim->copy.ops == from_op);
}
