/* SPDX-License-Identifier: MIT
 *
 * The signature of a call, in 24 bytes: enough to compare it with those of the
 * peers and to describe it in an error.
 */
#include "comm.h"
#include "plan/registry.h"

#include <inttypes.h>
#include <stdio.h>

/* All ranks of a v-variant, except alltoallv, know the same counts and
 * displacements (NULL: consecutive blocks). */
static uint64_t sign_count(const struct gw_call *call, unsigned ranks)
{
    if (!call->counts)
        return call->collective == GW_BARRIER ? 0 : call->count;
    if (call->collective == GW_ALLTOALL)
        return 0;
    uint64_t hash = 0;
    size_t end = 0;
    for (unsigned b = 0; b < ranks; b++) {
        size_t at = call->displs ? call->displs[b] : end;
        size_t block[2] = {call->counts[b], at};
        hash = gw_hash(block, sizeof block, hash);
        end += call->counts[b];
    }
    return hash;
}

void gw__call_sign(const struct gw_call *call, unsigned ranks, int algo,
                   struct gw__signature *signature)
{
    bool reduces = gw_collective_reduces(call->collective);
    bool rooted = gw_collective_rooted(call->collective);
    uint64_t plan = call->plan ? gw_plan_hash(call->plan) | 1ULL << 63
                               : (uint64_t)(algo & 0xffff) |
                                     (uint64_t)(call->segments & 0xffff) << 16 |
                                     (uint64_t)(call->group & 0xffff) << 32;
    *signature = (struct gw__signature){
        .collective = (uint8_t)call->collective,
        .type = (uint8_t)call->type,
        .op = (uint8_t)(reduces ? call->op : 0),
        .flags = call->counts ? 1 : 0,
        .root = rooted ? call->root : 0,
        .count = sign_count(call, ranks),
        .plan = plan,
    };
}

static const char *algo_name(const struct gw__signature *signature)
{
    if (signature->plan >> 63)
        return "a plan of its own";
    const struct gw_algo *algo = gw__algo_numbered(signature->plan & 0xffff);
    return algo ? algo->name : "?";
}

void gw__call_describe(const struct gw__signature *signature, char *text,
                       size_t room)
{
    enum gw_collective collective = (enum gw_collective)signature->collective;
    const char *type = gw_dtype_name((enum gw_dtype)signature->type);
    if (signature->collective == GW__P2P)
        snprintf(text, room, "send/recv(%" PRIu64 " %s)", signature->count,
                 type);
    else if (signature->collective == GW__SHARED)
        snprintf(
            text, room, "elastic allreduce(%" PRIu64 " %s, %s, plan #%04x)",
            signature->count, type, gw_redop_name((enum gw_redop)signature->op),
            (unsigned)(signature->plan & 0xffff));
    else if (collective == GW_BARRIER)
        snprintf(text, room, "barrier()");
    else if (signature->flags)
        snprintf(text, room, "%sv(%s, %s, counts #%04x)",
                 gw_collective_name(collective), type, algo_name(signature),
                 (unsigned)(signature->count & 0xffff));
    else if (gw_collective_reduces(collective))
        snprintf(text, room, "%s(%" PRIu64 " %s, %s, root %u, %s)",
                 gw_collective_name(collective), signature->count, type,
                 gw_redop_name((enum gw_redop)signature->op), signature->root,
                 algo_name(signature));
    else
        snprintf(text, room, "%s(%" PRIu64 " %s, root %u, %s)",
                 gw_collective_name(collective), signature->count, type,
                 signature->root, algo_name(signature));
}
