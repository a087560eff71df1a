/* SPDX-License-Identifier: MIT
 *
 * One entry of a slot's log: a push, closings or a clock command, and who waits
 * for it. Its data lie in the parcel that brought them, which the entry holds,
 * until it is applied; what must be kept longer (for a learner) is copied then,
 * since the worker gets its memory back with the acknowledgement. Letters that
 * lend the data hold the entry, so an entry may outlive the log and the server.
 */
#ifndef GW__PS_ENTRY_H
#define GW__PS_ENTRY_H

#include "ps/messages/keys.h"

enum gw__entry_kind {
    GW__ENTRY_PUSH = 1,
    GW__ENTRY_CLOSE, /* data: group, count, closings */
    GW__ENTRY_CLOCK, /* data: a clock command */
    GW__ENTRY_KINDS
};

struct gw__request;
struct gw__wait {
    struct gw__request *request;
    struct gw__wait *next;
    unsigned slot;
};

struct gw__entry {
    unsigned holds; /* the log, and letters */
    unsigned lent;  /* letters that show `parcel` or `owned` */
    enum gw__entry_kind kind;
    uint64_t index;
    /* Of a push. */
    uint32_t node;
    uint64_t incarnation;
    uint64_t sequence, floor, clock;
    uint16_t table;
    uint8_t group; /* of all kinds */
    bool half;
    bool at_once;          /* nobody follows the slot: it is in no log */
    struct gw__keys *keys; /* held; NULL: only `key_data` */
    const uint64_t *key_data;
    uint32_t key_count;
    const void *data; /* values, or as the kind says */
    size_t bytes;
    struct gw__message_in *parcel;  /* held; NULL: `owned` has the data */
    struct gw__message_in *retired; /* held until no letter shows it */
    void *owned;
    struct gw__wait *waits;
};

/* With one hold. NULL: no memory. `data` of an entry without a parcel is copied
 * by gw__entry_own. */
struct gw__entry *gw__entry_new(const struct gw__entry *like);
void gw__entry_release(struct gw__entry *entry);
/* From here on it needs no parcel. False: no memory, nothing has changed. */
GW_MUST_CHECK bool gw__entry_own(struct gw__entry *entry);
/* A letter shows the data; `back` of the letter is the other one. */
void gw__entry_lend(struct gw__entry *entry);
void gw__entry_back(void *entry);
size_t gw__entry_bytes(const struct gw__entry *entry);

#endif
