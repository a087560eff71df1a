/* SPDX-License-Identifier: MIT
 *
 * Bundles: small letters to one node travel as one message of the post. A
 * message costs about as much as some kilobytes of copying, and in one turn a
 * server often has many letters for the same node: answers to requests that
 * came together, the entries of its slots for their replicas.
 *
 *     message   one part: head | letter | letter | ...
 *     letter    sizes of its parts, then the parts, each from a multiple of 8
 *
 * The first letter of a turn to a node leaves at once: whoever waits for it
 * waits for nothing else. Those behind it are gathered, and leave when the turn
 * ends (flush), so many letters are two messages. Letters to a node keep their
 * order: a large one sends what was gathered first. If only one was gathered it
 * travels as it is, and what is lent of it stays lent.
 *
 * Packing and unpacking are pure; messages leave by a function, and what is
 * unpacked are parcels like those of the post.
 */
#ifndef GW__PS_BUNDLE_H
#define GW__PS_BUNDLE_H

#include <gradwire/event.h>
#include <wire/messenger/messenger.h>

enum {
    GW__BUNDLE_SMALL = 8192, /* bytes of a letter's parts, and below */
    GW__BUNDLE_ROOM = 65536  /* bytes of a message */
};

struct gw__bundle_to {
    uint8_t *data; /* GW__BUNDLE_ROOM bytes; NULL: not needed so far */
    size_t used;
    unsigned count;
    struct gw__message_out first; /* gathered, while it is the only one */
};

struct gw__bundles {
    /* Must do what gw__messenger_send does, and call `back` on an error. */
    void (*send)(void *context, const struct gw__message_out *letter);
    void *context;
    bool off; /* every letter travels alone, at once */
    struct gw__bundle_to to[GW__MESSENGER_NODES];
    uint64_t begun;   /* nodes, as bits, that got a letter in this turn */
    uint64_t waiting; /* those for which something is gathered */
    uint64_t saved;   /* letters that travelled in another one's message */
};

/* Takes the letter as gw__messenger_send does. What is lent of a small one may come
 * back at once, or with the letter behind it. */
void gw__bundles_send(struct gw__bundles *bundles,
                      const struct gw__message_out *letter);
/* Ends a turn: sends what was gathered. Between two flushes no peer may be
 * forgotten or replaced by another incarnation. */
void gw__bundles_flush(struct gw__bundles *bundles);
/* Forgets what was gathered; what was lent of it comes back. */
void gw__bundles_fini(struct gw__bundles *bundles);

bool gw__is_bundle(const struct gw__message_in *parcel);
/* How many letters are in it; GW_EDATA: it is not what gw__bundles_send makes.
 */
GW_MUST_CHECK enum gw_err gw__bundle_check(const struct gw__message_in *parcel,
                                           unsigned *count,
                                           struct gw_error *why);
/* The letter that begins at *at (0 at first), as a parcel with one hold that
 * holds the bundle; *at is moved on. Only `count` times, of a bundle that was
 * checked. NULL: no memory, that letter is lost. */
struct gw__message_in *gw__bundle_next(struct gw__message_in *bundle,
                                       size_t *at);

#endif
