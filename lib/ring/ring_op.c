/* SPDX-License-Identifier: MIT
 *
 * gw_ring_allreduce: begin, move until the op is complete, apply, return the
 * result. ring_move.c moves the data.
 */
#include "ring/supervised/supervised.h"
#include "ring_parts.h"

#include <string.h>

static enum gw_err check_call(const struct gw_ring_call *call,
                              struct gw_error *why)
{
    if ((unsigned)call->type >= GW_DTYPE_COUNT ||
        (unsigned)call->op >= GW_REDOP_COUNT ||
        !gw_redop_allowed(call->op, call->type))
        return gw_fail(why, GW_EINVAL,
                       "the reduction does not support this type");
    if (call->count && !call->in)
        return gw_fail(why, GW_EINVAL, "%zu values, but the input is NULL",
                       call->count);
    if (call->count > (SIZE_MAX >> 8) / gw_dtype_size(call->type))
        return gw_fail(why, GW_EINVAL,
                       "%zu values are more than a call can have", call->count);
    return GW_OK;
}

static enum gw_err run_op(struct gw_ring *ring, const struct gw_ring_call *call,
                          uint64_t *op, struct gw_error *why)
{
    enum gw_err err = gw__ring_begin(ring, why);
    if (err)
        return err;
    *op = ring->ops.next_op; /* only the main thread changes it */
    err = gw__keep_room(ring, *op, call, why);
    while (!err && ring->ops.next_op == *op)
        err = gw__ring_move(ring, call, why);
    return err;
}

enum gw_err gw__ring_op(struct gw_ring *ring, const struct gw_ring_call *call,
                        struct gw_ring_result *result, struct gw_error *why)
{
    static const char nothing;
    struct gw_ring_call full = *call;
    uint64_t op;
    if (!full.in)
        full.in = &nothing; /* of no values */
    enum gw_err err = run_op(ring, &full, &op, why);
    if (!err)
        err = gw__keep_apply(ring, &ring->kept[op % GW__OP_TABLE_OPS].result,
                             result, why);
    if (err == GW_PENDING)
        return err; /* the op was restarted, and the caller wants to know */
    if (err)
        return gw__ring_fail(ring, err);
    if (call->out && call->count)
        memcpy(call->out, result->data,
               call->count * gw_dtype_size(call->type));
    return GW_OK;
}

enum gw_err gw_ring_allreduce(struct gw_ring *ring,
                              const struct gw_ring_call *call,
                              struct gw_ring_result *result,
                              struct gw_error *why)
{
    struct gw_ring_result unwanted;
    enum gw_err err = check_call(call, why);
    if (!err && call->tag == GW__RING_OWN_TAG)
        err = gw_fail(why, GW_EINVAL, "tag %u is reserved for the ring",
                      call->tag);
    if (err)
        return err;
    gw__supervised_compute(ring);
    return gw__ring_op(ring, call, result ? result : &unwanted, why);
}
