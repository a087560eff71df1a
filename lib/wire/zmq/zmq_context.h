/* SPDX-License-Identifier: MIT
 *
 * A context of libzmq, which ends the process (SIGABRT) when its threads cannot
 * start or its memory is short. So what it is about to take is taken once
 * before, and given back: that fails as an error.
 */
#ifndef GW__WIRE_ZMQ_CONTEXT_H
#define GW__WIRE_ZMQ_CONTEXT_H

#include <gradwire/base.h>

/* With its threads running; `sockets` 0: as many as libzmq's default; `names`:
 * the number that the names of its threads begin with, or 0. GW_ENOMEM
 * says whether threads or memory are missing. */
GW_MUST_CHECK enum gw_err gw__zmq_context_new(unsigned io_threads, int sockets,
                                              int names, void **context,
                                              struct gw_error *why);

#endif
