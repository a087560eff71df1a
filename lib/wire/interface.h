/* SPDX-License-Identifier: MIT
 *
 * The interface at which a wire listens, and whether that is allowed.
 */
#ifndef GW__WIRE_INTERFACE_H
#define GW__WIRE_INTERFACE_H

#include "address.h"

/* "127.0.0.1", "::1", "[::1]", "lo": not reachable from other hosts. */
bool gw__is_loopback(const char *interface);

/* The number of `wanted` (gw__address_own; NULL: 127.0.0.1), for peers at the
 * endpoint `towards` or anywhere (NULL). GW_EINVAL: it is open to the network
 * and not `guarded` by a key, nor is that allowed; this is reported first.
 * GW_EUNREACH: there is no such interface. */
GW_MUST_CHECK enum gw_err gw__interface(const char *wanted, const char *towards,
                                        bool guarded, char number[GW__HOST_MAX],
                                        struct gw_error *why);

#endif
