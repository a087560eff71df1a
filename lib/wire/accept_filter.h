/* SPDX-License-Identifier: MIT
 *
 * Filters the connections that a listening socket accepts, and reports the
 * first one that is refused. With a key, libzmq itself ends the handshake of a
 * peer without the key before any message arrives, so the refusal would
 * otherwise go unnoticed. Without a key, any process on this host could connect
 * over loopback: there the filter disconnects the processes of other users
 * (peer_user.h). An ipc socket checks the user itself and needs no filter.
 *
 * A thread of its own reads libzmq's monitor of the socket, for two reasons:
 * the owner of the socket may compute for minutes, and libzmq's own thread
 * blocks when a thousand events are unread (zmq_sockets.c). So a flood of
 * strangers costs their handshakes and no memory that grows.
 */
#ifndef GW__ACCEPT_FILTER_H
#define GW__ACCEPT_FILTER_H

#include "peer_user.h"

struct gw__accept_filter;

/* Files that a filter opens at most. 0: no filter is needed there. */
unsigned gw__accept_filter_files(const char *endpoint, bool keyed);
/* Watches `socket` before it is bound and after its key, if any (`keyed`), is
 * set. The notice names the `endpoint`. *gate is NULL where no filter is
 * needed. */
GW_MUST_CHECK enum gw_err
gw__accept_filter_open(void *context, void *socket, const char *endpoint,
                       bool keyed, struct gw__accept_filter **filter,
                       struct gw_error *why);
/* Call it before the socket is closed. NULL is allowed. */
void gw__accept_filter_close(struct gw__accept_filter **filter);

#endif
