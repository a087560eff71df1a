/* SPDX-License-Identifier: MIT
 *
 * Runs window loads (loads.c): each rank runs its own writes. A slice of a write
 * loads its sources in place from the peers' memory, reduces them, stores the
 * result, and adds 1 to the write's number of slices, which all peers can read.
 * A slice is ready when
 *
 *   the write before it into its cell    has stored this slice
 *   the write that makes each source     has stored this slice
 *   all readers of the value before it   have stored this slice, so have read it
 *
 * Writes begin in the order of the plan. Several are open at once, so that a
 * rank continues with another tree of the plan while one waits. A slice fits the
 * second cache: what a relay loads was stored a moment ago.
 *
 * The counters take what the plan moves between ranks, all of which is loaded.
 */
#include "coll/reduce/reduce.h"
#include "event/apply.h"
#include "loads.h"

/* Looked at, from the oldest incomplete one. */
enum { OPEN_WRITES = 64 };

static uint32_t store_count(const struct gw_request *r)
{
    return r->program->write_count + r->program->loads.copy_count;
}

/* The slices that a write of any rank has stored. */
static uint32_t stored(const struct gw_request *r, unsigned rank,
                       uint32_t write)
{
    const _Atomic uint32_t *progress =
        rank == r->comm->rank
            ? r->loads.progress
            : (const _Atomic uint32_t *)(const void *)r->loads.ranks[rank]
                  .arena;
    return atomic_load_explicit(&progress[write], memory_order_acquire);
}

static bool has_made(const struct gw_request *r, unsigned rank,
                     const struct gw__version *version, uint32_t k)
{
    return version->write == GW__NO_WRITE ||
           stored(r, rank, version->write) > k;
}

/* The rank that slice k of a store waits for, or -1. */
static int waits_for_source(const struct gw_request *r, uint32_t index,
                            uint32_t k)
{
    const struct gw__program *p = r->program;
    const struct gw__load_target *store = &p->loads.stores[index];
    if (!has_made(r, p->rank, &store->previous, k))
        return (int)p->rank;
    if (index >= p->write_count)
        return -1;
    const struct gw__write *w = &p->writes[index];
    for (uint32_t s = w->source_begin; s < w->source_begin + w->source_count;
         s++)
        if (!has_made(r, p->sources[s].peer, &p->loads.sources[s], k))
            return (int)p->sources[s].peer;
    return -1;
}

static int waits_for_reader(const struct gw_request *r, uint32_t index,
                            uint32_t k)
{
    const struct gw__load_target *store = &r->program->loads.stores[index];
    const struct gw__rank_write *readers =
        &r->program->loads.readers[store->reader_begin];
    for (uint32_t i = 0; i < store->reader_count; i++)
        if (stored(r, readers[i].rank, readers[i].write) <= k)
            return (int)readers[i].rank;
    return -1;
}

static unsigned add_source(const struct gw_request *r, unsigned count,
                           const unsigned char *from, size_t at)
{
    r->comm->reduce_sources[count] = from + at;
    return count + 1;
}

/* Sources in ascending rank, the rank's own value at its place, so that ranks
 * which compute the same sum get the same bits. */
static unsigned list_sources(const struct gw_request *r, uint32_t index,
                             size_t at)
{
    const struct gw__program *p = r->program;
    const struct gw__load_target *store = &p->loads.stores[index];
    unsigned chunk = p->cells[store->cell].chunk, count = 0;
    const unsigned char *own =
        gw__loads_source(r, p->rank, chunk, &store->previous);
    if (index >= p->write_count)
        return add_source(r, 0, own, at);
    const struct gw__write *w = &p->writes[index];
    bool adds_own = w->adds_own;
    for (uint32_t s = w->source_begin; s < w->source_begin + w->source_count;
         s++) {
        unsigned peer = p->sources[s].peer;
        if (adds_own && peer > p->rank) {
            count = add_source(r, count, own, at);
            adds_own = false;
        }
        count = add_source(
            r, count, gw__loads_source(r, peer, chunk, &p->loads.sources[s]),
            at);
    }
    return adds_own ? add_source(r, count, own, at) : count;
}

/* Values are valid only if their owners are still in the call after the read. */
static int first_gone(const struct gw_request *r, uint32_t index)
{
    const struct gw__program *p = r->program;
    if (index >= p->write_count)
        return -1;
    const struct gw__write *w = &p->writes[index];
    atomic_thread_fence(memory_order_acquire);
    for (uint32_t s = w->source_begin; s < w->source_begin + w->source_count;
         s++) {
        unsigned peer = p->sources[s].peer;
        if (peer != p->rank && !gw__has_entered(r->comm, peer, r->turn))
            return (int)peer;
    }
    return -1;
}

static void store_slice(const struct gw_request *r, uint32_t index, uint32_t k)
{
    const struct gw__program *p = r->program;
    const struct gw__load_target *store = &p->loads.stores[index];
    size_t at = (size_t)k * GW__LOAD_BYTES;
    size_t left = r->slots[store->cell].bytes - at;
    size_t length = left < GW__LOAD_BYTES ? left : GW__LOAD_BYTES;
    bool completes = index < p->write_count && p->writes[index].completes;
    if (length == 0)
        return;
    void *dest = gw__loads_target(r, store) + at;
    const struct gw_reduce_local reduce = {
        .sources = r->comm->reduce_sources,
        .dests = &dest,
        .source_count = list_sources(r, index, at),
        .dest_count = 1,
        .count = length / r->elem_bytes,
        .type = r->call.type,
        .op = r->call.op,
        .scale_ranks = completes ? r->comm->size : 1};
    gw__reduce_many(&reduce);
}

/* ---- what a watcher sees ---- */

static void publish_arrivals(const struct gw_request *r, uint32_t index)
{
    const struct gw__program *p = r->program;
    const struct gw__write *w = &p->writes[index];
    const struct gw__cell *cell = &p->cells[w->cell];
    for (uint32_t s = 0; s < w->source_count; s++) {
        const struct gw__program_source *source =
            &p->sources[w->source_begin + s];
        const struct gw__apply apply = {(unsigned)gw__source_action(w, s),
                                        source->scratch, cell->scratch};
        gw__event(r, GW_EV_APPLY, source->peer, w->step, cell->chunk,
                  r->slots[w->cell].bytes, gw__apply_value(&apply));
    }
}

/* A send begins when its value is there: `version` is the write that has made
 * it, of cell `cell`; GW__NO_WRITE: all initial values. */
static void publish_sends(const struct gw_request *r, uint32_t version)
{
    const struct gw__program *p = r->program;
    for (uint32_t i = 0; i < p->send_count; i++) {
        const struct gw__send *s = &p->sends[i];
        if (s->version == version && s->peer != p->rank)
            gw__event(r, GW_EV_SEND, s->peer, s->step, p->cells[s->cell].chunk,
                      r->slots[s->cell].bytes, r->slots[s->cell].slices);
    }
}

static void publish_store(const struct gw_request *r, uint32_t index)
{
    if (!r->comm->config.events || index >= r->program->write_count)
        return;
    publish_arrivals(r, index);
    publish_sends(r, index);
}

static void count_moved(const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    struct gw_counters *counters = r->comm->counters;
    for (uint32_t i = 0; i < p->send_count; i++) {
        const struct gw__send *s = &p->sends[i];
        if (s->peer == p->rank)
            continue;
        counters[s->peer].messages_sent += s->first;
        counters[s->peer].bytes_sent += r->slots[s->cell].bytes;
    }
    for (uint32_t w = 0; w < p->write_count; w++)
        for (uint32_t s = 0; s < p->writes[w].source_count; s++) {
            const struct gw__program_source *source =
                &p->sources[p->writes[w].source_begin + s];
            if (source->peer == p->rank)
                continue;
            counters[source->peer].messages_received += source->first;
            counters[source->peer].bytes_received +=
                r->slots[p->writes[w].cell].bytes;
        }
}

/* ---- the run ---- */

/* Runs the slices of a store that are ready. */
static enum gw_err run_store(struct gw_request *r, uint32_t index, bool *moved,
                             struct gw_error *why)
{
    _Atomic uint32_t *progress = &r->loads.progress[index];
    uint32_t slices = r->slots[r->program->loads.stores[index].cell].slices;
    uint32_t k = atomic_load_explicit(progress, memory_order_relaxed);
    while (k < slices && waits_for_source(r, index, k) < 0 &&
           waits_for_reader(r, index, k) < 0) {
        store_slice(r, index, k);
        int gone = first_gone(r, index);
        if (gone >= 0)
            return gw__window_unreachable(r, (unsigned)gone, why);
        atomic_store_explicit(progress, ++k, memory_order_release);
        r->comm->windows->wake_all(r->comm->wire);
        r->comm->windows->moved(r->comm->wire);
        *moved = true;
        if (k == slices)
            publish_store(r, index);
    }
    return GW_OK;
}

static bool store_is_complete(const struct gw_request *r, uint32_t index)
{
    return atomic_load_explicit(&r->loads.progress[index],
                                memory_order_relaxed) ==
           r->slots[r->program->loads.stores[index].cell].slices;
}

static enum gw_err run_stores(struct gw_request *r, bool *moved,
                              struct gw_error *why)
{
    uint32_t count = store_count(r), first = r->loads.first;
    uint32_t end = count - first < OPEN_WRITES ? count : first + OPEN_WRITES;
    for (uint32_t i = first; i < end; i++) {
        enum gw_err err = run_store(r, i, moved, why);
        if (err)
            return err;
    }
    while (r->loads.first < count && store_is_complete(r, r->loads.first))
        r->loads.first++;
    return r->loads.first == count ? GW_OK : GW_PENDING;
}

static enum gw_err begin_run(struct gw_request *r, struct gw_error *why)
{
    unsigned lost;
    if (!gw__loads_reach(r, &lost))
        return gw__window_unreachable(r, lost, why);
    if (r->comm->config.events)
        publish_sends(r, GW__NO_WRITE);
    return GW_OK;
}

enum gw_err gw__loads_progress(struct gw_request *r, bool *moved,
                               struct gw_error *why)
{
    enum gw_err err = r->loads.reached ? GW_OK : begin_run(r, why);
    if (!err)
        err = run_stores(r, moved, why);
    if (err)
        return err;
    gw__loads_close(r);
    count_moved(r);
    gw__window_leave(r);
    *moved = true;
    return GW_OK;
}

int gw__loads_waits_for(const struct gw_request *r, const char **what)
{
    uint32_t first = r->loads.first;
    if (first >= store_count(r))
        return -1;
    uint32_t k =
        atomic_load_explicit(&r->loads.progress[first], memory_order_relaxed);
    int peer = waits_for_source(r, first, k);
    *what = "to publish the next chunk";
    if (peer >= 0)
        return peer == (int)r->comm->rank ? -1 : peer;
    *what = "to finish reading its memory";
    return waits_for_reader(r, first, k);
}
