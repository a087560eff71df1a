/* SPDX-License-Identifier: MIT
 *
 * Reading and writing the heads of messenger_frame.h. Numbers are in the host's
 * byte order: the magic number refuses a sender of the other byte order.
 */
#include "messenger_frame.h"

#include <string.h>

static const uint32_t magic = 0x32707767; /* "gwp2": includes the version */

void gw__messenger_head_seal(struct gw__messenger_head *head, void *frame)
{
    head->magic = magic;
    memcpy(frame, head, sizeof *head);
}

static enum gw_err check_parts(const struct gw__messenger_head *head,
                               struct gw_error *why)
{
    if (head->part_count < 1 || head->part_count > GW__MESSENGER_PARTS)
        return gw_fail(why, GW_EDATA, "a message cannot have %u parts",
                       head->part_count);
    for (unsigned i = head->part_count; i < GW__MESSENGER_PARTS; i++)
        if (head->bytes[i] != 0)
            return gw_fail(
                why, GW_EDATA,
                "a message of %u parts cannot have a size of part %u",
                head->part_count, i + 1);
    return GW_OK;
}

enum gw_err gw__messenger_head_read(const void *frame, size_t bytes,
                                    const struct gw__messenger_head *mine,
                                    struct gw__messenger_head *head,
                                    struct gw_error *why)
{
    if (bytes != sizeof *head)
        return gw_fail(why, GW_EDATA, "malformed head of %zu bytes", bytes);
    memcpy(head, frame, sizeof *head);
    if (head->magic != magic)
        return gw_fail(why, GW_EDATA,
                       "the message is of another program or version");
    if (head->token != mine->token)
        return gw_fail(why, GW_EDATA, "the message is of another run");
    if (head->to != mine->to)
        return gw_fail(why, GW_EDATA,
                       "a message for node %u arrived at node %u", head->to,
                       mine->to);
    if (head->to_high != mine->to_high || head->to_low != mine->to_low)
        return gw_fail(why, GW_EDATA,
                       "the message is for another incarnation of node %u",
                       mine->to);
    if (head->from >= GW__MESSENGER_NODES || head->from == mine->to)
        return gw_fail(why, GW_EDATA, "a message from node %u to node %u",
                       head->from, mine->to);
    return check_parts(head, why);
}
