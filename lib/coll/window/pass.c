/* SPDX-License-Identifier: MIT
 *
 * Runs the steps of a prepared call: finds the sources in the ranks' memory,
 * reduces them, and stores into every result, in one loop per chunk. Memory
 * that is not mapped here goes through private_memory.c.
 */
#include "coll/reduce/reduce.h"
#include "private_memory.h"
#include "staging.h"

#include <assert.h>
#include <string.h>

enum { GRAIN = 64 }; /* elements: halves begin on cache lines */

/* A rank's buffer or staging buffer: its address in this process, or in that of
 * the rank. */
struct base {
    const unsigned char *here; /* NULL: not mapped */
    uint64_t there;            /* private memory; 0: unreachable */
    enum gw__layout layout;
    struct gw__staging_slots slots; /* of a staging buffer */
};

static struct base staging_base(const struct gw__staging *staging)
{
    return (struct base){
        .here = staging->memory, .layout = GW__STAGED, .slots = staging->slots};
}

static struct base own_source(const struct gw__window_call *w)
{
    bool in_place = w->prepared->key.in_place;
    if (w->staging_in) /* peers may have stored into the buffer */
        return staging_base(w->staging_in);
    return (struct base){.here = in_place ? w->call->out : w->call->in,
                         .layout = in_place ? GW__IN_PLACE : GW__APART};
}

static struct base own_dest(const struct gw__window_call *w)
{
    if (w->staging_out)
        return staging_base(w->staging_out);
    return (struct base){.here = w->call->out,
                         .layout = w->prepared->key.in_place ? GW__IN_PLACE
                                                             : GW__APART};
}

static struct base base_of(const struct gw__window_call *w, unsigned rank,
                           const struct gw__memory_range *range,
                           const struct gw__staging_slots *slots)
{
    struct gw_comm *comm = w->comm;
    bool in_place = gw__control_entry(comm, rank, w->turn)->in_place;
    struct base base = {.layout = in_place ? GW__IN_PLACE : GW__APART};
    if (range->fd == GW__MEMORY_PRIVATE)
        base.there = range->offset;
    else
        base.here = comm->windows->reach(comm->wire, rank, range);
    if (slots->bytes) {
        base.layout = GW__STAGED;
        base.slots = *slots;
    }
    return base;
}

static struct base source_base(const struct gw__window_call *w, unsigned rank)
{
    struct gw_comm *comm = w->comm;
    const struct control_entry *entry = gw__control_entry(comm, rank, w->turn);
    if (rank == comm->rank)
        return own_source(w);
    if (w->prepared->eager)
        return (struct base){.here = entry->bytes, .layout = GW__APART};
    return base_of(w, rank, &entry->in, &entry->in_slots);
}

static struct base dest_base(const struct gw__window_call *w, unsigned rank)
{
    const struct control_entry *entry =
        gw__control_entry(w->comm, rank, w->turn);
    if (rank == w->comm->rank)
        return own_dest(w);
    return base_of(w, rank, &entry->out, &entry->out_slots);
}

/* The place of an operand's part: in a staging buffer, or in the user's
 * memory. */
static struct gw__location locate(const struct base *base,
                                  const struct gw__operand *operand,
                                  const struct gw__part *part)
{
    size_t fragment_at = base->layout == GW__STAGED
                             ? gw__staging_offset(&base->slots, part->fragment)
                             : part->fragment_at;
    size_t offset = operand->offset[base->layout] + fragment_at;
    return (struct gw__location){
        .here =
            base->here ? (unsigned char *)(uintptr_t)base->here + offset : NULL,
        .there = base->there ? base->there + offset : 0};
}

struct gw__location gw__source_location(const struct gw__window_call *w,
                                        const struct gw__operand *operand,
                                        const struct gw__part *part)
{
    struct base base = source_base(w, operand->rank);
    return locate(&base, operand, part);
}

struct gw__location gw__dest_location(const struct gw__window_call *w,
                                      const struct gw__operand *operand,
                                      const struct gw__part *part)
{
    struct base base = dest_base(w, operand->rank);
    return locate(&base, operand, part);
}

static bool find_sources(const struct gw__window_call *w,
                         const struct gw__prepared_step *s,
                         const struct gw__part *part, unsigned *lost)
{
    const struct gw__operand *sources = &w->prepared->operands[s->source_begin];
    for (unsigned i = 0; i < s->source_count; i++) {
        w->comm->reduce_sources[i] =
            gw__source_location(w, &sources[i], part).here;
        if (!w->comm->reduce_sources[i]) {
            *lost = sources[i].rank;
            return false;
        }
    }
    return true;
}

/* Omits the destination that is also the only source. */
static bool find_dests(const struct gw__window_call *w,
                       const struct gw__prepared_step *s,
                       const struct gw__part *part, unsigned *count,
                       unsigned *lost)
{
    const struct gw__operand *dests = &w->prepared->operands[s->dest_begin];
    *count = 0;
    for (unsigned i = 0; i < s->dest_count; i++) {
        void *dest = gw__dest_location(w, &dests[i], part).here;
        if (!dest) {
            *lost = dests[i].rank;
            return false;
        }
        if (s->source_count > 1 || dest != w->comm->reduce_sources[0])
            w->comm->reduce_dests[(*count)++] = dest;
    }
    return true;
}

static void run_loop(const struct gw__window_call *w,
                     const struct gw__prepared_step *s, unsigned dest_count,
                     size_t elems)
{
    struct gw_comm *comm = w->comm;
    if (dest_count == 1 && s->source_count == 1 && !s->past) {
        memcpy(comm->reduce_dests[0], comm->reduce_sources[0],
               elems * w->prepared->elem_bytes);
        return;
    }
    const struct gw_reduce_local reduce = {.sources = comm->reduce_sources,
                                           .dests = comm->reduce_dests,
                                           .source_count = s->source_count,
                                           .dest_count = dest_count,
                                           .count = elems,
                                           .type = w->call->type,
                                           .op = w->call->op,
                                           .scale_ranks =
                                               s->completes ? comm->size : 1,
                                           .stream = s->past};
    if (dest_count > 0)
        gw__reduce_many(&reduce);
}

static bool run_part(const struct gw__window_call *w,
                     const struct gw__prepared_step *s,
                     const struct gw__part *part, unsigned *lost)
{
    unsigned dest_count;
    if (!find_sources(w, s, part, lost) ||
        !find_dests(w, s, part, &dest_count, lost))
        return false;
    run_loop(w, s, dest_count, part->elems);
    return true;
}

static struct gw__part part_of(const struct gw__prepared_call *p,
                               const struct gw__prepared_step *s,
                               uint32_t fragment)
{
    size_t begin = fragment == GW__WHOLE ? 0 : fragment * p->fragment_elems;
    size_t elems = begin < s->count ? s->count - begin : 0;
    if (fragment != GW__WHOLE && elems > p->fragment_elems)
        elems = p->fragment_elems;
    return (struct gw__part){.fragment = fragment,
                             .fragment_at = begin * p->elem_bytes,
                             .elems = elems};
}

/* A root whose call is not in place copies its own buffer meanwhile, and leaves
 * both halves to the receiver. Halves begin on cache lines. Buffers are not
 * staged here, so a part is the whole chunk. */
static struct gw__part half_of(const struct gw__window_call *w,
                               const struct gw__prepared_step *s)
{
    const struct gw__prepared_call *p = w->prepared;
    unsigned root = p->operands[s->source_begin].rank;
    size_t middle = s->count / 2 / GRAIN * GRAIN;
    if (!gw__control_entry(w->comm, root, w->turn)->in_place)
        middle = s->count;
    bool first = s->half == GW__FIRST_HALF;
    return (struct gw__part){.fragment = GW__WHOLE,
                             .fragment_at = first ? 0 : middle * p->elem_bytes,
                             .elems = first ? middle : s->count - middle};
}

bool gw__run_steps(const struct gw__window_call *w, uint32_t fragment,
                   unsigned *lost)
{
    const struct gw__prepared_call *p = w->prepared;
    assert(p);
    bool copies = gw__private_memory_is_touched(w);
    for (unsigned i = 0; i < p->step_count; i++) {
        const struct gw__prepared_step *s = &p->steps[i];
        assert(s->half == GW__NOT_HALVED || fragment == GW__WHOLE);
        const struct gw__part part =
            s->half ? half_of(w, s) : part_of(p, s, fragment);
        if (part.elems > 0 &&
            !(copies ? gw__private_memory_run(w, s, &part, lost)
                     : run_part(w, s, &part, lost)))
            return false;
    }
    return true;
}

/* ---- of a request ---- */

enum gw_err gw__window_unreachable(struct gw_request *r, unsigned peer,
                                   struct gw_error *why)
{
    struct gw_error reason;
    if (r->comm->wire->ops->check(r->comm->wire, &reason))
        return gw_fail(why, reason.code, "%s", reason.text);
    return gw_fail(why, GW_ELOST, "cannot read the memory of rank %u", peer);
}

/* Emits the transfers of the call as events. */
static void publish_moved(const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (uint32_t s = 0; s < p->send_count; s++) {
        const struct gw__send *send = &p->sends[s];
        unsigned chunk = p->cells[send->cell].chunk;
        gw__event(r, GW_EV_SEND, send->peer, send->step, chunk,
                  gw__chunk_bytes(r->comm, &r->call, p->plan, chunk), 1);
    }
    for (uint32_t w = 0; w < p->write_count; w++)
        for (uint32_t s = 0; s < p->writes[w].source_count; s++) {
            const struct gw__write *write = &p->writes[w];
            unsigned peer = p->sources[write->source_begin + s].peer;
            unsigned chunk = p->cells[write->cell].chunk;
            gw__event(r, GW_EV_APPLY, peer, write->step, chunk,
                      gw__chunk_bytes(r->comm, &r->call, p->plan, chunk),
                      gw__source_action(write, s));
        }
}

int gw__first_not_entered(const struct gw_comm *comm,
                          const struct gw__passes *passes, uint64_t turn)
{
    atomic_thread_fence(memory_order_acquire);
    for (unsigned i = 0; i < passes->touch_count; i++)
        if (atomic_load_explicit(
                &gw__control_entry(comm, passes->touch[i], turn)->entered,
                memory_order_relaxed) != turn + 1)
            return passes->touch[i];
    return -1;
}

static enum gw_err still_entered(struct gw_request *r, struct gw_error *why)
{
    int gone = gw__first_not_entered(r->comm, passes_of(r), r->turn);
    return gone < 0 ? GW_OK : gw__window_unreachable(r, (unsigned)gone, why);
}

static enum gw_err run_fragment(struct gw_request *r, uint32_t fragment,
                                struct gw_error *why)
{
    const struct gw__window_call w = {
        .comm = r->comm,
        .call = &r->call,
        .prepared = r->prepared,
        .turn = r->turn,
        .staging_in = r->input_saved ? &r->staging_in : NULL,
        .staging_out = r->deferred ? &r->staging_out : NULL};
    unsigned lost;
    return gw__run_steps(&w, fragment, &lost)
               ? still_entered(r, why)
               : gw__window_unreachable(r, lost, why);
}

/* Runs the pieces that are ready. */
static enum gw_err run_fragments(struct gw_request *r, bool *moved,
                                 struct gw_error *why)
{
    uint32_t until = gw__staging_open_until(r);
    bool whole = r->ran == 0 && gw__staging_is_open(r);
    struct control_entry *entry = control_entry_of(r, r->comm->rank);
    enum gw_err err = GW_OK;
    while (r->ran < until && !err) {
        err = run_fragment(r, whole ? GW__WHOLE : r->ran, why);
        r->ran = whole ? r->prepared->fragments : r->ran + 1;
        atomic_store_explicit(&entry->done, err ? 0 : r->ran,
                              memory_order_release);
        r->comm->windows->wake_all(r->comm->wire);
        *moved = true;
    }
    return err || r->ran == r->prepared->fragments ? err : GW_PENDING;
}

void gw__window_leave(struct gw_request *r)
{
    gw__publish_left(r->comm, r->turn + 1);
    r->comm->windows->moved(r->comm->wire);
    r->state = GW__LEAVING;
    r->seen = 0;
}

enum gw_err gw__run_passes(struct gw_request *r, bool *moved,
                           struct gw_error *why)
{
    enum gw_err err = r->prepared->eager ? run_fragment(r, GW__WHOLE, why)
                                         : run_fragments(r, moved, why);
    if (err)
        return err;
    r->prepared->runs++;
    if (r->comm->config.events)
        publish_moved(r);
    gw__window_leave(r);
    *moved = true;
    return GW_OK;
}
