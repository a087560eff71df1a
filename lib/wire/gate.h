/* SPDX-License-Identifier: MIT
 *
 * The gate: a listening socket with a key says by itself, once, that it has
 * refused somebody who has not the key. libzmq ends such a handshake before
 * there is a message, so nobody else would notice.
 *
 * A thread of its own reads libzmq's monitor of the socket, for two reasons:
 * the owner of the socket may compute for minutes, and an event that nobody
 * takes stops libzmq's own thread when a thousand of them wait (zmq_sockets.c).
 * So a flood of strangers costs their handshakes and nothing that grows.
 */
#ifndef GW__GATE_H
#define GW__GATE_H

#include <gradwire/base.h>

struct gw__gate;

enum { GW__GATE_FILES = 2 }; /* that it opens */

/* Watches `socket`, which has its key and is not bound yet; `place` is how the
 * sentence names it. */
GW_MUST_CHECK enum gw_err gw__gate_open(void *context, void *socket,
                                        const char *place,
                                        struct gw__gate **gate,
                                        struct gw_error *why);
/* Before its socket is closed. NULL allowed. */
void gw__gate_close(struct gw__gate **gate);

#endif
