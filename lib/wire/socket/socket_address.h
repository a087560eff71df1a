/* SPDX-License-Identifier: MIT
 *
 * Where one end of a socket listens, for the wires ipc and tcp and for the
 * messenger: addresses, binding, connecting, and the keys of connections.
 */
#ifndef GW__SOCKET_ADDRESS_H
#define GW__SOCKET_ADDRESS_H

#include "wire/control_message.h"
#include "wire/process_watch.h"
#include "wire/seal.h"
#include "wire/wire.h"

enum {
    GW__SOCKET_MAGIC = 0x31737767, /* "gws1" */
    GW__SOCKET_SALT_BYTES = 12,
};

enum gw__socket_transport { GW__SOCKET_IPC = 1, GW__SOCKET_TCP };

/* Part of the address blob. Its process listens at an abstract name derived from
 * `name`, and over tcp also at `host` and `port`. */
struct gw__socket_address {
    uint32_t magic;
    uint8_t transport, lanes, secured, zero;
    struct gw__process_watch_id process;
    uint64_t network;                          /* its namespace; 0: unknown */
    uint64_t name;                             /* random */
    unsigned char token[GW__TOKEN_BYTES];      /* random */
    unsigned char salt[GW__SOCKET_SALT_BYTES]; /* random; of its key */
    uint16_t port;
    uint16_t size; /* ranks of the wire */
    char host[48]; /* numeric, terminated; tcp */
};
_Static_assert(sizeof(struct gw__socket_address) <= GW__ADDRESS_MAX,
               "fits a blob");

/* Sets the random fields, and those of this process. */
GW_MUST_CHECK enum gw_err
gw__socket_address_make(struct gw__socket_address *address,
                        struct gw_error *why);
/* Sets the host, a number with or without brackets. */
GW_MUST_CHECK enum gw_err
gw__socket_address_at(struct gw__socket_address *address, const char *number,
                      struct gw_error *why);
/* Digits, dots and colons only, and terminated. */
bool gw__socket_is_numeric(const char host[48]);

/* The key for everything that is sent to the process with this address. NULL:
 * no memory. */
struct gw__seal *
gw__socket_address_seal(const struct gw__socket_address *address,
                        const unsigned char secret[GW__SEAL_KEY_BYTES]);
/* A key that follows from another one and a number that occurs once. NULL: no
 * memory. */
struct gw__seal *
gw__socket_seal_derive(const struct gw__seal *of,
                       const unsigned char salt[GW__SOCKET_SALT_BYTES]);

/* Listens at the address `own`, and sets its port. */
GW_MUST_CHECK enum gw_err gw__socket_bind(struct gw__socket_address *own,
                                          int *fd, struct gw_error *why);
/* Starts to connect to the process with this address. -1: not now. */
int gw__socket_dial(const struct gw__socket_address *address);
/* Sets the options of a new connection at this address. */
void gw__socket_prepare(int fd, const struct gw__socket_address *at);

#endif
