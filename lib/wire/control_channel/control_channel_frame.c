/* SPDX-License-Identifier: MIT
 *
 * Reading and writing the messages of control_channel_frame.h. Numbers are in
 * the host's byte order: the magic number refuses a sender of the other byte
 * order.
 */
#include "control_channel_frame.h"

#include <string.h>

static const uint32_t magic = 0x32637767; /* "gwc2": includes the version */

void gw__control_channel_frame_seal(struct gw__control_channel_head *head,
                                    const void *data, size_t bytes, void *frame)
{
    head->magic = magic;
    memcpy(frame, head, sizeof *head);
    if (bytes > 0)
        memcpy((char *)frame + sizeof *head, data, bytes);
}

enum gw_err gw__control_channel_frame_read(
    const void *frame, size_t bytes, unsigned to, uint64_t token,
    struct gw__control_channel_head *head, struct gw_error *why)
{
    if (bytes < sizeof *head || bytes > GW__CONTROL_CHANNEL_FRAME_BULK)
        return gw_fail(why, GW_EDATA, "malformed message of %zu bytes", bytes);
    memcpy(head, frame, sizeof *head);
    if (head->magic != magic)
        return gw_fail(why, GW_EDATA,
                       "the message is of another program or version");
    if (head->token != token)
        return gw_fail(why, GW_EDATA, "the message is of another run");
    if (head->to != to)
        return gw_fail(why, GW_EDATA,
                       "a message for node %u arrived at node %u", head->to,
                       to);
    if (head->from >= GW__CONTROL_CHANNEL_NODES || head->from == to)
        return gw_fail(why, GW_EDATA, "a message from node %u to node %u",
                       head->from, to);
    return GW_OK;
}
