/* SPDX-License-Identifier: MIT
 *
 * The messages of a rendezvous as bytes. Pure: any bytes from a stranger are
 * read safely or refused.
 */
#ifndef GW__RENDEZVOUS_MESSAGE_H
#define GW__RENDEZVOUS_MESSAGE_H

#include "wire/wire.h"

enum gw__rendezvous_kind {
    GW__RENDEZVOUS_JOIN = 1, /* to rank 0: an address */
    GW__RENDEZVOUS_WAIT,     /* from rank 0: the missing ranks, as text */
    GW__RENDEZVOUS_TABLE,    /* from rank 0: all addresses */
    GW__RENDEZVOUS_REFUSE    /* from rank 0: a code and a message */
};

/* The head, before the payload. */
struct gw__rendezvous_message {
    uint32_t magic; /* set by gw__rendezvous_write */
    uint32_t kind;
    uint32_t rank, size; /* the sender's own */
    int32_t code;        /* REFUSE */
    uint32_t zero;
    uint64_t nonce[2]; /* JOIN: identifies the claiming process */
};

enum {
    GW__RENDEZVOUS_BYTES_MAX = sizeof(struct gw__rendezvous_message) +
                               GW__WIRE_PEERS_MAX * (GW__ADDRESS_MAX + 4)
};

/* Allocates *message: the head and the payload. The caller frees it. Returns
 * its size; 0: no memory. */
GW_MUST_CHECK size_t gw__rendezvous_write(struct gw__rendezvous_message *head,
                                          const void *payload, size_t bytes,
                                          void **message);
/* False: not a valid message. *payload points into `message`. */
GW_MUST_CHECK bool gw__rendezvous_read(const void *message,
                                       size_t message_bytes,
                                       struct gw__rendezvous_message *head,
                                       const void **payload, size_t *bytes);

/* The payload of a TABLE, to be freed by the caller. 0: no memory. */
GW_MUST_CHECK size_t gw__rendezvous_pack(const struct gw__address *table,
                                         unsigned size, void **payload);
/* False: the payload does not hold the addresses of exactly `size` ranks. */
GW_MUST_CHECK bool gw__rendezvous_unpack(const void *payload, size_t bytes,
                                         struct gw__address *table,
                                         unsigned size);

#endif
