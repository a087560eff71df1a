/* SPDX-License-Identifier: MIT
 *
 * See elastic_ring.h.
 */
#include "elastic_ring.h"

#include <gradwire/wire.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ring_wires[RING_WIRES] = {"shm", "ipc", "tcp"};

static const uint64_t patience_ns = 10 * 1000000000ULL;

struct elastic_ring ring_of(const char *wire, unsigned size)
{
    struct elastic_ring ring = {.wire = wire, .size = size};
    for (unsigned r = 0; r < size; r++) {
        ring.nodes[r] = (r * 11 + 5) % 32;
        ring.epochs[r] = 7;
    }
    return ring;
}

uint64_t ring_bit(const struct elastic_ring *ring, unsigned rank)
{
    return (uint64_t)1 << ring->nodes[rank];
}

uint64_t ring_all_members(const struct elastic_ring *ring)
{
    uint64_t all = 0;
    for (unsigned r = 0; r < ring->size; r++)
        all |= ring_bit(ring, r);
    return all;
}

/* ---- threads ---- */

struct rank_thread {
    struct elastic_ring *ring;
    unsigned rank;
    ring_body body;
    void *context;
};

static void *run_rank_thread(void *argument)
{
    struct rank_thread *self = argument;
    self->body(self->ring, self->rank, self->context);
    return NULL;
}

void ring_each(struct elastic_ring *ring, ring_body body, void *context)
{
    pthread_t threads[RING_MOST];
    struct rank_thread args[RING_MOST];
    for (unsigned r = 0; r < ring->size; r++) {
        args[r] = (struct rank_thread){ring, r, body, context};
        ck_assert_int_eq(
            pthread_create(&threads[r], NULL, run_rank_thread, &args[r]), 0);
    }
    for (unsigned r = 0; r < ring->size; r++)
        pthread_join(threads[r], NULL);
}

static void must(enum gw_err err, const char *what, const struct gw_error *why)
{
    if (!err)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, gw_err_name(err), why->text);
    abort();
}

static void connect_one(struct elastic_ring *ring, unsigned rank, void *table)
{
    struct gw_error why = {0};
    must(gw__comm_connect(ring->comms[rank], table, gw_now_ns() + patience_ns,
                          &why),
         "connecting", &why);
}

void ring_open(struct elastic_ring *ring)
{
    struct gw__address *table = calloc(ring->size, sizeof *table);
    struct gw_error why = {0};
    for (unsigned r = 0; r < ring->size; r++) {
        atomic_store(&ring->stops[r], false);
        struct gw__comm_setup setup = {
            .config = {.rank = r,
                       .size = ring->size,
                       .wire = ring->wire,
                       .timeout_ms = ring->timeout_ms,
                       .slice_bytes = ring->slice_bytes,
                       .events = ring->sinks[r]},
            .epoch = ring->epochs[r],
            .nodes = ring->nodes,
            .profiles = ring->profiles,
            .interrupt = &ring->stops[r]};
        must(gw__comm_prepare(&setup, &ring->comms[r], &why), "preparing",
             &why);
        table[r] = *gw__comm_address(ring->comms[r]);
    }
    ring_each(ring, connect_one, table);
    free(table);
}

static void leave_one(struct elastic_ring *ring, unsigned rank, void *context)
{
    (void)context;
    gw__comm_leave(&ring->comms[rank]);
}

void ring_leave(struct elastic_ring *ring)
{
    ring_each(ring, leave_one, NULL);
}

/* ---- shares ---- */

int64_t share_digits(uint64_t set)
{
    uint64_t digits = 0;
    for (unsigned node = 0; node < 32; node++)
        digits |= (set >> node & 1) << 2 * node;
    return (int64_t)digits;
}

static void *allocate(size_t bytes, bool shared)
{
    struct gw_error why = {0};
    void *memory = shared ? gw_alloc(bytes, &why) : calloc(1, bytes);
    ck_assert_msg(memory != NULL, "%s", why.text);
    return memory;
}

void share_init(struct share *s, const struct elastic_ring *ring, unsigned rank,
                size_t count, bool shared)
{
    size_t bytes = (count ? count : 1) * sizeof(int64_t);
    int64_t *in = allocate(bytes, shared);
    for (size_t i = 0; i < count; i++)
        in[i] = share_digits(ring_bit(ring, rank));
    *s = (struct share){.call = {.collective = GW_ALLREDUCE,
                                 .in = in,
                                 .out = allocate(bytes, shared),
                                 .count = count,
                                 .type = GW_I64,
                                 .op = GW_SUM}};
}

void share_fini(struct share *s, bool shared)
{
    void (*give)(void *) = shared ? gw_free : free;
    give((void *)(uintptr_t)s->call.in);
    give(s->call.out);
    gw__program_destroy(&s->program);
}

static struct gw_plan *copy_of(const struct gw_plan *plan)
{
    struct gw_builder *builder;
    struct gw_plan *copy;
    struct gw_error why = {0};
    must(gw_builder_new(plan->collective, plan->ranks, plan->chunks, 0,
                        &builder, &why),
         "copying", &why);
    for (unsigned s = 0; s < plan->steps; s++) {
        gw_builder_step(builder);
        for (size_t i = plan->step_begin[s]; i < plan->step_begin[s + 1]; i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            gw_builder_add(builder, t->src, t->dst, t->chunk,
                           (enum gw_action)t->action);
        }
    }
    must(gw_builder_finish(&builder, &copy, &why), "copying", &why);
    return copy;
}

void share_plan(struct share *s, const struct elastic_ring *ring, unsigned rank,
                const struct gw_plan *plan, uint64_t target,
                const uint64_t *sets)
{
    struct gw_plan *own = copy_of(plan);
    struct gw_error why = {0};
    ck_assert_uint_le(plan->chunks, RING_CHUNKS_MOST);
    gw__program_destroy(&s->program);
    must(gw__program_new(&own, rank, GW__WINDOW_NONE, &s->program, &why),
         "compiling", &why);
    memcpy(s->sets, sets, plan->chunks * sizeof *sets);
    s->contributors = (struct gw__contributors){
        .sets = s->sets, .own = ring_bit(ring, rank), .target = target};
}

void share_plan_clean(struct share *shares, const struct elastic_ring *ring)
{
    const struct gw__recovery_case clean = {.ranks = ring->size,
                                            .nodes = ring->nodes,
                                            .chunks = ring->size,
                                            .target = ring_all_members(ring),
                                            .initial_count = ring->size,
                                            .initial_members = ring->nodes};
    struct gw__recovery recovery;
    struct gw_error why = {0};
    must(gw__recovery_make(&clean, &recovery, &why), "planning", &why);
    for (unsigned r = 0; r < ring->size; r++)
        share_plan(&shares[r], ring, r, recovery.plan, clean.target,
                   recovery.sets + (size_t)r * clean.chunks);
    gw__recovery_fini(&recovery);
}

void share_run(struct share *s, struct elastic_ring *ring, unsigned rank)
{
    s->err = gw__contributors_start(ring->comms[rank], &s->call, s->program,
                                    s->op, &s->contributors, &s->request);
    if (!s->err)
        s->err = gw__contributors_wait(&s->request, &ring->stops[rank]);
}

static void run_one(struct elastic_ring *ring, unsigned rank, void *context)
{
    struct share *shares = context;
    share_run(&shares[rank], ring, rank);
}

void share_run_all(struct share *shares, struct elastic_ring *ring)
{
    ring_each(ring, run_one, shares);
}

/* The first of `length` values that is not `want`, or `length`. */
static size_t first_other(const int64_t *values, size_t length, int64_t want)
{
    size_t i = 0;
    while (i < length && values[i] == want)
        i++;
    return i;
}

void share_expect(const int64_t *values, size_t length, int64_t want,
                  const char *what, unsigned node, int chunk)
{
    size_t i = first_other(values, length, want);
    if (i < length)
        ck_abort_msg("%s: node %u, chunk %d: value %zu is %llx, not %llx", what,
                     node, chunk, i, (unsigned long long)values[i],
                     (unsigned long long)want);
}

void share_check(const struct share *s, const struct elastic_ring *ring,
                 unsigned rank, const char *what)
{
    const struct gw_plan *plan = s->program->plan;
    const int64_t *out = s->call.out;
    unsigned node = ring->nodes[rank];
    share_expect(s->call.in, s->call.count, share_digits(ring_bit(ring, rank)),
                 what, node, -1);
    for (unsigned c = 0; c < plan->chunks; c++) {
        size_t offset, length;
        gw_plan_extent(plan, c, s->call.count, sizeof *out, &offset, &length);
        if (s->sets[c] != ring_bit(ring, rank))
            share_expect(out + offset, length, share_digits(s->sets[c]), what,
                         node, (int)c);
    }
}

void share_report(const struct share *s, struct gw__holdings *holdings)
{
    memset(holdings, 0, sizeof *holdings);
    holdings->chunks = s->program->plan->chunks;
    for (unsigned c = 0; c < holdings->chunks; c++) {
        bool final = s->sets[c] == s->contributors.target;
        bool bare = s->sets[c] == s->contributors.own;
        holdings->sets[c] = bare && !final ? 0 : s->sets[c];
        holdings->finals[c / 64] |= (uint64_t) final << c % 64;
    }
}
