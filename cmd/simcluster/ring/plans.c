/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See plans.h.
 */
#include "plans.h"

#include <base/mix.h>

static uint64_t hash_input(const struct gw__recovery_case *c)
{
    uint64_t hash = gw__mix_words(c->initial_count, c->ranks, c->chunks);
    hash = gw__mix_words(hash, c->trees ? 6 : 5,
                         c->chosen ? gw_plan_hash(c->chosen) : 0);
    hash = gw__mix_bytes(hash, &c->target, sizeof c->target);
    hash = gw__mix_bytes(hash, c->nodes, c->ranks * sizeof *c->nodes);
    hash = gw__mix_bytes(hash, c->initial_members,
                         c->initial_count * sizeof *c->initial_members);
    for (unsigned i = 0; c->held && i < c->ranks; i++) {
        const struct gw__holdings *held = c->held[i];
        hash = gw__mix_words(hash, i, held ? held->bytes : UINT64_MAX);
        if (held)
            hash = gw__mix_bytes(hash, held->data, held->bytes);
    }
    return hash;
}

static uint64_t hash_plan(const struct gw__recovery_case *c,
                          const struct gw__recovery *recovery)
{
    const struct gw_plan *plan = recovery->plan;
    uint64_t hash = gw__mix_words(1, c->ranks, c->chunks);
    hash = gw__mix_bytes(hash, &c->target, sizeof c->target);
    hash = gw__mix_bytes(hash, c->nodes, c->ranks * sizeof *c->nodes);
    hash = gw__mix_bytes(hash, recovery->sets,
                         (size_t)c->ranks * c->chunks * sizeof *recovery->sets);
    for (size_t i = 0; i < plan->transfer_count; i++) {
        const struct gw_transfer *x = &plan->transfers[i];
        hash = gw__mix_words(hash, (uint64_t)x->src << 32 | x->dst,
                             (uint64_t)x->chunk << 32 | x->action);
    }
    return gw__mix_bytes(hash, plan->step_begin,
                         (plan->steps + 1) * sizeof(size_t));
}

const struct planned *plans_find(struct plans *plans,
                                 const struct gw__recovery_case *c,
                                 struct gw_error *why)
{
    uint64_t input = hash_input(c);
    for (unsigned i = 0; i < PLANS_KEPT; i++)
        if (plans->kept[i].made && plans->kept[i].input == input)
            return &plans->kept[i];
    struct planned *planned = &plans->kept[plans->next++ % PLANS_KEPT];
    if (planned->made)
        gw__recovery_fini(&planned->recovery);
    planned->input = input;
    planned->made = gw__recovery_make(c, &planned->recovery, why) == GW_OK;
    if (!planned->made)
        return NULL;
    planned->hash = hash_plan(c, &planned->recovery);
    return planned;
}

void plans_fini(struct plans *plans)
{
    for (unsigned i = 0; i < PLANS_KEPT; i++)
        if (plans->kept[i].made)
            gw__recovery_fini(&plans->kept[i].recovery);
}
