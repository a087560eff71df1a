/* SPDX-License-Identifier: MIT
 *
 * Running the passes of a call: find the sources where the ranks hold them,
 * fold, and store into every result, in one loop a chunk.
 */
#include "coll/card.h"

enum { STREAM_BYTES = 1 << 20 };

/* Where `rank` holds its first value of the chunk, in my address space. */
static const unsigned char *first_value(const struct gw_request *r,
                                        unsigned rank, unsigned chunk)
{
    const struct gw_plan *plan = r->program->plan;
    const struct side *side = side_of(r, rank);
    bool own = rank == r->comm->rank;
    size_t offset =
        r->elem_bytes * gw__offset_in(&r->call, plan, rank, chunk,
                                      own ? in_place(r) : side->in_place);
    if (own) /* the copy: peers may have stored into the buffer */
        return (r->stage_in   ? r->stage_in
                : in_place(r) ? (const unsigned char *)r->call.out
                              : (const unsigned char *)r->call.in) +
               offset;
    if (r->eager)
        return side->bytes + offset;
    const unsigned char *base =
        r->comm->windows->reach(r->comm->wire, rank, &side->in);
    return base ? base + offset : NULL;
}

static unsigned char *result_of(const struct gw_request *r, unsigned rank,
                                unsigned chunk)
{
    const struct gw_plan *plan = r->program->plan;
    const struct side *side = side_of(r, rank);
    bool own = rank == r->comm->rank;
    size_t offset =
        r->elem_bytes * gw__offset_out(&r->call, plan, rank, chunk,
                                       own ? in_place(r) : side->in_place);
    unsigned char *base =
        own ? (r->stage_out ? r->stage_out : r->call.out)
            : r->comm->windows->reach(r->comm->wire, rank, &side->out);
    return base ? base + offset : NULL;
}

static enum gw_err unreachable(struct gw_request *r, unsigned peer,
                               struct gw_error *why)
{
    struct gw_error told;
    if (r->comm->wire->ops->check(r->comm->wire, &told))
        return gw_fail(why, told.code, "%s", told.text);
    return gw_fail(why, GW_ELOST, "the memory of rank %u is out of reach",
                   peer);
}

static enum gw_err run_pass(struct gw_request *r, const struct gw__pass *pass,
                            struct gw_error *why)
{
    struct gw_comm *comm = r->comm;
    const uint16_t *ranks = passes_of(r)->ranks;
    size_t offset, length;
    unsigned dests = 0;
    gw_plan_extent(
        r->program->plan, pass->chunk,
        gw__block_elems(&r->call, r->program->plan, comm->rank, pass->chunk),
        r->elem_bytes, &offset, &length);
    if (length == 0)
        return GW_OK;
    for (uint32_t s = 0; s < pass->source_count; s++) {
        unsigned rank = ranks[pass->source_begin + s];
        comm->fold_sources[s] = first_value(r, rank, pass->chunk);
        if (!comm->fold_sources[s])
            return unreachable(r, rank, why);
    }
    for (uint32_t d = 0; d < pass->dest_count; d++) {
        unsigned rank = ranks[pass->dest_begin + d];
        void *dest = result_of(r, rank, pass->chunk);
        if (!dest && rank != comm->rank)
            return unreachable(r, rank, why);
        bool already_there =
            pass->source_count == 1 && dest == comm->fold_sources[0];
        if (dest && !already_there)
            comm->fold_dests[dests++] = dest;
    }
    if (dests == 0)
        return GW_OK;
    struct gw_fold fold = {.sources = comm->fold_sources,
                           .dests = comm->fold_dests,
                           .source_count = pass->source_count,
                           .dest_count = dests,
                           .count = length,
                           .type = r->call.type,
                           .op = r->call.op,
                           .scale_ranks = pass->completes ? comm->size : 1,
                           .stream = length * r->elem_bytes * comm->size >=
                                     STREAM_BYTES};
    gw__fold_many(&fold);
    return GW_OK;
}

void gw__count_moved(const struct gw_request *r, struct gw_counters *counters)
{
    const struct gw__program *p = r->program;
    for (uint32_t s = 0; s < p->send_count; s++) {
        const struct gw__send *send = &p->sends[s];
        counters[send->peer].messages_sent += send->first;
        counters[send->peer].bytes_sent += r->slots[send->cell].bytes;
    }
    for (uint32_t w = 0; w < p->write_count; w++)
        for (uint32_t s = 0; s < p->writes[w].source_count; s++) {
            const struct gw__write *write = &p->writes[w];
            const struct gw__source *source =
                &p->sources[write->source_begin + s];
            counters[source->peer].messages_received += source->first;
            counters[source->peer].bytes_received +=
                r->slots[write->cell].bytes;
        }
}

/* The same as events. */
static void tell_moved(const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (uint32_t s = 0; s < p->send_count; s++) {
        const struct gw__send *send = &p->sends[s];
        gw__event(r, GW_EV_SEND, send->peer, send->step,
                  p->cells[send->cell].chunk, r->slots[send->cell].bytes, 1);
    }
    for (uint32_t w = 0; w < p->write_count; w++)
        for (uint32_t s = 0; s < p->writes[w].source_count; s++) {
            const struct gw__write *write = &p->writes[w];
            unsigned peer = p->sources[write->source_begin + s].peer;
            gw__event(r, GW_EV_APPLY, peer, write->step,
                      p->cells[write->cell].chunk, r->slots[write->cell].bytes,
                      write->action);
        }
}

static void size_slots(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (unsigned c = 0; c < p->cell_count; c++) {
        size_t offset, length;
        gw_plan_extent(
            p->plan, p->cells[c].chunk,
            gw__block_elems(&r->call, p->plan, p->rank, p->cells[c].chunk),
            r->elem_bytes, &offset, &length);
        r->slots[c].bytes = length * r->elem_bytes;
    }
}

/* What was read counts only if its owners were still in the call after that:
 * a rank that fails takes its card back, and its memory may be anything. */
static enum gw_err still_entered(struct gw_request *r, struct gw_error *why)
{
    const struct gw__passes *passes = passes_of(r);
    atomic_thread_fence(memory_order_acquire);
    for (unsigned i = 0; i < passes->touch_count; i++)
        if (atomic_load_explicit(&side_of(r, passes->touch[i])->entered,
                                 memory_order_relaxed) != r->turn + 1)
            return unreachable(r, passes->touch[i], why);
    return GW_OK;
}

enum gw_err gw__run_passes(struct gw_request *r, struct gw_error *why)
{
    const struct gw__passes *passes = passes_of(r);
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < passes->count && !err; i++)
        err = run_pass(r, &passes->list[i], why);
    if (!err)
        err = still_entered(r, why);
    if (err)
        return err;
    size_slots(r);
    /* A window pass moves what the plan says, so it counts what that says. */
    gw__count_moved(r, r->comm->counters);
    if (r->comm->config.events)
        tell_moved(r);
    gw__tell_left(r->comm, r->turn + 1);
    r->comm->windows->moved(r->comm->wire);
    r->state = GW__LEAVING;
    r->seen = 0;
    return GW_OK;
}
