/* SPDX-License-Identifier: MIT
 *
 * Calls of a communicator (coll.h) with a time limit, for programs that must
 * look at something else while they wait: the signal handlers of an
 * interpreter, a deadline of the caller's own. The limit ends the wait, never
 * the call.
 */
#ifndef GRADWIRE_REQUEST_H
#define GRADWIRE_REQUEST_H

#include <gradwire/base.h>
#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until a call is done, for at most about `ns` nanoseconds: the wire may
 * sleep for up to 20 ms at a time. Results as in gw_test. */
GW_API GW_MUST_CHECK enum gw_err gw_wait_for(struct gw_request **request,
                                             uint64_t ns);
/* Runs a call as fast as gw_run does, but waits as gw_wait_for. GW_OK: it is
 * done, *request is NULL. GW_PENDING: it is in progress, as after gw_start. Any
 * other result: it failed, *request is NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_run_for(struct gw_comm *comm,
                                            const struct gw_call *call,
                                            uint64_t ns,
                                            struct gw_request **request);

#ifdef __cplusplus
}
#endif
#endif
