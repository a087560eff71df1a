/* SPDX-License-Identifier: MIT
 *
 * Reading and writing the messages of frame.h. Numbers are in the host's byte
 * order: the magic number of a HELLO refuses a peer of the other one.
 */
#include "frame.h"

#include <string.h>

void gw__frame_seal(const unsigned char token[GW__TOKEN_BYTES],
                    const struct gw__header *header,
                    unsigned char out[GW__SLICE_HEAD_BYTES])
{
    memcpy(out, token, GW__SLICE_TOKEN_BYTES);
    memcpy(out + GW__SLICE_TOKEN_BYTES, header, sizeof *header);
}

enum gw_err gw__frame_head(const void *part, size_t bytes, bool more,
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
    if (!more && here != header->bytes)
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
