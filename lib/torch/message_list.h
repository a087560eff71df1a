/* SPDX-License-Identifier: MIT
 *
 * The mailbox's messages, in lists with the oldest first.
 */
#ifndef TORCH_MESSAGE_LIST_H
#define TORCH_MESSAGE_LIST_H

#include "mailbox.h"

struct message_header {
    uint64_t bytes;
    int64_t tag;
};

struct message {
    struct message *next;
    void *data; /* of a send: not written */
    size_t bytes;
    int peer, tag;
    mailbox_done *done;
    void *context;
    /* of a send: */
    struct message_header header;
    struct gw_request *requests[2];
    bool started;
    /* of a kept message: its bytes follow */
};

struct message_list {
    struct message *first;
};

void message_list_append(struct message_list *list, struct message *message);
/* Moves the messages of `more` to the end. */
void message_list_append_all(struct message_list *list,
                             struct message_list *more);
/* The message must be in the list. */
void message_list_remove(struct message_list *list, struct message *message);
/* Ends all of them with this error. */
void message_list_fail(struct message_list *list, const struct gw_error *error);

/* Reports the end of a message, and frees it. */
void message_finish(struct message *message, enum gw_err code,
                    const char *sentence, int peer);

#endif
