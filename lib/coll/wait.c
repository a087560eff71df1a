/* SPDX-License-Identifier: MIT
 *
 * Finds the ranks that a call waits for: for errors, for events, and for the
 * watchdog of lib/ring, which looks for the one member that all others wait
 * for.
 *
 * A wait for the same peer without progress emits an event every 50 ms. A rank
 * that was itself away in the meantime (computing between two looks, or
 * stopped) has not waited.
 */
#include "comm.h"

enum { REPORT_NS = 50000000 };

struct gw_request *gw__oldest_pending(const struct gw_comm *comm)
{
    struct gw_request *r = comm->active;
    while (r && r->state == GW__DONE)
        r = r->next;
    return r;
}

void gw__describe_wait(const struct gw_request *r, char *text, size_t room,
                       int *peer)
{
    if (r->windowed)
        gw__window_describe(r, text, room, peer);
    else
        gw__engine_describe(r, text, room, peer);
}

void gw__report_wait(const struct gw_request *r, uint64_t now)
{
    struct gw_comm *comm = r->comm;
    struct gw__patience *p = &comm->patience;
    char text[160];
    int peer;
    gw__describe_wait(r, text, sizeof text, &peer);
    bool still = p->peer == peer && p->op == r->op &&
                 p->progress_ns == comm->last_progress_ns &&
                 now - p->checked_ns < REPORT_NS;
    if (!still)
        *p = (struct gw__patience){.peer = peer,
                                   .op = r->op,
                                   .progress_ns = comm->last_progress_ns,
                                   .since_ns = now,
                                   .reported_ns = now};
    p->checked_ns = now;
    if (peer < 0 || now - p->reported_ns < REPORT_NS)
        return;
    p->reported_ns = now;
    gw__event(r, GW_EV_WAIT, (unsigned)peer, GW_NONE, GW_NONE, 0,
              (int64_t)(now - p->since_ns));
}
