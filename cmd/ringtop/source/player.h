/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The time at which each event is shown. Received events wait here: those of a
 * recording until their time, at a chosen speed; those of a live run only while
 * the view is frozen, so that freezing never slows the run down. Pure: the
 * clock is a parameter.
 *
 * A recording lasts from a millisecond, for one call, to a day of training. So
 * the speed covers twelve powers of ten.
 *
 * The processes of a run send their events in batches. A delay allows sorting
 * the batches by time.
 */
#ifndef RINGTOP_PLAYER_H
#define RINGTOP_PLAYER_H

#include <gradwire/gradwire.h>

/* Beyond this many waiting events, 64 MiB, a frozen live view moves on. */
enum { PLAYER_LIVE_MAX = 1 << 20 };

struct player {
    struct gw_event *events;
    size_t count, room, next; /* events[next] is the next to be shown */
    bool live;
    uint64_t delay_ns; /* live: the wait for late events */
    bool unsorted;     /* some events may be out of order */
    bool frozen;
    bool complete; /* no more will come */
    bool untimed;  /* shown by number, not by time; for drawing */
    double speed;
    uint64_t at_ns;   /* the current time of the events */
    uint64_t wall_ns; /* the clock at that time */
    size_t steps;     /* events to show although frozen */
};

void player_init(struct player *player, bool live, double speed);
void player_fini(struct player *player);
GW_MUST_CHECK enum gw_err player_add(struct player *player,
                                     const struct gw_event *event,
                                     struct gw_error *why);
/* Sorts a recording by time: each node's events came in batches of its own.
 * Equal times keep their order. */
void player_sort(struct player *player);
/* Drops the events that have not been shown. */
void player_forget(struct player *player);
/* The clock is `wall_ns` now. */
void player_clock(struct player *player, uint64_t wall_ns);
/* Takes the next event that is due, or returns NULL. */
const struct gw_event *player_next(struct player *player);
/* All events have been shown. */
bool player_at_end(const struct player *player);
void player_freeze(struct player *player, uint64_t wall_ns);
/* Freezes, and lets one event through. */
void player_step(struct player *player, uint64_t wall_ns);
void player_speed(struct player *player, double factor, uint64_t wall_ns);
/* A speed at which a short recording lasts long enough to be watched. */
double player_watchable(const struct player *player);

#endif
