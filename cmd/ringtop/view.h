/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the person at the screen has chosen: a page, an order, where the lists
 * are scrolled to, what to look for. Keys change it (view_key); drawing reads
 * it. Keys that are about time (freeze, step, speed) are the player's.
 */
#ifndef RINGTOP_VIEW_H
#define RINGTOP_VIEW_H

#include "ringtop/source/orders.h"
#include "ringtop/source/player.h"

enum page {
    PAGE_OVERVIEW,
    PAGE_RING,
    PAGE_CHUNKS,
    PAGE_SLOTS,
    PAGE_CLOCKS,
    PAGE_REQUESTS,
    PAGE_PIPELINE,
    PAGE_EVENTS,
    PAGE_CONTROLLERS,
    PAGE_FAILOVER,
    PAGE_LOSS,
    PAGES
};

enum sort { SORT_RANK, SORT_STATE, SORT_OP, SORT_WAIT, SORT_SENT, SORTS };

/* Keys that are no characters; a back end translates its own into these. */
enum key {
    KEY_CODES = 0x110000, /* above all characters */
    TOP_UP,
    TOP_DOWN,
    TOP_LEFT,
    TOP_RIGHT,
    TOP_PAGE_UP,
    TOP_PAGE_DOWN,
    TOP_BACKSPACE,
    TOP_BACKTAB,
    TOP_F1,
    TOP_F3,
    TOP_F6,
    TOP_F10,
    TOP_OTHER /* none of these; or the size has changed */
};

struct view {
    enum page page;
    bool crew; /* of parameter servers: they have slots and clocks, no ring */
    bool pipe; /* of a pipeline: it has stages, no ring */
    enum sort sort;
    bool help;
    bool quit;
    bool may_order;         /* a run is attached, and is not only looked at */
    bool refused;           /* the last key was an order, and may not be */
    bool sorted;            /* the last key has changed the order of rows */
    enum order_kind asking; /* being asked: whom, or whether */
    char typed[4];          /* the node, so far */
    struct order order;     /* given; whoever carries it out clears it */
    bool finding;           /* typing into `find` */
    char find[32];          /* "": nothing is looked for */
    unsigned rank_top;      /* rows above the table's first */
    unsigned chunk_left;
    unsigned journal_back; /* lines below the journal's last */
};

const char *page_name(enum page page);
/* What rows are sorted by: "state". */
const char *sort_name(const struct view *view);
/* Is the row of this number looked for: by "1", by "worker 1", or by the name
 * in it, "w1"? */
bool view_finds(const struct view *view, const char *kind, unsigned number,
                const char *name);
/* Lets a key change view or player. `now_ns` is the player's clock. */
void view_key(struct view *view, struct player *player, int key,
              uint64_t now_ns);

#endif
