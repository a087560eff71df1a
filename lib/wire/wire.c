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

static enum gw_err open_named(const struct gw_comm_config *config,
                              struct gw__wire **wire, struct gw_error *why)
{
    if (strcmp(config->wire, "shm") == 0)
        return gw__shm_open(config, wire, why);
    if (strcmp(config->wire, "zmq") == 0)
        return gw__zmq_open(config, wire, why);
    if (strcmp(config->wire, "ipc") == 0 || strcmp(config->wire, "tcp") == 0)
        return config->key_file && !gw__seal_is_built()
                   ? gw__zmq_open(config, wire, why)
                   : gw__socket_open(config, wire, why);
    if (strcmp(config->wire, "verbs") == 0)
        return gw__verbs_open(config, wire, why);
    return gw_fail(why, GW_EINVAL,
                   "unknown wire \"%.40s\"; use shm, ipc, tcp, zmq or verbs",
                   config->wire);
}

enum gw_err gw__wire_open(const struct gw_comm_config *config,
                          struct gw__wire **wire, struct gw_error *why)
{
    struct gw_comm_config named = *config;
    *wire = NULL;
    if (!named.wire)
        named.wire = "shm";
    if (!named.timeout_ms)
        named.timeout_ms = GW__TIMEOUT_MS;
    if (named.size == 0 || named.size > GW__WIRE_PEERS_MAX ||
        named.rank >= named.size)
        return gw_fail(
            why, GW_EINVAL,
            "rank %u of %u: a wire must join 1 to %d ranks, numbered from 0",
            named.rank, named.size, GW__WIRE_PEERS_MAX);
    enum gw_err err = open_named(&named, wire, why);
    if (*wire)
        (*wire)->linger_ns = (uint64_t)named.timeout_ms * 1000000U;
    return err;
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
