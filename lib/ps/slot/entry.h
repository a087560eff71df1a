/* SPDX-License-Identifier: MIT
 *
 * One entry of a slot's log, a push, a list of round commits or a clock
 * command, with the requests that wait for it.
 *
 * Until it is applied, its data stay in the message that brought them, which
 * the entry references. Applying acknowledges a push and returns the memory to
 * the worker, so data that are needed later (by a learner) are copied then.
 * Messages that lend the data reference the entry, so it may outlive the log
 * and the server.
 */
#ifndef GW__PS_ENTRY_H
#define GW__PS_ENTRY_H

#include "ps/messages/keys.h"

enum gw__entry_kind {
    GW__ENTRY_PUSH = 1,
    GW__ENTRY_CLOSE, /* data: group, count, round commits */
    GW__ENTRY_CLOCK, /* data: a clock command */
    GW__ENTRY_KINDS
};

struct gw__request;
struct gw__wait {
    struct gw__request *request;
    struct gw__wait *next;
    unsigned segment; /* of the request; a clock request has one, 0 */
};

struct gw__entry {
    unsigned holds;        /* the log and messages */
    unsigned borrow_count; /* messages that use `message` or `owned` */
    enum gw__entry_kind kind;
    uint64_t index;
    /* For pushes. */
    uint32_t node;
    uint64_t incarnation;
    uint64_t sequence, low_watermark, clock;
    uint16_t table;
    uint8_t group; /* for all kinds */
    bool half;
    bool at_once;          /* the slot has no followers: not in a log */
    struct gw__keys *keys; /* referenced; NULL: only `key_data` */
    const uint64_t *key_data;
    uint32_t key_count;
    const void *data; /* values, or as described for the kind */
    size_t bytes;
    struct gw__message_in *message; /* referenced; NULL: `owned` has the data */
    struct gw__message_in *retired; /* referenced until no message uses it */
    void *owned;
    struct gw__wait *waits;
};

/* Returns the entry with one reference. NULL: out of memory. gw__entry_own
 * copies the `data` of an entry without a message. */
struct gw__entry *gw__entry_new(const struct gw__entry *like);
void gw__entry_release(struct gw__entry *entry);
/* Copies the data, so that the message is not needed any more. False: out of
 * memory; nothing has changed. */
GW_MUST_CHECK bool gw__entry_own(struct gw__entry *entry);
/* The data are lent to a message, whose `back` is gw__entry_back. */
void gw__entry_lend(struct gw__entry *entry);
void gw__entry_back(void *entry);
size_t gw__entry_bytes(const struct gw__entry *entry);

#endif
