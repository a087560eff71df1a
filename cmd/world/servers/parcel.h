/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Letters of the data path as messages of the simulator, and messages as
 * parcels: what the post does in the real world.
 */
#ifndef WORLD_SERVERS_PARCEL_H
#define WORLD_SERVERS_PARCEL_H

#include <cluster/driver/driver.h>
#include <cluster/messages/protocol.h>
#include <ps/messages/message.h>

/* One end of it. */
struct mailbox {
    uint64_t incarnation;                     /* the low half */
    const struct gw__actions *act;            /* of the step */
    const struct gw__membership_update *news; /* the newest: who is there */
    bool from_anybody;       /* also from who is no member any more */
    uint64_t *replica_bytes; /* keys and values on their way to a
                                      replica are added; NULL: not */
};

/* The incarnation of a member by the newest news, its low half; 0: none. */
uint64_t mailbox_member(const struct mailbox *box, unsigned node);
/* Is this message a parcel? */
bool parcel_is(const struct gw__input *input);
void parcel_send(const struct mailbox *box,
                 const struct gw__message_out *letter);
/* NULL: it is for, or from, a process that is no more: the post drops such. */
struct gw__message_in *parcel_of(const struct mailbox *box,
                                 const struct gw__input *input);

#endif
