/* SPDX-License-Identifier: MIT
 *
 * Slices as the executor sees them: links of several lanes, and the rest of
 * the data on a link that has ended.
 */
#include "socket_wire.h"

#include <assert.h>

/* How long slices of a lost peer may take from the kernel to this rank, when
 * another process holds its connection open. */
static const uint64_t drain_ns = 50 * 1000000U;
static const uint64_t drain_closed_ns = 500 * 1000000U;

/* ---- sending ---- */

/* GW_OK, or the reason why nothing can be sent. */
static enum gw_err gone(const struct gw__socket *s,
                        const struct gw__socket_link *link)
{
    if (s->over || link->state == GW__SOCKET_CLOSED)
        return GW_ECLOSED;
    return link->state == GW__SOCKET_LOST ? GW_ELOST : GW_OK;
}

bool gw__socket_push(struct gw__socket *s, unsigned peer, bool again)
{
    bool any = false;
    for (unsigned l = 0; l < s->lanes && !s->over; l++)
        any |= gw__socket_out_push(s, peer, l, again);
    return any;
}

enum gw_err gw__socket_send(struct gw__wire *wire, unsigned peer,
                            const struct gw__header *header, const void *data,
                            bool copy)
{
    struct gw__socket *s = gw__socket_of(wire);
    struct gw__socket_link *link = &s->links[peer];
    assert(peer < wire->size && peer != wire->rank);
    unsigned lane = (unsigned)(link->sent % s->lanes);
    enum gw_err err = gone(s, link);
    if (!err)
        err = gw__socket_out_add(s, peer, lane, header, data, copy);
    if (err == GW_PENDING) {
        gw__socket_receive(s, peer);
        s->wants_sent = true;
        err = gone(s, link);
        err = err ? err : GW_PENDING;
    }
    link->sent += !err;
    return err;
}

/* All sends before the first that waits in any lane. */
uint64_t gw__socket_sends_done(struct gw__wire *wire, unsigned peer)
{
    struct gw__socket *s = gw__socket_of(wire);
    struct gw__socket_link *link = &s->links[peer];
    uint64_t done = link->sent;
    for (unsigned l = 0; l < s->lanes; l++) {
        const struct gw__socket_out *out = &link->lanes[l].out;
        if (out->sent == out->queued)
            continue;
        gw__socket_out_push(s, peer, l, true);
        uint64_t first = out->sent * s->lanes + l;
        if (out->sent < out->queued && first < done)
            done = first;
    }
    s->wants_sent |= done < link->sent;
    return done;
}

/* ---- receiving ---- */

void gw__socket_expect(struct gw__wire *wire, unsigned peer,
                       const struct gw__header *header, void *place)
{
    struct gw__socket *s = gw__socket_of(wire);
    struct gw__socket_link *link = &s->links[peer];
    struct gw__socket_in *in = &link->lanes[link->received % s->lanes].in;
    if (in->large || in->held)
        return;
    in->expects = true;
    in->expected = *header;
    in->place = place;
}

/* There is no slice: will there be one? A peer that has closed has reported its
 * number of slices. */
static enum gw_err nothing(struct gw__socket *s, unsigned peer)
{
    struct gw__socket_link *link = &s->links[peer];
    const struct gw__socket_in *in = &link->lanes[link->received % s->lanes].in;
    if (in->ended && link->state == GW__SOCKET_UP) {
        gw__socket_receive(s, peer); /* the notes have the reason */
        if (!link->broken_ns)
            link->broken_ns = gw_now_ns();
    }
    if (link->state == GW__SOCKET_UP)
        return GW_PENDING;
    if (link->state == GW__SOCKET_CLOSED && link->received >= link->due)
        return GW_ECLOSED;
    bool closed = link->state == GW__SOCKET_CLOSED;
    uint64_t patience = closed ? drain_closed_ns : drain_ns;
    if (!in->ended && gw_now_ns() - link->quiet_ns < patience)
        return GW_PENDING;
    link->drained = true;
    return closed ? gw__socket_lose(
                        s, peer,
                        "the connection was closed before all data was sent")
                  : GW_ELOST;
}

/* Asks the kernel, also if no event has reported that something came: polling
 * without `wait` is enough. */
static enum gw_err pull(struct gw__socket *s, unsigned peer)
{
    struct gw__socket_link *link = &s->links[peer];
    unsigned lane = (unsigned)(link->received % s->lanes);
    struct gw__socket_in *in = &link->lanes[lane].in;
    size_t had = in->got + in->end;
    in->readable = !in->ended || in->back;
    struct gw_error fault;
    enum gw_err err = gw__socket_in_pull(s, peer, lane, &fault);
    if (link->state != GW__SOCKET_UP && in->got + in->end != had)
        link->quiet_ns = gw_now_ns();
    if (!err || err == GW_PENDING)
        return err;
    link->drained = true;
    return gw__socket_lose(s, peer, fault.text);
}

enum gw_err gw__socket_peek(struct gw__wire *wire, unsigned peer,
                            struct gw__slice_view *view)
{
    struct gw__socket *s = gw__socket_of(wire);
    struct gw__socket_link *link = &s->links[peer];
    struct gw__socket_in *in = &link->lanes[link->received % s->lanes].in;
    assert(peer < wire->size && peer != wire->rank);
    if (!in->held) {
        if (s->over)
            return GW_ECLOSED;
        if (link->drained)
            return GW_ELOST;
        enum gw_err err = pull(s, peer);
        if (err == GW_PENDING) {
            link->awaited = true;
            return nothing(s, peer);
        }
        if (err)
            return err;
        link->awaited = false;
    }
    *view = in->view;
    return GW_OK;
}

void gw__socket_release(struct gw__wire *wire, unsigned peer)
{
    struct gw__socket *s = gw__socket_of(wire);
    struct gw__socket_link *link = &s->links[peer];
    struct gw__socket_in *in = &link->lanes[link->received % s->lanes].in;
    assert(in->held);
    gw__socket_in_release(in);
    link->received++;
    link->awaited = true;
}
