/* SPDX-License-Identifier: MIT
 *
 * The rules of state_validity.h.
 */
#include "state_validity.h"

#include <string.h>

/* ---- facts ---- */

void gw__state_validity_copied(struct gw__state_validity *validity,
                               const struct gw__state_validity_copy *copy)
{
    gw__state_validity_forget(validity);
    validity->copied = true;
    validity->copy = *copy;
}

void gw__state_validity_forget(struct gw__state_validity *validity)
{
    memset(validity, 0, sizeof *validity);
}

/* Would these decisions make a copy void? An op that goes forward has all of
 * its contributors' data. */
static bool copy_is_void(const struct gw__state_validity_copy *copy,
                         const struct gw__decision *decisions, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (decisions[i].fate == GW__EXCLUDE &&
            decisions[i].op + 1 == copy->ops &&
            decisions[i].epoch > copy->epoch)
            return true;
    return false;
}

bool gw__state_validity_decided(struct gw__state_validity *validity,
                                const struct gw__decision *decisions,
                                unsigned count)
{
    if (!validity->copied || !copy_is_void(&validity->copy, decisions, count))
        return true;
    gw__state_validity_forget(validity);
    return false;
}

bool gw__state_validity_compare(struct gw__state_validity *validity,
                                unsigned from, uint64_t ops, uint64_t digest)
{
    if (!validity->copied || ops != validity->copy.ops)
        return true;
    if (digest != validity->copy.digest)
        return false;
    gw__nodes_add(&validity->same, from);
    return true;
}

void gw__state_validity_peer_empty(struct gw__state_validity *validity,
                                   unsigned from, uint64_t ring_epoch)
{
    if (ring_epoch < validity->nothing_epoch)
        return;
    if (ring_epoch > validity->nothing_epoch)
        validity->nothing = (struct gw_nodes){{0}};
    validity->nothing_epoch = ring_epoch;
    gw__nodes_add(&validity->nothing, from);
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
static struct gw_nodes earlier_members(const struct gw__view *view, uint64_t op)
{
    struct gw_nodes nodes = {{0}};
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].from_op < op)
            gw__nodes_add(&nodes, view->ring[i].node);
    return nodes;
}

/* Is there such a member that is not in `except`? */
static bool has_earlier(const struct gw__view *view, uint64_t op,
                        const struct gw_nodes *except)
{
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].from_op < op &&
            !gw__nodes_has(except, view->ring[i].node))
            return true;
    return false;
}

static struct gw_nodes others(const struct gw__view *view,
                              struct gw__process self)
{
    struct gw_nodes nodes = gw__view_nodes(view);
    gw__nodes_remove(&nodes, self.node);
    return nodes;
}

/* The others that have not answered that they have nothing. */
static struct gw_nodes not_empty(const struct gw__state_validity *validity,
                                 const struct gw__view *view,
                                 struct gw__process self)
{
    struct gw_nodes nodes = others(view, self);
    return validity->nothing_epoch == view->ring_epoch
               ? gw__nodes_minus(nodes, validity->nothing)
               : nodes;
}

enum gw__validity_status
gw__state_validity_status(const struct gw__state_validity *validity,
                          const struct gw__view *view, struct gw__process self)
{
    uint64_t from_op;
    if (!first_op(view, self, &from_op))
        return GW__STATE_VALIDITY_UNKNOWN;
    if (from_op == 0)
        return validity->copied && validity->copy.ops > 0
                   ? GW__STATE_VALIDITY_LOST
                   : GW__STATE_VALIDITY_CONFIRMED;
    if (validity->copied && validity->copy.ops == from_op &&
        !has_earlier(view, from_op, &validity->same))
        return GW__STATE_VALIDITY_CONFIRMED;
    if (gw__state_validity_is_empty(validity, view, self) &&
        gw__nodes_is_empty(not_empty(validity, view, self)))
        return GW__STATE_VALIDITY_LOST;
    return GW__STATE_VALIDITY_UNKNOWN;
}

struct gw_nodes
gw__state_validity_requests(const struct gw__state_validity *validity,
                            const struct gw__view *view,
                            struct gw__process self)
{
    const struct gw_nodes none = {{0}};
    uint64_t from_op;
    if (gw__state_validity_status(validity, view, self) !=
            GW__STATE_VALIDITY_UNKNOWN ||
        !first_op(view, self, &from_op))
        return none;
    if (gw__state_validity_is_empty(validity, view, self))
        return not_empty(validity, view, self);
    bool has_it = validity->copied && validity->copy.ops == from_op;
    return has_it
               ? gw__nodes_minus(earlier_members(view, from_op), validity->same)
               : none;
}

bool gw__state_validity_is_empty(const struct gw__state_validity *validity,
                                 const struct gw__view *view,
                                 struct gw__process self)
{
    static const struct gw_nodes none;
    uint64_t from_op;
    return first_op(view, self, &from_op) && from_op > 0 &&
           !(validity->copied && validity->copy.ops == from_op) &&
           !has_earlier(view, from_op, &none);
}
