/* SPDX-License-Identifier: MIT
 *
 * From a call to the program that runs it: the algorithm is chosen (or named,
 * or the user's own plan), its plan is made and compiled once, and kept. A plan
 * that is not the library's own is verified first.
 */
#include "comm.h"

#include "base/log.h"
#include "plan/registry.h"
#include "plan/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* All-to-all with separate counts per pair can only run directly. */
static const char *forced_name(const struct gw_call *call)
{
    if (call->algo)
        return call->algo;
    if (call->collective == GW_ALLTOALL && call->counts)
        return "linear";
    return NULL;
}

/* The number of elements per block on which the choice is based. */
static size_t typical_count(const struct gw_comm *comm,
                            const struct gw_call *call)
{
    if (!call->counts)
        return call->count;
    size_t sum = 0;
    assert(comm->size > 0);
    for (unsigned r = 0; r < comm->size; r++)
        sum += call->counts[r];
    return sum / comm->size;
}

/* -1: memory is short. */
static int choose_algorithm(struct gw_comm *comm, const struct gw_call *call)
{
    size_t elem = gw_dtype_size(call->type);
    size_t count = typical_count(comm, call);
    uint64_t fields[3] = {(uint64_t)call->collective, count, elem};
    uint64_t key = gw_hash(fields, sizeof fields, 0);
    struct gw__choice *kept = &comm->choices[key % GW__CACHE];
    if (kept->key == key)
        return kept->algo;
    const struct gw_algo *algo = gw__tuning_table_algo(
        &comm->tuning_table, call->collective, comm->size, count, elem);
    if (!algo) {
        struct gw_candidate best;
        if (gw__choose(comm, call->collective, count, elem, &best, 1) == 0)
            return -1;
        algo = best.algo;
        gw__log_info("coll",
                     "rank %u: %s of %zu x %zu B among %u: %s, "
                     "predicted %.3g us",
                     comm->rank, gw_collective_name(call->collective), count,
                     elem, comm->size, algo->name, best.predicted_us);
    } else
        gw__log_info("coll",
                     "rank %u: %s of %zu x %zu B among %u: %s, by the "
                     "tuning table",
                     comm->rank, gw_collective_name(call->collective), count,
                     elem, comm->size, algo->name);
    kept->key = key;
    kept->algo = (int)gw__algo_number(algo);
    return kept->algo;
}

static enum gw_err pick(struct gw_comm *comm, const struct gw_call *call,
                        int *algo, struct gw_error *why)
{
    const char *name = forced_name(call);
    *algo = -1;
    if (call->plan)
        return GW_OK;
    if (!name && call->collective == GW_CUSTOM)
        return gw_fail(why, GW_EINVAL,
                       "custom has no algorithm to choose; give a plan, or "
                       "name an added algorithm");
    if (!name) {
        *algo = choose_algorithm(comm, call);
        return *algo >= 0 ? GW_OK
                          : gw_fail(why, GW_ENOMEM, "choosing an algorithm");
    }
    const struct gw_algo *found = gw_algo_find(call->collective, name);
    if (found && call->collective == GW_ALLTOALL && call->counts &&
        strcmp(name, "linear") != 0 && strcmp(name, "pairwise") != 0)
        return gw_fail(
            why, GW_EINVAL,
            "alltoallv supports the algorithms linear and pairwise, not %s",
            name);
    if (found)
        *algo = (int)gw__algo_number(found);
    return GW_OK; /* gw_plan_make refuses unknown names */
}

/* The bytes of all blocks, on which all ranks agree. */
static size_t total_bytes(const struct gw_comm *comm,
                          const struct gw_call *call)
{
    size_t blocks = call->collective == GW_ALLREDUCE ? 1 : comm->size;
    return typical_count(comm, call) * blocks * gw_dtype_size(call->type);
}

struct gw_call gw__call_for_hosts(const struct gw_comm *comm,
                                  const struct gw_call *call)
{
    static const size_t least_bytes = 64 << 10;
    struct gw_call chosen = *call;
    bool fits = call->collective == GW_ALLREDUCE ||
                call->collective == GW_ALLGATHER ||
                call->collective == GW_REDUCE_SCATTER;
    if (fits && comm->wire->host_ranks && !call->plan && !call->algo &&
        !call->segments && !call->group &&
        total_bytes(comm, call) >= least_bytes) {
        chosen.algo = "hierarchical";
        chosen.group = comm->wire->host_ranks;
    }
    return chosen;
}

static enum gw_err copy_plan(const struct gw_plan *plan, struct gw_plan **copy,
                             struct gw_error *why)
{
    struct gw_builder *builder;
    enum gw_err err = gw_builder_new(plan->collective, plan->ranks,
                                     plan->chunks, plan->root, &builder, why);
    if (err)
        return err;
    gw_builder_name(builder, plan->algo);
    gw_builder_ports(builder, plan->ports);
    gw__builder_conditions(builder, plan);
    for (unsigned s = 0; s < plan->steps; s++) {
        gw_builder_step(builder);
        for (size_t i = plan->step_begin[s]; i < plan->step_begin[s + 1]; i++)
            gw_builder_transfer(builder, &plan->transfers[i]);
    }
    return gw_builder_finish(&builder, copy, why);
}

static enum gw_err prove(const struct gw_plan *plan, struct gw_error *why)
{
    struct gw_verdict *verdict = malloc(sizeof *verdict);
    if (!verdict)
        return gw_fail(why, GW_ENOMEM, "verifying a plan");
    enum gw_err err = gw_plan_verify(plan, 0, verdict, why);
    if (err == GW_EPLAN)
        gw_fail(why, err, "%s", verdict->sentence);
    free(verdict);
    return err;
}

/* A plan of the user's: it must fit the call and be correct. */
static enum gw_err accept_users_plan(const struct gw_comm *comm,
                                     const struct gw_call *call,
                                     struct gw_plan **plan,
                                     struct gw_error *why)
{
    const struct gw_plan *theirs = call->plan;
    if (theirs->collective != call->collective || theirs->ranks != comm->size)
        return gw_fail(
            why, GW_EINVAL,
            "the plan is for %s on %u ranks, but the call is %s on %u ranks",
            gw_collective_name(theirs->collective), theirs->ranks,
            gw_collective_name(call->collective), comm->size);
    if (gw_collective_rooted(call->collective) && theirs->root != call->root)
        return gw_fail(why, GW_EINVAL,
                       "the plan has root %u, but the call has root %u",
                       theirs->root, call->root);
    if (call->counts && call->collective == GW_ALLTOALL)
        return gw_fail(why, GW_ENOTSUP,
                       "alltoallv cannot use a plan of the caller");
    enum gw_err err = prove(theirs, why);
    return err ? err : copy_plan(theirs, plan, why);
}

static enum gw_err make_plan(const struct gw_comm *comm,
                             const struct gw_call *call, int algo,
                             struct gw_plan **plan, struct gw_error *why)
{
    if (call->plan)
        return accept_users_plan(comm, call, plan, why);
    const struct gw_algo *known =
        algo >= 0 ? gw__algo_numbered((unsigned)algo) : NULL;
    struct gw_algo_args args = {
        .ranks = comm->size,
        .root = gw_collective_rooted(call->collective) ? call->root : 0,
        .segments = call->segments,
        .group = call->group};
    enum gw_err err = gw_plan_make(
        call->collective, known ? known->name : call->algo, &args, plan, why);
    if (!err && known && gw__algo_is_added(known))
        err = prove(*plan, why);
    if (err)
        gw_plan_destroy(plan);
    return err;
}

/* Windows run the library's direct algorithms in one pass, and all plans of
 * users; the other algorithms send messages, whose costs are known. */
static enum gw_err choose_window(const struct gw_comm *comm,
                                 const struct gw_call *call, int algo,
                                 const struct gw_plan *plan,
                                 enum gw__window_kind *kind,
                                 struct gw_error *why)
{
    const struct gw_algo *known =
        algo >= 0 ? gw__algo_numbered((unsigned)algo) : NULL;
    bool users = call->plan || (known && gw__algo_is_added(known));
    bool direct = known && known->direct;
    if (!comm->windows) {
        *kind = GW__WINDOW_NONE;
        return GW_OK;
    }
    enum gw_err err = users ? gw__plan_is_direct(plan, &direct, why) : GW_OK;
    *kind = direct  ? GW__WINDOW_PASSES
            : users ? GW__WINDOW_LOADS
                    : GW__WINDOW_NONE;
    return err;
}

static enum gw_err compile(struct gw_comm *comm, const struct gw_call *call,
                           int algo, struct gw__program **program,
                           struct gw_error *why)
{
    struct gw_plan *plan = NULL;
    enum gw__window_kind kind;
    enum gw_err err = make_plan(comm, call, algo, &plan, why);
    if (!err)
        err = choose_window(comm, call, algo, plan, &kind, why);
    if (!err)
        return gw__program_new(&plan, comm->rank, kind, program, why);
    gw_plan_destroy(&plan);
    return err;
}

static struct gw__cached *oldest_unused(struct gw_comm *comm)
{
    struct gw__cached *oldest = NULL;
    for (unsigned i = 0; i < GW__CACHE; i++) {
        struct gw__cached *c = &comm->cache[i];
        if (!c->program)
            return c;
        if (c->program->users == 0 && (!oldest || c->used < oldest->used))
            oldest = c;
    }
    return oldest;
}

static uint64_t key_of(const struct gw_call *call, int algo)
{
    uint64_t fields[5] = {(uint64_t)call->collective, (uint64_t)(algo + 1),
                          gw_collective_rooted(call->collective) ? call->root
                                                                 : 0,
                          call->segments | (uint64_t)call->group << 32,
                          call->plan ? gw_plan_hash(call->plan) : 0};
    return gw_hash(fields, sizeof fields, 0);
}

enum gw_err gw__program_for(struct gw_comm *comm, const struct gw_call *call,
                            struct gw__program **program, int *algo,
                            struct gw_error *why)
{
    enum gw_err err = pick(comm, call, algo, why);
    if (err)
        return err;
    uint64_t key = key_of(call, *algo);
    for (unsigned i = 0; (*algo >= 0 || call->plan) && i < GW__CACHE; i++)
        if (comm->cache[i].program && comm->cache[i].key == key) {
            comm->cache[i].used = ++comm->cache_clock;
            *program = comm->cache[i].program;
            return GW_OK;
        }
    struct gw__cached *room = oldest_unused(comm);
    struct gw__program *made;
    if (!room)
        return gw_fail(why, GW_ENOMEM, "more than %d different calls at once",
                       GW__CACHE);
    err = compile(comm, call, *algo, &made, why);
    if (err)
        return err;
    gw__program_destroy(&room->program);
    room->program = made;
    room->key = key;
    room->used = ++comm->cache_clock;
    *program = room->program;
    return GW_OK;
}

void gw__cache_fini(struct gw_comm *comm)
{
    for (unsigned i = 0; i < GW__CACHE; i++)
        gw__program_destroy(&comm->cache[i].program);
}
