/* SPDX-License-Identifier: MIT
 *
 * The outputs of a server for fuzzers: messages are dropped. Lent memory is
 * returned at once.
 */
#ifndef GW__FUZZ_MUTE_H
#define GW__FUZZ_MUTE_H

#include <ps/server/server.h>

static inline void mute_send(void *context,
                             const struct gw__message_out *message)
{
    (void)context;
    if (message->borrowed)
        message->back(message->context);
}

static inline void mute_propose(void *context,
                                const struct gw__command *command)
{
    (void)context;
    (void)command;
}

#endif
