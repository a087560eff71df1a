/* SPDX-License-Identifier: MIT
 *
 * The rendezvous of a new communicator's ranks: an all-gather of one small blob
 * per rank through a ZeroMQ endpoint that rank 0 binds. Used once, at the
 * start.
 */
#ifndef GW__RENDEZVOUS_H
#define GW__RENDEZVOUS_H

#include "wire/wire.h"

/* Fills table[0..size) with every rank's address. GW_ETIMEOUT after
 * `timeout_ms` ("rendezvous ipc://@x: ranks 2, 3 of 4 did not come in 500 ms"
 * on rank 0, "rank 0 did not answer ..." on the others). GW_EMISMATCH: two
 * processes claim one rank, or the sizes differ. GW_EUNREACH: the endpoint
 * cannot be bound or resolved. */
GW_MUST_CHECK enum gw_err
gw__rendezvous(const char *endpoint, unsigned rank, unsigned size,
               const struct gw__address *mine, struct gw__address *table,
               unsigned timeout_ms, struct gw_error *why);

/* The same with CURVE: only processes that have the key file (see zmq_key.c)
 * can take part. NULL: as above. */
GW_MUST_CHECK enum gw_err gw__rendezvous_with_key(
    const char *endpoint, const char *key_file, unsigned rank, unsigned size,
    const struct gw__address *mine, struct gw__address *table,
    unsigned timeout_ms, struct gw_error *why);

/* Can processes of other hosts reach the endpoint? */
bool gw__rendezvous_is_open(const char *endpoint);

#endif
