/* SPDX-License-Identifier: MIT
 *
 * The executor runs a compiled plan over any wire, slice by slice. It follows
 * data dependencies only.
 *
 *   push    the next slice of a link's next send, if that slice of the version
 *           that it reads is ready and the link has room
 *   apply   the next slice of a write, if each of its sources is at the head of
 *           its link, the write before it has applied that slice, and every
 *           send of the value that it overwrites has left
 *
 * A copy or reduction inside the rank is a source of a write, too: a slice is
 * ready when it has been written, and leaves its memory when the write reads it.
 *
 * A write reduces in place out of the views: all its sources and the rank's own
 * value in one pass, in ascending order of rank, so that ranks which compute
 * the same sum get the same bits. Two ranks that exchange values which both
 * overwrite (recursive doubling in place) would wait for each other's read
 * forever; the wire copies such sends. The verifier uses exactly these rules
 * (lib/plan/check_deadlock.c), so a verified plan cannot deadlock here.
 */
#include "elastic.h"
#include "event/apply.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

static size_t slice_length(const struct gw_request *r, unsigned cell, size_t k)
{
    size_t left = r->slots[cell].bytes - k * r->slice_bytes;
    return left < r->slice_bytes ? left : r->slice_bytes;
}

static struct gw__header header_of(const struct gw_request *r, uint32_t step,
                                   uint32_t cell, uint32_t k)
{
    return (struct gw__header){.epoch = r->comm->epoch,
                               .op = r->op,
                               .step = step,
                               .chunk = r->program->cells[cell].chunk,
                               .slice = k,
                               .bytes = (uint32_t)slice_length(r, cell, k),
                               .call = r->signature};
}

/* Does this send read memory that a write will overwrite? */
static bool reads_home(const struct gw_request *r, const struct gw__send *s)
{
    const struct gw__chunk_memory *slot = &r->slots[s->cell];
    return s->version != GW__NO_WRITE || slot->first == slot->home;
}

/* Pushes one slice onto the link. GW_PENDING: not possible yet. */
static enum gw_err push_slice(struct gw_request *r, unsigned peer)
{
    const struct gw__program *p = r->program;
    struct gw_comm *comm = r->comm;
    uint32_t index = p->out[r->out_at[peer]];
    const struct gw__send *s = &p->sends[index];
    const struct gw__chunk_memory *slot = &r->slots[s->cell];
    uint32_t k = r->pushed[index];
    if (s->version != GW__NO_WRITE && r->written[s->version] <= k)
        return GW_PENDING;
    size_t bytes = slice_length(r, s->cell, k);
    const unsigned char *from =
        s->version == GW__NO_WRITE ? slot->first : slot->home;
    struct gw__header header = header_of(r, s->step, s->cell, k);
    enum gw_err err = GW_OK;
    if (r->contributors)
        err = gw__contributors_send(r, peer, k, &header);
    if (!err)
        err = comm->wire->ops->send(comm->wire, peer, &header,
                                    from ? from + k * r->slice_bytes : NULL,
                                    s->exchanged && reads_home(r, s));
    if (err)
        return err;
    if (k == 0) {
        r->send_base[index] = comm->pushes[peer];
        comm->counters[peer].messages_sent += s->first;
        gw__event(r, GW_EV_SEND, peer, s->step, header.chunk, slot->bytes,
                  slot->slices);
    }
    comm->pushes[peer]++;
    comm->counters[peer].bytes_sent += bytes;
    if (r->contributors)
        r->contributors->moved++;
    if (++r->pushed[index] == slot->slices) {
        r->out_at[peer]++;
        r->sends_left--;
    }
    return GW_OK;
}

/* Has slice k of this send left the memory that it was read from? */
static bool has_left(const struct gw_request *r, uint32_t index, uint32_t k)
{
    const struct gw__send *s = &r->program->sends[index];
    if (!reads_home(r, s))
        return true;
    if (r->pushed[index] <= k)
        return false;
    if (s->peer == r->comm->rank)
        return true;
    struct gw__wire *wire = r->comm->wire;
    return s->exchanged ||
           wire->ops->sends_done(wire, s->peer) > r->send_base[index] + k;
}

/* A link is gone: reports the reason if another rank has sent one. */
static enum gw_err lost(struct gw_request *r, unsigned peer, enum gw_err err,
                        struct gw_error *why)
{
    struct gw__wire *wire = r->comm->wire;
    if (wire->ops->check(wire, why))
        return why->code;
    return gw_fail(why, err, "rank %u %s", peer,
                   err == GW_ECLOSED ? "has closed its communicator"
                                     : "is lost");
}

/* The memory that a slice is copied to. NULL: it is added to other data, or the
 * call is elastic, whose memory changes by whole slices only. */
static void *place_of(const struct gw_request *r, const struct gw__write *w,
                      uint32_t k)
{
    bool scaled = w->completes && r->call.op == GW_AVG;
    bool alone = w->source_count == 1 && !w->adds_own && !scaled;
    return alone && !r->contributors
               ? r->slots[w->cell].home + k * r->slice_bytes
               : NULL;
}

/* A slice of a source inside the rank. */
static enum gw_err expect_local(const struct gw_request *r, uint32_t write,
                                const struct gw__program_source *source,
                                uint32_t k, struct gw__slice_view *view)
{
    const struct gw__program *p = r->program;
    const struct gw__send *s = &p->sends[source->send];
    const struct gw__chunk_memory *slot = &r->slots[s->cell];
    if (p->in[r->in_at[source->peer]].write != write)
        return GW_PENDING;
    if (s->version != GW__NO_WRITE && r->written[s->version] <= k)
        return GW_PENDING;
    const unsigned char *from =
        s->version == GW__NO_WRITE ? slot->first : slot->home;
    *view = (struct gw__slice_view){.data = from ? from + k * r->slice_bytes
                                                 : NULL};
    return GW_OK;
}

/* The slice at the head of the link, if it is the one that this source
 * expects. */
static enum gw_err expect(struct gw_request *r, uint32_t write, unsigned peer,
                          uint32_t k, struct gw__slice_view *view,
                          struct gw_error *why)
{
    const struct gw__program *p = r->program;
    struct gw_comm *comm = r->comm;
    const struct gw__write *w = &p->writes[write];
    uint32_t at = r->in_at[peer];
    if (comm->in_blocked[peer] || at >= p->in_begin[peer + 1] ||
        p->in[at].write != write)
        return GW_PENDING;
    struct gw__header expected = header_of(r, w->step, w->cell, k);
    if (comm->wire->ops->expect)
        comm->wire->ops->expect(comm->wire, peer, &expected, place_of(r, w, k));
    enum gw_err err = gw__peek(comm, peer, view, why);
    if (!err && r->contributors && view->header->step == GW__SET_SLICE) {
        err = gw__contributors_receive(r, write, peer, view, why);
        return err ? err : expect(r, write, peer, k, view, why);
    }
    if (err)
        return err == GW_PENDING || err == GW_EMISMATCH
                   ? err
                   : lost(r, peer, err, why);
    return gw__header_fits(view->header, &expected)
               ? GW_OK
               : gw__mismatch_slice(r, peer, view->header, why);
}

static bool may_overwrite(const struct gw_request *r, const struct gw__write *w,
                          uint32_t k)
{
    if (w->previous != GW__NO_WRITE && r->written[w->previous] <= k)
        return false;
    for (uint32_t h = 0; h < w->hazard_count; h++)
        if (!has_left(r, r->program->hazards[w->hazard_begin + h], k))
            return false;
    return true;
}

static void reduce_slice(struct gw_request *r, const struct gw__write *w,
                         uint32_t k, unsigned count)
{
    const struct gw__chunk_memory *slot = &r->slots[w->cell];
    size_t bytes = slice_length(r, w->cell, k);
    void *dest = slot->home + k * r->slice_bytes;
    if (bytes == 0 || (count == 1 && r->comm->reduce_sources[0] == dest))
        return; /* it was received there */
    struct gw_reduce_local reduce = {.sources = r->comm->reduce_sources,
                                     .dests = &dest,
                                     .source_count = count,
                                     .dest_count = 1,
                                     .count = bytes / r->elem_bytes,
                                     .type = r->call.type,
                                     .op = r->call.op,
                                     .scale_ranks =
                                         w->completes ? r->comm->size : 1};
    gw__reduce_many(&reduce);
}

/* Sources in ascending rank, the rank's own value at its place. */
static unsigned add_own(struct gw_request *r, const struct gw__write *w,
                        uint32_t k, unsigned count)
{
    const struct gw__chunk_memory *slot = &r->slots[w->cell];
    r->comm->reduce_sources[count] =
        (w->previous == GW__NO_WRITE ? slot->first : slot->home) +
        k * r->slice_bytes;
    return count + 1;
}

static void finish_write(struct gw_request *r, uint32_t write)
{
    const struct gw__program *p = r->program;
    const struct gw__write *w = &p->writes[write];
    if (r->contributors)
        gw__contributors_close(r, write);
    for (uint32_t s = 0; s < w->source_count; s++) {
        const struct gw__program_source *source =
            &p->sources[w->source_begin + s];
        const struct gw__cell *cell = &p->cells[w->cell];
        const struct gw__apply apply = {(unsigned)gw__source_action(w, s),
                                        source->scratch, cell->scratch};
        r->in_at[source->peer]++;
        if (source->peer != r->comm->rank)
            r->comm->counters[source->peer].messages_received += source->first;
        gw__event(r, GW_EV_APPLY, source->peer, w->step, cell->chunk,
                  r->slots[w->cell].bytes, gw__apply_value(&apply));
    }
    r->writes_left--;
}

/* Gives the slice's views back to their links, and the memory inside the rank
 * to its next write. */
static void release_sources(struct gw_request *r, const struct gw__write *w,
                            uint32_t k)
{
    struct gw_comm *comm = r->comm;
    for (uint32_t s = 0; s < w->source_count; s++) {
        const struct gw__program_source *source =
            &r->program->sources[w->source_begin + s];
        if (source->peer == comm->rank) {
            r->pushed[source->send]++;
            continue;
        }
        comm->wire->ops->release(comm->wire, source->peer);
        comm->counters[source->peer].bytes_received +=
            slice_length(r, w->cell, k);
    }
}

/* Applies the next slice of the write to which the head of this link
 * belongs. */
static enum gw_err apply_slice(struct gw_request *r, unsigned peer,
                               struct gw_error *why)
{
    const struct gw__program *p = r->program;
    struct gw_comm *comm = r->comm;
    uint32_t write = p->in[r->in_at[peer]].write;
    const struct gw__write *w = &p->writes[write];
    uint32_t k = r->written[write];
    if (!may_overwrite(r, w, k))
        return GW_PENDING;
    unsigned count = 0;
    bool own = w->adds_own;
    for (uint32_t s = 0; s < w->source_count; s++) {
        unsigned from = p->sources[w->source_begin + s].peer;
        struct gw__slice_view view;
        enum gw_err err =
            from == comm->rank
                ? expect_local(r, write, &p->sources[w->source_begin + s], k,
                               &view)
                : expect(r, write, from, k, &view, why);
        if (!err && r->contributors && view.header)
            err = gw__contributors_merge(r, write, s, k,
                                         view.header->contributors, why);
        if (err)
            return err;
        if (own && from > comm->rank) {
            count = add_own(r, w, k, count);
            own = false;
        }
        comm->reduce_sources[count++] = view.data;
    }
    if (own)
        count = add_own(r, w, k, count);
    if (r->contributors && k == 0 && gw__contributors_open(r, write, why))
        return why->code;
    reduce_slice(r, w, k, count);
    release_sources(r, w, k);
    if (r->contributors)
        r->contributors->moved += w->source_count;
    if (comm->wire->read_raced)
        return lost(r, peer, GW_ELOST, why);
    if (++r->written[write] == r->slots[w->cell].slices)
        finish_write(r, write);
    return GW_OK;
}

/* Has all memory that was sent been released? */
static bool all_left(const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    struct gw__wire *wire = r->comm->wire;
    for (unsigned q = 0; q < r->comm->size; q++) {
        if (p->out_begin[q] == p->out_begin[q + 1])
            continue;
        uint32_t last = p->out[p->out_begin[q + 1] - 1];
        uint64_t end =
            r->send_base[last] + r->slots[p->sends[last].cell].slices;
        if (wire->ops->sends_done(wire, q) < end)
            return false;
    }
    return true;
}

static bool stopped(const struct gw_comm *comm)
{
    return comm->stop && atomic_load_explicit(comm->stop, memory_order_relaxed);
}

enum gw_err gw__engine_progress(struct gw_request *r, bool *moved,
                                struct gw_error *why)
{
    const struct gw__program *p = r->program;
    struct gw_comm *comm = r->comm;
    for (unsigned q = 0; q < comm->size; q++) {
        while (!comm->out_blocked[q] && r->out_at[q] < p->out_begin[q + 1] &&
               !stopped(comm)) {
            enum gw_err err = push_slice(r, q);
            if (err == GW_PENDING)
                break;
            if (err)
                return lost(r, q, err, why);
            *moved = true;
        }
        while (!comm->in_blocked[q] && r->in_at[q] < p->in_begin[q + 1] &&
               !stopped(comm)) {
            enum gw_err err = apply_slice(r, q, why);
            if (err == GW_PENDING)
                break;
            if (err)
                return err;
            *moved = true;
        }
    }
    if (r->sends_left == 0 && r->writes_left == 0 && all_left(r)) {
        r->state = GW__DONE;
        *moved = true;
    }
    return GW_OK;
}
