/* SPDX-License-Identifier: MIT
 *
 * Chooses algorithms and divides sums so that no rank sends more than the
 * minimum. Of the algorithms that the communicator could choose, only those are
 * taken that send this minimum.
 *
 * Plans divide large buffers at lines of 64 bytes (gw_plan_extent), so the
 * parts of two ranks may differ by a line. In that case the elements after the
 * last p whole lines go in a second, small call.
 */
#include "bandwidth_optimal.h"

#include "comm.h"

enum { LINE_BYTES = 64, CANDIDATES_MAX = 64 };

/* The least bytes that a rank must send, times the ranks. */
static uint64_t least_times_ranks(enum gw_collective collective, uint64_t ranks,
                                  uint64_t bytes)
{
    return collective == GW_ALLREDUCE ? 2 * (ranks - 1) * bytes
                                      : ranks * (ranks - 1) * bytes;
}

static bool is_optimal(const struct gw_comm *comm, const struct gw_algo *algo,
                       size_t count, size_t elem_bytes)
{
    struct gw_algo_args args = {.ranks = comm->size};
    struct gw_plan *plan;
    struct gw_price price;
    if (gw_plan_make(algo->collective, algo->name, &args, &plan, NULL))
        return false;
    enum gw_err err = gw_plan_price(plan, count, elem_bytes, &comm->costs.model,
                                    &price, NULL);
    gw_plan_destroy(&plan);
    return !err && price.rank_bytes_max * comm->size <=
                       least_times_ranks(algo->collective, comm->size,
                                         (uint64_t)count * elem_bytes);
}

const char *gw__bandwidth_optimal_algo(const struct gw_comm *comm,
                                       enum gw_collective collective,
                                       size_t count, size_t elem_bytes)
{
    struct gw_candidate found[CANDIDATES_MAX];
    size_t n =
        gw__choose(comm, collective, count, elem_bytes, found, CANDIDATES_MAX);
    for (size_t i = 0; i < n && i < CANDIDATES_MAX; i++)
        if (is_optimal(comm, found[i].algo, count, elem_bytes))
            return found[i].algo->name;
    return "ring";
}

void gw__sum_init(struct gw__sum *sum, struct gw_comm *comm, size_t count,
                  enum gw_dtype type, enum gw_redop op, const char *algo)
{
    *sum = (struct gw__sum){
        .comm = comm, .type = type, .op = op, .counts = {count, 0}};
    if (!comm)
        return;
    size_t elem_bytes = gw_dtype_size(type);
    const struct gw_algo *ring = gw_algo_find(GW_ALLREDUCE, "ring");
    size_t rest = count % (LINE_BYTES / elem_bytes * comm->size);
    if (rest < count && !is_optimal(comm, ring, count, elem_bytes)) {
        sum->counts[0] = count - rest;
        sum->counts[1] = rest;
    }
    for (int i = 0; i < 2; i++)
        sum->algos[i] =
            algo ? algo
                 : gw__bandwidth_optimal_algo(comm, GW_ALLREDUCE,
                                              sum->counts[i], elem_bytes);
}

enum gw_err gw__sum_start(struct gw__sum *sum, void *data)
{
    unsigned char *bytes = data;
    enum gw_err err = GW_OK;
    for (int i = 0; !err && sum->comm && i < 2; i++) {
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = GW_IN_PLACE,
                               .out = bytes,
                               .count = sum->counts[i],
                               .type = sum->type,
                               .op = sum->op,
                               .algo = sum->algos[i]};
        bytes += sum->counts[i] * gw_dtype_size(sum->type);
        if (call.count)
            err = gw_start(sum->comm, &call, &sum->requests[i]);
    }
    return err;
}

enum gw_err gw__sum_end(struct gw__sum *sum, bool wait)
{
    for (int i = 0; i < 2; i++) {
        enum gw_err err =
            wait ? gw_wait(&sum->requests[i]) : gw_test(&sum->requests[i]);
        if (err)
            return err;
    }
    return GW_OK;
}

/* A pending call uses its memory; a failed one does not. */
void gw__request_cancel(struct gw_comm *comm, struct gw_request **request,
                        const char *sentence)
{
    if (!*request)
        return;
    gw_comm_abort(comm, GW_ECLOSED, sentence);
    enum gw_err err = gw_wait(request);
    (void)err; /* the communicator has just been made to fail */
}

void gw__sum_cancel(struct gw__sum *sum, const char *sentence)
{
    gw__request_cancel(sum->comm, &sum->requests[0], sentence);
    gw__request_cancel(sum->comm, &sum->requests[1], sentence);
}
