/* SPDX-License-Identifier: MIT
 *
 * Slices: into the peer's landing zone, and out of our own.
 *
 * A slice is contiguous. If it does not fit before the end of the ring, it
 * starts at the beginning, and the room left over at the end counts as part of
 * it. Four of the largest slices fit into a zone, and the receiver sends a
 * CREDIT when it has released a quarter of the zone or of the window. So there
 * is always room for the next slice once everything reported is free: a quarter
 * not yet reported, a quarter left over at the end, and the slice.
 *
 * Room is free when the receiver has released it and our own queue pair no
 * longer reads it: the release may come first.
 *
 * A small slice is done at once, since it was copied. A larger one is done when
 * it is in the peer's zone, whether it was copied or not: a slice that is done
 * survives the death of this rank.
 */
#include "verbs.h"

#include <assert.h>
#include <string.h>

enum { W = GW__VERBS_WINDOW_SLICES };

/* GW_OK, or the reason why nothing can be sent. */
static enum gw_err gone(const struct gw__verbs *verbs,
                        const struct gw__verbs_link *link)
{
    if (verbs->over || link->state == GW__VERBS_CLOSED)
        return GW_ECLOSED;
    return link->state == GW__VERBS_LOST ? GW_ELOST : GW_OK;
}

/* ---- sending ---- */

static uint64_t end_before(const struct gw__verbs_link *link, uint64_t slice)
{
    return slice ? link->end_of[(slice - 1) % W] : 0;
}

/* The offset of the next slice in an endless ring. False: the ring is full. */
static bool find_room(const struct gw__verbs *verbs,
                      const struct gw__verbs_link *link, size_t need,
                      uint64_t *begin)
{
    size_t zone = verbs->zone_bytes;
    uint64_t freed = link->released_by_peer < link->completed
                         ? link->released_by_peer
                         : link->completed;
    if (link->sent - freed >= W)
        return false;
    uint64_t at = end_before(link, link->sent);
    size_t left = zone - at % zone;
    if (need > left)
        at += left;
    *begin = at;
    uint64_t tail = freed == link->sent ? at : end_before(link, freed);
    return at + need - tail <= zone;
}

/* The queue pair accepts no more requests. The peer may have sent the reason.
 */
static enum gw_err refused(struct gw__verbs *verbs, unsigned peer, int fault)
{
    gw__verbs_progress(verbs);
    gw__verbs_receive_events(verbs);
    enum gw_err err = gone(verbs, &verbs->links[peer]);
    return err ? err : gw__verbs_lose(verbs, peer, strerror(fault));
}

enum gw_err gw__verbs_send(struct gw__wire *wire, unsigned peer,
                           const struct gw__header *header, const void *data,
                           bool copy)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    struct gw__verbs_link *link = &verbs->links[peer];
    size_t bytes = header->bytes;
    uint64_t at;
    uint32_t key = 0;
    assert(peer < wire->size && peer != wire->rank);
    assert(bytes <= verbs->slice_bytes);
    link->out_changed = false;
    bool room = find_room(verbs, link, gw__verbs_need(bytes), &at);
    if (!room)
        gw__verbs_progress(verbs);
    enum gw_err err = gone(verbs, link);
    if (err)
        return err;
    if (!room && !find_room(verbs, link, gw__verbs_need(bytes), &at)) {
        link->out_changed = false;
        return GW_PENDING;
    }
    uint64_t offset = at % verbs->zone_bytes;
    unsigned char *staging = link->staging + offset;
    bool large = !copy && bytes > GW__VERBS_COPIED_BYTES;
    bool borrowed = large && gw__verbs_key(verbs, data, bytes, &key);
    memcpy(staging, header, sizeof *header);
    if (!borrowed && bytes)
        memcpy(staging + sizeof *header, data, bytes);
    int fault = gw__verbs_post_slice(
        verbs, peer, offset, borrowed ? data : NULL, header->bytes, key);
    if (fault)
        return refused(verbs, peer, fault);
    link->end_of[link->sent % W] = at + gw__verbs_need(bytes);
    link->borrowed[link->sent % W] = large;
    link->sent++;
    return GW_OK;
}

/* All sends before the oldest that waits for its completion. */
static uint64_t count_done(const struct gw__verbs_link *link)
{
    uint64_t done = link->completed;
    while (done < link->sent && !link->borrowed[done % W])
        done++;
    return done;
}

uint64_t gw__verbs_sends_done(struct gw__wire *wire, unsigned peer)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    struct gw__verbs_link *link = &verbs->links[peer];
    if (count_done(link) < link->sent)
        gw__verbs_progress(verbs);
    link->out_changed = false;
    return count_done(link);
}

/* ---- receiving ---- */

/* Uses a copy of the header, since the peer may write the zone at any time. */
static enum gw_err show_message(struct gw__verbs *verbs, unsigned peer)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    uint64_t zone = verbs->zone_bytes, head = sizeof link->header;
    uint64_t offset =
        (uint64_t)link->grain_of[link->received % W] * GW__VERBS_GRAIN;
    if (offset + head > zone)
        return gw__verbs_lose(verbs, peer,
                              "malformed slice: outside of the receive zone");
    memcpy(&link->header, link->zone + offset, head);
    if (link->header.bytes > zone - head - offset)
        return gw__verbs_lose(verbs, peer,
                              "malformed slice: longer than the receive zone");
    link->view = (struct gw__slice_view){.header = &link->header,
                                         .data = link->zone + offset + head};
    link->held = true;
    return GW_OK;
}

/* There is no slice: will there be one? */
static enum gw_err nothing(struct gw__verbs *verbs, unsigned peer)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    link->in_changed = false;
    if (link->state == GW__VERBS_UP)
        return GW_PENDING;
    if (link->state == GW__VERBS_CLOSED && link->received < link->due)
        return gw__verbs_lose(
            verbs, peer, "the connection was closed before all data was sent");
    return link->state == GW__VERBS_CLOSED ? GW_ECLOSED : GW_ELOST;
}

enum gw_err gw__verbs_peek(struct gw__wire *wire, unsigned peer,
                           struct gw__slice_view *view)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    struct gw__verbs_link *link = &verbs->links[peer];
    assert(peer < wire->size && peer != wire->rank);
    if (!link->held) {
        if (link->arrived == link->received)
            gw__verbs_progress(verbs);
        if (verbs->over)
            return GW_ECLOSED;
        if (link->arrived == link->received)
            return nothing(verbs, peer);
        enum gw_err err = show_message(verbs, peer);
        if (err)
            return err;
    }
    link->in_changed = false;
    *view = link->view;
    return GW_OK;
}

void gw__verbs_send_credit(struct gw__verbs *verbs, unsigned peer)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    struct gw__control_message credit = {.kind = GW__CREDIT,
                                         .count = link->received};
    if (link->state != GW__VERBS_UP || verbs->over)
        return;
    link->credit_due = !gw__verbs_notify(verbs, peer, &credit);
    if (link->credit_due)
        return;
    link->credited = link->received;
    link->uncredited_bytes = 0;
}

void gw__verbs_release(struct gw__wire *wire, unsigned peer)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    struct gw__verbs_link *link = &verbs->links[peer];
    assert(link->held);
    link->held = false;
    link->received++;
    link->uncredited_bytes += gw__verbs_need(link->header.bytes);
    if (link->received - link->credited >= W / GW__VERBS_CREDIT_PARTS ||
        link->uncredited_bytes >= verbs->zone_bytes / GW__VERBS_CREDIT_PARTS)
        gw__verbs_send_credit(verbs, peer);
}
