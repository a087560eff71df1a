/* SPDX-License-Identifier: MIT
 *
 * Exchange of messenger addresses, in the control thread:
 *
 *     WHERE | the sender's address      request for the receiver's address
 *     HERE  | the sender's address      the answer
 *
 * The control channel identifies the sender and its incarnation. WHERE is
 * repeated until the address is known. The answer may be late, if the other
 * member has not learned of this one yet.
 */
#include "node_parts.h"

#include <string.h>

enum { WHERE = GW__STATE_TRANSFER + 32, HERE };

static const uint64_t again_ns = 20000000;

static void send_address(struct gw__node *node, unsigned to, unsigned what)
{
    uint8_t out[1 + GW__ADDRESS_MAX];
    const struct gw__address *address = &node->box.address;
    out[0] = (uint8_t)what;
    memcpy(out + 1, address->blob, address->bytes);
    (void)gw__driver_send(node->session.driver, to, out, 1 + address->bytes);
}

void gw__node_connect(struct gw__node *node, uint64_t now_ns)
{
    const struct gw__membership_update *update = &node->session.update;
    if (!node->box.has_address || now_ns - node->requested_ns < again_ns)
        return;
    node->requested_ns = now_ns;
    for (unsigned i = 0; i < update->ps_member_count; i++) {
        const struct gw__ps_member *member = &update->ps_members[i];
        if (gw__node_exchanges_with(node, member) &&
            !gw__id_equal(node->box.known[member->node].incarnation,
                          member->incarnation))
            send_address(node, member->node, WHERE);
    }
}

void gw__node_connected(struct gw__node *node, unsigned from,
                        struct gw__id incarnation, const void *data,
                        size_t bytes)
{
    const uint8_t *message = data;
    if (from >= GW__MESSENGER_NODES || bytes < 2 ||
        bytes > 1 + GW__ADDRESS_MAX ||
        (message[0] != WHERE && message[0] != HERE))
        return;
    struct gw__whereabouts *known = &node->box.known[from];
    bool same = gw__id_equal(known->incarnation, incarnation) &&
                known->address.bytes == bytes - 1 &&
                memcmp(known->address.blob, message + 1, bytes - 1) == 0;
    if (!same) {
        known->incarnation = incarnation;
        known->address.bytes = bytes - 1;
        memcpy(known->address.blob, message + 1, bytes - 1);
        gw__node_notify(node, GW__NODE_REACH);
    }
    if (message[0] == WHERE && node->box.has_address)
        send_address(node, from, HERE);
}
