/* SPDX-License-Identifier: MIT
 *
 * See control_message.h. Numbers are in the host's byte order: the magic number
 * refuses a peer of the other byte order.
 */
#include "control_message.h"

#include <string.h>

static const uint32_t magic = 0x326e7767; /* "gwn2" */

size_t gw__control_seal(struct gw__control_message *control)
{
    control->magic = magic;
    return GW__CONTROL_BYTES + strnlen(control->text, sizeof control->text - 1);
}

static bool is_error(int32_t code)
{
    return code < 0 && strcmp(gw_err_name((enum gw_err)code), "GW_?") != 0;
}

enum gw_err gw__control_read(const void *message, size_t bytes, unsigned from,
                             unsigned to, struct gw__control_message *control,
                             struct gw_error *why)
{
    if (bytes < GW__CONTROL_BYTES || bytes >= GW__CONTROL_BYTES_MAX)
        return gw_fail(why, GW_EDATA, "malformed note of %zu bytes", bytes);
    memcpy(control, message, bytes);
    memset((char *)control + bytes, 0, GW__CONTROL_BYTES_MAX - bytes);
    if (control->magic != magic)
        return gw_fail(why, GW_EDATA,
                       "the note is of another program or version");
    if (control->from != from || control->to != to)
        return gw_fail(why, GW_EDATA, "a note from rank %u to rank %u",
                       control->from, control->to);
    if (control->kind < GW__HELLO || control->kind > GW__ABORT)
        return gw_fail(why, GW_EDATA, "a note of unknown kind %u",
                       control->kind);
    if (control->kind == GW__ABORT && !is_error(control->code))
        return gw_fail(why, GW_EDATA, "an abort with unknown code %d",
                       (int)control->code);
    return GW_OK;
}
