/* SPDX-License-Identifier: MIT
 *
 * See run.h. While a call waits, the MPI must make progress, too: another rank
 * may wait for a message of this one before it enters the collective. So each
 * wait is short, and a probe follows it.
 */
#include "run.h"

#include "operation.h"
#include "repeated.h"
#include "trace.h"

#include <gradwire/base.h>
#include <gradwire/request.h>

enum {
    WAIT_NS = 200000,
    GATHERED_BYTES = 4 << 20, /* of the inputs that are gathered at a time */
};

struct gw__mpi_comm *gw__mpi_take(struct gw__mpi_call *call, bool later)
{
    struct gw__mpi_comm *c = gw__mpi_comm_find(call->comm, !later);
    if (!c)
        gw__mpi_trace_fall(call, GW__MPI_NO_COMMUNICATOR);
    else if (!gw__mpi_call_is_valid(call, c->rank, c->size)) {
        gw__mpi_trace_fall(call, GW__MPI_INVALID);
        return NULL;
    } else if (gw__mpi_reduces(call->kind) &&
               !gw__mpi_take_reduction(call, c->size, later)) {
        gw__mpi_trace_fall(call, GW__MPI_NO_REDUCTION);
        return NULL;
    }
    return c;
}

/* A probe for a message that no rank sends. On the communicator of this process
 * alone, MPICH would not look at the others. */
static void let_mpi_progress(void)
{
    int flag;
    PMPI_Iprobe(0, gw__mpi_unused_tag(), MPI_COMM_WORLD, &flag,
                MPI_STATUS_IGNORE);
}

static enum gw_err run_call(struct gw_comm *comm, const struct gw_call *call)
{
    struct gw_request *request;
    enum gw_err err = gw_run_for(comm, call, WAIT_NS, &request);
    while (err == GW_PENDING) {
        let_mpi_progress();
        err = gw_wait_for(&request, WAIT_NS);
    }
    return err;
}

bool gw__mpi_run_again(const struct gw__mpi_call *mpi, int *code)
{
    struct gw__mpi_comm *c = gw__mpi_comm_newest(mpi->comm);
    const struct gw_call *call = c ? gw__mpi_repeated_find(c, mpi) : NULL;
    if (!call)
        return false;
    enum gw_err err = run_call(c->comm, call);
    *code = err ? gw__mpi_comm_fail(c, gw__mpi_kind_name(mpi->kind), err)
                : MPI_SUCCESS;
    return true;
}

/* With the lock held. */
static int run_whole(struct gw__mpi_comm *c, const struct gw__mpi_call *call)
{
    struct gw__mpi_operation *o = gw__mpi_operation_prepare(c, call);
    if (!o)
        return gw__mpi_comm_fail(c, gw__mpi_kind_name(call->kind), GW_ENOMEM);
    uint64_t begin_ns = gw__mpi_trace_now();
    enum gw_err err = run_call(c->comm, &o->call);
    gw__mpi_trace_call(o, begin_ns);
    int code = err ? gw__mpi_comm_fail(c, gw__mpi_kind_name(call->kind), err)
                   : gw__mpi_operation_finish(o);
    gw__mpi_repeated_keep(o);
    gw__mpi_operation_recycle(o);
    return code;
}

static const void *advanced(const void *memory, size_t bytes)
{
    return memory == MPI_IN_PLACE ? memory
                                  : (const unsigned char *)memory + bytes;
}

/* Gathers and reduces some elements at a time, so that the memory does not grow
 * with the buffers. */
static int run_in_parts(struct gw__mpi_comm *c, const struct gw__mpi_call *call,
                        size_t bytes)
{
    struct gw__mpi_call part = *call;
    size_t count = (size_t)call->recv.count, done = 0;
    size_t most = count / (bytes / GATHERED_BYTES + 1) + 1;
    size_t stride = bytes / (size_t)c->size / count;
    int code = MPI_SUCCESS;
    while (done < count && code == MPI_SUCCESS) {
        size_t n = count - done < most ? count - done : most;
        part.recv.count = (int)n;
        part.in = advanced(call->in, done * stride);
        part.out =
            call->out ? (unsigned char *)call->out + done * stride : NULL;
        code = run_whole(c, &part);
        done += n;
    }
    return code;
}

int gw__mpi_run(struct gw__mpi_comm *c, const struct gw__mpi_call *call)
{
    size_t bytes = 0;
    bool scatters = call->kind == GW__MPI_REDUCE_SCATTER ||
                    call->kind == GW__MPI_REDUCE_SCATTER_BLOCK;
    pthread_mutex_lock(&c->lock);
    bool parts = !scatters && gw__mpi_gathers(call, c->size, &bytes) &&
                 bytes > GATHERED_BYTES;
    int code = parts ? run_in_parts(c, call, bytes) : run_whole(c, call);
    pthread_mutex_unlock(&c->lock);
    return code;
}
