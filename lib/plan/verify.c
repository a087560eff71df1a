/* SPDX-License-Identifier: MIT
 *
 * The verifier. A plan is executed symbolically: a value is not a number but
 * the set of ranks whose data it contains (check_dataflow.c). The first fault
 * in the order of the plan is reported (verdict.c).
 *
 * A plan that computes the right values can still deadlock. The game of waits
 * (check_deadlock.c) decides this. It is played twice: in rendezvous, where a
 * chunk has several slices and a link has room for one, and with bounded
 * buffers of `link_chunks` whole chunks.
 *
 * The work is linear in the number of transfers, times the words of a set.
 */
#include "verify.h"

enum { RENDEZVOUS_SLICES = GW__SLICES_MAX, RENDEZVOUS_ROOM = 1 };

const char *gw_fault_name(enum gw_fault fault)
{
    static const char *const names[] = {
        [GW_FAULT_NONE] = "none",         [GW_FAULT_ABSENT] = "absent",
        [GW_FAULT_DOUBLE] = "double",     [GW_FAULT_INCOMPLETE] = "incomplete",
        [GW_FAULT_PORTS] = "ports",       [GW_FAULT_CONFLICT] = "conflict",
        [GW_FAULT_DEADLOCK] = "deadlock", [GW_FAULT_SHAPE] = "shape",
    };
    return fault < sizeof names / sizeof *names ? names[fault] : "?";
}

void gw__finding_keep_first(struct gw__finding *found,
                            const struct gw__finding *another)
{
    bool earlier =
        another->step < found->step ||
        (another->step == found->step && another->transfer < found->transfer);
    if (found->fault == GW_FAULT_NONE || earlier)
        *found = *another;
}

static enum gw_err check_semantics(const struct gw__index *index,
                                   struct gw_verdict *verdict,
                                   struct gw_error *why)
{
    struct gw__finding found = {.fault = GW_FAULT_NONE};
    enum gw_err err = gw__check_shape(index, &found, why);
    if (!err && found.fault != GW_FAULT_SHAPE)
        err = gw__check_dataflow(index, &found, why);
    if (err || found.fault == GW_FAULT_NONE)
        return err;
    return gw__verdict_describe(index, &found, verdict, why);
}

static enum gw_err check_deadlocks(const struct gw__index *index,
                                   unsigned link_chunks,
                                   struct gw_verdict *verdict,
                                   struct gw_error *why)
{
    struct gw__versions versions;
    struct gw__buckets by_link;
    enum gw_err err = gw__versions_init(&versions, index, why);
    if (err)
        return err;
    if (!gw__buckets_init(&by_link, index->link, index->transfers,
                          index->links)) {
        gw__versions_fini(&versions);
        return gw_fail(why, GW_ENOMEM, "%u links", index->links);
    }
    err = gw__check_deadlock(index, &versions, &by_link, RENDEZVOUS_SLICES,
                             RENDEZVOUS_ROOM, verdict, why);
    if (!err)
        err = gw__check_deadlock(index, &versions, &by_link, 1,
                                 link_chunks ? link_chunks : 1, verdict, why);
    gw__buckets_fini(&by_link);
    gw__versions_fini(&versions);
    return err;
}

static enum gw_err verify(const struct gw_plan *plan,
                          const struct gw__start *start, unsigned link_chunks,
                          struct gw_verdict *verdict, struct gw_error *why)
{
    struct gw__index index;
    *verdict = (struct gw_verdict){.fault = GW_FAULT_NONE};
    enum gw_err err = gw__index_init(&index, plan, why);
    if (err)
        return err;
    index.start = start;
    err = check_semantics(&index, verdict, why);
    if (!err)
        err = check_deadlocks(&index, link_chunks, verdict, why);
    gw__index_fini(&index);
    return err == GW_EPLAN ? gw_fail(why, err, "%s", verdict->sentence) : err;
}

enum gw_err gw_plan_verify(const struct gw_plan *plan, unsigned link_chunks,
                           struct gw_verdict *verdict, struct gw_error *why)
{
    return verify(plan, NULL, link_chunks, verdict, why);
}

enum gw_err gw__plan_verify_from(const struct gw_plan *plan,
                                 const struct gw__start *start,
                                 unsigned link_chunks,
                                 struct gw_verdict *verdict,
                                 struct gw_error *why)
{
    if (plan->ranks > GW__NODES_MAX || plan->collective != GW_ALLREDUCE) {
        *verdict = (struct gw_verdict){.fault = GW_FAULT_SHAPE};
        return gw_fail(why, GW_EINVAL,
                       "a plan with its own start must be an allreduce of at "
                       "most %d ranks",
                       GW__NODES_MAX);
    }
    return verify(plan, start, link_chunks, verdict, why);
}
