/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The user's choices on the screen: a page, an order, the scroll positions, a
 * search. Keys change it (view_key); drawing reads it. The keys about time
 * (freeze, step, speed) belong to the player.
 */
#ifndef RINGTOP_VIEW_H
#define RINGTOP_VIEW_H

#include "ringtop/source/control_client.h"
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

/* Keys that are not characters; a back end translates its own into these. */
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
    TOP_OTHER /* another key, or a change of the size */
};

struct view {
    enum page page;
    bool ps;    /* of parameter servers: has slots and clocks, no ring */
    bool pipe;  /* of a pipeline: has stages, no ring */
    bool nodes; /* of a ring with views: its ranks are nodes */
    enum sort sort;
    bool help;    /* the keys */
    bool explain; /* what the page shows */
    bool gone;    /* show also those that have been gone for long */
    bool quit;
    bool may_control; /* attached to a run that is not read-only */
    bool refused;     /* the last key was an order that is not allowed */
    bool sorted;      /* the last key has changed the order of rows */
    enum control_kind prompt;       /* the prompt is about this order */
    char typed[4];                  /* the node typed so far */
    char usual[4];                  /* of an empty answer; "": none */
    struct control_request request; /* given; cleared by its executor */
    bool finding;                   /* typing into `find` */
    char find[32];                  /* "": no search */
    unsigned rank_top;              /* rows above the table's first */
    unsigned chunk_left;
    unsigned event_log_back; /* lines below the log's last */
};

const char *page_name(enum page page);
/* The sort key of the rows: "state". */
const char *sort_name(const struct view *view);
/* Does the search match the row of this number: "1", "worker 1", or the name in
 * it, "w1"? */
bool view_finds(const struct view *view, const char *kind, unsigned number,
                const char *name);
/* Lets a key change view or player. `now_ns` is the player's clock. */
void view_key(struct view *view, struct player *player, int key,
              uint64_t now_ns);

#endif
