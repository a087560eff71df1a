/* SPDX-License-Identifier: MIT
 *
 * A context of libzmq. libzmq ends the process (SIGABRT) if it cannot start its
 * threads or has too little memory. So threads and memory are acquired and
 * released here once before: a failure then is an ordinary error.
 */
#ifndef GW__WIRE_ZMQ_CONTEXT_H
#define GW__WIRE_ZMQ_CONTEXT_H

#include <gradwire/base.h>

/* A context whose threads are running. `sockets`: the maximum, 0 for libzmq's
 * default. `names`: the number that its threads' names begin with, or 0.
 * GW_ENOMEM, with a message: too few threads or too little memory. */
GW_MUST_CHECK enum gw_err gw__zmq_context_new(unsigned io_threads, int sockets,
                                              int names, void **context,
                                              struct gw_error *why);

#endif
