/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Before the first step all ranks must hold the same weights. By default each
 * makes them from the seed. With --init broadcast rank 0 makes them and the
 * others receive them, as frameworks do whose ranks cannot rely on equal seeds.
 * Both ways lead to the same bits.
 */
#include "train.h"

#include "run/until.h"

uint64_t train_bytes_sent(const struct gw_comm *comm)
{
    unsigned ranks = gw_comm_size(comm), self = gw_comm_rank(comm);
    uint64_t bytes = 0;
    for (unsigned peer = 0; peer < ranks; peer++) {
        struct gw_counters link;
        if (peer == self)
            continue;
        gw_comm_counters(comm, peer, &link);
        bytes += link.bytes_sent;
    }
    return bytes;
}

enum gw_err train_broadcast(struct gw_comm *comm, float *weights, size_t count,
                            uint64_t *bytes_sent, struct gw_error *why)
{
    gw_comm_counters_reset(comm);
    enum gw_err code =
        gw_broadcast(comm, GW_IN_PLACE, weights, count, GW_F32, 0);
    *bytes_sent = train_bytes_sent(comm);
    return code ? gw_fail(why, code, "broadcast of the first weights: %s",
                          gw_comm_error(comm)->text)
                : GW_OK;
}

const char *train_ended(bool interrupted, bool until)
{
    return interrupted ? "interrupted" : until_ended(false, until);
}
