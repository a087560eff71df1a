/* SPDX-License-Identifier: MIT
 *
 * Shared by the two sides of the rendezvous.
 */
#ifndef GW__RENDEZVOUS_PARTS_H
#define GW__RENDEZVOUS_PARTS_H

#include "rendezvous_message.h"
#include "wire/accept_filter.h"
#include "wire/zmq/zmq_key.h"

#include <zmq.h>

struct gw__rendezvous {
    const char *endpoint;
    const struct gw__zmq_key *key; /* NULL: no key */
    unsigned rank, size;
    const struct gw__address *mine;
    struct gw__address *table;
    unsigned timeout_ms;
    uint64_t deadline_ns;
    void *context, *socket;
    struct gw__accept_filter *filter; /* of rank 0; NULL: not needed */
};

/* GW_ETIMEOUT: "MISSING in 300 ms", with a hint at the key file if there is
 * one. */
enum gw_err gw__rendezvous_timed_out(const struct gw__rendezvous *rendezvous,
                                     const char *missing, struct gw_error *why);

/* Rank 0's side. GW_PENDING: the endpoint is in use. */
GW_MUST_CHECK enum gw_err
gw__rendezvous_as_host(struct gw__rendezvous *rendezvous, struct gw_error *why);

/* Makes meeting->socket. */
GW_MUST_CHECK enum gw_err
gw__rendezvous_socket(struct gw__rendezvous *rendezvous, int type, bool server,
                      struct gw_error *why);
/* Waits for a message, until `until_ns` at most. */
bool gw__rendezvous_await(const struct gw__rendezvous *rendezvous,
                          uint64_t until_ns);

#endif
