/* SPDX-License-Identifier: MIT
 *
 * The open ops and their tasks: see op_table.h. Two entries are enough: when op
 * n + 2 begins here, n + 1 is complete, so all members have begun n + 1 and
 * completed n.
 *
 * op_table_decide.c applies decisions.
 */
#include "op_table_parts.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* The entry that the op has, or would have. */
static struct gw__op_entry *entry_of(struct gw__op_table *ops, uint64_t op)
{
    return &ops->entries[op % GW__OP_TABLE_OPS];
}

/* The entry of `op`, if it exists. */
static const struct gw__op_entry *open_entry(const struct gw__op_table *ops,
                                             uint64_t op)
{
    const struct gw__op_entry *entry = &ops->entries[op % GW__OP_TABLE_OPS];
    return entry->used && entry->op == op ? entry : NULL;
}

/* The op in progress, or NULL. */
static const struct gw__op_entry *op_in_progress(const struct gw__op_table *ops)
{
    const struct gw__op_entry *entry = open_entry(ops, ops->next_op);
    return entry && entry->begun ? entry : NULL;
}

/* The sets and the decision count only with their flags, and lists up to their
 * lengths. They are most of the bytes and are not cleared. */
static void clear(struct gw__op_entry *entry)
{
    entry->used = entry->begun = entry->complete = entry->task_left = false;
    entry->decided = false;
    entry->op = 0;
    entry->initial_count = entry->chunks = entry->ranks = 0;
}

struct gw__op_entry *gw__op_table_open(struct gw__op_table *ops, uint64_t op)
{
    struct gw__op_entry *entry = entry_of(ops, op);
    if (!entry->used || entry->op != op) {
        clear(entry);
        entry->used = true;
        entry->op = op;
    }
    return entry;
}

void gw__op_table_init(struct gw__op_table *ops, unsigned node,
                       uint64_t next_op)
{
    memset(ops, 0, offsetof(struct gw__op_table, view.ring));
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++)
        clear(&ops->entries[i]);
    ops->node = node;
    ops->next_op = next_op;
}

/* ---- views ---- */

/* A view that needs no flush admits joiners, has a new order, or both. It is in
 * force from `from_op` on. */
bool gw__op_table_may_adopt(const struct gw__op_table *ops,
                            const struct gw__view *view)
{
    return ops->view.ring_count == 0 ||
           (!ops->frozen && ops->next_op >= view->from_op);
}

bool gw__op_table_adopt(struct gw__op_table *ops, const struct gw__view *view)
{
    assert(gw__op_table_may_adopt(ops, view));
    bool restarted = op_in_progress(ops);
    gw__view_copy(&ops->view, view);
    if (restarted)
        entry_of(ops, ops->next_op)->used = false;
    return !restarted;
}

bool gw__op_table_may_admit(const struct gw__op_table *ops)
{
    return !ops->frozen && !op_in_progress(ops) && ops->view.ring_count > 0 &&
           ops->completed_epoch == ops->view.ring_epoch;
}

void gw__op_table_freeze(struct gw__op_table *ops)
{
    ops->frozen = true;
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++)
        gw__contributor_sets_freeze(&ops->entries[i].sets);
}

static void report_entry(const struct gw__op_entry *entry,
                         struct gw__holdings *holdings)
{
    const struct gw__places places = {entry->initial_count,
                                      entry->initial_members};
    gw__contributor_sets_report(&entry->sets, &places, holdings);
}

void gw__op_table_report(const struct gw__op_table *ops,
                         struct gw__report *report)
{
    uint64_t newest = ops->next_op - 1; /* complete; unused for op 0 */
    const struct gw__op_entry *complete =
        ops->next_op ? open_entry(ops, newest) : NULL;
    const struct gw__op_entry *begun = op_in_progress(ops);
    memset(report, 0, sizeof *report);
    if (complete && complete->complete) {
        report->low_watermark = newest;
        report_entry(complete, &report->ops[report->op_count++]);
    } else if (begun)
        report->low_watermark = ops->next_op;
    if (begun)
        report_entry(begun, &report->ops[report->op_count++]);
}

/* ---- ops ---- */

/* Sets the members that take part in the op in the view in force; returns
 * them. */
struct gw_nodes gw__op_table_participants(const struct gw__op_table *ops,
                                          struct gw__op_entry *entry)
{
    const struct gw__view *view = &ops->view;
    struct gw_nodes nodes = {{0}};
    entry->ranks = 0;
    entry->rank = -1;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct gw__ring_member *m = &view->ring[i];
        if (m->from_op > entry->op)
            continue;
        if (m->node == ops->node)
            entry->rank = (int)entry->ranks;
        entry->nodes[entry->ranks++] = m->node;
        gw__nodes_add(&nodes, m->node);
    }
    return nodes;
}

void gw__op_table_begin_sets(const struct gw__op_table *ops,
                             struct gw__op_entry *entry,
                             const struct gw_nodes *target)
{
    gw__contributor_sets_begin(&entry->sets, entry->op, ops->node,
                               entry->chunks, target);
}

static void begin_fresh(struct gw__op_table *ops, struct gw__op_entry *entry)
{
    uint16_t places[GW__NODES_MAX];
    struct gw_nodes nodes = gw__op_table_participants(ops, entry);
    assert(gw__nodes_has(&nodes, ops->node));
    memset(entry->held, 0, entry->ranks * sizeof *entry->held);
    entry->initial_count = gw__ring_places(ops->view.ring, ops->view.ring_count,
                                           entry->op, places);
    for (unsigned i = 0; i < entry->initial_count; i++)
        entry->initial_members[i] = places[i];
    entry->chunks = gw__chosen_chunks(ops->chosen, entry->initial_count);
    gw__op_table_begin_sets(ops, entry, &nodes);
}

void gw__op_table_begin(struct gw__op_table *ops)
{
    struct gw__op_entry *entry = gw__op_table_open(ops, ops->next_op);
    assert(!ops->frozen && !entry->begun);
    if (entry->decided)
        gw__op_table_begin_sets(ops, entry, &entry->decision.contributors);
    else
        begin_fresh(ops, entry);
    entry->begun = entry->task_left = true;
}

static struct gw__recovery_task task_of(const struct gw__op_table *ops,
                                        const struct gw__op_entry *entry)
{
    return (struct gw__recovery_task){
        .op = entry->op,
        .recovers = entry->decided,
        .fate = entry->decided ? entry->decision.fate : GW__EXCLUDE,
        .plan = {.ranks = entry->ranks,
                 .nodes = entry->nodes,
                 .held = entry->held,
                 .chunks = entry->chunks,
                 .target = entry->decided ? entry->decision.contributors
                                          : entry->sets.target,
                 .initial_count = entry->initial_count,
                 .initial_members = entry->initial_members,
                 .trees = gw__chosen_trees(ops->chosen, entry->initial_count),
                 .chosen = entry->decided
                               ? NULL
                               : gw__chosen_plan(ops->chosen, entry->ranks)},
        .rank = entry->rank};
}

bool gw__op_table_recovery_task(struct gw__op_table *ops,
                                struct gw__recovery_task *task)
{
    const struct gw__op_entry *oldest = NULL;
    for (unsigned i = 0; i < GW__OP_TABLE_OPS && !ops->frozen; i++) {
        const struct gw__op_entry *entry = &ops->entries[i];
        if (entry->task_left && (!oldest || entry->op < oldest->op))
            oldest = entry;
    }
    if (oldest)
        *task = task_of(ops, oldest);
    return oldest;
}

struct gw__contributor_sets *gw__op_table_sets(struct gw__op_table *ops,
                                               uint64_t op)
{
    assert(open_entry(ops, op) && open_entry(ops, op)->begun);
    return &entry_of(ops, op)->sets;
}

void gw__op_table_done(struct gw__op_table *ops, uint64_t op)
{
    struct gw__op_entry *entry = entry_of(ops, op);
    assert(open_entry(ops, op) && entry->begun);
    if (!entry->decided)
        ops->completed_epoch = ops->view.ring_epoch;
    entry->task_left = false;
    entry->complete = true;
    entry->decided = false;
    if (op == ops->next_op)
        ops->next_op++;
}

bool gw__op_table_accepts(const struct gw__op_table *ops, uint64_t ring_epoch,
                          uint64_t op)
{
    const struct gw__op_entry *entry = open_entry(ops, op);
    bool current = ring_epoch == ops->view.ring_epoch || ops->any_epoch;
    return current && !ops->frozen && entry && entry->begun;
}

struct gw_nodes gw__op_table_contributors(const struct gw__op_table *ops,
                                          uint64_t op)
{
    const struct gw__op_entry *entry = open_entry(ops, op);
    return entry && entry->begun ? entry->sets.target : (struct gw_nodes){{0}};
}

unsigned gw__op_table_initial_members(const struct gw__op_table *ops,
                                      uint64_t op,
                                      unsigned initial_members[GW__NODES_MAX])
{
    const struct gw__op_entry *entry = open_entry(ops, op);
    if (!entry)
        return 0;
    memcpy(initial_members, entry->initial_members,
           entry->initial_count * sizeof *initial_members);
    return entry->initial_count;
}
