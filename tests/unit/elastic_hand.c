/* SPDX-License-Identifier: MIT
 *
 * See elastic_hand.h.
 */
#include "elastic_hand.h"
#include "node_bits.h"

#include <string.h>

void hand_open(struct elastic_ring *ring, struct share *shares, size_t count)
{
    ring_open(ring);
    for (unsigned r = 0; r < ring->size; r++)
        share_init(&shares[r], ring, r, count, true);
}

void hand_leave(struct elastic_ring *ring, struct share *shares)
{
    ring_leave(ring);
    for (unsigned r = 0; r < ring->size; r++)
        share_fini(&shares[r], true);
}

void hand_plan(struct elastic_ring *ring, struct share *shares,
               const struct hop *hops, unsigned count, uint64_t target,
               const uint64_t *sets)
{
    struct gw_builder *builder;
    struct gw_plan *plan;
    ck_assert_int_eq(
        gw_builder_new(GW_ALLREDUCE, ring->size, 1, 0, &builder, NULL), GW_OK);
    for (unsigned i = 0; i < count; i++) {
        if (!hops[i].same_step)
            gw_builder_step(builder);
        gw_builder_add(builder, hops[i].src, hops[i].dst, 0, hops[i].action);
    }
    ck_assert_int_eq(gw_builder_finish(&builder, &plan, NULL), GW_OK);
    for (unsigned r = 0; r < ring->size; r++) {
        uint64_t set = sets[r] ? sets[r] : ring_bit(ring, r);
        const struct gw_nodes start = node_set(set);
        share_plan(&shares[r], ring, r, plan, target, &start);
        for (size_t i = 0; i < shares[r].call.count; i++)
            ((int64_t *)shares[r].call.out)[i] = share_digits(set);
    }
    gw_plan_destroy(&plan);
}

void hand_send(struct elastic_ring *ring, const struct share *s, unsigned from,
               unsigned to, const struct hand_slice *slice)
{
    struct gw__wire *wire = ring->comms[from]->wire;
    const struct gw_nodes set = node_set(slice->contributors);
    struct gw__header header = {.epoch = slice->epoch,
                                .op = s->op,
                                .step = slice->step,
                                .slice = slice->slice,
                                .bytes = slice->bytes,
                                .contributors = gw__nodes_pack(&set)};
    gw__call_sign(&s->call, ring->size, 0, &header.call);
    header.call.collective = GW__SHARED;
    header.call.plan = gw_plan_hash(s->program->plan);
    ck_assert_int_eq(wire->ops->send(wire, to, &header, s->call.in, true),
                     GW_OK);
}

void hand_expect(const struct elastic_ring *ring, const struct share *shares,
                 unsigned rank, enum gw_err code, const char *text)
{
    const struct gw_error *error = gw_comm_error(ring->comms[rank]);
    ck_assert_msg(shares[rank].err == code, "%s: %s",
                  gw_err_name(shares[rank].err), error->text);
    ck_assert_msg(strstr(error->text, text) != NULL, "no \"%s\" in: %s", text,
                  error->text);
}
