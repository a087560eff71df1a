/* SPDX-License-Identifier: MIT
 *
 * The key file of a cluster, and who may connect to a socket of ZeroMQ.
 */
#ifndef GW__ZMQ_KEY_H
#define GW__ZMQ_KEY_H

#include <gradwire/base.h>

enum { GW__ZMQ_SECRET_BYTES = 32 };

struct gw__zmq_key {
    char public_key[41], secret_key[41]; /* Z85 */
};

GW_MUST_CHECK enum gw_err gw__zmq_key_read(const char *path,
                                           struct gw__zmq_key *key,
                                           struct gw_error *why);
/* Call it before bind or connect. */
GW_MUST_CHECK enum gw_err gw__zmq_key_set(void *socket,
                                          const struct gw__zmq_key *key,
                                          bool server, struct gw_error *why);
/* Call it before bind. An abstract name of ipc has no permissions, so libzmq
 * asks the kernel for the user of each connection and accepts only this user.
 * False: it cannot. */
GW_MUST_CHECK bool gw__zmq_own_user_only(void *socket, const char *endpoint);
/* The secret key of the file, as bytes. */
GW_MUST_CHECK enum gw_err
gw__zmq_key_secret(const char *path, unsigned char secret[GW__ZMQ_SECRET_BYTES],
                   struct gw_error *why);

#endif
