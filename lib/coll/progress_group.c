/* SPDX-License-Identifier: MIT
 *
 * Communicators of one thread that wait for each other crosswise. Rank 0 waits
 * on A for rank 1, which waits on B for the rest of a large message of rank 0.
 * Both would wait forever, unless rank 0, while it waits on A, also pushes on
 * B.
 *
 *     A  rank 0 waits ------> rank 1
 *     B  rank 0 <------ waits rank 1
 *
 * So a rank that waits on one communicator also gives each of the others in the
 * group a round, and looks around in them as in its own. The groups of these
 * others are not followed, so there is no recursion.
 *
 * They fail together: a peer that is lost on one is awaited on the other.
 * Progress on one counts as a sign of life of all.
 */
#include "comm.h"

/* Its index in the progress group of `comm`, or the group's size. */
static unsigned index_in_group(const struct gw_comm *comm,
                               const struct gw_comm *other)
{
    unsigned i = 0;
    while (i < comm->progress_with_count && comm->progress_with[i] != other)
        i++;
    return i;
}

static void leave_group(struct gw_comm *comm, const struct gw_comm *other)
{
    unsigned i = index_in_group(comm, other);
    if (i < comm->progress_with_count)
        comm->progress_with[i] =
            comm->progress_with[--comm->progress_with_count];
}

enum gw_err gw_comm_progress_with(struct gw_comm *comm, struct gw_comm *other)
{
    if (comm == other)
        return GW_EINVAL;
    if (index_in_group(comm, other) < comm->progress_with_count)
        return GW_OK;
    if (comm->progress_with_count == GW__PROGRESS_GROUP_MAX ||
        other->progress_with_count == GW__PROGRESS_GROUP_MAX)
        return GW_EINVAL;
    comm->progress_with[comm->progress_with_count++] = other;
    other->progress_with[other->progress_with_count++] = comm;
    if (comm->error.code)
        gw__progress_group_fail(comm);
    else if (other->error.code)
        gw__progress_group_fail(other);
    return GW_OK;
}

void gw__progress_group_unlink(struct gw_comm *comm)
{
    while (comm->progress_with_count > 0) {
        leave_group(comm->progress_with[0], comm);
        leave_group(comm, comm->progress_with[0]);
    }
}

/* Ends, because each communicator fails before it notifies the others. */
void gw__progress_group_fail(struct gw_comm *comm)
{
    for (unsigned i = 0; i < comm->progress_with_count; i++)
        gw__comm_fail(comm->progress_with[i], &comm->error);
}

enum gw_err gw__progress_group_progress(struct gw_comm *comm, bool *moved,
                                        bool *waiting)
{
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < comm->progress_with_count && !err; i++) {
        struct gw_comm *other = comm->progress_with[i];
        bool any = false;
        err = gw__progress(other, &any);
        if (!err && !any)
            err = gw__comm_check(other, gw_now_ns());
        *moved |= any;
        *waiting |= gw__oldest_pending(other) != NULL;
    }
    return err ? comm->error.code : GW_OK;
}

void gw__progress_group_moved(struct gw_comm *comm, uint64_t now)
{
    comm->last_progress_ns = now;
    for (unsigned i = 0; i < comm->progress_with_count; i++)
        comm->progress_with[i]->last_progress_ns = now;
}
