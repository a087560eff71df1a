/* SPDX-License-Identifier: MIT
 *
 * Your part of the heat equation (heat.h). This version is right for strips: it
 * sends rows, and a block as wide as the torus is its own neighbour at the
 * sides. For tiles (px > 1) the columns must be sent, too. The points of a
 * column are not contiguous, so copy them into an array first.
 */
#include "heat.h"

#include <stdlib.h>

/* Sends `out` to one rank while `in` comes from another. */
static enum gw_err swap(struct gw_comm *comm, const double *out, unsigned to,
                        double *in, unsigned from, unsigned count)
{
    struct gw_request *requests[2] = {NULL, NULL};
    enum gw_err err =
        gw_recv_start(comm, in, count, GW_F64, from, &requests[0]);
    if (!err)
        err = gw_send_start(comm, out, count, GW_F64, to, &requests[1]);
    enum gw_err end = gw_wait_all(2, requests);
    return err ? err : end;
}

static void copy(double *to, const double *from, unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        to[k] = from[k];
}

static enum gw_err exchange_rows(struct gw_comm *comm, const struct block *b,
                                 double *u)
{
    int last = (int)b->rows - 1;
    if (b->up == gw_comm_rank(comm)) {
        copy(at(b, u, -1, 0), at(b, u, last, 0), b->cols);
        copy(at(b, u, last + 1, 0), at(b, u, 0, 0), b->cols);
        return GW_OK;
    }
    enum gw_err err = swap(comm, at(b, u, 0, 0), b->up, at(b, u, last + 1, 0),
                           b->down, b->cols);
    return err ? err
               : swap(comm, at(b, u, last, 0), b->down, at(b, u, -1, 0), b->up,
                      b->cols);
}

enum gw_err exchange(struct gw_comm *comm, const struct block *b, double *u)
{
    int last = (int)b->cols - 1;
    for (int i = 0; i < (int)b->rows; i++) { /* right for strips only */
        *at(b, u, i, -1) = *at(b, u, i, last);
        *at(b, u, i, last + 1) = *at(b, u, i, 0);
    }
    return exchange_rows(comm, b, u);
}

bool is_check_due(unsigned step, unsigned every)
{
    (void)step;
    return every > 0; /* each step: too often */
}
