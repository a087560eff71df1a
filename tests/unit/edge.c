/* SPDX-License-Identifier: MIT
 *
 * See edge.h.
 */
#include "edge.h"

void on_wire(int wire, unsigned ranks, unsigned timeout_ms, rank_body body,
             void *context)
{
    static const char *const names[WIRES] = {"shm", "shm", "ipc", "tcp"};
    struct gw_comm_config config = {.wire = names[wire],
                                    .no_windows = wire == 1,
                                    .timeout_ms = timeout_ms,
                                    .slice_bytes = 4096};
    run_ranks(&config, ranks, body, context);
}

struct gw_comm *twin_of(struct gw_comm *comm)
{
    struct gw_comm *twin;
    MUST(gw_comm_split(comm, 0, 0, &twin, NULL) == GW_OK);
    MUST(gw_barrier(comm) == GW_OK);
    return twin;
}

void fill(int32_t *data, size_t count, int32_t value)
{
    for (size_t i = 0; i < count; i++)
        data[i] = value;
}

bool holds(const int32_t *data, size_t count, int32_t value)
{
    for (size_t i = 0; i < count; i++)
        if (data[i] != value)
            return false;
    return true;
}
