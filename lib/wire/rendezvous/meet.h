/* SPDX-License-Identifier: MIT
 *
 * The messages of a rendezvous, as bytes. Pure; whatever a stranger sends is
 * read safely or refused.
 */
#ifndef GW__MEET_H
#define GW__MEET_H

#include "wire/wire.h"

enum gw__meet_kind {
    GW__MEET_JOIN = 1, /* to rank 0: an address */
    GW__MEET_WAIT,     /* from rank 0: who is missing, a sentence */
    GW__MEET_TABLE,    /* from rank 0: all addresses */
    GW__MEET_REFUSE    /* from rank 0: a code and a sentence */
};

/* Before the payload. */
struct gw__meet {
    uint32_t magic; /* set by gw__meet_write */
    uint32_t kind;
    uint32_t rank, size; /* as the sender sees itself */
    int32_t code;        /* REFUSE */
    uint32_t zero;
    uint64_t nonce[2]; /* JOIN: tells two claims to one rank apart */
};

enum {
    GW__MEET_BYTES_MAX =
        sizeof(struct gw__meet) + GW__WIRE_PEERS_MAX * (GW__ADDRESS_MAX + 4)
};

/* Sets *message to the head, followed by the payload; to be freed. 0 when out
 * of memory. */
GW_MUST_CHECK size_t gw__meet_write(struct gw__meet *head, const void *payload,
                                    size_t bytes, void **message);
/* False when it is no such message. *payload lies within `message`. */
GW_MUST_CHECK bool gw__meet_read(const void *message, size_t message_bytes,
                                 struct gw__meet *head, const void **payload,
                                 size_t *bytes);

/* The payload of a TABLE: to be freed; 0 when out of memory. */
GW_MUST_CHECK size_t gw__meet_pack(const struct gw__address *table,
                                   unsigned size, void **payload);
/* False when the payload is not the addresses of exactly `size` ranks. */
GW_MUST_CHECK bool gw__meet_unpack(const void *payload, size_t bytes,
                                   struct gw__address *table, unsigned size);

#endif
