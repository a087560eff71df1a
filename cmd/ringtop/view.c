/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The effect of keys (view.h).
 */
#include "view.h"

#include <stdio.h>
#include <string.h>

enum { CTRL_H = 8, TAB = '\t', ENTER = '\r', ESCAPE = 27, DELETE = 127 };

const char *page_name(enum page page)
{
    static const char *const names[PAGES] = {
        [PAGE_OVERVIEW] = "overview",
        [PAGE_RING] = "ring",
        [PAGE_CHUNKS] = "chunks",
        [PAGE_SLOTS] = "slots",
        [PAGE_REQUESTS] = "requests",
        [PAGE_CLOCKS] = "clocks",
        [PAGE_PIPELINE] = "pipeline",
        [PAGE_EVENTS] = "events",
        [PAGE_CONTROLLERS] = "controllers",
        [PAGE_FAILOVER] = "failover",
        [PAGE_LOSS] = "loss",
    };
    return names[page];
}

const char *sort_name(const struct view *view)
{
    static const char *const of_ring[SORTS] = {"rank", "state", "op",
                                               "waits on", "sent"};
    static const char *const of_ps[SORTS] = {
        "number", "state", "keys and clock", "lease and waited",
        "push/s and clocks ahead"};
    if (view->nodes && view->sort == SORT_RANK)
        return "node";
    return (view->ps ? of_ps : of_ring)[view->sort];
}

bool view_finds(const struct view *view, const char *kind, unsigned number,
                const char *name)
{
    char digits[16], full[48];
    snprintf(digits, sizeof digits, "%u", number);
    snprintf(full, sizeof full, "%s %u", kind, number);
    return *view->find &&
           (strcmp(view->find, digits) == 0 || strcmp(view->find, full) == 0 ||
            strcmp(view->find, name) == 0);
}

/* ---- typing a search ---- */

static void stop_finding(struct view *view, bool forget)
{
    view->finding = false;
    view->event_log_back = 0;
    if (forget)
        *view->find = 0;
}

static void type(struct view *view, int key)
{
    size_t length = strlen(view->find);
    switch (key) {
    case '\n':
    case ENTER:
    case TOP_F3:
        stop_finding(view, false);
        return;
    case ESCAPE:
        stop_finding(view, true);
        return;
    case CTRL_H:
    case DELETE:
    case TOP_BACKSPACE:
        if (length > 0)
            view->find[length - 1] = 0;
        return;
    default:
        if (key >= ' ' && key < DELETE && length + 1 < sizeof view->find) {
            view->find[length] = (char)key;
            view->find[length + 1] = 0;
        }
    }
}

/* ---- orders, each confirmed ---- */

static void begin_prompt(struct view *view, enum control_kind kind)
{
    view->refused = !view->may_control;
    if (view->refused)
        return;
    view->prompt = kind;
    *view->typed = 0;
}

static void submit_request(struct view *view)
{
    const char *answer =
        *view->typed || view->prompt == CONTROL_ADD ? view->typed : view->usual;
    const char *number = answer + (*answer == 's');
    if (view->prompt != CONTROL_ADD && *number == 0)
        return;
    view->request.kind = view->prompt;
    view->request.node = 0;
    view->request.server = *answer == 's';
    for (const char *digit = number; *digit; digit++)
        view->request.node = view->request.node * 10 + (unsigned)(*digit - '0');
    view->prompt = CONTROL_NONE;
}

/* "2", or "s0" for a server; a node to add has no number yet. */
static bool is_of_name(const struct view *view, int key)
{
    if (key == 's')
        return view->ps && *view->typed == 0;
    return key >= '0' && key <= '9' && view->prompt != CONTROL_ADD;
}

static void handle_answer_key(struct view *view, int key)
{
    size_t length = strlen(view->typed);
    switch (key) {
    case '\n':
    case ENTER:
        submit_request(view);
        return;
    case 'y':
        if (view->prompt == CONTROL_ADD)
            submit_request(view);
        return;
    case CTRL_H:
    case DELETE:
    case TOP_BACKSPACE:
        if (length > 0)
            view->typed[length - 1] = 0;
        return;
    default:
        if (is_of_name(view, key)) {
            if (length + 1 < sizeof view->typed) {
                view->typed[length] = (char)key;
                view->typed[length + 1] = 0;
            }
        } else
            view->prompt = CONTROL_NONE;
    }
}

/* ---- scrolling ---- */

static void scroll(unsigned *at, int by)
{
    if (by < 0 && *at < (unsigned)-by)
        *at = 0;
    else
        *at += (unsigned)by;
}

/* Scrolls the page's list; drawing keeps it in bounds. */
static void move(struct view *view, int by)
{
    if (view->page == PAGE_EVENTS)
        scroll(&view->event_log_back, -by);
    else
        scroll(&view->rank_top, by);
}

static bool has_page(const struct view *view, enum page page)
{
    bool ring = page == PAGE_RING || page == PAGE_CHUNKS;
    bool ps =
        page == PAGE_SLOTS || page == PAGE_CLOCKS || page == PAGE_REQUESTS;
    if (page == PAGE_PIPELINE)
        return view->pipe;
    if (page == PAGE_CONTROLLERS)
        return !view->pipe;
    return view->ps ? !ring : view->pipe ? !ring && !ps : !ps;
}

static void change_page(struct view *view, int by)
{
    do
        view->page = (enum page)(((int)view->page + PAGES + by) % PAGES);
    while (!has_page(view, view->page));
    view->event_log_back = 0;
}

/* Returns whether it handled the key. */
static bool navigate(struct view *view, int key)
{
    enum { LINES = 10 };
    switch (key) {
    case TAB:
        change_page(view, 1);
        return true;
    case TOP_BACKTAB:
        change_page(view, -1);
        return true;
    case TOP_UP:
        move(view, -1);
        return true;
    case TOP_DOWN:
        move(view, 1);
        return true;
    case TOP_PAGE_UP:
        move(view, -LINES);
        return true;
    case TOP_PAGE_DOWN:
        move(view, LINES);
        return true;
    case TOP_LEFT:
        scroll(&view->chunk_left, -1);
        return true;
    case TOP_RIGHT:
        scroll(&view->chunk_left, 1);
        return true;
    default:
        return false;
    }
}

/* ---- time ---- */

static bool control_time(struct player *player, int key, uint64_t now_ns)
{
    switch (key) {
    case ' ':
        player_freeze(player, now_ns);
        return true;
    case '.':
        player_step(player, now_ns);
        return true;
    case '<':
        player_speed(player, 0.5, now_ns);
        return true;
    case '>':
        player_speed(player, 2, now_ns);
        return true;
    default:
        return false;
    }
}

void view_key(struct view *view, struct player *player, int key,
              uint64_t now_ns)
{
    if (key == TOP_OTHER)
        return;
    view->refused = false;
    view->sorted = false;
    if (view->finding) {
        type(view, key);
        return;
    }
    if (view->prompt) {
        handle_answer_key(view, key);
        return;
    }
    if (view->help || view->explain) { /* any key closes it */
        view->help = view->explain = false;
        if (key != 'q' && key != TOP_F10)
            return;
    }
    if (navigate(view, key) || control_time(player, key, now_ns))
        return;
    switch (key) {
    case TOP_F1:
    case 'h':
        view->help = true;
        break;
    case '?':
        view->explain = true;
        break;
    case TOP_F3:
    case '/':
        view->finding = true;
        *view->find = 0;
        break;
    case ESCAPE:
        stop_finding(view, true);
        break;
    case TOP_F6:
    case 's':
        view->sort = (enum sort)((view->sort + 1) % SORTS);
        view->sorted = !view->pipe;
        break;
    case 'd':
        view->gone = !view->gone;
        break;
    case 'k':
        begin_prompt(view, CONTROL_KILL);
        break;
    case 'p':
        begin_prompt(view, CONTROL_PAUSE);
        break;
    case 'a':
        begin_prompt(view, CONTROL_ADD);
        break;
    case TOP_F10:
    case 'q':
        view->quit = true;
        break;
    default:
        break;
    }
}
