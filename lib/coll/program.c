/* SPDX-License-Identifier: MIT
 *
 * Compiles a plan for one rank: it numbers the chunks that the rank uses,
 * groups the transfers of a step into writes, and finds the dependencies of
 * each send and write. engine.c runs the result over any wire, window.c in one
 * pass where there are windows.
 */
#include "program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The messages of a link in its newest step. */
struct link_use {
    uint32_t step;     /* counted from 1; 0: none */
    uint64_t channels; /* in use in that step */
};

struct compiler {
    struct gw__program *program;
    const struct gw_plan *plan;
    unsigned rank;
    unsigned rows;         /* the buffer and its scratch */
    uint32_t *cell_of;     /* chunk * rows + scratch -> cell, or UINT32_MAX */
    uint32_t *last_write;  /* cell -> newest write */
    uint32_t *reader;      /* cell -> newest send of the current version */
    uint32_t *next_reader; /* send -> the one before it */
    struct link_use *out, *in; /* peer -> its newest message */
    uint32_t *cursor;          /* peer -> next place in its list */
    uint32_t local_send;       /* the next send inside the rank */
    uint32_t *source_write;    /* arrival in plan order -> write */
    uint16_t *contributors;    /* (rank * rows + scratch) * chunks + chunk;
                               reductions only */
    uint16_t *added;           /* scratch of a step, per transfer */
};

static size_t count_mine(const struct gw_plan *plan, unsigned rank, bool sends)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->transfer_count; i++)
        count +=
            (sends ? plan->transfers[i].src : plan->transfers[i].dst) == rank;
    return count;
}

static void *zeros(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

static bool reserve_arrays(struct compiler *c)
{
    struct gw__program *p = c->program;
    const struct gw_plan *plan = c->plan;
    size_t sends = count_mine(plan, c->rank, true);
    size_t arrivals = count_mine(plan, c->rank, false);
    size_t ranks = plan->ranks, chunks = plan->chunks;
    size_t cells = chunks * c->rows;
    p->cells = zeros(cells, sizeof *p->cells);
    p->sends = zeros(sends, sizeof *p->sends);
    p->writes = zeros(arrivals, sizeof *p->writes);
    p->sources = zeros(arrivals, sizeof *p->sources);
    p->hazards = zeros(sends, sizeof *p->hazards);
    p->out = zeros(sends, sizeof *p->out);
    p->out_begin = zeros(ranks + 1, sizeof *p->out_begin);
    p->in = zeros(arrivals, sizeof *p->in);
    p->in_begin = zeros(ranks + 1, sizeof *p->in_begin);
    c->cell_of = zeros(cells, sizeof *c->cell_of);
    c->last_write = zeros(cells, sizeof *c->last_write);
    c->reader = zeros(cells, sizeof *c->reader);
    c->next_reader = zeros(sends, sizeof *c->next_reader);
    c->out = zeros(ranks, sizeof *c->out);
    c->in = zeros(ranks, sizeof *c->in);
    c->cursor = zeros(ranks, sizeof *c->cursor);
    c->source_write = zeros(arrivals, sizeof *c->source_write);
    bool reduces = gw_collective_reduces(plan->collective);
    c->contributors = zeros(reduces ? ranks * cells : 1, sizeof(uint16_t));
    c->added = zeros(plan->transfer_count, sizeof *c->added);
    return p->cells && p->sends && p->writes && p->sources && p->hazards &&
           p->out && p->out_begin && p->in && p->in_begin && c->cell_of &&
           c->last_write && c->reader && c->next_reader && c->out && c->in &&
           c->cursor && c->source_write && c->contributors && c->added;
}

static void free_scratch(struct compiler *c)
{
    free(c->cell_of);
    free(c->last_write);
    free(c->reader);
    free(c->next_reader);
    free(c->out);
    free(c->in);
    free(c->cursor);
    free(c->source_write);
    free(c->contributors);
    free(c->added);
}

static uint32_t *cell_of(const struct compiler *c, unsigned chunk,
                         unsigned scratch)
{
    return &c->cell_of[chunk * (size_t)c->rows + scratch];
}

static void add_cell(struct compiler *c, unsigned chunk, unsigned scratch)
{
    struct gw__program *p = c->program;
    bool holds = scratch == 0 && gw_plan_holds(c->plan, c->rank, chunk);
    bool wants = scratch == 0 && gw_plan_wants(c->plan, c->rank, chunk);
    uint32_t *number = cell_of(c, chunk, scratch);
    if (!holds && !wants && *number == UINT32_MAX)
        return;
    *number = p->cell_count;
    c->last_write[p->cell_count] = GW__NO_WRITE;
    c->reader[p->cell_count] = UINT32_MAX;
    p->cells[p->cell_count++] = (struct gw__cell){
        .chunk = chunk, .scratch = scratch, .holds = holds, .wants = wants};
}

static void number_cells(struct compiler *c)
{
    const struct gw_plan *plan = c->plan;
    memset(c->cell_of, 0xff,
           (size_t)plan->chunks * c->rows * sizeof *c->cell_of);
    for (size_t i = 0; i < plan->transfer_count; i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        if (t->src == c->rank)
            *cell_of(c, t->chunk, t->src_scratch) = 0;
        if (t->dst == c->rank)
            *cell_of(c, t->chunk, t->dst_scratch) = 0;
    }
    for (unsigned chunk = 0; chunk < plan->chunks; chunk++)
        for (unsigned scratch = 0; scratch < c->rows; scratch++)
            add_cell(c, chunk, scratch);
}

/* Is it the first transfer of its message? */
static bool begins_message(struct link_use *link, uint32_t step,
                           unsigned channel)
{
    uint64_t bit = (uint64_t)1 << channel;
    if (link->step != step + 1)
        *link = (struct link_use){.step = step + 1};
    bool begins = !(link->channels & bit);
    link->channels |= bit;
    return begins;
}

static void add_send(struct compiler *c, const struct gw_transfer *t,
                     unsigned step)
{
    struct gw__program *p = c->program;
    uint32_t cell = *cell_of(c, t->chunk, t->src_scratch);
    p->sends[p->send_count] = (struct gw__send){
        .peer = t->dst,
        .cell = cell,
        .step = step,
        .version = c->last_write[cell],
        .replaces = t->action == GW_REPLACE,
        .first = begins_message(&c->out[t->dst], step, t->channel)};
    c->next_reader[p->send_count] = c->reader[cell];
    c->reader[cell] = p->send_count++;
}

/* All sends of the version that write `w` replaces become its hazards. */
static void collect_hazards(struct compiler *c, struct gw__write *w)
{
    struct gw__program *p = c->program;
    w->hazard_begin = p->hazard_count;
    for (uint32_t s = c->reader[w->cell]; s != UINT32_MAX;
         s = c->next_reader[s]) {
        p->hazards[p->hazard_count++] = s;
        if (p->sends[s].step == w->step)
            p->sends[s].exchanged = true;
    }
    w->hazard_count = p->hazard_count - w->hazard_begin;
    c->reader[w->cell] = UINT32_MAX;
}

static void add_arrival(struct compiler *c, const struct gw_transfer *t,
                        unsigned step)
{
    struct gw__program *p = c->program;
    uint32_t cell = *cell_of(c, t->chunk, t->dst_scratch);
    uint32_t last = c->last_write[cell];
    if (last == GW__NO_WRITE || p->writes[last].step != step) {
        struct gw__write *w = &p->writes[p->write_count];
        *w = (struct gw__write){
            .cell = cell,
            .step = step,
            .previous = last,
            .action = (enum gw_action)t->action,
            .adds_own = t->action == GW_ADD &&
                        (p->cells[cell].holds || p->cells[cell].written)};
        collect_hazards(c, w);
        p->cells[cell].written = true;
        last = c->last_write[cell] = p->write_count++;
    }
    p->writes[last].source_count++;
    c->source_write[p->source_count++] = last;
}

static uint16_t *contributors_at(const struct compiler *c, unsigned rank,
                                 unsigned scratch, unsigned chunk)
{
    size_t row = rank * (size_t)c->rows + scratch;
    return &c->contributors[row * c->plan->chunks + chunk];
}

/* Contributors are counted, not listed: the plan is verified, so that sums are
 * disjoint. */
static void count_contributors(struct compiler *c, unsigned step)
{
    const struct gw_plan *plan = c->plan;
    size_t begin = plan->step_begin[step], end = plan->step_begin[step + 1];
    for (size_t i = begin; i < end; i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        c->added[i] = *contributors_at(c, t->src, t->src_scratch, t->chunk);
    }
    for (size_t i = begin; i < end; i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        uint16_t *there = contributors_at(c, t->dst, t->dst_scratch, t->chunk);
        bool adds = t->action == GW_ADD;
        *there = (uint16_t)((adds ? *there : 0) + c->added[i]);
        bool completes = adds && *there == plan->ranks;
        if (t->dst != c->rank || !completes || c->added[i] == plan->ranks)
            continue; /* a complete sum that is added to nothing is a copy */
        uint32_t cell = *cell_of(c, t->chunk, t->dst_scratch);
        c->program->writes[c->last_write[cell]].completes = true;
    }
}

static void compile_steps(struct compiler *c)
{
    const struct gw_plan *plan = c->plan;
    bool reduces = gw_collective_reduces(plan->collective);
    if (reduces)
        for (unsigned rank = 0; rank < plan->ranks; rank++)
            for (unsigned chunk = 0; chunk < plan->chunks; chunk++)
                *contributors_at(c, rank, 0, chunk) = 1;
    for (unsigned step = 0; step < plan->steps; step++) {
        size_t begin = plan->step_begin[step];
        size_t end = plan->step_begin[step + 1];
        /* Sends first: they read the values from before the step. */
        for (size_t i = begin; i < end; i++)
            if (plan->transfers[i].src == c->rank)
                add_send(c, &plan->transfers[i], step);
        for (size_t i = begin; i < end; i++)
            if (plan->transfers[i].dst == c->rank)
                add_arrival(c, &plan->transfers[i], step);
        if (reduces)
            count_contributors(c, step);
    }
}

/* Turns counts in begin[1..n] into offsets begin[0..n]. */
static void prefix_sums(uint32_t *begin, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        begin[i + 1] += begin[i];
}

static void order_sends_by_link(struct compiler *c)
{
    struct gw__program *p = c->program;
    uint32_t *at = c->cursor;
    for (uint32_t s = 0; s < p->send_count; s++)
        p->out_begin[p->sends[s].peer + 1] += p->sends[s].peer != c->rank;
    prefix_sums(p->out_begin, c->plan->ranks);
    memcpy(at, p->out_begin, c->plan->ranks * sizeof *at);
    for (uint32_t s = 0; s < p->send_count; s++)
        if (p->sends[s].peer != c->rank)
            p->out[at[p->sends[s].peer]++] = s;
}

/* Gives each write its room in `sources`, and each link in `in`. */
static void place_arrivals(struct compiler *c)
{
    struct gw__program *p = c->program;
    uint32_t begin = 0;
    for (uint32_t w = 0; w < p->write_count; w++) {
        p->writes[w].source_begin = begin;
        begin += p->writes[w].source_count;
        p->writes[w].source_count = 0;
    }
    for (size_t i = 0; i < c->plan->transfer_count; i++)
        if (c->plan->transfers[i].dst == c->rank)
            p->in_begin[c->plan->transfers[i].src + 1u]++;
    prefix_sums(p->in_begin, c->plan->ranks);
}

/* The sends inside the rank arrive in their order. */
static uint32_t next_local_send(struct compiler *c)
{
    while (c->program->sends[c->local_send].peer != c->rank)
        c->local_send++;
    return c->local_send++;
}

/* Sources of a write by ascending rank, so that every rank reduces in the same
 * order. */
static void add_source(struct compiler *c, struct gw__write *w,
                       const struct gw_transfer *t)
{
    unsigned peer = t->src;
    struct gw__program_source *sources = &c->program->sources[w->source_begin];
    uint32_t n = w->source_count++;
    for (; n > 0 && sources[n - 1].peer > peer; n--)
        sources[n] = sources[n - 1];
    sources[n] = (struct gw__program_source){
        .peer = peer,
        .send = peer == c->rank ? next_local_send(c) : 0,
        .scratch = t->src_scratch,
        .first = begins_message(&c->in[peer], w->step, t->channel)};
}

static uint32_t find_source(const struct gw__program *p,
                            const struct gw__write *w, unsigned peer)
{
    uint32_t source = w->source_begin;
    while (p->sources[source].peer != peer)
        source++;
    assert(source < w->source_begin + w->source_count);
    return source;
}

static void order_arrivals(struct compiler *c)
{
    struct gw__program *p = c->program;
    const struct gw_plan *plan = c->plan;
    place_arrivals(c);
    uint32_t arrival = 0;
    for (size_t i = 0; i < plan->transfer_count; i++)
        if (plan->transfers[i].dst == c->rank)
            add_source(c, &p->writes[c->source_write[arrival++]],
                       &plan->transfers[i]);
    uint32_t *at = c->cursor;
    memcpy(at, p->in_begin, plan->ranks * sizeof *at);
    arrival = 0;
    for (size_t i = 0; i < plan->transfer_count; i++) {
        unsigned src = plan->transfers[i].src;
        if (plan->transfers[i].dst != c->rank)
            continue;
        uint32_t w = c->source_write[arrival++];
        p->in[at[src]++] = (struct gw__arrival){
            .write = w, .source = find_source(p, &p->writes[w], src)};
    }
}

enum gw_err gw__program_new(struct gw_plan **plan, unsigned rank,
                            enum gw__window_kind kind,
                            struct gw__program **program, struct gw_error *why)
{
    assert(rank < (*plan)->ranks);
    struct gw__program *p = calloc(1, sizeof *p);
    struct compiler c = {.program = p,
                         .plan = *plan,
                         .rank = rank,
                         .rows = (*plan)->scratch + 1};
    enum gw_err err = GW_OK;
    *program = NULL;
    if (!p) {
        gw_plan_destroy(plan);
        return gw_fail(why, GW_ENOMEM, "compiling a plan");
    }
    p->plan = *plan;
    p->rank = rank;
    *plan = NULL;
    if (reserve_arrays(&c)) {
        number_cells(&c);
        compile_steps(&c);
        order_sends_by_link(&c);
        order_arrivals(&c);
    } else
        err = gw_fail(why, GW_ENOMEM, "compiling a plan");
    if (!err && kind == GW__WINDOW_PASSES)
        err = gw__passes_make(p, why);
    if (!err && kind == GW__WINDOW_LOADS)
        err = gw__loads_make(p, why);
    free_scratch(&c);
    if (err)
        gw__program_destroy(&p);
    *program = p;
    return err;
}

void gw__program_destroy(struct gw__program **program)
{
    struct gw__program *p = *program;
    if (!p)
        return;
    gw_plan_destroy(&p->plan);
    free(p->cells);
    free(p->sends);
    free(p->writes);
    free(p->sources);
    free(p->hazards);
    free(p->out);
    free(p->out_begin);
    free(p->in);
    free(p->in_begin);
    gw__passes_fini(&p->push);
    gw__passes_fini(&p->pull);
    gw__passes_fini(&p->halves);
    gw__loads_fini(&p->loads);
    free(p);
    *program = NULL;
}
