/* SPDX-License-Identifier: MIT
 *
 * See message_list.h.
 */
#include "message_list.h"

#include <stdlib.h>

void message_list_append(struct message_list *list, struct message *message)
{
    struct message **end = &list->first;
    while (*end)
        end = &(*end)->next;
    message->next = NULL;
    *end = message;
}

void message_list_append_all(struct message_list *list,
                             struct message_list *more)
{
    struct message **end = &list->first;
    while (*end)
        end = &(*end)->next;
    *end = more->first;
    more->first = NULL;
}

void message_list_remove(struct message_list *list, struct message *message)
{
    struct message **at = &list->first;
    while (*at != message)
        at = &(*at)->next;
    *at = message->next;
}

void message_finish(struct message *message, enum gw_err code,
                    const char *sentence, int peer)
{
    message->done(message->context, code, sentence, peer);
    free(message);
}

void message_list_fail(struct message_list *list, const struct gw_error *error)
{
    struct message *message;
    while ((message = list->first) != NULL) {
        list->first = message->next;
        message_finish(message, error->code, error->text, message->peer);
    }
}
