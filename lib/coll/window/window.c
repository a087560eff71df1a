/* SPDX-License-Identifier: MIT
 *
 * Runs a direct plan over shared memory: no messages, one pass per chunk, two
 * meetings. Each rank posts its call and the places of its buffers in its
 * control block. When a rank sees the control blocks of all ranks whose memory
 * it touches, it runs its passes (passes.c) and marks itself as having left.
 * Then it waits until the ranks that touch its own memory have left.
 *
 *   WAITING  -- the slot is free, it is my turn             --> ENTERED
 *   ENTERED  -- all that I touch have entered: run passes   --> LEAVING
 *   LEAVING  -- all that touch me have left                 --> DONE
 *
 * Window loads (loads_run.c) run a plan that is not direct between the same two
 * meetings.
 *
 * Memory that peers cannot map moves through a staging buffer, piece by piece,
 * and the passes with it (staging.c).
 *
 * Small inputs travel in the control block itself ("eager"). Then peers touch
 * only the control block, no rank waits for others to leave, and a rooted call
 * costs its leaves no wait at all. A control block has several slots, used in
 * turn, so that a rank can be some calls ahead of its readers. (A call that was
 * prepared before and need not wait takes the fast path: fast_path.c.)
 */
#include "loads.h"
#include "staging.h"

#include <stdio.h>
#include <string.h>

/* Only two ranks know the counts of an alltoallv, so other ranks cannot locate
 * the data. All ranks must decide alike, so it does not matter whether this one
 * works in place. */
bool gw__window_serves(const struct gw_comm *comm, const struct gw_call *call,
                       const struct gw__program *program)
{
    return comm->windows && (program->direct || program->stepwise) &&
           !(call->collective == GW_ALLTOALL && call->counts);
}

enum gw_err gw__window_begin(struct gw_request *r, struct gw_error *why)
{
    if (r->program->direct) {
        r->prepared = gw__prepare(r->comm, &r->call, r->program, &r->signature);
        if (!r->prepared)
            return gw_fail(why, GW_ENOMEM, "preparing a call");
    }
    r->windowed = true;
    r->turn = r->comm->turns++;
    r->state = GW__WAITING;
    return GW_OK;
}

static enum gw_err check_call(struct gw_request *r, unsigned peer,
                              struct gw_error *why)
{
    const struct control_entry *entry = control_entry_of(r, peer);
    if (memcmp(&entry->signature, &r->signature, sizeof r->signature) != 0)
        return gw__mismatch(r->comm, r->op, &r->signature, peer,
                            &entry->signature, why);
    if (entry->op == r->op)
        return GW_OK;
    char text[96];
    gw__call_describe(&r->signature, text, sizeof text);
    return gw_fail(why, GW_EMISMATCH,
                   "%s is op %u on rank %u, but op %u on rank %u", text, r->op,
                   r->comm->rank, entry->op, peer);
}

/* GW_OK if all ranks that this one touches have entered with the same call.
 * Those that were seen earlier may have failed and revoked their control blocks
 * since. */
static enum gw_err all_entered(struct gw_request *r, struct gw_error *why)
{
    const struct gw__passes *passes = passes_of(r);
    unsigned seen_before = r->seen;
    for (; r->seen < passes->touch_count; r->seen++) {
        unsigned peer = passes->touch[r->seen];
        if (!gw__has_entered(r->comm, peer, r->turn))
            return GW_PENDING;
        enum gw_err err = check_call(r, peer, why);
        if (err)
            return err;
    }
    for (unsigned i = 0; i < seen_before; i++)
        if (!gw__has_entered(r->comm, passes->touch[i], r->turn)) {
            r->seen = i;
            return GW_PENDING;
        }
    return GW_OK;
}

static bool all_left(struct gw_request *r)
{
    const struct gw__passes *passes = passes_of(r);
    if (gw__is_eager(r))
        return true;
    for (; r->seen < passes->touched_count; r->seen++)
        if (!gw__has_left(r->comm, passes->touched[r->seen], r->turn))
            return false;
    return true;
}

static void finish_request(struct gw_request *r)
{
    r->comm->windows->moved(r->comm->wire);
    r->comm->turns_done++;
    r->state = GW__DONE;
}

/* May buffers of this call be staged? */
static bool may_stage(const struct gw_request *r)
{
    return r->prepared && !r->prepared->eager;
}

enum gw_err gw__window_progress(struct gw_request *r, bool *moved,
                                struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (r->state == GW__WAITING && r->comm->turns_done == r->turn &&
        gw__control_entry_is_free(r->comm, r->turn)) {
        err = gw__control_block_enter(r, why);
        *moved = true;
    }
    if (!err && r->state == GW__ENTERED) {
        err = all_entered(r, why);
        if (!err)
            err = r->prepared ? gw__run_passes(r, moved, why)
                              : gw__loads_progress(r, moved, why);
    }
    if (r->state != GW__WAITING && may_stage(r) && (!err || err == GW_PENDING))
        *moved |= gw__staging_move(r);
    if (!err && r->state == GW__LEAVING && all_left(r) &&
        (!may_stage(r) || gw__staging_is_empty(r))) {
        finish_request(r);
        *moved = true;
    }
    return err == GW_PENDING ? GW_OK : err;
}

void gw__window_describe(const struct gw_request *r, char *text, size_t room,
                         int *peer)
{
    const struct gw__passes *passes = passes_of(r);
    const char *what = "to begin its call";
    unsigned waited;
    *peer = -1;
    if (r->state == GW__ENTERED && r->seen < passes->touch_count)
        *peer = passes->touch[r->seen];
    else if (r->state == GW__ENTERED && !r->prepared)
        *peer = gw__loads_waits_for(r, &what);
    else if (r->state == GW__ENTERED && may_stage(r) &&
             gw__staging_waits_for(r, r->ran, &waited)) {
        *peer = (int)waited;
        what = "to publish the next chunk";
    } else if (r->state == GW__LEAVING && r->seen < passes->touched_count) {
        *peer = passes->touched[r->seen];
        what = "to finish reading its memory";
    } else
        for (unsigned q = 0; q < r->comm->size && *peer < 0; q++)
            if (q != r->comm->rank &&
                atomic_load(&r->comm->control_blocks[q]->left) +
                        GW__CONTROL_ENTRIES <=
                    r->turn) {
                *peer = (int)q;
                what = "to complete an earlier call";
            }
    if (*peer < 0)
        snprintf(text, room, "rank %u waits for its own earlier call",
                 r->comm->rank);
    else
        snprintf(text, room, "rank %u waits for rank %d %s", r->comm->rank,
                 *peer, what);
}
