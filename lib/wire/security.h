/* SPDX-License-Identifier: MIT
 *
 * How the processes of a run know each other: part of the configuration of
 * everything that listens.
 */
#ifndef GW__WIRE_SECURITY_H
#define GW__WIRE_SECURITY_H

#include <stdbool.h>
#include <stdint.h>

struct gw__security {
    uint64_t token;       /* of the run: the same in all its processes */
    const char *key_file; /* of CURVE; NULL: no key */
    bool insecure;        /* may listen outside loopback without a key */
};

#endif
