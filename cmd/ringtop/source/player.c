/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See player.h. In a recording, the events' time is the clock times the speed.
 * Live, it is the last event's time, and follows the clock between events; all
 * received events are due.
 */
#include "player.h"

#include <stdlib.h>
#include <string.h>

static const double SPEED_LEAST = 1e-6, SPEED_MOST = 1e6;
static const double MOST_NS = 1e18; /* the largest step of time: 30 years */

static double within(double speed)
{
    return speed < SPEED_LEAST  ? SPEED_LEAST
           : speed > SPEED_MOST ? SPEED_MOST
                                : speed;
}

void player_init(struct player *p, bool live, double speed)
{
    *p = (struct player){.live = live, .speed = within(speed)};
}

void player_fini(struct player *p)
{
    free(p->events);
    p->events = NULL;
    p->count = p->room = p->next = 0;
}

/* Drops the events of a live run that have been shown. */
static void forget_shown(struct player *p)
{
    if (!p->live || p->next < p->count / 2 || p->next == 0)
        return;
    p->count -= p->next;
    memmove(p->events, p->events + p->next, p->count * sizeof *p->events);
    p->next = 0;
}

enum gw_err player_add(struct player *p, const struct gw_event *event,
                       struct gw_error *why)
{
    forget_shown(p);
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 1024;
        struct gw_event *moved = realloc(p->events, room * sizeof *moved);
        if (!moved)
            return gw_fail(why, GW_ENOMEM, "%zu events", room);
        p->events = moved;
        p->room = room;
    }
    if (p->count == 0 && p->next == 0 && event->time_ns > p->at_ns)
        p->at_ns = event->time_ns;
    p->unsorted |= p->delay_ns > 0;
    p->events[p->count++] = *event;
    return GW_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct gw_event *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->reserved[0] > y->reserved[0]) -
           (x->reserved[0] < y->reserved[0]);
}

static void sort_from(struct player *p, size_t first)
{
    for (size_t i = first; i < p->count; i++)
        p->events[i].reserved[0] = (uint32_t)i;
    if (p->count > first)
        qsort(p->events + first, p->count - first, sizeof *p->events, by_time);
    for (size_t i = first; i < p->count; i++)
        p->events[i].reserved[0] = 0;
    p->unsorted = false;
}

void player_sort(struct player *p)
{
    sort_from(p, 0);
}

void player_forget(struct player *p)
{
    p->count = p->next = p->steps = 0;
}

void player_clock(struct player *p, uint64_t wall_ns)
{
    uint64_t passed = wall_ns > p->wall_ns ? wall_ns - p->wall_ns : 0;
    bool begun = p->wall_ns > 0;
    p->wall_ns = wall_ns;
    if (!begun || p->frozen || player_at_end(p))
        return;
    double ns = (double)passed * (p->live ? 1 : p->speed);
    p->at_ns += ns < MOST_NS ? (uint64_t)ns : (uint64_t)MOST_NS;
}

static bool due(const struct player *p)
{
    if (p->steps > 0)
        return true;
    if (p->frozen)
        return p->live && p->count - p->next > PLAYER_LIVE_MAX;
    uint64_t time_ns = p->events[p->next].time_ns;
    if (p->live) /* a time in the future is another clock's */
        return p->complete || p->delay_ns == 0 || time_ns > p->wall_ns ||
               p->wall_ns - time_ns >= p->delay_ns;
    return time_ns <= p->at_ns;
}

/* Nothing is sorted while the view is frozen. */
static void sort_waiting(struct player *p)
{
    if (!p->unsorted || (p->frozen && p->steps == 0))
        return;
    sort_from(p, p->next);
}

const struct gw_event *player_next(struct player *p)
{
    sort_waiting(p);
    if (p->next == p->count || !due(p))
        return NULL;
    const struct gw_event *event = &p->events[p->next++];
    p->steps -= p->steps > 0;
    if (p->live || p->frozen)
        p->at_ns = event->time_ns > p->at_ns ? event->time_ns : p->at_ns;
    return event;
}

bool player_at_end(const struct player *p)
{
    return p->complete && p->next == p->count;
}

void player_freeze(struct player *p, uint64_t wall_ns)
{
    player_clock(p, wall_ns);
    p->frozen = !p->frozen;
}

void player_step(struct player *p, uint64_t wall_ns)
{
    player_clock(p, wall_ns);
    p->frozen = true;
    if (p->steps < p->count - p->next)
        p->steps++;
}

void player_speed(struct player *p, double factor, uint64_t wall_ns)
{
    player_clock(p, wall_ns);
    p->speed = within(p->speed * factor);
}

double player_watchable(const struct player *p)
{
    const double SECONDS = 20;
    if (p->count == 0)
        return 1;
    uint64_t first = p->events[0].time_ns, last = first;
    for (size_t i = 0; i < p->count; i++)
        last = p->events[i].time_ns > last ? p->events[i].time_ns : last;
    uint64_t ns = last - first;
    double speed = (double)ns / (SECONDS * 1e9);
    return speed >= 1 ? 1 : within(speed);
}
