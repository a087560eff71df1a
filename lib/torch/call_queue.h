/* SPDX-License-Identifier: MIT
 *
 * A queue of collective calls on one communicator, for programs with several
 * threads. Calls run one after another in the order of submission, which is the
 * same on all ranks. A thread of the queue runs them, so that communication
 * overlaps with computation. A thread that waits for a call runs calls itself
 * instead of sleeping, which saves two changes of threads per call.
 *
 * The report of a call's result may wait for a later call: PyTorch runs
 * callbacks in it, and a callback may need another collective. So results are
 * reported while the next call may run, and the queue has a second thread for
 * the calls that come while the first one reports.
 */
#ifndef TORCH_CALL_QUEUE_H
#define TORCH_CALL_QUEUE_H

#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

struct call_queue;

/* A collective in the queue. `run` makes its calls, one thread at a time; with
 * `comm` NULL the queue was closed before. Then `report` is called once, in the
 * same thread, perhaps during the `run` of others. */
struct queued_call {
    void (*run)(void *context, struct gw_comm *comm);
    void (*report)(void *context);
    void *context;
};

/* The queue owns *comm from here on, also on failure. */
GW_MUST_CHECK enum gw_err call_queue_open(struct gw_comm *comm,
                                          struct call_queue **queue,
                                          struct gw_error *why);
/* Waits for the call that runs, ends those that have not begun, and frees the
 * communicator. */
void call_queue_close(struct call_queue **queue);

/* Adds a call at the end. GW_ENOMEM: it was not added. */
GW_MUST_CHECK enum gw_err call_queue_submit(struct call_queue *queue,
                                            const struct queued_call *call);
/* Runs the oldest call in this thread, after the one that another thread runs
 * at present. False: the queue is empty. */
bool call_queue_run_one(struct call_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
