/* SPDX-License-Identifier: MIT
 *
 * The address of one end of a ZeroMQ wire, as bytes and as endpoints. Over ipc
 * the names are abstract (no file exists for them) and derived from a random
 * number. Over tcp each socket listens on a port that the kernel chose, and the
 * address lists the ports.
 */
#include "zmq_wire.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = offsetof(struct gw__zmq_endpoint_address, ports) };

size_t gw__zmq_endpoint_address_bytes(unsigned rank, unsigned size,
                                      unsigned lanes,
                                      enum gw__zmq_transport transport)
{
    if (transport == GW__ZMQ_IPC)
        return HEAD_BYTES;
    size_t bytes =
        HEAD_BYTES + (size_t)(size - rank - 1) * (lanes + 1) * sizeof(uint16_t);
    return bytes <= GW__ADDRESS_MAX ? bytes : 0;
}

/* Digits, dots and colons only: it becomes part of an endpoint. */
static bool is_numeric_host(const char host[48])
{
    size_t length = strnlen(host, 48);
    return length > 0 && length < 48 &&
           strspn(host, "0123456789abcdefABCDEF.:[]") == length;
}

static const char *transport_name(unsigned transport)
{
    return transport == GW__ZMQ_IPC ? "ipc" : "tcp";
}

enum gw_err gw__zmq_endpoint_address_read(
    const struct gw__address *address, unsigned rank, unsigned size,
    const struct gw__zmq_endpoint_address *mine,
    struct gw__zmq_endpoint_address *endpoint, struct gw_error *why)
{
    const char *name = transport_name(mine->transport);
    if (address->bytes < HEAD_BYTES || address->bytes > GW__ADDRESS_MAX)
        return gw_fail(why, GW_EMISMATCH, "rank %u did not open the %s wire",
                       rank, name);
    memset(endpoint, 0, sizeof *endpoint);
    memcpy(endpoint, address->blob, address->bytes);
    if (endpoint->magic != GW__ZMQ_MAGIC ||
        endpoint->transport != mine->transport)
        return gw_fail(why, GW_EMISMATCH, "rank %u did not open the %s wire",
                       rank, name);
    if (endpoint->lanes != mine->lanes)
        return gw_fail(
            why, GW_EMISMATCH,
            "rank %u opened the %s wire with %u lanes, but this rank with %u",
            rank, name, endpoint->lanes, mine->lanes);
    if (endpoint->secured != mine->secured)
        return gw_fail(why, GW_EMISMATCH,
                       "rank %u has %s key file, but this rank has %s", rank,
                       endpoint->secured ? "a" : "no",
                       mine->secured ? "one" : "none");
    size_t bytes = gw__zmq_endpoint_address_bytes(rank, size, endpoint->lanes,
                                                  mine->transport);
    bool listens = bytes > HEAD_BYTES; /* the highest rank does not */
    if (address->bytes != bytes ||
        (listens && !is_numeric_host(endpoint->host)))
        return gw_fail(
            why, GW_EMISMATCH,
            "rank %u opened the %s wire for a different number of ranks", rank,
            name);
    return GW_OK;
}

void gw__zmq_endpoint(const struct gw__zmq_endpoint_address *address,
                      unsigned binder, unsigned peer, unsigned lane,
                      char endpoint[128])
{
    if (address->transport == GW__ZMQ_IPC) {
        snprintf(endpoint, 128, "ipc://@gradwire-%016llx-%u-%u-%u",
                 (unsigned long long)address->name, binder, peer, lane);
        return;
    }
    unsigned port = (peer - binder - 1) * (address->lanes + 1U) + lane;
    snprintf(endpoint, 128, "tcp://%.47s:%u", address->host,
             address->ports[port]);
}
