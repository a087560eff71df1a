/* SPDX-License-Identifier: MIT
 *
 * See persistent.h. The calls are found by their handles. MPI_Start looks only
 * where there are any.
 */
#include "persistent.h"

#include "pending.h"
#include "types.h"

#include <gradwire/base.h>

#include <stdatomic.h>
#include <stdlib.h>

struct persistent {
    MPI_Request handle;
    struct gw__mpi_comm *comm;
    struct gw__mpi_call call;
    bool owns_send, owns_recv; /* duplicates of the types */
    int tag;
    struct persistent *next;
    int counts[]; /* 4 per rank */
};

static struct {
    pthread_mutex_t lock;
    struct persistent *first;
    atomic_uint count;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool duplicate(struct gw__mpi_shape *shape)
{
    MPI_Datatype own;
    if (shape->type == MPI_DATATYPE_NULL ||
        gw__mpi_type_is_named(shape->type) || PMPI_Type_dup(shape->type, &own))
        return false;
    shape->type = own;
    return true;
}

static void keep_counts(const int **row, int *kept, int ranks)
{
    for (int r = 0; *row && r < ranks; r++)
        kept[r] = (*row)[r];
    *row = *row ? kept : NULL;
}

/* Copies the types and the arrays of counts: only the buffers belong to the
 * call until the handle is freed. */
static void keep_shapes(struct persistent *p)
{
    int ranks = p->comm->size;
    bool sends = gw__mpi_has_send(&p->call, p->comm->rank);
    bool receives = gw__mpi_has_recv(&p->call, p->comm->rank);
    p->owns_send = sends && duplicate(&p->call.send);
    p->owns_recv = receives && duplicate(&p->call.recv);
    if (sends) {
        keep_counts(&p->call.send.counts, p->counts, ranks);
        keep_counts(&p->call.send.displs, p->counts + ranks, ranks);
    }
    if (receives) {
        keep_counts(&p->call.recv.counts, p->counts + 2 * ranks, ranks);
        keep_counts(&p->call.recv.displs, p->counts + 3 * ranks, ranks);
    }
}

int gw__mpi_persistent_new(struct gw__mpi_comm *c,
                           const struct gw__mpi_call *call,
                           MPI_Request *request)
{
    struct persistent *p =
        calloc(1, sizeof *p + 4 * (size_t)c->size * sizeof *p->counts);
    if (!p)
        return gw__mpi_comm_fail(c, gw__mpi_kind_name(call->kind), GW_ENOMEM);
    p->comm = c;
    p->call = *call;
    p->tag = gw__mpi_new_tag();
    int code = PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, p->tag, gw__mpi_self(),
                              &p->handle);
    if (code != MPI_SUCCESS) {
        free(p);
        return code;
    }
    keep_shapes(p);
    gw__mpi_comm_retain(c);
    *request = p->handle;
    pthread_mutex_lock(&table.lock);
    p->next = table.first;
    table.first = p;
    atomic_fetch_add(&table.count, 1);
    pthread_mutex_unlock(&table.lock);
    return MPI_SUCCESS;
}

/* Finds a call, or returns NULL; with `remove` takes it off the table. */
static struct persistent *find_persistent(MPI_Request handle, bool remove)
{
    if (atomic_load(&table.count) == 0)
        return NULL;
    pthread_mutex_lock(&table.lock);
    struct persistent **at = &table.first;
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    struct persistent *found = *at;
    if (found && remove) {
        *at = found->next;
        atomic_fetch_sub(&table.count, 1);
    }
    pthread_mutex_unlock(&table.lock);
    return found;
}

GW_API int MPI_Start(MPI_Request *request)
{
    struct persistent *p = find_persistent(*request, false);
    int code = PMPI_Start(request);
    return p && code == MPI_SUCCESS ? gw__mpi_start(p->comm, &p->call, p->tag)
                                    : code;
}

GW_API int MPI_Startall(int count, MPI_Request requests[])
{
    int code = MPI_SUCCESS;
    if (atomic_load(&table.count) == 0)
        return PMPI_Startall(count, requests);
    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        code = MPI_Start(&requests[i]);
    return code;
}

GW_API int MPI_Request_free(MPI_Request *request)
{
    struct persistent *p = find_persistent(*request, true);
    if (p) {
        if (p->owns_send)
            PMPI_Type_free(&p->call.send.type);
        if (p->owns_recv)
            PMPI_Type_free(&p->call.recv.type);
        gw__mpi_comm_release(p->comm);
        free(p);
    }
    return PMPI_Request_free(request);
}
