/* SPDX-License-Identifier: MIT
 *
 * Reading and writing the messages of frame.h. Numbers are in the host's byte
 * order: the magic number of a HELLO refuses a peer of the other byte order.
 */
#include "frame.h"

#include <string.h>

static const uint32_t magic = 0x326e7767; /* "gwn2" */

void gw__frame_seal(const unsigned char token[GW__TOKEN_BYTES],
                    const struct gw__header *header,
                    unsigned char out[GW__SLICE_HEAD_BYTES])
{
    memcpy(out, token, GW__SLICE_TOKEN_BYTES);
    memcpy(out + GW__SLICE_TOKEN_BYTES, header, sizeof *header);
}

enum gw_err gw__frame_head(const void *part, size_t bytes, bool more, bool bulk,
                           const unsigned char token[GW__TOKEN_BYTES],
                           struct gw__header *header, struct gw_error *why)
{
    const unsigned char *head = part;
    if (bytes < GW__SLICE_HEAD_BYTES)
        return gw_fail(why, GW_EDATA,
                       "malformed slice: %zu bytes instead of a header of %d",
                       bytes, GW__SLICE_HEAD_BYTES);
    if (memcmp(head, token, GW__SLICE_TOKEN_BYTES) != 0)
        return gw_fail(why, GW_EDATA, "a slice of another run or rank");
    memcpy(header, head + GW__SLICE_TOKEN_BYTES, sizeof *header);
    size_t here = bytes - GW__SLICE_HEAD_BYTES;
    if (more && (here != 0 || header->bytes == 0))
        return gw_fail(why, GW_EDATA,
                       "malformed slice: %zu extra bytes before the data",
                       here);
    if (!more && here != header->bytes && !(bulk && here == 0))
        return gw_fail(why, GW_EDATA,
                       "malformed slice: %zu bytes of data, but %u announced",
                       here, header->bytes);
    return GW_OK;
}

enum gw_err gw__frame_body(const struct gw__header *header, size_t bytes,
                           bool more, struct gw_error *why)
{
    if (more)
        return gw_fail(why, GW_EDATA, "malformed slice: more than two parts");
    if (bytes != header->bytes)
        return gw_fail(why, GW_EDATA,
                       "malformed slice: %zu bytes of data, but %u announced",
                       bytes, header->bytes);
    return GW_OK;
}

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
