/* SPDX-License-Identifier: MIT
 *
 * Random calls; see stress.h. Decisions that all ranks must agree on are drawn
 * from a shared seed, private ones from the rank's own. At regular intervals
 * rank 0 broadcasts whether there is time left.
 */
#include "stress.h"

#include "stress_workload.h"

#include <gradwire/wire.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUND = 40,       /* calls between two looks at the clock */
    INFLIGHT_MAX = 6, /* calls under way */
    REGIONS_MAX = 40, /* more regions than a rank keeps mapped of a peer */
    REGION_BYTES = 16384,
    GUARD = 64,
    RUBBISH = 0x5a
};

/* A buffer with guards on both sides. */
struct area {
    enum { NONE, PRIVATE, FRESH, POOLED } kind;
    unsigned pooled;
    unsigned char *memory, *first;
    size_t bytes;
};

struct inflight_call {
    bool used;
    unsigned number;
    struct workload workload;
    enum placing placing;
    struct area in, out;  /* `in` is unused in place */
    unsigned char *image; /* of `in` with its guards */
    size_t counts[2][WORKLOAD_RANKS_MAX], displs[2][WORKLOAD_RANKS_MAX];
    struct gw_request *requests[2];
};

struct runner {
    const struct stress *stress;
    struct gw_comm *comm;
    unsigned rank, ranks, number;
    uint64_t deadline_ns;
    struct gw_rng shared, own;
    unsigned char *regions[REGIONS_MAX];
    bool region_used[REGIONS_MAX];
    struct inflight_call inflight[INFLIGHT_MAX];
    bool ended;
};

static void give_up(const struct runner *r, const struct inflight_call *f,
                    const char *sentence)
{
    char text[200] = "";
    if (f)
        workload_describe(&f->workload, text, sizeof text);
    fprintf(stderr,
            "%s rank %u, call %u, %s, placing %d, memory %d and %d: %s\n"
            "repeat with: GRADWIRE_STRESS_SEED=%" PRIu64 "\n",
            gw_comm_wire(r->comm), r->rank, f ? f->number : r->number, text,
            f ? (int)f->placing : 0, f ? (int)f->in.kind : 0,
            f ? (int)f->out.kind : 0, sentence, r->stress->seed);
    abort();
}

static bool once_in(struct runner *r, uint64_t n)
{
    return gw_rng_below(&r->own, n) == 0;
}

/* ---- memory ---- */

static void choose_area(struct runner *r, size_t bytes, struct area *area)
{
    size_t whole = bytes + 3 * GUARD;
    unsigned at = (unsigned)gw_rng_below(&r->own, REGIONS_MAX);
    *area = (struct area){.kind = PRIVATE, .bytes = bytes};
    if (whole <= REGION_BYTES && !r->region_used[at] && once_in(r, 2)) {
        area->kind = POOLED;
        area->pooled = at;
        area->memory = r->regions[at];
        r->region_used[at] = true;
    } else if (once_in(r, 2)) {
        area->kind = FRESH;
        area->memory = gw_alloc(whole, NULL);
    } else
        area->memory = malloc(whole);
    if (!area->memory)
        give_up(r, NULL, "no memory");
    memset(area->memory, RUBBISH, whole);
    area->first = area->memory + GUARD + 8 * gw_rng_below(&r->own, GUARD / 8);
}

static void give_area(struct runner *r, struct area *area)
{
    if (area->kind == PRIVATE)
        free(area->memory);
    else if (area->kind == FRESH)
        gw_free(area->memory);
    else if (area->kind == POOLED)
        r->region_used[area->pooled] = false;
    area->kind = NONE;
}

static bool guards_kept(const struct area *area)
{
    bool kept = true;
    for (size_t i = 0; i < GUARD; i++)
        kept &= area->first[area->bytes + i] == RUBBISH &&
                *(area->first - 1 - i) == RUBBISH;
    return kept;
}

/* ---- one call ---- */

static void set_counts(const struct runner *r, struct inflight_call *f)
{
    struct gw_call *call = &f->workload.call;
    if (!f->workload.v)
        return;
    bool packed = f->workload.layout == PACKED;
    for (unsigned i = 0; i < 2; i++)
        workload_counts(&f->workload, r->rank, i, f->counts[i], f->displs[i]);
    call->counts = f->counts[0];
    call->displs = packed ? NULL : f->displs[0];
    if (call->collective != GW_ALLTOALL)
        return;
    call->recv_counts = f->counts[1];
    call->recv_displs = packed ? NULL : f->displs[1];
}

static void fill(const struct runner *r, const struct inflight_call *f,
                 const struct segments *segments, unsigned char *memory)
{
    for (unsigned i = 0; i < segments->count; i++)
        workload_fill(&f->workload, r->rank, &segments->list[i], false, memory);
}

static void lay_out_apart(struct runner *r, struct inflight_call *f)
{
    struct segments ins, outs;
    struct gw_call *call = &f->workload.call;
    size_t elem = gw_dtype_size(call->type);
    workload_inputs(&f->workload, r->rank, false, &ins);
    workload_results(&f->workload, r->rank, false, &outs);
    choose_area(r, ins.end * elem, &f->in);
    choose_area(r, outs.end * elem, &f->out);
    fill(r, f, &ins, f->in.first);
    f->image = malloc(f->in.bytes + 1);
    if (!f->image)
        give_up(r, f, "no memory");
    memcpy(f->image, f->in.first, f->in.bytes);
    call->in = ins.end || once_in(r, 2) ? f->in.first : NULL;
    call->out = outs.end || once_in(r, 2) ? f->out.first : NULL;
    if (call->collective == GW_BROADCAST && r->rank == call->root &&
        !f->workload.shift && once_in(r, 3))
        call->out = NULL;
}

/* In place by address: the smaller of input and result is part of the other. */
static void lay_out_together(struct runner *r, struct inflight_call *f)
{
    struct segments ins, outs;
    struct gw_call *call = &f->workload.call;
    size_t elem = gw_dtype_size(call->type);
    workload_inputs(&f->workload, r->rank, true, &ins);
    workload_results(&f->workload, r->rank, true, &outs);
    size_t end = ins.end > outs.end ? ins.end : outs.end;
    if (call->collective == GW_GATHER) { /* room for all blocks */
        size_t counts[WORKLOAD_RANKS_MAX], displs[WORKLOAD_RANKS_MAX];
        workload_counts(&f->workload, r->rank, false, counts, displs);
        for (unsigned b = 0; b < r->ranks; b++)
            if (displs[b] + counts[b] > end)
                end = displs[b] + counts[b];
    }
    choose_area(r, end * elem, &f->out);
    fill(r, f, &ins, f->out.first);
    call->in = GW_IN_PLACE;
    call->out = f->out.first;
    if (f->placing == IN_PLACE)
        return;
    bool gathers =
        call->collective == GW_GATHER || call->collective == GW_ALLGATHER;
    bool scatters =
        call->collective == GW_SCATTER || call->collective == GW_REDUCE_SCATTER;
    call->in =
        f->out.first + (gathers && ins.count ? ins.list[0].begin * elem : 0);
    if (scatters && outs.count)
        call->out = f->out.first + outs.list[0].begin * elem;
}

/* Checks `out`: it must contain the results, and the rest must be unchanged.
 * Inputs in it that are not results may have any value. */
static void check_out(const struct runner *r, const struct inflight_call *f)
{
    struct segments ins = {0}, outs;
    const struct area *out = &f->out;
    size_t elem = gw_dtype_size(f->workload.call.type);
    workload_results(&f->workload, r->rank, f->placing != APART, &outs);
    if (f->placing != APART)
        workload_inputs(&f->workload, r->rank, true, &ins);
    unsigned char *want = malloc(out->bytes + 1);
    if (!want)
        give_up(r, f, "no memory");
    memset(want, RUBBISH, out->bytes);
    for (unsigned i = 0; i < ins.count; i++) {
        size_t at = ins.list[i].begin * elem;
        memcpy(want + at, out->first + at, ins.list[i].length * elem);
    }
    bool received = f->workload.call.out != NULL;
    for (unsigned i = 0; received && i < outs.count; i++)
        workload_fill(&f->workload, r->rank, &outs.list[i], true, want);
    for (size_t i = 0; i < out->bytes; i++)
        if (want[i] != out->first[i]) {
            char why[120];
            snprintf(why, sizeof why,
                     "byte %zu of the output's %zu is %02x, not %02x", i,
                     out->bytes, out->first[i], want[i]);
            give_up(r, f, why);
        }
    free(want);
}

static bool inputs_kept(const struct inflight_call *f)
{
    return f->placing != APART ||
           (memcmp(f->image, f->in.first, f->in.bytes) == 0 &&
            guards_kept(&f->in));
}

static void land(struct runner *r, struct inflight_call *f)
{
    if (!r->ended) {
        if (!inputs_kept(f))
            give_up(r, f, "the input was changed");
        if (!guards_kept(&f->out))
            give_up(r, f, "bytes around the output were changed");
        check_out(r, f);
    }
    give_area(r, &f->in);
    give_area(r, &f->out);
    free(f->image);
    f->image = NULL;
    f->used = false;
}

/* An error ends the run: all calls under way fail, and no input was written. */
static void fail(struct runner *r, enum gw_err err)
{
    bool kept = true;
    if (!r->stress->failed)
        give_up(r, NULL, gw_comm_error(r->comm)->text);
    r->ended = true;
    for (unsigned i = 0; i < INFLIGHT_MAX; i++) {
        struct inflight_call *f = &r->inflight[i];
        if (!f->used)
            continue;
        for (unsigned k = 0; k < 2; k++)
            (void)!gw_wait(&f->requests[k]);
        kept &= inputs_kept(f);
        land(r, f);
    }
    r->stress->failed(r->comm, err, kept, r->stress->context);
}

static void finish(struct runner *r, struct inflight_call *f)
{
    enum gw_err err = gw_wait_all(2, f->requests);
    if (err)
        fail(r, err);
    else
        land(r, f);
}

static void peek(struct runner *r, struct inflight_call *f)
{
    enum gw_err err = gw_test(&f->requests[0]);
    if (err != GW_OK && err != GW_PENDING)
        fail(r, err);
    else if (err == GW_OK && f->requests[1] == NULL)
        land(r, f);
}

static enum gw_err launch(struct runner *r, struct inflight_call *f)
{
    const struct gw_call *call = &f->workload.call;
    unsigned p = r->ranks, shift = f->workload.shift;
    f->requests[0] = f->requests[1] = NULL;
    if (!shift)
        return gw_start(r->comm, call, &f->requests[0]);
    enum gw_err err = gw_send_start(r->comm, call->in, call->count, call->type,
                                    (r->rank + shift) % p, &f->requests[0]);
    if (err)
        return err;
    return gw_recv_start(r->comm, call->out, call->count, call->type,
                         (r->rank + p - shift) % p, &f->requests[1]);
}

static struct inflight_call *free_inflight(struct runner *r)
{
    struct inflight_call *f = &r->inflight[gw_rng_below(&r->own, INFLIGHT_MAX)];
    if (f->used)
        finish(r, f);
    return f;
}

static void dawdle(struct runner *r)
{
    if (once_in(r, 30))
        usleep((useconds_t)gw_rng_below(&r->own, 1500));
    if (once_in(r, 1000))
        usleep(25000);
}

static void one_call(struct runner *r)
{
    struct workload workload;
    workload_draw(&workload, r->ranks, r->stress->slice_bytes, &r->shared);
    struct inflight_call *f = free_inflight(r);
    if (r->ended)
        return;
    f->used = true;
    f->number = r->number++;
    f->workload = workload;
    f->placing = (enum placing)gw_rng_below(&r->own, 3);
    if (!workload_allows(&workload, r->rank, f->placing))
        f->placing = APART;
    set_counts(r, f);
    if (f->placing == APART)
        lay_out_apart(r, f);
    else
        lay_out_together(r, f);
    dawdle(r);
    enum gw_err err = launch(r, f);
    if (err)
        fail(r, err);
    else if (once_in(r, 3))
        finish(r, f);
    for (unsigned i = 0; i < 2 && !r->ended; i++) {
        struct inflight_call *other =
            &r->inflight[gw_rng_below(&r->own, INFLIGHT_MAX)];
        if (other->used && once_in(r, 2))
            peek(r, other);
    }
}

/* ---- the run ---- */

static void drain(struct runner *r)
{
    for (unsigned i = 0; i < INFLIGHT_MAX && !r->ended; i++)
        if (r->inflight[i].used)
            finish(r, &r->inflight[i]);
}

/* Rank 0 has the clock. */
static bool time_left(struct runner *r)
{
    uint8_t left = gw_now_ns() < r->deadline_ns;
    enum gw_err err = gw_broadcast(r->comm, &left, &left, 1, GW_U8, 0);
    if (err)
        fail(r, err);
    return !err && left;
}

/* A communicator of some ranks, in some order. */
static void split_some(struct runner *r)
{
    struct gw_comm *some;
    uint32_t one = 1, sum = 0;
    unsigned colors[WORKLOAD_RANKS_MAX] = {0}, members = 0;
    for (unsigned q = 0; q < r->ranks; q++)
        colors[q] = (unsigned)gw_rng_below(&r->shared, 3);
    unsigned own = colors[r->rank];
    for (unsigned q = 0; q < r->ranks; q++)
        members += colors[q] == own;
    enum gw_err err = gw_comm_split(r->comm, own ? (int)own : -1,
                                    (int)gw_rng_below(&r->own, 5), &some, NULL);
    if (!err && some)
        err = gw_allreduce(some, &one, &sum, 1, GW_U32, GW_SUM);
    if (!err && some && sum != members)
        give_up(r, NULL, "a split has a wrong sum");
    gw_comm_destroy(&some);
    if (err)
        fail(r, err);
}

void stress_run(struct gw_comm *comm, const struct stress *stress)
{
    struct runner *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->stress = stress;
    r->comm = comm;
    r->rank = gw_comm_rank(comm);
    r->ranks = gw_comm_size(comm);
    r->deadline_ns = gw_now_ns() + (uint64_t)(stress->seconds * 1e9);
    gw_rng_seed(&r->shared, stress->seed);
    gw_rng_seed(&r->own, stress->seed + 1 + r->rank);
    for (unsigned i = 0; i < REGIONS_MAX; i++)
        if (!(r->regions[i] = gw_alloc(REGION_BYTES, NULL)))
            give_up(r, NULL, "no memory");
    if (stress->begun)
        stress->begun(comm, stress->context);
    do {
        for (unsigned i = 0; i < ROUND && !r->ended; i++)
            one_call(r);
        drain(r);
        if (!r->ended && !stress->failed && gw_rng_below(&r->shared, 10) == 0)
            split_some(r);
    } while (!r->ended && time_left(r));
    for (unsigned i = 0; i < REGIONS_MAX; i++)
        gw_free(r->regions[i]);
    free(r);
}

uint64_t stress_seed(void)
{
    const char *seed = getenv("GRADWIRE_STRESS_SEED");
    return seed ? strtoull(seed, NULL, 10) : gw_now_ns();
}

double stress_seconds(double seconds)
{
    const char *longer = getenv("GRADWIRE_STRESS_SECONDS");
    return longer ? strtod(longer, NULL) : seconds;
}
