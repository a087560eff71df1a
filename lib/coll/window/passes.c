/* SPDX-License-Identifier: MIT
 *
 * Makes window passes: a direct plan as loads and stores without messages.
 *
 * In a direct plan (all-to-one-to-all shapes: one-shot, partitioned, direct,
 * linear) every value sent is a rank's initial value or a finished sum. So a
 * chunk needs one loop: load its sources in place from the ranks' buffers,
 * reduce, and store into every result that wants it. The loop runs on:
 *
 *   a write that adds            the rank that the plan lets add; it also
 *                                stores where the plan then sends the sum
 *   an initial value that is     "pull": the receiver; "push": the sender,
 *   sent                         where at least as many ranks send as receive
 *                                in that step, so that the work is spread
 *                                (gather, all-gather), else the receiver
 *                                (broadcast, scatter)
 *   a chunk held and wanted      its rank, together with its push if it has
 *                                one
 *
 * Pull passes store only into the rank's own result. They exist if only initial
 * values travel, and let small inputs be read from the control blocks.
 *
 * In a broadcast between two ranks the root would wait while the other one
 * copies. So there are passes in which the receiver loads the first half of each
 * chunk, and the root stores the second one.
 */
#include "coll/program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum kind { PUSH, PULL, HALVES };

struct maker {
    const struct gw__program *program;
    const struct gw_plan *plan;
    unsigned rank;
    enum kind kind;
    struct gw__passes *passes;
    bool *touch, *touched;
    bool *pushes;         /* step -> are its initial values pushed? */
    uint32_t *written_in; /* rank * chunks + chunk -> the first step that writes
                             it, counted from 1 */
    bool overwrites;
    bool failed;
};

static void find_writes(struct maker *m)
{
    const struct gw_plan *plan = m->plan;
    for (unsigned s = plan->steps; s > 0; s--)
        for (size_t i = plan->step_begin[s - 1]; i < plan->step_begin[s]; i++)
            m->written_in[(size_t)plan->transfers[i].dst * plan->chunks +
                          plan->transfers[i].chunk] = s;
}

/* Is what `src` sends of `chunk` in `step` a sum that it made before? */
static bool made_sum(const struct maker *m, unsigned src, unsigned chunk,
                     unsigned step)
{
    uint32_t first = m->written_in[(size_t)src * m->plan->chunks + chunk];
    return first != 0 && first <= step;
}

/* Does the receiver of this transfer run the loop (or the sender)? */
static bool receiver_runs(const struct maker *m, const struct gw_transfer *t,
                          unsigned step)
{
    return t->action != GW_REPLACE ||
           (!m->pushes[step] && !made_sum(m, t->src, t->chunk, step));
}

/* Are there at least as many senders as receivers, which add nothing? Then the
 * senders store. With two ranks the root has its own share to copy meanwhile, so
 * the other one runs the loop. */
static bool senders_store(const struct gw_plan *plan, unsigned step, bool *seen)
{
    unsigned senders = 0, receivers = 0;
    bool root_sends = false;
    memset(seen, 0, 2 * plan->ranks * sizeof *seen);
    for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
         i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        if (t->action != GW_REPLACE)
            return false;
        senders += !seen[t->src];
        receivers += !seen[plan->ranks + t->dst];
        seen[t->src] = seen[plan->ranks + t->dst] = true;
        root_sends |= t->src == plan->root;
    }
    return senders > receivers ||
           (senders == receivers && !(senders == 1 && root_sends));
}

static void push_rank(struct maker *m, unsigned rank)
{
    struct gw__passes *p = m->passes;
    if ((p->rank_count & (p->rank_count - 1)) == 0) {
        size_t room = p->rank_count ? 2 * (size_t)p->rank_count : 1;
        uint16_t *moved = realloc(p->ranks, room * sizeof *moved);
        if (!moved) {
            m->failed = true;
            return;
        }
        p->ranks = moved;
    }
    p->ranks[p->rank_count++] = (uint16_t)rank;
    if (rank != m->rank)
        m->touch[rank] = true;
}

static struct gw__pass *add_pass(struct maker *m, unsigned chunk)
{
    struct gw__passes *p = m->passes;
    if ((p->count & (p->count - 1)) == 0) {
        size_t room = p->count ? 2 * (size_t)p->count : 1;
        struct gw__pass *moved = realloc(p->list, room * sizeof *moved);
        if (!moved) {
            m->failed = true;
            return NULL;
        }
        p->list = moved;
    }
    struct gw__pass *pass = &p->list[p->count++];
    *pass = (struct gw__pass){.chunk = chunk, .source_begin = p->rank_count};
    return pass;
}

/* Sources of write `w`, with this rank's own value in order. */
static void add_sources(struct maker *m, struct gw__pass *pass,
                        const struct gw__write *w)
{
    const struct gw__program_source *sources =
        &m->program->sources[w->source_begin];
    bool own = w->adds_own;
    for (uint32_t s = 0; s < w->source_count; s++) {
        if (own && sources[s].peer > m->rank) {
            push_rank(m, m->rank);
            own = false;
        }
        push_rank(m, sources[s].peer);
    }
    if (own)
        push_rank(m, m->rank);
    pass->source_count = m->passes->rank_count - pass->source_begin;
    pass->dest_begin = m->passes->rank_count;
    pass->completes = w->completes;
}

/* All ranks to which the plan sends `version` of the cell. */
static void add_receivers(struct maker *m, uint32_t cell, uint32_t version)
{
    const struct gw__program *p = m->program;
    for (uint32_t s = 0; s < p->send_count; s++)
        if (p->sends[s].cell == cell && p->sends[s].version == version &&
            p->sends[s].replaces &&
            (version != GW__NO_WRITE || m->kind == HALVES ||
             m->pushes[p->sends[s].step]))
            push_rank(m, p->sends[s].peer);
}

static void end_dests(struct maker *m, struct gw__pass *pass)
{
    pass->dest_count = m->passes->rank_count - pass->dest_begin;
    if (pass->dest_count == 0) {
        m->passes->rank_count = pass->source_begin;
        m->passes->count--;
    }
}

/* A write that this rank runs itself: a sum, or a pulled initial value. */
static void pass_of_write(struct maker *m, uint32_t index)
{
    const struct gw__program *p = m->program;
    const struct gw__write *w = &p->writes[index];
    const struct gw__cell *cell = &p->cells[w->cell];
    struct gw__pass *pass = add_pass(m, cell->chunk);
    if (!pass)
        return;
    if (m->kind == HALVES)
        pass->half = GW__FIRST_HALF;
    add_sources(m, pass, w);
    if (cell->wants)
        push_rank(m, m->rank);
    add_receivers(m, w->cell, index);
    end_dests(m, &m->passes->list[m->passes->count - 1]);
}

static struct gw__pass *add_pass_of_own(struct maker *m, unsigned chunk)
{
    struct gw__pass *pass = add_pass(m, chunk);
    if (!pass)
        return NULL;
    push_rank(m, m->rank);
    pass->source_count = 1;
    pass->dest_begin = m->passes->rank_count;
    return pass;
}

/* An initial value of this rank that it stores for others, or for itself. */
static void pass_of_cell(struct maker *m, uint32_t index)
{
    const struct gw__cell *cell = &m->program->cells[index];
    struct gw__pass *pass = add_pass_of_own(m, cell->chunk);
    if (!pass)
        return;
    if (cell->wants && !cell->written)
        push_rank(m, m->rank);
    if (m->kind == PUSH)
        add_receivers(m, index, GW__NO_WRITE);
    end_dests(m, pass);
}

static void pass_of_half(struct maker *m, uint32_t index)
{
    struct gw__pass *pass = add_pass_of_own(m, m->program->cells[index].chunk);
    if (!pass)
        return;
    pass->half = GW__SECOND_HALF;
    add_receivers(m, index, GW__NO_WRITE);
    end_dests(m, pass);
}

/* Does this rank run write `w`, or does the sender store it here? */
static bool runs_here(const struct maker *m, const struct gw__write *w)
{
    struct gw_transfer t = {
        .src = (uint16_t)m->program->sources[w->source_begin].peer,
        .dst = (uint16_t)m->rank,
        .chunk = m->program->cells[w->cell].chunk & 0xffffff,
        .action = (unsigned)w->action & 3,
    };
    return receiver_runs(m, &t, w->step);
}

static void list_ranks(const bool *set, unsigned ranks, uint16_t *list,
                       unsigned *count)
{
    for (unsigned r = 0; r < ranks; r++)
        if (set[r])
            list[(*count)++] = (uint16_t)r;
}

static struct gw__cell *cell_of(const struct maker *m, unsigned chunk)
{
    struct gw__cell *cell = m->program->cells;
    while (cell->chunk != chunk)
        cell++;
    return cell;
}

/* A transfer of mine whose loop is run by `peer`. */
static void add_served(struct maker *m, unsigned peer, unsigned chunk,
                       bool stores)
{
    struct gw__passes *p = m->passes;
    struct gw__cell *cell = cell_of(m, chunk);
    m->touched[peer] = true;
    if (stores)
        cell->peers_store |= m->kind == PUSH;
    else
        cell->peers_load |= m->kind == PUSH;
    p->served[p->served_count++] =
        (struct gw__served){.cell = (uint32_t)(cell - m->program->cells),
                            .peer = (uint16_t)peer,
                            .stores = stores};
}

/* Finds the ranks that touch this one: the peers of its transfers whose loop
 * they run. */
static void find_touched(struct maker *m)
{
    const struct gw_plan *plan = m->plan;
    for (unsigned step = 0; step < plan->steps; step++)
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            if (t->src == m->rank && receiver_runs(m, t, step))
                add_served(m, t->dst, t->chunk, false);
            if (t->dst == m->rank && !receiver_runs(m, t, step))
                add_served(m, t->src, t->chunk, true);
            if (t->dst == m->rank && m->kind == HALVES)
                m->touched[t->src] = true;
        }
}

static void make_passes(struct maker *m)
{
    const struct gw__program *p = m->program;
    for (uint32_t w = 0; w < p->write_count; w++)
        if (runs_here(m, &p->writes[w])) {
            pass_of_write(m, w);
            m->overwrites |= p->writes[w].hazard_count > 0;
        }
    for (uint32_t c = 0; c < p->cell_count; c++)
        if (p->cells[c].holds) {
            pass_of_cell(m, c);
            if (m->kind == HALVES)
                pass_of_half(m, c);
        }
    find_touched(m);
    list_ranks(m->touch, m->plan->ranks, m->passes->touch,
               &m->passes->touch_count);
    list_ranks(m->touched, m->plan->ranks, m->passes->touched,
               &m->passes->touched_count);
}

static bool only_first_values(const struct maker *m)
{
    const struct gw_plan *plan = m->plan;
    for (unsigned step = 1; step < plan->steps; step++)
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++)
            if (made_sum(m, plan->transfers[i].src, plan->transfers[i].chunk,
                         step))
                return false;
    return true;
}

static bool is_halvable(const struct gw__program *program)
{
    const struct gw_plan *plan = program->plan;
    bool from_root = program->eager && plan->collective == GW_BROADCAST &&
                     plan->ranks == 2 && plan->transfer_count > 0;
    for (size_t i = 0; from_root && i < plan->transfer_count; i++)
        from_root = plan->transfers[i].src == plan->root;
    return from_root;
}

static enum gw_err make_kind(struct gw__program *program, enum kind kind,
                             struct gw__passes *passes, struct gw_error *why)
{
    const struct gw_plan *plan = program->plan;
    struct maker m = {.program = program,
                      .plan = plan,
                      .rank = program->rank,
                      .kind = kind,
                      .passes = passes};
    m.touch = calloc(plan->ranks, sizeof(bool));
    m.touched = calloc(plan->ranks, sizeof(bool));
    m.pushes = calloc(plan->steps + (size_t)1, sizeof(bool));
    m.written_in =
        calloc((size_t)plan->ranks * plan->chunks, sizeof *m.written_in);
    bool *seen = calloc(2 * (size_t)plan->ranks, sizeof(bool));
    passes->touch = calloc(plan->ranks, sizeof(uint16_t));
    passes->touched = calloc(plan->ranks, sizeof(uint16_t));
    passes->served =
        calloc((size_t)program->send_count + program->source_count + 1,
               sizeof *passes->served);
    m.failed = !m.touch || !m.touched || !m.pushes || !m.written_in || !seen ||
               !passes->touch || !passes->touched || !passes->served;
    if (!m.failed) {
        find_writes(&m);
        for (unsigned s = 0; kind == PUSH && s < plan->steps; s++)
            m.pushes[s] = senders_store(plan, s, seen);
        make_passes(&m);
        if (kind == PUSH) {
            program->eager = only_first_values(&m);
            program->overwrites = m.overwrites;
        }
    }
    free(m.touch);
    free(m.touched);
    free(m.pushes);
    free(m.written_in);
    free(seen);
    return m.failed ? gw_fail(why, GW_ENOMEM, "window passes") : GW_OK;
}

enum gw_err gw__passes_make(struct gw__program *program, struct gw_error *why)
{
    program->direct = true;
    enum gw_err err = make_kind(program, PUSH, &program->push, why);
    if (!err && program->eager)
        err = make_kind(program, PULL, &program->pull, why);
    program->halvable = !err && is_halvable(program);
    if (program->halvable)
        err = make_kind(program, HALVES, &program->halves, why);
    return err;
}

void gw__passes_fini(struct gw__passes *passes)
{
    free(passes->list);
    free(passes->ranks);
    free(passes->touch);
    free(passes->touched);
    free(passes->served);
}
