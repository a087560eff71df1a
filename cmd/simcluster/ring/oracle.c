/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The invariants:
 *
 *   - a value is the sum of exactly the inputs of its set, by a count per
 *     node and by its sum of hashes: no rank twice, no rank missing
 *   - members that complete an op and are active have the same contributors,
 *     values and state; so have joiners when they begin
 *   - one op in one ring is one plan, and it verifies
 *   - one decision per op and epoch; epochs only grow
 *   - the state is lost when no member has it any more, and only then; then the
 *     ring starts again
 *   - a member that computes for a place in an op has that place in its result
 *   - after the last fault the whole ring continues, in the intended order
 */
#include "ring_simcluster.h"

#include <stdio.h>

enum { PLANS_KNOWN = 1 << 16 };

void oracle_begin(struct simcluster *w)
{
    memset(w->completion_count, 0, sizeof w->completion_count);
    w->plan_count = 0;
    w->epoch = w->ring_epoch = 0;
    w->ring_count = 0;
    w->marked_epoch = 0;
    w->flushing = false;
}

bool oracle_active(const struct simcluster *w, unsigned node,
                   struct gw__id incarnation)
{
    const struct gw__member *m = &w->consensus.truth->members[node];
    return m->state == GW__ACTIVE && gw__id_equal(m->incarnation, incarnation);
}

/* The living member under this number of the ring, or NULL. */
static const struct sim_node *living(const struct simcluster *w,
                                     const struct gw__ring_member *m)
{
    const struct sim_node *node = gw__sim_state(w->sim, m->node);
    return node && !node->gone &&
                   gw__id_equal(node->incarnation, m->incarnation)
               ? node
               : NULL;
}

/* ---- values ---- */

static void count_wrong(const struct sim_node *sim_node, uint64_t op,
                        unsigned chunk, const struct gw_nodes *wants,
                        unsigned who, const struct amount *value)
{
    const struct wrong wrong = {.node = sim_node->node,
                                .chunk = chunk,
                                .who = who,
                                .counted = times_in(value, who),
                                .op = op,
                                .has = gw__nodes_or(value->low, value->high),
                                .wants = *wants};
    measure_wrong(sim_node->cluster, &wrong);
}

static void fail_value(const struct sim_node *sim_node, uint64_t op,
                       unsigned chunk, const struct gw_nodes *set,
                       const struct amount *value)
{
    unsigned node = 0;
    while (times_in(value, node) == gw__nodes_has(set, node))
        node++;
    unsigned times = times_in(value, node);
    count_wrong(sim_node, op, chunk, set, node, value);
    if (times > 1)
        sim_node_fail(sim_node, "op %llu, chunk %u: node %u counts %u times",
                      (unsigned long long)op, chunk, node, times);
    else
        sim_node_fail(sim_node, "op %llu, chunk %u: node %u is %s",
                      (unsigned long long)op, chunk, node,
                      times ? "in the sum, but not in its set"
                            : "in its set, but not in the sum");
}

void oracle_value(const struct sim_node *sim_node, uint64_t op, unsigned chunk,
                  const struct gw_nodes *set, const struct amount *value)
{
    uint64_t sum = 0;
    if (!gw__nodes_equal(value->low, *set) ||
        !gw__nodes_is_empty(value->high)) {
        fail_value(sim_node, op, chunk, set, value);
        return;
    }
    for (unsigned node = gw__nodes_next(set, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(set, node + 1))
        sum += value_number(node, op, chunk);
    if (sum != value->sum)
        sim_node_fail(sim_node, "op %llu, chunk %u: a wrong sum",
                      (unsigned long long)op, chunk);
}

void oracle_refused(const struct sim_node *sim_node, uint64_t op,
                    unsigned chunk, const struct gw_nodes *target,
                    const struct amount *value)
{
    for (unsigned node = 0; node < GW__NODES_MAX; node++) {
        unsigned times = times_in(value, node);
        bool wanted = gw__nodes_has(target, node);
        if (times <= wanted)
            continue;
        count_wrong(sim_node, op, chunk, target, node, value);
        sim_node_fail(sim_node,
                      "op %llu, chunk %u: a wrong sum, in which node %u counts "
                      "%u times, not %u",
                      (unsigned long long)op, chunk, node, times,
                      (unsigned)wanted);
    }
}

/* ---- results ---- */

static struct completion *completion_of(const struct simcluster *w, uint64_t op,
                                        unsigned i)
{
    return &w->completions[op * w->completion_room + i];
}

static void compare_completions(const struct sim_node *node, uint64_t op,
                                const struct completion *mine)
{
    const struct simcluster *w = node->cluster;
    for (unsigned i = 0; i < w->completion_count[op]; i++) {
        const struct completion *other = completion_of(w, op, i);
        if (other->digest == mine->digest ||
            !oracle_active(w, other->node, other->incarnation) ||
            !oracle_active(w, mine->node, mine->incarnation))
            continue;
        char ours[96], theirs[96];
        gw__nodes_text(&mine->contributors, ours, sizeof ours);
        gw__nodes_text(&other->contributors, theirs, sizeof theirs);
        sim_node_fail(
            node, "op %llu: has the data of %s where node %u has that of %s%s",
            (unsigned long long)op, ours, other->node, theirs,
            gw__nodes_equal(other->contributors, mine->contributors)
                ? ", and another state"
                : "");
    }
}

void oracle_complete(const struct sim_node *node, uint64_t op,
                     const struct gw_nodes *contributors, uint64_t digest)
{
    struct simcluster *w = node->cluster;
    const struct completion mine = {.node = node->node,
                                    .incarnation = node->incarnation,
                                    .contributors = *contributors,
                                    .digest = digest,
                                    .epoch = node->state.epoch};
    if (op >= OPS_MOST || w->completion_count[op] == w->completion_room) {
        sim_node_fail(node, "op %llu: the oracle has no room for so many ops",
                      (unsigned long long)op);
        return;
    }
    w->met.ops++;
    compare_completions(node, op, &mine);
    *completion_of(w, op, w->completion_count[op]++) = mine;
}

/* A member that did the op after a later decision is right, dead or not. */
static void compare_later(const struct sim_node *node, uint64_t op)
{
    const struct simcluster *w = node->cluster;
    for (unsigned i = 0; i < w->completion_count[op]; i++) {
        const struct completion *other = completion_of(w, op, i);
        if (other->epoch > node->state.epoch &&
            other->digest != node->state.digest)
            sim_node_fail(
                node,
                "has the state after op %llu of epoch %llu; node %u had "
                "another one in epoch %llu",
                (unsigned long long)op, (unsigned long long)node->state.epoch,
                other->node, (unsigned long long)other->epoch);
    }
}

void oracle_state(const struct sim_node *node)
{
    const struct state *s = &node->state;
    const struct completion mine = {.node = node->node,
                                    .incarnation = node->incarnation,
                                    .digest = s->digest};
    if (s->next != node->ops.next_op)
        sim_node_fail(node, "begins op %llu with the state before op %llu",
                      (unsigned long long)node->ops.next_op,
                      (unsigned long long)s->next);
    if (s->next > 0 && s->next <= OPS_MOST) {
        compare_completions(node, s->next - 1, &mine);
        compare_later(node, s->next - 1);
    }
}

void oracle_lost(const struct sim_node *node)
{
    const struct simcluster *w = node->cluster;
    const struct gw__view *view = &w->consensus.truth->view;
    if (!oracle_active(w, node->node, node->incarnation))
        return;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct sim_node *other = living(w, &view->ring[i]);
        if (other && other->has_state)
            sim_node_fail(node, "finds the state lost, but node %u has it",
                          other->node);
    }
}

/* ---- plans ---- */

/* Equal plans are verified once. */
static void verify(const struct sim_node *node,
                   const struct gw__recovery_task *task,
                   const struct planned *planned)
{
    static uint64_t known[PLANS_KNOWN];
    struct gw_verdict verdict;
    struct gw_error why;
    uint64_t *slot = &known[planned->hash % PLANS_KNOWN];
    if (*slot == planned->hash)
        return;
    *slot = planned->hash;
    if (gw__recovery_verify(&planned->recovery, 1, &verdict, &why))
        sim_node_fail(node, "op %llu: its plan is wrong: %s",
                      (unsigned long long)task->op, why.text);
}

static void count_chunks(struct measures *m,
                         const struct gw__recovery_task *task,
                         const struct gw__recovery *recovery)
{
    if (!task->recovers)
        return;
    m->spread += recovery->chunks_spread;
    m->kept += recovery->chunks_kept;
    m->redone += recovery->chunks_redone;
    m->fresh += recovery->chunks_fresh;
}

void oracle_plan(const struct sim_node *node,
                 const struct gw__recovery_task *task,
                 const struct planned *planned)
{
    struct simcluster *w = node->cluster;
    const struct made_plan mine = {.ring_epoch = node->ops.view.ring_epoch,
                                   .op = task->op,
                                   .hash = planned->hash};
    verify(node, task, planned);
    for (unsigned i = w->plan_count; i > 0; i--) {
        const struct made_plan *other = &w->plans[i - 1];
        if (other->ring_epoch != mine.ring_epoch || other->op != mine.op)
            continue;
        if (other->hash != mine.hash)
            sim_node_fail(
                node,
                "op %llu: its plan differs from that of other members in "
                "epoch %llu",
                (unsigned long long)mine.op,
                (unsigned long long)mine.ring_epoch);
        return;
    }
    count_chunks(&w->measures, task, &planned->recovery);
    if (task->recovers)
        *(task->fate == GW__FORWARD ? &w->met.forwards : &w->met.excludes) += 1;
    if (w->plan_count < PLANS_MOST)
        w->plans[w->plan_count++] = mine;
}

/* ---- the log ---- */

/* The state is lost, and ops count from 0 again. */
static void begin_anew(struct simcluster *w)
{
    memset(w->completion_count, 0, sizeof w->completion_count);
    w->met.lost++;
}

/* A member has joined: a moment to kill the members with the state. */
static void try_raid(struct simcluster *w, const struct gw__view *view)
{
    if (view->ring_count > w->ring_count && w->ring_count > 0)
        simcluster_raid(w);
}

void oracle_log(struct simcluster *w)
{
    const struct gw__registry *r = w->consensus.truth;
    if (r->view.epoch < w->epoch)
        gw__sim_fail(w->sim, "epoch %llu after %llu",
                     (unsigned long long)r->view.epoch,
                     (unsigned long long)w->epoch);
    if (r->view.ring_epoch != w->ring_epoch)
        *(r->view.ring_count > w->ring_count    ? &w->met.admits
          : r->view.ring_count == w->ring_count ? &w->met.reorders
                                                : &w->met.removals) += 1;
    if (r->view.ring_count == 0 && w->ring_count > 0)
        begin_anew(w);
    bool flushed = w->flushing != r->flush.open;
    w->flushing = r->flush.open;
    if (flushed || r->view.ring_epoch != w->ring_epoch)
        simcluster_shock(w);
    try_raid(w, &r->view);
    report_view(w);
    for (unsigned i = 0; flushed && !r->flush.open && i < r->decision_count;
         i++)
        if (r->decisions[i].epoch == r->view.ring_epoch)
            report_decision(w, &r->decisions[i]);
    measure_view(w);
    change_entry(w);
    w->epoch = r->view.epoch;
    w->ring_epoch = r->view.ring_epoch;
    w->ring_count = r->view.ring_count;
    for (unsigned i = 0; i < r->decision_count; i++)
        for (unsigned k = 0; k < i; k++)
            if (r->decisions[i].op == r->decisions[k].op &&
                r->decisions[i].epoch == r->decisions[k].epoch)
                gw__sim_fail(w->sim, "two decisions about op %llu",
                             (unsigned long long)r->decisions[i].op);
}

/* ---- the end ---- */

/* In the rounds about joining, all members must be in the ring, too. */
static bool is_whole(const struct simcluster *w)
{
    const struct gw__view *view = &w->consensus.truth->view;
    unsigned living_count = 0;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct sim_node *node = living(w, &view->ring[i]);
        if (!node || !node->has_state ||
            node->ops.view.ring_epoch != view->ring_epoch)
            return false;
        living_count++;
    }
    return living_count > 0 && (!w->all_join || living_count == w->members);
}

static void mark(struct simcluster *w)
{
    const struct gw__view *view = &w->consensus.truth->view;
    w->marked_epoch = view->ring_epoch;
    for (unsigned i = 0; i < view->ring_count; i++)
        w->marked_op[view->ring[i].node] =
            living(w, &view->ring[i])->ops.next_op;
}

static bool has_advanced(const struct simcluster *w)
{
    const struct gw__view *view = &w->consensus.truth->view;
    enum { ENOUGH = 3 };
    for (unsigned i = 0; i < view->ring_count; i++) {
        unsigned node = view->ring[i].node;
        if (living(w, &view->ring[i])->ops.next_op <
            w->marked_op[node] + ENOUGH)
            return false;
    }
    return true;
}

bool oracle_lives(const struct simcluster *w, const struct gw__ring_member *m)
{
    const struct sim_node *node = gw__sim_state(w->sim, m->node);
    return node && node->incarnation.high >> GW__LIFE_BITS ==
                       m->incarnation.high >> GW__LIFE_BITS;
}

bool oracle_is_done(struct simcluster *w)
{
    if (!is_whole(w) ||
        !gw__view_in_order(&w->consensus.truth->view, &w->order))
        return false;
    if (w->marked_epoch != w->consensus.truth->view.ring_epoch)
        mark(w);
    return has_advanced(w);
}

static const char *what_for(const struct sim_node *node)
{
    return !node->registered  ? "not registered"
           : !node->in_ring   ? "not in the ring"
           : !node->has_state ? "without the state"
           : node->ops.frozen ? "frozen"
           : node->admits     ? "waiting for an admission"
           : node->met_epoch != node->ops.view.ring_epoch
               ? "waiting for addresses"
               : "waiting for data";
}

void oracle_not_done(struct simcluster *w)
{
    const struct gw__view *view = &w->consensus.truth->view;
    char text[400] = "";
    for (unsigned i = 0; i < w->members; i++) {
        const struct sim_node *node = gw__sim_state(w->sim, i);
        size_t used = strlen(text);
        if (node)
            snprintf(
                text + used, sizeof text - used, "; %u at op %llu of %llu, %s",
                i, (unsigned long long)node->ops.next_op,
                (unsigned long long)node->ops.view.ring_epoch, what_for(node));
    }
    gw__sim_fail(w->sim,
                 "the ring of %u members in epoch %llu makes no progress%s",
                 view->ring_count, (unsigned long long)view->ring_epoch, text);
}
