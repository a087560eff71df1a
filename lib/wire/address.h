/* SPDX-License-Identifier: MIT
 *
 * Addresses of hosts. People give names, or say nothing; libzmq binds to
 * numbers, and what processes tell each other are numbers, too. Here names
 * become numbers, once, before any socket is made, and here is found which of
 * this host's addresses the others are to be told.
 */
#ifndef GW__WIRE_ADDRESS_H
#define GW__WIRE_ADDRESS_H

#include <gradwire/base.h>

enum { GW__HOST_MAX = 256 };

/* "tcp://h0:7100" -> "tcp://10.0.0.1:7100", "tcp://h0:*" too; what is a number
 * already, and what is not tcp, is copied. A name that this host knows as
 * loopback (Debian's /etc/hosts gives its own name 127.0.1.1) becomes the one
 * address by which others reach it. GW_EUNREACH: nobody knows the name; or
 * there are several addresses, which the sentence lists. GW_EINVAL: longer than
 * `room`. */
GW_MUST_CHECK enum gw_err gw__address_number(const char *endpoint, char *out,
                                             size_t room, struct gw_error *why);

/* The number of this host's that `wanted` means: an interface ("eth0"), a
 * number, or a name. `towards`, an endpoint (NULL: none), says of which version
 * of IP, where an interface has both. "*" stays what it is. GW_EUNREACH lists
 * the candidates; `number` is then what was wanted. */
GW_MUST_CHECK enum gw_err gw__address_own(const char *wanted,
                                          const char *towards,
                                          char number[GW__HOST_MAX],
                                          struct gw_error *why);

/* The same of an endpoint to listen at: "tcp://eth0:*", "tcp://h0:7100". What
 * is not tcp is copied. */
GW_MUST_CHECK enum gw_err gw__address_listen(const char *endpoint,
                                             const char *towards, char *out,
                                             size_t room, struct gw_error *why);

/* The same, with the number of a port that is free just now in place of "*". */
GW_MUST_CHECK enum gw_err gw__address_bindable(const char *wanted,
                                               char *endpoint, size_t room,
                                               struct gw_error *why);

/* The number from which one goes to `endpoint` ("tcp://host:port"); on that
 * host itself the one by which others reach it. GW_EUNREACH lists the
 * candidates. */
GW_MUST_CHECK enum gw_err gw__address_towards(const char *endpoint,
                                              char number[GW__HOST_MAX],
                                              struct gw_error *why);

/* The one number by which others reach this host, which `name` names in the
 * sentence. GW_EUNREACH lists the candidates, or says that there is none. */
GW_MUST_CHECK enum gw_err gw__address_only(const char *name, int family,
                                           char number[GW__HOST_MAX],
                                           struct gw_error *why);

/* Is the host of this tcp endpoint a number of loopback, or "localhost"? */
bool gw__address_is_near(const char *endpoint);

#endif
