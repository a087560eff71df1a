/* SPDX-License-Identifier: MIT
 *
 * See zmq_context.h. libzmq starts its threads with the first socket, so one is
 * opened and closed right after the trial: other processes of this user could
 * take the threads in between, and then libzmq still ends the process. The same
 * is true of its later allocations.
 */
#include "zmq_context.h"

#include <base/thread.h>

#include <zmq.h>

enum { SPARE_BYTES = 8 << 20 };

enum gw_err gw__zmq_context_new(unsigned io_threads, int sockets, int names,
                                void **context, struct gw_error *why)
{
    unsigned reaper = 1;
    *context = NULL;
    enum gw_err err =
        gw__threads_try(io_threads + reaper, SPARE_BYTES, "libzmq", why);
    if (err)
        return err;
    void *made = zmq_ctx_new();
    if (!made)
        return gw_fail_errno(why, "a ZeroMQ context");
    void *first = NULL;
    if (zmq_ctx_set(made, ZMQ_IO_THREADS, (int)io_threads) == 0 &&
        (sockets == 0 || zmq_ctx_set(made, ZMQ_MAX_SOCKETS, sockets) == 0) &&
        (names == 0 || zmq_ctx_set(made, ZMQ_THREAD_NAME_PREFIX, names) == 0))
        first = zmq_socket(made, ZMQ_PAIR);
    if (!first) {
        err = gw_fail_errno(why, "a ZeroMQ context of %d sockets", sockets);
        zmq_ctx_term(made);
        return err;
    }
    zmq_close(first);
    *context = made;
    return GW_OK;
}
