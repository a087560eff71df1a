/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When which event is shown. The events that came in wait here: a recording
 * until its time has come, at a speed; a live run's only while the view is
 * frozen, so that freezing never holds up the run. Pure: the clock is handed
 * in.
 *
 * Recordings of one call last a millisecond; a day of training is one as well.
 * So the speed runs over twelve powers of ten.
 *
 * The processes of a run send their events in rows, every so often. A delay
 * lets the rows be put in the order of time.
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
    uint64_t
        delay_ns;  /* live: by which what comes late still finds its place */
    bool unsorted; /* some event may stand behind a later one */
    bool frozen;
    bool complete; /* no more will come */
    bool untimed;  /* shown by number, not by time; for who draws it */
    double speed;
    uint64_t at_ns;   /* the events' time that has been reached */
    uint64_t wall_ns; /* the clock when it was */
    size_t steps;     /* events to be shown though frozen */
};

void player_init(struct player *player, bool live, double speed);
void player_fini(struct player *player);
GW_MUST_CHECK enum gw_err player_add(struct player *player,
                                     const struct gw_event *event,
                                     struct gw_error *why);
/* Puts a recording in the order of time: each node's events came in batches of
 * its own. Equal times keep their order. */
void player_sort(struct player *player);
/* Drops what was not shown. */
void player_forget(struct player *player);
/* The clock is `wall_ns` now. */
void player_clock(struct player *player, uint64_t wall_ns);
/* Takes the next event that is due, or returns NULL. */
const struct gw_event *player_next(struct player *player);
/* Everything has been shown. */
bool player_at_end(const struct player *player);
void player_freeze(struct player *player, uint64_t wall_ns);
/* Freezes, and lets one event through. */
void player_step(struct player *player, uint64_t wall_ns);
void player_speed(struct player *player, double factor, uint64_t wall_ns);
/* A speed at which a short recording lasts long enough to be watched. */
double player_watchable(const struct player *player);

#endif
