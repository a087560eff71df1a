/* SPDX-License-Identifier: MIT
 *
 * Resolves names of hosts and interfaces to numeric addresses. Users write
 * names or nothing at all; libzmq binds to numbers, and processes exchange
 * numbers. A name is resolved once, before any socket is made. This module also
 * chooses the address of this host that other hosts are given.
 */
#ifndef GW__WIRE_ADDRESS_H
#define GW__WIRE_ADDRESS_H

#include <gradwire/base.h>

enum { GW__HOST_MAX = 256 };

/* "tcp://h0:7100" -> "tcp://10.0.0.1:7100"; also for "tcp://h0:*". Endpoints
 * that are numeric already or not tcp are copied. A name that resolves to
 * loopback here (Debian's /etc/hosts maps the host's own name to 127.0.1.1)
 * becomes the one address that other hosts can reach. GW_EUNREACH: unknown
 * name, or there are several such addresses, which the message lists.
 * GW_EINVAL: longer than `room`. */
GW_MUST_CHECK enum gw_err gw__address_number(const char *endpoint, char *out,
                                             size_t room, struct gw_error *why);

/* Resolves `wanted` to an address of this host: an interface ("eth0"), a number
 * or a name. Where an interface has both IP versions, the endpoint `towards`
 * (NULL: none) decides. "*" is kept. On GW_EUNREACH the message lists the
 * candidates and `number` is a copy of `wanted`. */
GW_MUST_CHECK enum gw_err gw__address_own(const char *wanted,
                                          const char *towards,
                                          char number[GW__HOST_MAX],
                                          struct gw_error *why);

/* The same for an endpoint to listen at: "tcp://eth0:*", "tcp://h0:7100". An
 * endpoint that is not tcp is copied. */
GW_MUST_CHECK enum gw_err gw__address_listen(const char *endpoint,
                                             const char *towards, char *out,
                                             size_t room, struct gw_error *why);

/* The same, with "*" replaced by the number of a port that is free now. */
GW_MUST_CHECK enum gw_err gw__address_bindable(const char *wanted,
                                               char *endpoint, size_t room,
                                               struct gw_error *why);

/* The local address of the route to `endpoint` ("tcp://host:port"). On the
 * endpoint's own host it is the address that other hosts can reach. On
 * GW_EUNREACH the message lists the candidates. */
GW_MUST_CHECK enum gw_err gw__address_towards(const char *endpoint,
                                              char number[GW__HOST_MAX],
                                              struct gw_error *why);

/* The only address by which other hosts reach this one; `name` is this host's
 * name in the message. On GW_EUNREACH the message lists the candidates or
 * reports that there is none. */
GW_MUST_CHECK enum gw_err gw__address_only(const char *name, int family,
                                           char number[GW__HOST_MAX],
                                           struct gw_error *why);

/* True: the texts of both endpoints name the same host. Endpoints other than
 * tcp are on this host. */
bool gw__address_same_host(const char *a, const char *b);

/* Is the host of this tcp endpoint a loopback number or "localhost"? */
bool gw__address_is_local(const char *endpoint);

#endif
