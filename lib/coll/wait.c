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

void gw__engine_describe(const struct gw_request *r, char *text, size_t room,
                         int *peer)
{
    const struct gw__program *p = r->program;
    for (unsigned q = 0; q < r->comm->size; q++)
        if (q != r->comm->rank && r->in_at[q] < p->in_begin[q + 1]) {
            uint32_t write = p->in[r->in_at[q]].write;
            const struct gw__write *w = &p->writes[write];
            struct gw__slice_view view;
            if (r->comm->wire->ops->peek(r->comm->wire, q, &view) == GW_OK &&
                view.header->step != GW__PROBE)
                continue;
            snprintf(text, room,
                     "rank %u waits for rank %u, step %u, chunk %u, slice %u",
                     r->comm->rank, q, w->step + 1, p->cells[w->cell].chunk,
                     r->written[write]);
            *peer = (int)q;
            return;
        }
    for (unsigned q = 0; q < r->comm->size; q++)
        if (r->out_at[q] < p->out_begin[q + 1]) {
            uint32_t index = p->out[r->out_at[q]];
            const struct gw__send *s = &p->sends[index];
            snprintf(text, room,
                     "rank %u waits for rank %u to receive step %u, chunk %u, "
                     "slice %u",
                     r->comm->rank, q, s->step + 1, p->cells[s->cell].chunk,
                     r->pushed[index]);
            *peer = (int)q;
            return;
        }
    snprintf(text, room, "rank %u waits for its peers to receive its data",
             r->comm->rank);
    *peer = -1;
}
