/* SPDX-License-Identifier: MIT
 *
 * Makes window loads: any plan over shared memory, without messages. A transfer
 * of the plan is a load by its receiver, so relays, scratch and copies inside a
 * rank are kept. loads_run.c runs them.
 *
 * A load needs the place of the value at the sender, and the number of the
 * sender's write that makes it. So each rank follows the whole plan, and numbers
 * the writes and the rooms of all ranks as they do themselves. A value is in the
 * result of its rank if the rank wants it, else in a room of the rank's arena.
 *
 * A write must not overwrite a value that others have yet to read. It waits for
 * the readers of earlier steps. It cannot wait for readers of its own step: two
 * ranks that exchange values would wait for each other forever. Such a write
 * goes to the other of two homes:
 *
 *     step   1     2     3         all three exchange their values
 *     home 0 --> 1 --> 0 --> 1     the last value is copied to home 0
 *
 * So a write waits only for writes of earlier steps, and no plan that the
 * verifier accepts can deadlock here.
 */
#include "coll/program.h"

#include "plan/index.h"

#include <assert.h>
#include <stdlib.h>

#define NO_ROOM   (UINT32_MAX - 1)
#define NO_READER UINT32_MAX

/* A cell of some rank, as the plan has left it so far. */
struct cell_state {
    uint32_t write;               /* its newest; GW__NO_WRITE: none */
    uint32_t written_in, read_in; /* the newest steps, counted from 1 */
    uint32_t rooms[2];            /* of its homes */
    uint32_t
        readers[2]; /* own cells: the newest transfer that reads each home */
    unsigned home;  /* of the newest value */
};

/* A transfer, as its receiver needs it. */
struct reading {
    struct gw__version version;
    uint32_t write; /* of the receiver */
    uint32_t next;  /* the transfer before it that reads the same home */
    unsigned home;
};

struct maker {
    struct gw__program *program;
    const struct gw_plan *plan;
    struct cell_state *cells;           /* row * chunks + chunk */
    struct reading *readings;           /* of each transfer */
    uint32_t *write_count, *room_count; /* per rank */
    bool *peers;
};

static struct cell_state *state_of(const struct maker *m, uint32_t row,
                                   unsigned chunk)
{
    return &m->cells[(size_t)row * m->plan->chunks + chunk];
}

static struct gw__version newest_version(const struct cell_state *cell)
{
    return (struct gw__version){.write = cell->write,
                                .room = cell->rooms[cell->home]};
}

static void read_value(struct maker *m, size_t i, unsigned step)
{
    const struct gw_transfer *t = &m->plan->transfers[i];
    struct cell_state *cell = state_of(m, gw__src_row(m->plan, t), t->chunk);
    m->readings[i] =
        (struct reading){.version = newest_version(cell), .home = cell->home};
    cell->read_in = step + 1;
}

/* Is home 0 of the cell in the result of its rank? */
static bool is_result(const struct gw_plan *plan, unsigned rank,
                      unsigned scratch, unsigned chunk)
{
    return scratch == 0 && gw_plan_wants(plan, rank, chunk);
}

static void choose_home(struct maker *m, const struct gw_transfer *t,
                        struct cell_state *cell, unsigned step)
{
    if (cell->read_in == step + 1)
        cell->home = !cell->home;
    uint32_t *room = &cell->rooms[cell->home];
    if (*room != NO_ROOM)
        return;
    bool result =
        cell->home == 0 && is_result(m->plan, t->dst, t->dst_scratch, t->chunk);
    *room = result ? GW__RESULT : m->room_count[t->dst]++;
}

/* All that have yet to read the home are readers that the store waits for. */
static void list_readers(struct maker *m, struct cell_state *cell,
                         unsigned home, struct gw__load_target *store)
{
    struct gw__loads *loads = &m->program->loads;
    store->reader_begin = loads->reader_count;
    for (uint32_t i = cell->readers[home]; i != NO_READER;
         i = m->readings[i].next)
        loads->readers[loads->reader_count++] = (struct gw__rank_write){
            .rank = m->plan->transfers[i].dst, .write = m->readings[i].write};
    store->reader_count = loads->reader_count - store->reader_begin;
    cell->readers[home] = NO_READER;
}

static void begin_write(struct maker *m, const struct gw_transfer *t,
                        struct cell_state *cell, unsigned step)
{
    const struct gw__program *p = m->program;
    struct gw__version previous = newest_version(cell);
    choose_home(m, t, cell, step);
    cell->written_in = step + 1;
    cell->write = m->write_count[t->dst]++;
    if (t->dst != p->rank)
        return;
    assert(p->writes[cell->write].step == step);
    struct gw__load_target *store = &p->loads.stores[cell->write];
    *store = (struct gw__load_target){.cell = p->writes[cell->write].cell,
                                      .room = cell->rooms[cell->home],
                                      .previous = previous};
    list_readers(m, cell, cell->home, store);
}

/* The source of a write of this rank that the transfer is. */
static void keep_source(struct maker *m, const struct gw_transfer *t,
                        const struct reading *reading)
{
    const struct gw__program *p = m->program;
    uint32_t source = p->writes[reading->write].source_begin;
    while (p->sources[source].peer != t->src ||
           p->sources[source].scratch != t->src_scratch)
        source++;
    assert(source < p->source_count);
    p->loads.sources[source] = reading->version;
}

static void write_value(struct maker *m, size_t i, unsigned step)
{
    const struct gw_transfer *t = &m->plan->transfers[i];
    struct cell_state *cell = state_of(m, gw__dst_row(m->plan, t), t->chunk);
    if (cell->written_in != step + 1)
        begin_write(m, t, cell, step);
    m->readings[i].write = cell->write;
    if (t->dst == m->program->rank)
        keep_source(m, t, &m->readings[i]);
    m->peers[t->src] |= t->dst == m->program->rank;
    m->peers[t->dst] |= t->src == m->program->rank;
}

static void note_reader(struct maker *m, size_t i)
{
    const struct gw_transfer *t = &m->plan->transfers[i];
    if (t->src != m->program->rank)
        return;
    struct cell_state *cell = state_of(m, gw__src_row(m->plan, t), t->chunk);
    uint32_t *newest = &cell->readers[m->readings[i].home];
    m->readings[i].next = *newest;
    *newest = (uint32_t)i;
}

/* All transfers of a step read the values from before it. */
static void follow_step(struct maker *m, unsigned step)
{
    size_t begin = m->plan->step_begin[step];
    size_t end = m->plan->step_begin[step + 1];
    for (size_t i = begin; i < end; i++)
        read_value(m, i, step);
    for (size_t i = begin; i < end; i++)
        write_value(m, i, step);
    for (size_t i = begin; i < end; i++)
        note_reader(m, i);
}

/* Copies a result whose last value is in its other home. */
static void add_copy(struct maker *m, uint32_t index)
{
    struct gw__program *p = m->program;
    const struct gw__cell *c = &p->cells[index];
    struct cell_state *cell =
        state_of(m, gw__row(m->plan, p->rank, c->scratch), c->chunk);
    if (!c->wants || cell->home == 0)
        return;
    struct gw__load_target *store =
        &p->loads.stores[p->write_count + p->loads.copy_count++];
    *store = (struct gw__load_target){
        .cell = index, .room = GW__RESULT, .previous = newest_version(cell)};
    list_readers(m, cell, 0, store);
}

static void list_peers(struct maker *m)
{
    struct gw__passes *p = &m->program->push;
    m->peers[m->program->rank] = false;
    for (unsigned r = 0; r < m->plan->ranks; r++)
        if (m->peers[r]) {
            p->touch[p->touch_count++] = (uint16_t)r;
            p->touched[p->touched_count++] = (uint16_t)r;
        }
}

static bool reserve(struct maker *m)
{
    struct gw__program *p = m->program;
    const struct gw_plan *plan = m->plan;
    size_t cells = (size_t)gw__rows(plan) * plan->chunks, ranks = plan->ranks;
    size_t writes = (size_t)p->write_count + p->cell_count + 1;
    m->cells = malloc(cells * sizeof *m->cells);
    m->readings = calloc(plan->transfer_count + 1, sizeof *m->readings);
    m->write_count = calloc(ranks, sizeof *m->write_count);
    m->room_count = calloc(ranks, sizeof *m->room_count);
    m->peers = calloc(ranks, sizeof *m->peers);
    p->loads.sources =
        calloc(p->source_count + (size_t)1, sizeof *p->loads.sources);
    p->loads.stores = calloc(writes, sizeof *p->loads.stores);
    p->loads.readers =
        calloc(p->send_count + (size_t)1, sizeof *p->loads.readers);
    p->push.touch = calloc(ranks, sizeof *p->push.touch);
    p->push.touched = calloc(ranks, sizeof *p->push.touched);
    for (size_t i = 0; m->cells && i < cells; i++)
        m->cells[i] = (struct cell_state){.write = GW__NO_WRITE,
                                          .rooms = {NO_ROOM, NO_ROOM},
                                          .readers = {NO_READER, NO_READER}};
    return m->cells && m->readings && m->write_count && m->room_count &&
           m->peers && p->loads.sources && p->loads.stores &&
           p->loads.readers && p->push.touch && p->push.touched;
}

enum gw_err gw__loads_make(struct gw__program *program, struct gw_error *why)
{
    struct maker m = {.program = program, .plan = program->plan};
    bool reserved = reserve(&m);
    if (reserved) {
        for (unsigned s = 0; s < m.plan->steps; s++)
            follow_step(&m, s);
        for (uint32_t c = 0; c < program->cell_count; c++)
            add_copy(&m, c);
        list_peers(&m);
        program->loads.room_count = m.room_count[program->rank];
        program->stepwise = true;
    }
    free(m.cells);
    free(m.readings);
    free(m.write_count);
    free(m.room_count);
    free(m.peers);
    return reserved ? GW_OK : gw_fail(why, GW_ENOMEM, "window loads");
}

void gw__loads_fini(struct gw__loads *loads)
{
    free(loads->sources);
    free(loads->stores);
    free(loads->readers);
}
