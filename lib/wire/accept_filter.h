/* SPDX-License-Identifier: MIT
 *
 * The gate: who may come in at a listening socket, and that somebody was
 * refused, which it says once. With a key libzmq itself ends the handshake of
 * who has it not, before there is a message, so nobody else would notice.
 * Without one anybody on this host could come in over loopback: there the gate
 * cuts off the processes of other users (peer_user.h). An ipc socket does so by
 * itself, and needs no gate.
 *
 * A thread of its own reads libzmq's monitor of the socket, for two reasons:
 * the owner of the socket may compute for minutes, and an event that nobody
 * takes stops libzmq's own thread when a thousand of them wait (zmq_sockets.c).
 * So a flood of strangers costs their handshakes and nothing that grows.
 */
#ifndef GW__ACCEPT_FILTER_H
#define GW__ACCEPT_FILTER_H

#include "peer_user.h"

struct gw__accept_filter;

/* How many files it opens at most. 0: no gate is needed there. */
unsigned gw__accept_filter_files(const char *endpoint, bool keyed);
/* Watches `socket`, which is not bound yet and has its key, if any (`keyed`).
 * By its `endpoint` the sentence names it. NULL where it is not needed. */
GW_MUST_CHECK enum gw_err
gw__accept_filter_open(void *context, void *socket, const char *endpoint,
                       bool keyed, struct gw__accept_filter **gate,
                       struct gw_error *why);
/* Before its socket is closed. NULL allowed. */
void gw__accept_filter_close(struct gw__accept_filter **gate);

#endif
