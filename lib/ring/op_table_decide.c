/* SPDX-License-Identifier: MIT
 *
 * After a flush: the decisions about the ops that are open here, and the values
 * from which every survivor continues. Both come from the log, not from this
 * member's memory, so that all members make equal plans.
 *
 * The decided ops are among the newest complete one, the one in progress (which
 * this member's own report has named, so it is decided), and the one after
 * that, if another member has begun it.
 */
#include "op_table_parts.h"

#include <string.h>

/* A report with other initial members is of an op begun before a member was
 * admitted to it: ignore it. */
static void set_holdings(struct gw__op_entry *entry,
                         const struct gw__report *const *reports)
{
    const struct gw__places places = {entry->initial_count,
                                      entry->initial_members};
    memset(entry->held, 0, entry->ranks * sizeof *entry->held);
    for (unsigned i = 0; i < entry->ranks; i++) {
        const struct gw__report *report = reports[entry->nodes[i]];
        const struct gw__holdings *held =
            report ? gw__report_of(report, entry->op) : NULL;
        if (!held || !gw__holdings_match(held, &places, entry->chunks))
            continue;
        entry->holdings[i] = *held;
        entry->held[i] = &entry->holdings[i];
    }
}

static void decided(struct gw__op_table *ops,
                    const struct gw__decision *decision,
                    const struct gw__report *const *reports)
{
    struct gw__op_entry *entry = gw__op_table_open(ops, decision->op);
    bool is_other = entry->initial_count != decision->initial_count;
    entry->decided = true;
    entry->decision = *decision;
    entry->initial_count = decision->initial_count;
    for (unsigned i = 0; i < decision->initial_count; i++)
        entry->initial_members[i] = decision->initial_members[i];
    entry->chunks = gw__chosen_chunks(ops->chosen, entry->initial_count);
    gw__op_table_participants(ops, entry);
    set_holdings(entry, reports);
    if (entry->begun && is_other)
        gw__op_table_begin_sets(ops, entry, &decision->contributors);
    entry->task_left = entry->begun;
}

static bool is_ours(const struct gw__op_table *ops,
                    const struct gw__decision *decision)
{
    int rank = gw__view_rank(&ops->view, ops->node);
    return rank >= 0 && ops->view.ring[rank].from_op <= decision->op &&
           decision->op + 1 >= ops->next_op && decision->op <= ops->next_op + 1;
}

/* The tasks of an earlier decision are void: the new one covers all open ops.
 */
static void clear_decision(struct gw__op_table *ops)
{
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) {
        struct gw__op_entry *entry = &ops->entries[i];
        entry->decided = entry->task_left = false;
        entry->used = entry->used && entry->begun;
    }
}

void gw__op_table_resume(struct gw__op_table *ops, const struct gw__view *view,
                         const struct gw__decision *decisions, unsigned count,
                         const struct gw__report *const *reports)
{
    gw__view_copy(&ops->view, view);
    ops->frozen = false;
    clear_decision(ops);
    for (unsigned i = 0; i < count; i++)
        if (is_ours(ops, &decisions[i]))
            decided(ops, &decisions[i], reports);
}
