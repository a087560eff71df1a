/* SPDX-License-Identifier: MIT
 *
 * Messages with tags between the ranks of one communicator, matched as in MPI:
 * a receive takes the oldest message of its tag from its source, or from any
 * source. A message is a header and its bytes. Messages that no receive has
 * asked for stay at the sender, unless a later one of another tag is received
 * first; then they are kept here.
 */
#ifndef TORCH_MAILBOX_H
#define TORCH_MAILBOX_H

#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MAILBOX_ANY_SOURCE = -1 };

struct mailbox;

/* Called once when the message is sent or received, by the mailbox's thread.
 * `peer` is the source of a receive, the destination of a send. */
typedef void mailbox_done(void *context, enum gw_err code, const char *sentence,
                          int peer);

/* The mailbox owns *comm from here on, also on failure. */
GW_MUST_CHECK enum gw_err mailbox_open(struct gw_comm *comm,
                                       struct mailbox **mailbox,
                                       struct gw_error *why);
/* Fails unfinished messages with GW_ECLOSED, and frees the communicator. If a
 * peer does not read its last messages, the mailbox's thread waits for it. */
void mailbox_close(struct mailbox **mailbox);

/* Fails all messages, on all ranks, and those to come. */
void mailbox_abort(struct mailbox *mailbox, enum gw_err code,
                   const char *sentence);

/* The bytes must not change until `done` was called. */
GW_MUST_CHECK enum gw_err mailbox_send(struct mailbox *mailbox,
                                       const void *data, size_t bytes,
                                       unsigned peer, int tag,
                                       mailbox_done *done, void *context);
/* Receives exactly `bytes` bytes; a message of another length is an error of
 * this receive. */
GW_MUST_CHECK enum gw_err mailbox_receive(struct mailbox *mailbox, void *data,
                                          size_t bytes, int peer, int tag,
                                          mailbox_done *done, void *context);

#ifdef __cplusplus
}
#endif
#endif
