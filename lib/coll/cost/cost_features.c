/* SPDX-License-Identifier: MIT
 *
 * Counts the operations of a call. The plan's own price does not include two of
 * them.
 *
 * Turns. Calls follow each other, so the relevant time is the delay between the
 * ends of consecutive calls. The plan is simulated for several calls. A message
 * leaves when its sender has the value and arrives one turn later; a rank
 * begins the next call when it has received all values of this one. A broadcast
 * tree then has no turn: its root runs ahead and the others follow. An
 * all-reduce has all its rounds. If memory is lent, a sender is done only after
 * the receiver has read it. The same simulation with bytes for turns gives the
 * number of bytes in sequence.
 *
 * Memory. An engine's receiver loads the message, and its own value when it
 * adds, and stores. A window pass stores a finished sum at all its receivers;
 * it loads a value for several receivers once (passes.c). A rank that keeps its
 * own block copies it.
 */
#include "cost_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALLS = 4,          /* per simulation; the second half counts */
    INLINE_BYTES = 152, /* a message of shm that is copied, not lent */
    SHM_SLICE_BYTES = 128 << 10,
    SLICE_BYTES = 512 << 10,
};

struct counting {
    const struct gw_plan *plan;
    size_t count, elem_bytes;
    bool direct, borrowed;
    double slice_bytes;
    double *moved;           /* of each rank: loaded and stored */
    double before;           /* by a root, while the others wait for it */
    double *start, *done;    /* of each rank */
    double *ready, *arrival; /* per value of a rank; per transfer */
    unsigned *seen;          /* per value of a rank: a step, from 1 */
};

static double chunk_bytes(const struct counting *c, unsigned chunk)
{
    size_t offset, length;
    if (c->plan->collective == GW_BARRIER)
        return 0;
    gw_plan_extent(c->plan, chunk, c->count, c->elem_bytes, &offset, &length);
    return (double)(length * c->elem_bytes);
}

static size_t cell(const struct counting *c, unsigned rank, unsigned chunk)
{
    return (size_t)rank * c->plan->chunks + chunk;
}

static double larger_of(double a, double b)
{
    return a > b ? a : b;
}

/* ---- turns ---- */

static void count_step(struct counting *c, unsigned step, bool bytes)
{
    const struct gw_plan *plan = c->plan;
    size_t begin = plan->step_begin[step], end = plan->step_begin[step + 1];
    for (size_t i = begin; i < end; i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        c->arrival[i] = c->ready[cell(c, t->src, t->chunk)] +
                        (bytes ? chunk_bytes(c, t->chunk) : 1);
    }
    for (size_t i = begin; i < end; i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        double *ready = &c->ready[cell(c, t->dst, t->chunk)];
        if (t->src == t->dst)
            continue;
        *ready = larger_of(*ready, c->arrival[i]);
        c->done[t->dst] = larger_of(c->done[t->dst], c->arrival[i]);
        if (c->borrowed && !bytes)
            c->done[t->src] = larger_of(c->done[t->src], c->arrival[i]);
    }
}

/* The delay between the ends of consecutive calls, in turns or in bytes. */
static double count_plan(struct counting *c, bool bytes)
{
    const struct gw_plan *plan = c->plan;
    double ends[CALLS];
    memset(c->start, 0, plan->ranks * sizeof *c->start);
    for (unsigned call = 0; call < CALLS; call++) {
        ends[call] = 0;
        for (unsigned r = 0; r < plan->ranks; r++) {
            c->done[r] = c->start[r];
            for (unsigned chunk = 0; chunk < plan->chunks; chunk++)
                c->ready[cell(c, r, chunk)] = c->start[r];
        }
        for (unsigned step = 0; step < plan->steps; step++)
            count_step(c, step, bytes);
        for (unsigned r = 0; r < plan->ranks; r++) {
            c->start[r] = c->done[r];
            ends[call] = larger_of(ends[call], c->done[r]);
        }
    }
    int calls = CALLS - CALLS / 2;
    return (ends[CALLS - 1] - ends[CALLS / 2 - 1]) / calls;
}

/* ---- memory ---- */

static void move(struct counting *c, unsigned rank, double loads, double stores)
{
    c->moved[rank] += loads + stores;
}

static bool first_in_step(struct counting *c, unsigned rank, unsigned chunk,
                          unsigned step)
{
    unsigned *seen = &c->seen[cell(c, rank, chunk)];
    bool first = *seen != step + 1;
    *seen = step + 1;
    return first;
}

/* Do two ranks swap sums of this chunk? Then both copy their values first. */
static bool is_swapped(const struct gw_plan *plan, unsigned step,
                       const struct gw_transfer *t)
{
    for (size_t i = plan->step_begin[step];
         step > 0 && i < plan->step_begin[step + 1]; i++) {
        const struct gw_transfer *u = &plan->transfers[i];
        if (u->src == t->dst && u->dst == t->src && u->chunk == t->chunk)
            return true;
    }
    return false;
}

/* Are there at least as many senders as receivers? Then a pass stores at its
 * receivers. With two ranks, the other rank loads the root's values, as in
 * passes.c. */
static bool pushes(const struct gw_plan *plan, unsigned step)
{
    enum { SOME = 64 };
    uint64_t from = 0, to = 0;
    bool root_sends = false;
    for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
         i++) {
        from |= 1ULL << plan->transfers[i].src % SOME;
        to |= 1ULL << plan->transfers[i].dst % SOME;
        root_sends |= plan->transfers[i].src == plan->root;
    }
    int senders = __builtin_popcountll(from);
    int receivers = __builtin_popcountll(to);
    return senders > receivers ||
           (senders == receivers && !(senders == 1 && root_sends));
}

static void count_transfer(struct counting *c, unsigned step, bool push,
                           const struct gw_transfer *t)
{
    bool reduces = gw_collective_reduces(c->plan->collective);
    double bytes = chunk_bytes(c, t->chunk);
    if (t->action == GW_ADD) {
        bool first = first_in_step(c, t->dst, t->chunk, step);
        move(c, t->dst, first ? 2 * bytes : bytes, first ? bytes : 0);
        if (!c->direct && is_swapped(c->plan, step, t))
            move(c, t->src, bytes, bytes);
    } else if (c->direct && reduces) {
        move(c, t->src, 0, bytes);
    } else if (c->direct && push) {
        bool first = first_in_step(c, t->src, t->chunk, step);
        move(c, t->src, first ? bytes : 0, bytes);
    } else {
        move(c, t->dst, bytes, bytes);
    }
}

/* The copies of a rank's own blocks. The engine copies a block before it sends;
 * readers of lent memory begin afterwards, and the root's next call when they
 * are done. */
static void count_copies(struct counting *c, bool shared)
{
    double bytes = (double)(c->count * c->elem_bytes);
    enum gw_collective what = c->plan->collective;
    bool sends = what == GW_BROADCAST || what == GW_SCATTER;
    if (sends && shared && !c->direct)
        c->before = 2 * bytes;
    else if (sends || what == GW_GATHER)
        move(c, c->plan->root, bytes, bytes);
    if (what == GW_ALLGATHER || what == GW_ALLTOALL)
        for (unsigned r = 0; r < c->plan->ranks; r++)
            move(c, r, c->direct && what == GW_ALLGATHER ? 0 : bytes, bytes);
}

static void sum_memory(const struct counting *c, struct gw__cost_features *work)
{
    double all = c->before;
    for (unsigned r = 0; r < c->plan->ranks; r++) {
        all += c->moved[r];
        work->moved_bytes =
            larger_of(work->moved_bytes, c->before + c->moved[r]);
    }
    work->moved_bytes = larger_of(work->moved_bytes, all / work->cores);
}

/* ---- the rest ---- */

static double set_bytes(const struct gw_plan *plan, double bytes)
{
    double ranks = plan->ranks;
    switch (plan->collective) {
    case GW_BROADCAST:
        return ranks * bytes;
    case GW_REDUCE:
        return (ranks + 1) * bytes;
    case GW_ALLREDUCE:
    case GW_SCAN:
    case GW_EXSCAN:
    case GW_GATHER:
    case GW_SCATTER:
        return 2 * ranks * bytes;
    case GW_ALLGATHER:
    case GW_REDUCE_SCATTER:
        return ranks * (ranks + 1) * bytes;
    case GW_ALLTOALL:
        return 2 * ranks * ranks * bytes;
    default:
        return 0;
    }
}

static bool is_eager(const struct gw_plan *plan, double bytes)
{
    bool blocks = plan->collective == GW_SCATTER ||
                  plan->collective == GW_ALLTOALL ||
                  plan->collective == GW_REDUCE_SCATTER;
    return plan->steps == 1 &&
           (blocks ? plan->ranks * bytes : bytes) <= GW__EAGER_BYTES;
}

static void count_transfers(struct counting *c, struct gw__cost_features *work)
{
    const struct gw_plan *plan = c->plan;
    double largest = 0;
    for (unsigned step = 0; step < plan->steps; step++) {
        bool push = pushes(plan, step);
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            double bytes = chunk_bytes(c, t->chunk);
            if (t->src == t->dst) { /* a copy or an addition of its own */
                work->added_bytes += bytes;
                continue;
            }
            largest = larger_of(largest, bytes);
            work->added_bytes += t->action == GW_ADD ? bytes : 0;
            if (bytes > c->slice_bytes)
                work->slices += floor((bytes - 1) / c->slice_bytes);
            c->done[t->src]++;
            c->done[t->dst]++;
            count_transfer(c, step, push, t);
        }
    }
    for (unsigned r = 0; r < plan->ranks; r++)
        work->messages_busiest = larger_of(work->messages_busiest, c->done[r]);
    work->borrowed = largest > INLINE_BYTES;
}

static enum gw_err count_all(struct counting *c,
                             const struct gw__setting *setting,
                             struct gw__cost_features *work)
{
    static const struct gw_cost_model nothing = {0, 0, 0};
    struct gw_price price;
    double bytes = (double)(c->count * c->elem_bytes);
    if (gw_plan_price(c->plan, c->count, c->elem_bytes, &nothing, &price, NULL))
        return GW_ENOMEM;
    work->eager = work->passes && is_eager(c->plan, bytes);
    work->messages = (double)price.messages;
    work->sent_bytes = (double)price.bytes;
    work->message_bytes =
        price.messages ? work->sent_bytes / work->messages : 0;
    work->set_bytes = set_bytes(c->plan, bytes);
    count_transfers(c, work);
    count_copies(c, setting->shared);
    sum_memory(c, work);
    work->waits = count_plan(c, false) > 0;
    c->borrowed =
        setting->shared && (work->passes ? !work->eager : work->borrowed);
    work->turns = count_plan(c, false);
    work->path_bytes =
        larger_of(count_plan(c, true), (double)price.rank_bytes_max);
    return GW_OK;
}

bool gw__cost_features_of(const struct gw_plan *plan, bool direct, size_t count,
                          size_t elem_bytes, const struct gw__setting *setting,
                          struct gw__cost_features *work)
{
    size_t ranks = plan->ranks, cells = ranks * plan->chunks;
    *work = (struct gw__cost_features){
        .passes = setting->windows && direct,
        .cores = setting->cores < plan->ranks ? setting->cores : plan->ranks,
    };
    double *room =
        calloc(3 * ranks + cells + plan->transfer_count + 1, sizeof *room);
    unsigned *seen = calloc(cells + 1, sizeof *seen);
    struct counting c = {.plan = plan,
                         .count = count,
                         .elem_bytes = elem_bytes,
                         .direct = work->passes,
                         .slice_bytes =
                             setting->shared ? SHM_SLICE_BYTES : SLICE_BYTES,
                         .seen = seen};
    bool counted = room && seen;
    if (counted) {
        c.moved = room;
        c.start = c.moved + ranks;
        c.done = c.start + ranks;
        c.ready = c.done + ranks;
        c.arrival = c.ready + cells;
        counted = count_all(&c, setting, work) == GW_OK;
    }
    free(room);
    free(seen);
    return counted;
}
