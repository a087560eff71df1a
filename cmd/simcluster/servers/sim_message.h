/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Converts messages of the data path to messages of the simulator, and back. In
 * a real run, the transport does this.
 */
#ifndef SIMCLUSTER_SERVERS_SIM_MESSAGE_H
#define SIMCLUSTER_SERVERS_SIM_MESSAGE_H

#include <cluster/driver/driver.h>
#include <cluster/messages/protocol.h>
#include <ps/messages/message.h>

/* One end of the conversion. */
struct mailbox {
    uint64_t incarnation;                       /* the low half */
    const struct gw__actions *act;              /* of the step */
    const struct gw__membership_update *update; /* the newest: the members */
    bool any_sender;                            /* also from former members */
    uint64_t *replica_bytes; /* receives the bytes of keys and values for
                                replicas; NULL: not counted */
};

/* The low half of a member's incarnation in the newest update; 0: not a member.
 */
uint64_t mailbox_member(const struct mailbox *box, unsigned node);
/* Is this message one of the data path? */
bool message_is(const struct gw__input *input);
void message_send(const struct mailbox *box,
                  const struct gw__message_out *message);
/* NULL: its sender or receiver no longer exists; a real transport drops it,
 * too. */
struct gw__message_in *message_of(const struct mailbox *box,
                                  const struct gw__input *input);

#endif
