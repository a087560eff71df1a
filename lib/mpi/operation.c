/* SPDX-License-Identifier: MIT
 *
 * See operation.h. The operations of a communicator are kept in a list with
 * their memory, so that a loop of calls allocates once.
 */
#include "operation.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 32 << 20 }; /* larger memory is given back */

unsigned char *gw__mpi_room(struct gw__mpi_memory *memory, size_t bytes)
{
    if (bytes <= memory->room && memory->data)
        return memory->data;
    free(memory->data);
    memory->data = malloc(bytes + 1);
    memory->room = memory->data ? bytes + 1 : 0;
    return memory->data;
}

static void trim(struct gw__mpi_memory *memory)
{
    if (memory->room <= KEPT_BYTES)
        return;
    free(memory->data);
    *memory = (struct gw__mpi_memory){0};
}

static struct gw__mpi_operation *new_operation(struct gw__mpi_comm *c)
{
    struct gw__mpi_operation *o = calloc(1, sizeof *o);
    size_t *counts = calloc(4 * (size_t)c->size, sizeof *counts);
    int *kept = calloc(2 * (size_t)c->size, sizeof *kept);
    if (o && counts && kept) {
        o->comm = c;
        o->counts = counts;
        o->kept = kept;
        return o;
    }
    free(kept);
    free(counts);
    free(o);
    return NULL;
}

struct gw__mpi_operation *
gw__mpi_operation_prepare(struct gw__mpi_comm *c,
                          const struct gw__mpi_call *call)
{
    struct gw__mpi_operation *o = c->idle;
    if (o)
        c->idle = o->next;
    else
        o = new_operation(c);
    if (!o)
        return NULL;
    o->mpi = *call;
    o->finish = NULL;
    o->call = (struct gw_call){.collective = GW_BARRIER};
    bool ready = call->kind == GW__MPI_BARRIER ||
                 (gw__mpi_reduces(call->kind) ? gw__mpi_prepare_reduction(o)
                                              : gw__mpi_prepare_move(o));
    if (ready)
        return o;
    gw__mpi_operation_recycle(o);
    return NULL;
}

int gw__mpi_operation_finish(struct gw__mpi_operation *o)
{
    return o->finish ? o->finish(o) : MPI_SUCCESS;
}

void gw__mpi_operation_recycle(struct gw__mpi_operation *o)
{
    trim(&o->in);
    trim(&o->out);
    o->next = o->comm->idle;
    o->comm->idle = o;
}

void gw__mpi_operations_free(struct gw__mpi_operation *first)
{
    while (first) {
        struct gw__mpi_operation *next = first->next;
        free(first->in.data);
        free(first->out.data);
        free(first->counts);
        free(first->kept);
        free(first);
        first = next;
    }
}
