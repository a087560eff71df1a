/* SPDX-License-Identifier: MIT
 *
 * From a task to a program. The recovery plan (recover.h) covers the members
 * that take part in the op. The communicator has all members of the ring, among
 * them joiners of later ops. So after its verification the plan is rewritten
 * with the communicator's ranks.
 *
 * Undisturbed ops among the same members have the same plan, which is kept.
 */
#include "ring_parts.h"

#include "base/log.h"
#include <string.h>

/* A decided op is not cut again. */
const struct gw_ring_hold *gw__ring_cut(const struct gw_ring *ring,
                                        const struct gw__recovery_task *task)
{
    return task->recovers ? NULL : gw__hold_cut(ring, task->op);
}

void gw__ring_forget_plans(struct gw_ring *ring)
{
    gw__program_destroy(&ring->undisturbed.program);
    gw__program_destroy(&ring->recovery);
}

struct gw__chosen_plans *gw__ring_reported_plans(struct gw_ring *ring)
{
    const struct gw_ring_config *config = &ring->config;
    return config->run_algo_count
               ? &ring->run_plans[config->run_algos[0]->collective]
               : &ring->chosen;
}

/* Communicator rank of each of the task's members. */
static void find_ranks(const struct gw_ring *ring,
                       const struct gw__recovery_task *task,
                       unsigned ranks[GW__NODES_MAX])
{
    for (unsigned i = 0; i < task->plan.ranks; i++)
        ranks[i] =
            (unsigned)gw__view_rank(&ring->ops.view, task->plan.nodes[i]);
}

enum gw_err gw__ring_plan_begin(const struct gw_plan *plan, size_t count,
                                unsigned size, const unsigned *ranks,
                                struct gw_plan **made, struct gw_error *why)
{
    struct gw_builder *b;
    enum gw_err err = gw_builder_new(plan->collective, size, plan->chunks,
                                     ranks[plan->root], &b, why);
    if (err)
        return err;
    gw_builder_name(b, plan->algo);
    gw_builder_ports(b, plan->ports);
    for (unsigned s = 0; s < plan->steps; s++) {
        gw_builder_step(b);
        for (size_t t = plan->step_begin[s];
             t < plan->step_begin[s + 1] && t < count; t++) {
            struct gw_transfer x = plan->transfers[t];
            x.src = (uint16_t)ranks[x.src];
            x.dst = (uint16_t)ranks[x.dst];
            gw_builder_transfer(b, &x);
        }
    }
    return gw_builder_finish(&b, made, why);
}

static enum gw_err verify_recovery(const struct gw__recovery *recovery,
                                   uint64_t op, struct gw_error *why)
{
    struct gw_verdict verdict;
    enum gw_err err = gw__recovery_verify(recovery, 1, &verdict, why);
    return err ? gw_wrap(why, GW_EINTERNAL, "the plan of op %llu",
                         (unsigned long long)op)
               : GW_OK;
}

static enum gw_err make_program(const struct gw_ring *ring,
                                const struct gw__recovery_task *task,
                                struct gw__recovery *recovery,
                                struct gw__program **program,
                                struct gw_error *why)
{
    unsigned ranks[GW__NODES_MAX];
    struct gw_plan *plan = NULL;
    const struct gw_ring_hold *cut = gw__ring_cut(ring, task);
    *program = NULL;
    enum gw_err err = gw__recovery_make(&task->plan, recovery, why);
    if (err)
        return err;
    size_t count = recovery->plan->step_begin[recovery->plan->steps];
    find_ranks(ring, task, ranks);
    err = verify_recovery(recovery, task->op, why);
    if (!err && ring->comm)
        err = gw__ring_plan_begin(
            recovery->plan, cut ? gw__hold_prefix(recovery->plan, cut) : count,
            ring->ops.view.ring_count, ranks, &plan, why);
    if (!err && ring->comm)
        err = gw__program_new(&plan, ranks[task->rank], GW__WINDOW_NONE,
                              program, why);
    if (err)
        gw__recovery_fini(recovery);
    return err;
}

static bool is_the_same(const struct gw__compiled *kept, uint64_t ring_epoch,
                        const struct gw__recovery_case *plan)
{
    return kept->program && kept->ring_epoch == ring_epoch &&
           kept->ranks == plan->ranks &&
           kept->initial_count == plan->initial_count &&
           memcmp(kept->nodes, plan->nodes,
                  plan->ranks * sizeof *plan->nodes) == 0 &&
           memcmp(kept->initial_members, plan->initial_members,
                  plan->initial_count * sizeof *plan->initial_members) == 0;
}

/* The contributor sets of an undisturbed op are unchanged: all inputs. */
static enum gw_err compile_undisturbed(struct gw_ring *ring,
                                       const struct gw__recovery_task *task,
                                       struct gw__program **program,
                                       struct gw_error *why)
{
    struct gw__compiled *kept = &ring->undisturbed;
    struct gw__recovery recovery;
    *program = kept->program;
    if (!ring->comm || is_the_same(kept, ring->comm_epoch, &task->plan))
        return GW_OK;
    gw__program_destroy(&kept->program);
    enum gw_err err = make_program(ring, task, &recovery, &kept->program, why);
    if (err)
        return err;
    gw__recovery_fini(&recovery);
    kept->ring_epoch = ring->comm_epoch;
    kept->ranks = task->plan.ranks;
    kept->initial_count = task->plan.initial_count;
    memcpy(kept->nodes, task->plan.nodes, kept->ranks * sizeof *kept->nodes);
    memcpy(kept->initial_members, task->plan.initial_members,
           kept->initial_count * sizeof *kept->initial_members);
    *program = kept->program;
    return GW_OK;
}

/* A plan may be made again after an interrupted recovery: count it once. */
static void count_recovery(struct gw_ring_status *status, uint64_t epoch,
                           uint64_t op, const struct gw__recovery *recovery)
{
    struct gw_ring_chunks *newest = status->chunks;
    for (unsigned i = 0; i < GW_RING_CHUNKS; i++)
        if (newest[i].epoch == epoch && newest[i].op == op)
            return;
    memmove(newest + 1, newest, (GW_RING_CHUNKS - 1) * sizeof *newest);
    *newest = (struct gw_ring_chunks){.epoch = epoch,
                                      .op = op,
                                      .spread = recovery->chunks_spread,
                                      .redone = recovery->chunks_redone,
                                      .kept = recovery->chunks_kept,
                                      .fresh = recovery->chunks_fresh};
    status->chunks_spread += recovery->chunks_spread;
    status->chunks_kept += recovery->chunks_kept;
    status->chunks_fresh += recovery->chunks_fresh;
    status->chunks_redone += recovery->chunks_redone;
}

/* An op with a cut, which is the only one of its kind. */
static enum gw_err compile_cut(struct gw_ring *ring,
                               const struct gw__recovery_task *task,
                               struct gw__program **program,
                               struct gw_error *why)
{
    struct gw__recovery recovery;
    gw__program_destroy(&ring->recovery);
    enum gw_err err = make_program(ring, task, &recovery, &ring->recovery, why);
    if (!err)
        gw__recovery_fini(&recovery);
    *program = ring->recovery;
    return err;
}

static enum gw_err compile_recovery(struct gw_ring *ring,
                                    const struct gw__recovery_task *task,
                                    struct gw__program **program,
                                    struct gw_error *why)
{
    struct gw__recovery recovery;
    struct gw__contributor_sets *sets = gw__op_table_sets(&ring->ops, task->op);
    gw__program_destroy(&ring->recovery);
    enum gw_err err = make_program(ring, task, &recovery, &ring->recovery, why);
    if (err)
        return err;
    const uint64_t *start =
        recovery.sets + (size_t)task->rank * task->plan.chunks;
    if (!gw__events_confirms(ring, task->op)) /* it has no user's data */
        count_recovery(&ring->status, ring->ops.view.ring_epoch, task->op,
                       &recovery);
    gw__log_info("ring",
                 "node %u: op %llu is completed by a recovery plan: %zu "
                 "chunks spread, %zu kept, %zu fresh, %zu redone",
                 ring->session.node, (unsigned long long)task->op,
                 (size_t)recovery.chunks_spread, (size_t)recovery.chunks_kept,
                 (size_t)recovery.chunks_fresh, (size_t)recovery.chunks_redone);
    gw__events_recovery(ring, task, sets, start);
    gw__contributor_sets_retarget(sets, task->plan.target, start);
    gw__recovery_fini(&recovery);
    *program = ring->recovery;
    return GW_OK;
}

enum gw_err gw__ring_compile(struct gw_ring *ring,
                             const struct gw__recovery_task *task,
                             struct gw__program **program, struct gw_error *why)
{
    *program = NULL;
    if (gw__ring_cut(ring, task))
        return compile_cut(ring, task, program, why);
    return task->recovers ? compile_recovery(ring, task, program, why)
                          : compile_undisturbed(ring, task, program, why);
}
