/* SPDX-License-Identifier: MIT
 *
 * The operations of a rank; see ops.h. Each place, a row of a chunk, has its
 * last writer and the readers since. A reader depends on the writer; a writer
 * depends on the writer before it and on the readers.
 */
#include "ops.h"

#include "plan/index.h"

#include <stdlib.h>
#include <string.h>

#define NO_OP UINT32_MAX

struct ops_place {
    uint32_t writer;  /* operation, or none */
    uint32_t readers; /* the first of `reads`, or none */
    uint32_t pending; /* copies of this step that still have to read it */
    bool filled;
};

struct ops_read {
    uint32_t op, next;
};

struct ops_maker {
    struct gw__rank_ops *made;
    const struct gw_plan *plan;
    unsigned rank;
    struct ops_place *places; /* row of the rank * chunks + chunk */
    struct ops_read *reads;
    size_t read_count;
    bool *emitted; /* of each transfer of the step */
    bool exhausted;
};

static struct ops_place *ops_place_at(const struct ops_maker *m,
                                      unsigned scratch, unsigned chunk)
{
    return &m->places[scratch * (size_t)m->plan->chunks + chunk];
}

static void depend(struct ops_maker *m, uint32_t on)
{
    struct gw__rank_ops *made = m->made;
    if (on == NO_OP)
        return;
    if (made->dep_count == made->dep_room) {
        size_t room = made->dep_room ? 2 * made->dep_room : 256;
        void *moved = realloc(made->deps, room * sizeof *made->deps);
        if (!moved) {
            m->exhausted = true;
            return;
        }
        made->deps = moved;
        made->dep_room = room;
    }
    made->deps[made->dep_count++] = on;
}

static void read_place(struct ops_maker *m, struct ops_place *place,
                       uint32_t op)
{
    depend(m, place->writer);
    m->reads[m->read_count] = (struct ops_read){op, place->readers};
    place->readers = (uint32_t)m->read_count++;
}

static void write_place(struct ops_maker *m, struct ops_place *place,
                        uint32_t op)
{
    depend(m, place->writer);
    for (uint32_t r = place->readers; r != NO_OP; r = m->reads[r].next)
        if (m->reads[r].op != op)
            depend(m, m->reads[r].op);
    *place = (struct ops_place){.writer = op,
                                .readers = NO_OP,
                                .pending = place->pending,
                                .filled = true};
}

static void add_op(struct ops_maker *m, size_t t, bool sends)
{
    struct gw__rank_ops *made = m->made;
    const struct gw_transfer *x = &m->plan->transfers[t];
    uint32_t number = (uint32_t)made->count++;
    struct gw__rank_op *op = &made->ops[number];
    *op = (struct gw__rank_op){.kind = GW__OP_SEND,
                               .transfer = (uint32_t)t,
                               .dep_begin = (uint32_t)made->dep_count};
    if (x->src == m->rank)
        read_place(m, ops_place_at(m, x->src_scratch, x->chunk), number);
    if (!sends) {
        struct ops_place *to = ops_place_at(m, x->dst_scratch, x->chunk);
        bool adds = x->action == GW_ADD && to->filled;
        op->kind = gw__is_local(x) ? (adds ? GW__OP_REDUCE : GW__OP_COPY)
                                   : (adds ? GW__OP_RADD : GW__OP_RECV);
        write_place(m, to, number);
    }
    op->dep_count = (uint32_t)made->dep_count - op->dep_begin;
}

/* The copies of a step: one that writes a place comes after those that read it.
 * There is such an order, or the plan would deadlock. */
static void add_copies(struct ops_maker *m, size_t begin, size_t end)
{
    const struct gw_transfer *x = m->plan->transfers;
    for (size_t t = begin; t < end; t++) {
        m->emitted[t - begin] = !gw__is_local(&x[t]) || x[t].src != m->rank;
        if (!m->emitted[t - begin])
            ops_place_at(m, x[t].src_scratch, x[t].chunk)->pending++;
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t t = begin; t < end; t++) {
            const struct ops_place *to =
                ops_place_at(m, x[t].dst_scratch, x[t].chunk);
            if (m->emitted[t - begin] || to->pending > 0)
                continue;
            ops_place_at(m, x[t].src_scratch, x[t].chunk)->pending--;
            m->emitted[t - begin] = moved = true;
            add_op(m, t, false);
        }
    }
}

static void make_ops(struct ops_maker *m)
{
    const struct gw_plan *plan = m->plan;
    const struct gw_transfer *x = plan->transfers;
    for (unsigned chunk = 0; chunk < plan->chunks; chunk++)
        ops_place_at(m, 0, chunk)->filled = gw_plan_holds(plan, m->rank, chunk);
    for (unsigned step = 0; step < plan->steps; step++) {
        size_t begin = plan->step_begin[step], end = plan->step_begin[step + 1];
        for (size_t t = begin; t < end; t++)
            if (x[t].src == m->rank && !gw__is_local(&x[t]))
                add_op(m, t, true);
        if (plan->scratch > 0)
            add_copies(m, begin, end);
        for (size_t t = begin; t < end; t++)
            if (x[t].dst == m->rank && !gw__is_local(&x[t]))
                add_op(m, t, false);
    }
}

static size_t count_ops(const struct gw_plan *plan, unsigned rank)
{
    size_t count = 0;
    for (size_t t = 0; t < plan->transfer_count; t++)
        count +=
            plan->transfers[t].src == rank || plan->transfers[t].dst == rank;
    return count;
}

enum gw_err gw__rank_ops_init(struct gw__rank_ops *ops,
                              const struct gw_plan *plan, unsigned rank,
                              struct gw_error *why)
{
    size_t count = count_ops(plan, rank);
    size_t places = (plan->scratch + (size_t)1) * plan->chunks;
    *ops = (struct gw__rank_ops){.plan = plan, .rank = rank};
    ops->ops = calloc(count + 1, sizeof *ops->ops);
    struct ops_maker m = {
        .made = ops,
        .plan = plan,
        .rank = rank,
        .places = calloc(places, sizeof *m.places),
        .reads = calloc(count + 1, sizeof *m.reads),
        .emitted = calloc(plan->transfer_count + 1, sizeof *m.emitted),
    };
    bool room = ops->ops && m.places && m.reads && m.emitted;
    for (size_t i = 0; room && i < places; i++)
        m.places[i].writer = m.places[i].readers = NO_OP;
    if (room)
        make_ops(&m);
    free(m.emitted);
    free(m.reads);
    free(m.places);
    if (room && !m.exhausted)
        return GW_OK;
    gw__rank_ops_fini(ops);
    return gw_fail(why, GW_ENOMEM, "operations of rank %u", rank);
}

void gw__rank_ops_fini(struct gw__rank_ops *ops)
{
    free(ops->ops);
    free(ops->deps);
    *ops = (struct gw__rank_ops){0};
}
