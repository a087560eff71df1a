/* SPDX-License-Identifier: MIT
 *
 * Reading and writing the messages of rendezvous_message.h. Numbers are in the
 * host's byte order: a host of the other byte order is a stranger.
 */
#include "rendezvous_message.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t magic = 0x316d7767; /* "gwm1" */

size_t gw__rendezvous_write(struct gw__rendezvous_message *head,
                            const void *payload, size_t bytes, void **message)
{
    head->magic = magic;
    *message = malloc(sizeof *head + bytes);
    if (!*message)
        return 0;
    memcpy(*message, head, sizeof *head);
    if (bytes)
        memcpy((char *)*message + sizeof *head, payload, bytes);
    return sizeof *head + bytes;
}

bool gw__rendezvous_read(const void *message, size_t message_bytes,
                         struct gw__rendezvous_message *head,
                         const void **payload, size_t *bytes)
{
    if (message_bytes < sizeof *head)
        return false;
    memcpy(head, message, sizeof *head);
    *payload = (const char *)message + sizeof *head;
    *bytes = message_bytes - sizeof *head;
    if (head->magic != magic || head->size == 0 ||
        head->size > GW__WIRE_PEERS_MAX)
        return false;
    switch (head->kind) {
    case GW__RENDEZVOUS_JOIN:
        return *bytes <= GW__ADDRESS_MAX && head->rank < head->size;
    case GW__RENDEZVOUS_WAIT:
    case GW__RENDEZVOUS_TABLE:
        return true;
    case GW__RENDEZVOUS_REFUSE:
        return head->code < 0 &&
               strcmp(gw_err_name((enum gw_err)head->code), "GW_?") != 0;
    default:
        return false;
    }
}

size_t gw__rendezvous_pack(const struct gw__address *table, unsigned size,
                           void **payload)
{
    size_t bytes = 0;
    for (unsigned r = 0; r < size; r++)
        bytes += sizeof(uint32_t) + table[r].bytes;
    unsigned char *at = malloc(bytes);
    *payload = at;
    if (!at)
        return 0;
    for (unsigned r = 0; r < size; r++) {
        uint32_t length = (uint32_t)table[r].bytes;
        memcpy(at, &length, sizeof length);
        memcpy(at + sizeof length, table[r].blob, length);
        at += sizeof length + length;
    }
    return bytes;
}

bool gw__rendezvous_unpack(const void *payload, size_t bytes,
                           struct gw__address *table, unsigned size)
{
    const unsigned char *at = payload;
    for (unsigned r = 0; r < size; r++) {
        uint32_t length;
        if (bytes < sizeof length)
            return false;
        memcpy(&length, at, sizeof length);
        at += sizeof length;
        bytes -= sizeof length;
        if (length > GW__ADDRESS_MAX || length > bytes)
            return false;
        table[r].bytes = length;
        memcpy(table[r].blob, at, length);
        at += length;
        bytes -= length;
    }
    return bytes == 0;
}
