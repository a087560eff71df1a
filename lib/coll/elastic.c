/* SPDX-License-Identifier: MIT
 *
 * The communicator of a view (elastic.h). Each member prepares it alone,
 * connects it when the addresses of all members are known, and leaves it
 * without a message when the view is over. Two places check `comm->nodes` to
 * make it quiet: failing (progress.c) aborts no wire, and destroying (comm.c)
 * abandons no calls.
 */
#include "elastic.h"

#include "coll/cost/calibration.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 64 }; /* their sets are 64 bits */

static enum gw_err check_nodes(const struct gw__comm_setup *setup,
                               struct gw_error *why)
{
    uint64_t used_nodes = 0;
    for (unsigned r = 0; r < setup->config.size; r++) {
        unsigned node = setup->nodes[r];
        if (node >= NODES_MAX || used_nodes >> node & 1)
            return gw_fail(
                why, GW_EINVAL,
                "rank %u: node number %u is out of range or used twice", r,
                node);
        used_nodes |= (uint64_t)1 << node;
    }
    return GW_OK;
}

/* Opens the wire; the link profiles, if any, are between it and the ranks. */
static enum gw_err open_wire(struct gw_comm *comm,
                             const struct gw__comm_setup *setup,
                             struct gw_error *why)
{
    struct gw__wire *bare;
    enum gw_err err = gw__wire_open(&comm->config, &bare, why);
    if (err)
        return err;
    bare->interrupt = setup->interrupt;
    comm->wire = bare;
    if (setup->profiles) {
        comm->wire = NULL;
        err = gw__wire_emulated(&bare, setup->profiles, comm->nodes,
                                &comm->wire, why);
    }
    if (err)
        return err;
    comm->wire->interrupt = setup->interrupt;
    gw__comm_adopt_wire(comm);
    return GW_OK;
}

enum gw_err gw__comm_prepare(const struct gw__comm_setup *setup,
                             struct gw_comm **made, struct gw_error *why)
{
    size_t size = setup->config.size;
    bool measured;
    *made = NULL;
    enum gw_err err = gw__comm_check_shape(&setup->config, why);
    if (!err)
        err = check_nodes(setup, why);
    if (err)
        return err;
    struct gw_comm *comm = gw__comm_new(&setup->config);
    if (!comm)
        return gw_fail(why, GW_ENOMEM, "communicator of %zu", size);
    comm->config.no_windows = true;
    comm->config.rendezvous = NULL;
    comm->epoch = setup->epoch;
    comm->nodes = calloc(size, sizeof *comm->nodes);
    if (comm->nodes) {
        memcpy(comm->nodes, setup->nodes, size * sizeof *comm->nodes);
        err = open_wire(comm, setup, why);
    } else
        err = gw_fail(why, GW_ENOMEM, "communicator of %zu", size);
    if (err) {
        gw_comm_destroy(&comm);
        return err;
    }
    /* Built-in costs: all members must choose the same algorithms, but each has
     * files and cores of its own. */
    gw__costs_of(NULL, comm->wire_name, comm->size, &comm->costs, &measured);
    comm->costs.cores = comm->size;
    *made = comm;
    return GW_OK;
}

const struct gw__address *gw__comm_address(const struct gw_comm *comm)
{
    return &comm->wire->address;
}

enum gw_err gw__comm_connect(struct gw_comm *comm,
                             const struct gw__address *table,
                             uint64_t deadline_ns, struct gw_error *why)
{
    struct gw_error reason = {0};
    enum gw_err err =
        comm->wire->ops->connect(comm->wire, table, deadline_ns, &reason);
    comm->last_progress_ns = comm->last_check_ns = gw_now_ns();
    comm->joined = err == GW_OK;
    if (err) {
        gw_wrap(&reason, err, "rank %u", comm->rank);
        comm->error = reason;
        if (why)
            *why = reason;
    }
    return err;
}

void gw__comm_leave(struct gw_comm **comm)
{
    if (*comm && (*comm)->wire)
        (*comm)->wire->linger_ns = 0;
    gw_comm_destroy(comm);
}

/* A wire without `lost` shows the loss when no more messages of the peer are
 * available. */
static bool is_lost(struct gw_comm *comm, unsigned rank)
{
    const struct gw__wire_ops *ops = comm->wire->ops;
    struct gw__slice_view view;
    if (ops->lost)
        return ops->lost(comm->wire, rank);
    return comm->joined && ops->peek(comm->wire, rank, &view) == GW_ELOST;
}

uint64_t gw__comm_lost(struct gw_comm *comm)
{
    uint64_t lost = 0;
    for (unsigned r = 0; r < comm->size; r++)
        if (r != comm->rank && is_lost(comm, r))
            lost |= (uint64_t)1 << r;
    return lost;
}

int gw__comm_waits_for(const struct gw_comm *comm)
{
    const struct gw_request *r = gw__oldest_pending(comm);
    char text[160];
    int peer = -1;
    if (r)
        gw__describe_wait(r, text, sizeof text, &peer);
    return peer;
}
