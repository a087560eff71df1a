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

/* A report with another number of chunks is of an op begun before a member was
 * admitted to it: ignore it. */
static void set_holdings(struct gw__page *page,
                         const struct gw__report *const *reports)
{
    memset(page->held, 0, sizeof page->held);
    for (unsigned i = 0; i < page->ranks; i++) {
        const struct gw__report *report = reports[page->nodes[i]];
        const struct gw__holdings *held =
            report ? gw__report_of(report, page->op) : NULL;
        if (!held || held->chunks != page->origin_count)
            continue;
        page->holdings[i] = *held;
        page->held[i] = &page->holdings[i];
    }
}

static void decided(struct gw__op_table *book,
                    const struct gw__decision *decision,
                    const struct gw__report *const *reports)
{
    struct gw__page *page = gw__op_table_open(book, decision->op);
    page->decided = true;
    page->decision = *decision;
    page->origin_count = decision->origin_count;
    for (unsigned i = 0; i < decision->origin_count; i++)
        page->origin[i] = decision->origin[i];
    gw__op_table_take_part(&book->view, page);
    set_holdings(page, reports);
    if (page->begun && page->ledger.chunks != page->origin_count)
        gw__contributor_sets_begin(&page->ledger, page->op, book->node,
                                   page->origin_count, decision->contributors);
    page->task_left = page->begun;
}

static bool is_ours(const struct gw__op_table *book,
                    const struct gw__decision *decision)
{
    int rank = gw__view_rank(&book->view, book->node);
    return rank >= 0 && book->view.ring[rank].from_op <= decision->op &&
           decision->op + 1 >= book->next_op &&
           decision->op <= book->next_op + 1;
}

/* The tasks of an earlier decision are void: the new one covers all open ops.
 */
static void clear_decision(struct gw__op_table *book)
{
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) {
        struct gw__page *page = &book->pages[i];
        page->decided = page->task_left = false;
        page->used = page->used && page->begun;
    }
}

void gw__op_table_resume(struct gw__op_table *book, const struct gw__view *view,
                         const struct gw__decision *decisions, unsigned count,
                         const struct gw__report *const *reports)
{
    book->view = *view;
    book->frozen = false;
    clear_decision(book);
    for (unsigned i = 0; i < count; i++)
        if (is_ours(book, &decisions[i]))
            decided(book, &decisions[i], reports);
}
