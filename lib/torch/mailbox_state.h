/* SPDX-License-Identifier: MIT
 *
 * The state of a mailbox, and its steps. mailbox.c has its thread.
 */
#ifndef TORCH_MAILBOX_STATE_H
#define TORCH_MAILBOX_STATE_H

#include "message_list.h"

#include <pthread.h>

/* The messages of one rank. */
struct source {
    struct message_header header;
    struct gw_request *header_request, *data_request;
    struct message *target; /* a receive, or a kept message */
    bool is_kept;
    bool has_left; /* its mailbox is closed: nothing will come */
};

struct mailbox {
    struct gw_comm *comm;
    pthread_t thread;
    pthread_mutex_t lock; /* of the submitted lists, abort, shutting_down */
    pthread_cond_t filled;
    struct message_list submitted_sends, submitted_receives;
    struct gw_error abort; /* of mailbox_abort */
    bool shutting_down;
    bool reported;              /* then all messages are reported */
    bool ended;                 /* and then the communicator is freed, */
    bool abandoned;             /* for which mailbox_close no longer waits */
    pthread_cond_t end_reached; /* of reported and ended */
    /* The thread's own: */
    struct message_list sends, receives, kept;
    struct source *sources;
    struct gw_error failed;
};

/* Fails all messages; the communicator refuses everything after an error. */
void mailbox_fail_all(struct mailbox *mailbox, const struct gw_error *error);
/* Receives that a kept message satisfies. */
void mailbox_match_kept(struct mailbox *mailbox);
/* Move messages as far as possible; true: something has moved. */
bool mailbox_advance_sends(struct mailbox *mailbox);
bool mailbox_advance_receives(struct mailbox *mailbox);
/* Whether the bytes of some message are on their way. */
bool mailbox_is_receiving(const struct mailbox *mailbox);
/* Notifies the others that nothing will come from this rank. */
void mailbox_send_goodbye(struct mailbox *mailbox);

#endif
