/* SPDX-License-Identifier: MIT
 *
 * Moves all calls of a communicator, and fails them together.
 *
 * Calls keep their order on every link: a younger call may use a link only when
 * all older ones have finished with it. All ranks start the same calls in the
 * same order, so both ends of a link agree on the next message, and no call can
 * block another forever.
 *
 * Failure is shared. The first rank that detects an error aborts the wire,
 * which ends every other rank's wait with the same sentence.
 */
#include "comm.h"

#include <string.h>

enum {
    CHECK_NS = 1000000,  /* between looks for lost peers */
    SLEEP_NS = 20000000, /* at most, between readings of the clock */
    STOP_NS = 2000000,   /* the same, between readings of `stop` */
    OTHERS_NS = 200000,  /* the same, while its progress group has pending
                            calls */
};

void gw__event(const struct gw_request *r, enum gw_event_kind kind,
               unsigned peer, unsigned step, unsigned chunk, uint64_t bytes,
               int64_t value)
{
    const struct gw_comm *comm = r->comm;
    struct gw_sink *sink = comm->config.events;
    if (!sink)
        return;
    struct gw_event event = {.time_ns = gw_now_ns(),
                             .bytes = bytes,
                             .value = value,
                             .kind = (uint32_t)kind,
                             .rank = comm->rank,
                             .peer = peer,
                             .epoch = comm->epoch,
                             .op = r->op,
                             .step = step,
                             .chunk = chunk};
    if (comm->nodes) {
        event.rank = comm->nodes[comm->rank];
        event.peer = peer == GW_NONE ? GW_NONE : comm->nodes[peer];
    }
    gw_emit(sink, &event);
}

static void end_event(const struct gw_request *r, enum gw_err code)
{
    gw__event(r, GW_EV_OP_END, GW_NONE, GW_NONE, GW_NONE, 0, code);
}

/* An op of a ring continues if its communicator loses a member. */
static bool goes_on(const struct gw_comm *comm, enum gw_err code)
{
    return comm->nodes && (code == GW_ELOST || code == GW_ECLOSED);
}

enum gw_err gw__comm_fail(struct gw_comm *comm, const struct gw_error *error)
{
    if (comm->error.code)
        return comm->error.code;
    comm->error = *error;
    for (const struct gw_request *r = comm->active; r; r = r->next)
        if (r->state != GW__DONE && !goes_on(comm, error->code))
            end_event(r, error->code);
    if (!comm->nodes) {
        comm->wire->ops->abort(comm->wire, &comm->error);
        gw__revoke(comm);
    }
    gw__progress_group_fail(comm);
    return comm->error.code;
}

void gw_comm_abort(struct gw_comm *comm, enum gw_err code, const char *sentence)
{
    struct gw_error error;
    gw_fail(&error, code, "%s", sentence);
    gw__comm_fail(comm, &error);
}

static const char *call_name(const struct gw_request *r)
{
    return r->signature.collective == GW__P2P
               ? "send/recv"
               : gw_collective_name(r->call.collective);
}

/* "allreduce op 12: rank 0 waits for rank 3, step 2, chunk 5: SENTENCE" */
static enum gw_err fail_request(struct gw_request *r, struct gw_error *error)
{
    if (error->code == GW_EMISMATCH || error->code == GW_EWRONG ||
        r->comm->wire->aborted_by_peer)
        return gw__comm_fail(r->comm, error);
    char waits[160];
    int peer;
    gw__describe_wait(r, waits, sizeof waits, &peer);
    gw_wrap(error, error->code, "%s op %u: %s", call_name(r), r->op, waits);
    return gw__comm_fail(r->comm, error);
}

static void mark_links(struct gw_comm *comm, const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (unsigned q = 0; q < comm->size; q++) {
        comm->out_blocked[q] |= r->out_at[q] < p->out_begin[q + 1];
        comm->in_blocked[q] |= r->in_at[q] < p->in_begin[q + 1];
    }
}

enum gw_err gw__progress(struct gw_comm *comm, bool *moved)
{
    struct gw_error why = {0};
    if (comm->error.code)
        return comm->error.code;
    bool several = comm->active && comm->active->next;
    if (several) {
        memset(comm->out_blocked, 0, comm->size * sizeof(bool));
        memset(comm->in_blocked, 0, comm->size * sizeof(bool));
    }
    for (struct gw_request *r = comm->active; r; r = r->next) {
        if (r->state == GW__DONE)
            continue;
        enum gw_err err = r->windowed ? gw__window_progress(r, moved, &why)
                                      : gw__engine_progress(r, moved, &why);
        if (err)
            return fail_request(r, &why);
        if (r->state == GW__DONE)
            end_event(r, GW_OK);
        if (several && !r->windowed)
            mark_links(comm, r);
    }
    if (several) {
        memset(comm->out_blocked, 0, comm->size * sizeof(bool));
        memset(comm->in_blocked, 0, comm->size * sizeof(bool));
    }
    return GW_OK;
}

/* Checks whether the peer of a waiting window pass has closed its communicator,
 * and too early for the pass to end. (Message calls detect this themselves.) */
static enum gw_err find_closed(struct gw_request *r, struct gw_error *why)
{
    struct gw_comm *comm = r->comm;
    char waits[160];
    int before, after;
    bool moved = false;
    gw__window_describe(r, waits, sizeof waits, &before);
    if (before < 0 || !comm->windows->gone(comm->wire, (unsigned)before))
        return GW_OK;
    enum gw_err err = gw__window_progress(r, &moved, why);
    if (err || moved)
        return err;
    gw__window_describe(r, waits, sizeof waits, &after);
    if (after != before || comm->wire->ops->check(comm->wire, why))
        return after != before ? GW_OK : why->code;
    return gw_fail(why, GW_ECLOSED, "rank %d has closed its communicator",
                   before);
}

enum gw_err gw__comm_check(struct gw_comm *comm, uint64_t now)
{
    struct gw_error why = {0};
    if (now - comm->last_check_ns < CHECK_NS)
        return GW_OK;
    struct gw_request *r = gw__oldest_pending(comm);
    uint64_t away_ns = now - comm->last_check_ns;
    comm->last_check_ns = now;
    if (away_ns > comm->timeout_ns / 2) /* this rank was computing, or
                                           stopped */
        comm->last_progress_ns = now;
    enum gw_err err = comm->wire->ops->check(comm->wire, &why);
    if (err && r)
        return fail_request(r, &why);
    if (err)
        return gw__comm_fail(comm, &why);
    if (!r)
        return GW_OK;
    if (gw__find_mismatch(comm, &why))
        return gw__comm_fail(comm, &why);
    gw__send_probes(comm, r, now);
    if (r->windowed && find_closed(r, &why))
        return fail_request(r, &why);
    if (comm->config.events)
        gw__report_wait(r, now);
    if (!r->contributors && now - comm->last_progress_ns > comm->timeout_ns) {
        gw_fail(&why, GW_ETIMEOUT, "no progress for %llu ms",
                (unsigned long long)(comm->timeout_ns / 1000000));
        return fail_request(r, &why);
    }
    return GW_OK;
}

/* Nothing moved: check periodically, or wait. The check sees slices that have
 * just arrived, and a wait would not report these again. */
static enum gw_err idle(struct gw_comm *comm, bool sleep, bool overlaps)
{
    uint64_t checked_ns = comm->last_check_ns;
    enum gw_err err = gw__comm_check(comm, gw_now_ns());
    if (err || comm->last_check_ns != checked_ns)
        return err;
    uint64_t most_ns = overlaps ? OTHERS_NS : comm->stop ? STOP_NS : SLEEP_NS;
    uint64_t nap_ns = comm->timeout_ns / 8;
    uint64_t limit_ns = comm->config.sleep_us * 1000ULL;
    if (limit_ns && limit_ns < nap_ns)
        nap_ns = limit_ns;
    if (sleep)
        comm->wire->ops->wait(comm->wire, nap_ns < most_ns ? nap_ns : most_ns);
    return GW_OK;
}

enum gw_err gw__turn(struct gw_comm *comm, bool sleep)
{
    bool moved = false, overlaps = false;
    enum gw_err err = gw__progress(comm, &moved);
    if (!err && !moved && comm->progress_with_count > 0)
        err = gw__progress_group_progress(comm, &moved, &overlaps);
    if (moved)
        gw__progress_group_moved(comm, gw_now_ns());
    else if (!err)
        err = idle(comm, sleep, overlaps);
    return err;
}
