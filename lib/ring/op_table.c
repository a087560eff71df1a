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

struct gw__page *gw__op_table_page(struct gw__op_table *book, uint64_t op)
{
    return &book->pages[op % GW__OP_TABLE_OPS];
}

/* The entry of `op`, if it exists. */
static const struct gw__page *open_page(const struct gw__op_table *book,
                                        uint64_t op)
{
    const struct gw__page *page = &book->pages[op % GW__OP_TABLE_OPS];
    return page->used && page->op == op ? page : NULL;
}

/* The op in progress, or NULL. */
static const struct gw__page *under_way(const struct gw__op_table *book)
{
    const struct gw__page *page = open_page(book, book->next_op);
    return page && page->begun ? page : NULL;
}

/* Only the holdings that `held` points to count; they are most of the bytes and
 * are not cleared. */
static void clear(struct gw__page *page)
{
    memset(page, 0, offsetof(struct gw__page, holdings));
}

struct gw__page *gw__op_table_open(struct gw__op_table *book, uint64_t op)
{
    struct gw__page *page = gw__op_table_page(book, op);
    if (!page->used || page->op != op) {
        clear(page);
        page->used = true;
        page->op = op;
    }
    return page;
}

void gw__op_table_init(struct gw__op_table *book, unsigned node,
                       uint64_t next_op)
{
    memset(book, 0, offsetof(struct gw__op_table, pages));
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++)
        clear(&book->pages[i]);
    book->node = node;
    book->next_op = next_op;
}

/* ---- views ---- */

/* A view that needs no flush admits joiners, has a new order, or both. It is in
 * force from `from_op` on. */
bool gw__op_table_may_adopt(const struct gw__op_table *book,
                            const struct gw__view *view)
{
    return book->view.ring_count == 0 ||
           (!book->frozen && book->next_op >= view->from_op);
}

bool gw__op_table_adopt(struct gw__op_table *book, const struct gw__view *view)
{
    assert(gw__op_table_may_adopt(book, view));
    bool anew = under_way(book);
    book->view = *view;
    if (anew)
        gw__op_table_page(book, book->next_op)->used = false;
    return !anew;
}

bool gw__op_table_may_admit(const struct gw__op_table *book)
{
    return !book->frozen && !under_way(book) && book->view.ring_count > 0 &&
           book->settled == book->view.ring_epoch;
}

void gw__op_table_freeze(struct gw__op_table *book)
{
    book->frozen = true;
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++)
        gw__contributor_sets_freeze(&book->pages[i].ledger);
}

void gw__op_table_report(const struct gw__op_table *book,
                         struct gw__report *report)
{
    uint64_t newest = book->next_op - 1; /* complete; unused for op 0 */
    const struct gw__page *complete =
        book->next_op ? open_page(book, newest) : NULL;
    const struct gw__page *begun = under_way(book);
    memset(report, 0, sizeof *report);
    if (complete && complete->complete) {
        report->floor = newest;
        gw__contributor_sets_report(&complete->ledger,
                                    &report->ops[report->op_count++]);
    } else if (begun)
        report->floor = book->next_op;
    if (begun)
        gw__contributor_sets_report(&begun->ledger,
                                    &report->ops[report->op_count++]);
}

/* ---- ops ---- */

/* Sets the members that take part in the op in the view in force; returns them
 * as bits. */
uint64_t gw__op_table_take_part(const struct gw__view *view,
                                struct gw__page *page)
{
    uint64_t nodes = 0;
    page->ranks = 0;
    for (unsigned i = 0; i < view->ring_count; i++) {
        const struct gw__ring_member *m = &view->ring[i];
        if (m->from_op > page->op)
            continue;
        page->nodes[page->ranks++] = m->node;
        nodes |= (uint64_t)1 << m->node;
    }
    return nodes;
}

static void begin_fresh(struct gw__op_table *book, struct gw__page *page)
{
    uint8_t places[GW__NODES_MAX];
    uint64_t nodes = gw__op_table_take_part(&book->view, page);
    assert(nodes >> book->node & 1);
    memset(page->held, 0, sizeof page->held);
    page->origin_count = gw__ring_places(book->view.ring, book->view.ring_count,
                                         page->op, places);
    for (unsigned i = 0; i < page->origin_count; i++)
        page->origin[i] = places[i];
    gw__contributor_sets_begin(&page->ledger, page->op, book->node, page->ranks,
                               nodes);
}

void gw__op_table_begin(struct gw__op_table *book)
{
    struct gw__page *page = gw__op_table_open(book, book->next_op);
    assert(!book->frozen && !page->begun);
    if (page->decided)
        gw__contributor_sets_begin(&page->ledger, page->op, book->node,
                                   page->origin_count,
                                   page->decision.contributors);
    else
        begin_fresh(book, page);
    page->begun = page->task_left = true;
}

static struct gw__task task_of(const struct gw__op_table *book,
                               const struct gw__page *page)
{
    struct gw__task task = {
        .op = page->op,
        .recovers = page->decided,
        .fate = page->decided ? page->decision.fate : GW__EXCLUDE,
        .plan = {.ranks = page->ranks,
                 .nodes = page->nodes,
                 .held = page->held,
                 .chunks = page->origin_count,
                 .target = page->decided ? page->decision.contributors
                                         : page->ledger.target,
                 .origin_count = page->origin_count,
                 .origin = page->origin},
        .rank = -1};
    for (unsigned i = 0; i < page->ranks; i++)
        if (page->nodes[i] == book->node)
            task.rank = (int)i;
    return task;
}

bool gw__op_table_task(struct gw__op_table *book, struct gw__task *task)
{
    const struct gw__page *oldest = NULL;
    for (unsigned i = 0; i < GW__OP_TABLE_OPS && !book->frozen; i++) {
        const struct gw__page *page = &book->pages[i];
        if (page->task_left && (!oldest || page->op < oldest->op))
            oldest = page;
    }
    if (oldest)
        *task = task_of(book, oldest);
    return oldest;
}

struct gw__contributor_sets *gw__op_table_ledger(struct gw__op_table *book,
                                                 uint64_t op)
{
    assert(open_page(book, op) && open_page(book, op)->begun);
    return &gw__op_table_page(book, op)->ledger;
}

void gw__op_table_done(struct gw__op_table *book, uint64_t op)
{
    struct gw__page *page = gw__op_table_page(book, op);
    assert(open_page(book, op) && page->begun);
    if (!page->decided)
        book->settled = book->view.ring_epoch;
    page->task_left = false;
    page->complete = true;
    page->decided = false;
    if (op == book->next_op)
        book->next_op++;
}

bool gw__op_table_accepts(const struct gw__op_table *book, uint64_t ring_epoch,
                          uint64_t op)
{
    const struct gw__page *page = open_page(book, op);
    bool current = ring_epoch == book->view.ring_epoch || book->any_epoch;
    return current && !book->frozen && page && page->begun;
}

uint64_t gw__op_table_contributors(const struct gw__op_table *book, uint64_t op)
{
    const struct gw__page *page = open_page(book, op);
    return page && page->begun ? page->ledger.target : 0;
}

unsigned gw__op_table_origin(const struct gw__op_table *book, uint64_t op,
                             unsigned origin[GW__NODES_MAX])
{
    const struct gw__page *page = open_page(book, op);
    if (!page)
        return 0;
    memcpy(origin, page->origin, page->origin_count * sizeof *origin);
    return page->origin_count;
}
