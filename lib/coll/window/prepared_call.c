/* SPDX-License-Identifier: MIT
 *
 * Makes, keeps and counts prepared calls; see prepared_call.h.
 *
 * The transfers of a call are its runs times the bytes of its steps. They are
 * computed only when requested, so that a run costs one addition.
 */
#include "prepared_call.h"

#include "coll/reduce/reduce.h"
#include "private_memory.h"
#include "staging.h"

#include <stdlib.h>
#include <string.h>

static bool can_be_kept(const struct gw_call *call)
{
    return !call->counts && !call->recv_counts && !call->plan &&
           (!call->algo || strlen(call->algo) < GW__ALGO_NAME_BYTES);
}

static bool is_like(const struct gw__call_key *key, const struct gw_call *call)
{
    return key->count == call->count &&
           key->collective == (uint16_t)call->collective &&
           key->type == (uint16_t)call->type && key->op == (uint16_t)call->op &&
           key->root == call->root &&
           key->in_place == (call->in == GW_IN_PLACE) &&
           key->no_out == (call->out == NULL) &&
           key->segments == call->segments && key->group == call->group &&
           key->named == (call->algo != NULL) &&
           (!call->algo || strcmp(key->algo, call->algo) == 0);
}

struct gw__prepared_call *gw__prepared_find(struct gw_comm *comm,
                                            const struct gw_call *call)
{
    struct gw__prepared_call *p = comm->prepared;
    if (call->counts || call->recv_counts || call->plan)
        return NULL;
    if (p && is_like(&p->key, call))
        return p;
    for (unsigned i = 0; i < GW__PREPARED; i++) {
        p = comm->kept[i];
        if (p && is_like(&p->key, call)) {
            p->used = ++comm->cache_clock;
            return comm->prepared = p;
        }
    }
    return NULL;
}

static void add_runs(struct gw_counters *counters,
                     const struct gw_counters *once, uint64_t runs)
{
    counters->messages_sent += runs * once->messages_sent;
    counters->messages_received += runs * once->messages_received;
    counters->bytes_sent += runs * once->bytes_sent;
    counters->bytes_received += runs * once->bytes_received;
}

void gw__prepared_release(struct gw_comm *comm, struct gw__prepared_call *p)
{
    if (!p || --p->users > 0)
        return;
    for (unsigned i = 0; p->moved && i < p->moved_count; i++)
        add_runs(&comm->counters[p->moved[i].peer], &p->moved[i].once, p->runs);
    p->program->users--;
    free(p->steps);
    free(p->operands);
    free(p->moved);
    free(p);
}

void gw__prepared_forget(struct gw_comm *comm)
{
    for (unsigned i = 0; i < GW__PREPARED; i++) {
        gw__prepared_release(comm, comm->kept[i]);
        comm->kept[i] = NULL;
    }
    comm->prepared = NULL;
}

void gw__prepared_count(const struct gw_comm *comm, unsigned peer,
                        struct gw_counters *counters)
{
    for (unsigned k = 0; k < GW__PREPARED; k++) {
        const struct gw__prepared_call *p = comm->kept[k];
        for (unsigned i = 0; p && i < p->moved_count; i++)
            if (p->moved[i].peer == peer)
                add_runs(counters, &p->moved[i].once, p->runs);
    }
}

void gw__prepared_reset_counts(struct gw_comm *comm)
{
    for (unsigned k = 0; k < GW__PREPARED; k++)
        if (comm->kept[k])
            comm->kept[k]->runs = 0;
}

/* ---- the steps ---- */

/* A call that is being prepared. */
struct preparation {
    const struct gw_comm *comm;
    const struct gw_call *call;
    const struct gw_plan *plan;
    struct gw__prepared_call *made;
};

static size_t chunk_elems(const struct gw_comm *comm,
                          const struct gw_call *call,
                          const struct gw_plan *plan, unsigned chunk)
{
    size_t offset, length;
    gw_plan_extent(plan, chunk, gw__block_elems(call, plan, comm->rank, chunk),
                   gw_dtype_size(call->type), &offset, &length);
    return length;
}

size_t gw__chunk_bytes(const struct gw_comm *comm, const struct gw_call *call,
                       const struct gw_plan *plan, unsigned chunk)
{
    return chunk_elems(comm, call, plan, chunk) * gw_dtype_size(call->type);
}

static struct gw__operand *add_operand(struct gw__prepared_call *p,
                                       unsigned rank)
{
    struct gw__operand *o = &p->operands[p->operand_count++];
    o->rank = rank;
    return o;
}

static void add_source(const struct preparation *m, unsigned rank,
                       unsigned chunk)
{
    struct gw__prepared_call *p = m->made;
    struct gw__operand *o = add_operand(p, rank);
    for (unsigned in_place = 0; in_place < 2; in_place++)
        o->offset[in_place] =
            p->elem_bytes *
            gw__offset_in(m->call, m->plan, rank, chunk, in_place != 0);
    o->offset[GW__STAGED] =
        p->elem_bytes * gw__offset_in(&p->staged, m->plan, rank, chunk, false);
}

static void add_dest(const struct preparation *m, unsigned rank, unsigned chunk)
{
    struct gw__prepared_call *p = m->made;
    struct gw__operand *o = add_operand(p, rank);
    for (unsigned in_place = 0; in_place < 2; in_place++)
        o->offset[in_place] =
            p->elem_bytes *
            gw__offset_out(m->call, m->plan, rank, chunk, in_place != 0);
    o->offset[GW__STAGED] =
        p->elem_bytes * gw__offset_out(&p->staged, m->plan, rank, chunk, false);
}

static void add_step(const struct preparation *m, const struct gw__pass *pass)
{
    struct gw__prepared_call *p = m->made;
    const uint16_t *ranks = gw__prepared_passes(p)->ranks;
    struct gw__prepared_step *s = &p->steps[p->step_count];
    *s = (struct gw__prepared_step){
        .source_begin = p->operand_count,
        .source_count = pass->source_count,
        .count = chunk_elems(m->comm, m->call, m->plan, pass->chunk),
        .completes = pass->completes,
        .half = pass->half,
        .past = gw__reduce_past(m->comm, m->call, pass->source_count)};
    for (uint32_t i = 0; i < pass->source_count; i++)
        add_source(m, ranks[pass->source_begin + i], pass->chunk);
    s->dest_begin = p->operand_count;
    for (uint32_t i = 0; i < pass->dest_count; i++) {
        unsigned rank = ranks[pass->dest_begin + i];
        if (rank != m->comm->rank || m->call->out)
            add_dest(m, rank, pass->chunk);
    }
    s->dest_count = p->operand_count - s->dest_begin;
    p->step_count += s->count > 0 && s->dest_count > 0;
}

/* ---- what a run moves ---- */

/* Counts the bytes that a step loads from other ranks and stores into them. Those
 * of two halves count as if the receiver loaded both. */
static void count_step(const struct gw__prepared_call *p,
                       const struct gw__prepared_step *s, unsigned rank,
                       struct gw_counters *once)
{
    const struct gw__operand *sources = &p->operands[s->source_begin];
    const struct gw__operand *dests = &p->operands[s->dest_begin];
    for (unsigned i = 0; i < s->source_count; i++)
        if (sources[i].rank != rank)
            once[sources[i].rank].bytes_received += s->count * p->elem_bytes;
    for (unsigned i = 0; i < s->dest_count && s->half != GW__SECOND_HALF; i++)
        if (dests[i].rank != rank)
            once[dests[i].rank].bytes_sent += s->count * p->elem_bytes;
}

/* Counts the call's messages, which a plan has but a window does not, and the
 * bytes that peers load from this rank's memory and store into it. Only the
 * peers see these bytes; they follow the plan and count them on their side. */
static void count_served(const struct preparation *m, struct gw_counters *once)
{
    const struct gw__program *program = m->made->program;
    const struct gw__passes *passes = gw__prepared_passes(m->made);
    for (unsigned i = 0; i < passes->served_count; i++) {
        const struct gw__served *served = &passes->served[i];
        struct gw_counters *counted = &once[served->peer];
        size_t bytes = gw__chunk_bytes(m->comm, m->call, m->plan,
                                       program->cells[served->cell].chunk);
        if (served->stores)
            counted->bytes_received += bytes;
        else
            counted->bytes_sent += bytes;
    }
    for (uint32_t s = 0; s < program->send_count; s++)
        once[program->sends[s].peer].messages_sent += program->sends[s].first;
    for (uint32_t s = 0; s < program->source_count; s++)
        once[program->sources[s].peer].messages_received +=
            program->sources[s].first;
}

/* False: out of memory. */
static bool count_moved(const struct preparation *m)
{
    struct gw__prepared_call *p = m->made;
    unsigned ranks = m->comm->size;
    struct gw_counters *once = calloc(ranks, sizeof *once);
    if (!once)
        return false;
    count_served(m, once);
    for (unsigned i = 0; i < p->step_count; i++)
        count_step(p, &p->steps[i], m->comm->rank, once);
    for (unsigned q = 0; q < ranks; q++)
        if (once[q].messages_sent + once[q].messages_received > 0)
            p->moved[p->moved_count++] =
                (struct gw__moved){.peer = q, .once = once[q]};
    free(once);
    return true;
}

/* ---- making one ---- */

static struct gw__call_key key_of(const struct gw_call *call)
{
    struct gw__call_key key = {.count = call->count,
                               .collective = (uint16_t)call->collective,
                               .type = (uint16_t)call->type,
                               .op = (uint16_t)call->op,
                               .root = call->root,
                               .in_place = call->in == GW_IN_PLACE,
                               .no_out = call->out == NULL,
                               .segments = call->segments,
                               .group = call->group,
                               .named = call->algo != NULL};
    if (call->algo && can_be_kept(call))
        memcpy(key.algo, call->algo, strlen(call->algo));
    return key;
}

static bool any_peer_loads(const struct gw__program *program)
{
    for (unsigned c = 0; c < program->cell_count; c++)
        if (program->cells[c].peers_load)
            return true;
    return false;
}

static bool any_peer_stores(const struct gw__program *program)
{
    for (unsigned c = 0; c < program->cell_count; c++)
        if (program->cells[c].peers_store)
            return true;
    return false;
}

/* The largest input of any rank, the same number on all of them. */
static size_t largest_input(const struct gw_comm *comm,
                            const struct gw_call *call)
{
    size_t elems = call->count;
    if (call->counts) {
        elems = 0;
        for (unsigned b = 0; b < comm->size; b++) {
            size_t end =
                call->counts[b] + (call->displs ? call->displs[b] : elems);
            elems = end > elems ? end : elems;
        }
    } else if (call->collective == GW_SCATTER ||
               call->collective == GW_ALLTOALL ||
               call->collective == GW_REDUCE_SCATTER)
        elems *= comm->size;
    else if (call->collective == GW_BARRIER)
        elems = 0;
    return elems * gw_dtype_size(call->type);
}

/* The offset in the user's buffer of the input that an eager call posts. */
static size_t posted_from(const struct preparation *m)
{
    const struct gw_call *call = m->call;
    unsigned own_block = m->comm->rank * gw_plan_segments(m->plan);
    if (!m->made->key.in_place ||
        (call->collective != GW_GATHER && call->collective != GW_ALLGATHER))
        return 0;
    return m->made->elem_bytes *
           gw__offset_in(call, m->plan, m->comm->rank, own_block, true);
}

/* Everything except the arrays. */
static void describe_call(const struct preparation *m,
                          const struct gw__signature *signature)
{
    struct gw__prepared_call *p = m->made;
    const struct gw_call *call = m->call;
    p->key = key_of(call);
    p->signature = *signature;
    p->elem_bytes = gw_dtype_size(call->type);
    p->bytes_in = gw__bytes_in(m->comm, call);
    p->bytes_out = gw__bytes_out(m->comm, call);
    p->eager =
        p->program->eager && largest_input(m->comm, call) <= GW__EAGER_BYTES;
    bool pays = !p->eager && gw__private_memory_pays(m->comm, call);
    p->halved = pays && p->program->halvable;
    p->peers_load = !p->eager && any_peer_loads(p->program) && p->bytes_in > 0;
    p->peers_store = !p->eager && p->bytes_out > 0 &&
                     (any_peer_stores(p->program) ||
                      (p->halved && m->comm->rank != call->root));
    p->copies = pays && (p->peers_load || p->peers_store);
    p->saves_input =
        !p->eager && p->key.in_place && call->collective == GW_ALLTOALL;
    p->overwrites = !p->eager && p->program->overwrites && call->out != NULL;
    p->posted_from = posted_from(m);
    if (!p->eager)
        gw__staging_split(m->comm, call, p);
}

static bool allocate_steps(const struct preparation *m)
{
    struct gw__prepared_call *p = m->made;
    const struct gw__passes *passes = gw__prepared_passes(p);
    p->steps = calloc(passes->count + (size_t)1, sizeof *p->steps);
    p->operands = calloc(passes->rank_count + (size_t)1, sizeof *p->operands);
    p->moved = calloc(m->comm->size, sizeof *p->moved);
    return p->steps && p->operands && p->moved;
}

static struct gw__prepared_call *
prepare_call(struct gw_comm *comm, const struct gw_call *call,
             struct gw__program *program, const struct gw__signature *signature)
{
    struct preparation m = {.comm = comm,
                            .call = call,
                            .plan = program->plan,
                            .made = calloc(1, sizeof *m.made)};
    if (!m.made)
        return NULL;
    m.made->program = program;
    m.made->users = 1;
    program->users++;
    describe_call(&m, signature);
    bool done = allocate_steps(&m);
    const struct gw__passes *passes = gw__prepared_passes(m.made);
    for (unsigned i = 0; done && i < passes->count; i++)
        add_step(&m, &passes->list[i]);
    if (done && count_moved(&m))
        return m.made;
    gw__prepared_release(comm, m.made);
    return NULL;
}

/* Replaces the call that was not used for the longest time. */
static void keep_prepared(struct gw_comm *comm, struct gw__prepared_call *p)
{
    struct gw__prepared_call **oldest = &comm->kept[0];
    for (unsigned i = 0; i < GW__PREPARED && *oldest; i++)
        if (!comm->kept[i] || comm->kept[i]->used < (*oldest)->used)
            oldest = &comm->kept[i];
    if (comm->prepared == *oldest)
        comm->prepared = NULL;
    gw__prepared_release(comm, *oldest);
    *oldest = p;
    p->used = ++comm->cache_clock;
    p->users++;
}

struct gw__prepared_call *gw__prepare(struct gw_comm *comm,
                                      const struct gw_call *call,
                                      struct gw__program *program,
                                      const struct gw__signature *signature)
{
    struct gw__prepared_call *p = gw__prepared_find(comm, call);
    if (p && p->program == program) {
        p->users++;
        return p;
    }
    p = prepare_call(comm, call, program, signature);
    if (p && can_be_kept(call))
        keep_prepared(comm, p);
    return p;
}
