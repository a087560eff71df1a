/* SPDX-License-Identifier: MIT
 *
 * The wires by name. To add one: declare its opener in wire.h and add a line
 * here.
 */
#include "wire.h"

#include "seal.h"

#include <gradwire/wire.h>

#include <stdatomic.h>
#include <string.h>

static const char *const names[] = {"shm", "ipc", "tcp", "zmq", "verbs", NULL};
static const char *const without_verbs[] = {"shm", "ipc", "tcp", "zmq", NULL};

const char *const *gw_wire_list(void)
{
    return gw__verbs_is_built() ? names : without_verbs;
}

enum gw_err gw__wire_open(const struct gw_comm_config *config,
                          struct gw__wire **wire, struct gw_error *why)
{
    struct gw_comm_config named = *config;
    *wire = NULL;
    if (!named.wire)
        named.wire = "shm";
    if (named.size == 0 || named.size > GW__WIRE_PEERS_MAX ||
        named.rank >= named.size)
        return gw_fail(
            why, GW_EINVAL,
            "rank %u of %u: a wire must join 1 to %d ranks, numbered from 0",
            named.rank, named.size, GW__WIRE_PEERS_MAX);
    if (strcmp(named.wire, "shm") == 0)
        return gw__shm_open(&named, wire, why);
    if (strcmp(named.wire, "zmq") == 0)
        return gw__zmq_open(&named, wire, why);
    if (strcmp(named.wire, "ipc") == 0 || strcmp(named.wire, "tcp") == 0)
        return named.key_file && !gw__seal_is_built()
                   ? gw__zmq_open(&named, wire, why)
                   : gw__socket_open(&named, wire, why);
    if (strcmp(named.wire, "verbs") == 0)
        return gw__verbs_open(&named, wire, why);
    return gw_fail(why, GW_EINVAL,
                   "unknown wire \"%.40s\"; use shm, ipc, tcp, zmq or verbs",
                   named.wire);
}

bool gw__header_fits(const struct gw__header *header,
                     const struct gw__header *expected)
{
    struct gw__header due = *expected;
    due.contributors = header->contributors;
    due.sent_ns = header->sent_ns;
    return memcmp(header, &due, sizeof due) == 0;
}

bool gw__wire_interrupted(const struct gw__wire *wire)
{
    return wire->interrupt &&
           atomic_load_explicit(wire->interrupt, memory_order_acquire);
}

uint64_t gw__wire_nap_ns(const struct gw__wire *wire, uint64_t ns)
{
    static const uint64_t poll_ns = 2 * 1000000U;
    return wire->interrupt && ns > poll_ns ? poll_ns : ns;
}

void gw__wire_close(struct gw__wire **wire)
{
    if (*wire)
        (*wire)->ops->close(*wire);
    *wire = NULL;
}
