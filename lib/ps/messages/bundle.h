/* SPDX-License-Identifier: MIT
 *
 * Bundles: several small messages to one node in one message of the messenger.
 * A message costs about as much as copying some kilobytes, and a server often
 * sends many messages to the same node in one turn: replies to requests that
 * arrived together, and log entries for its replicas.
 *
 *     bundle   one part: head | message | message | ...
 *     message  sizes of its parts, then the parts, each aligned to 8
 *
 * The first message of a turn to a node is sent at once, without delay. The
 * following ones are gathered and sent when the turn ends (flush), so the whole
 * turn costs two messages per node. The order per node is kept: before a large
 * message, the gathered ones are sent. A single gathered message is sent
 * unchanged, and its lent parts stay lent.
 *
 * An envelope is a bundle that an aggregator (ps/aggregate/aggregator.h) sends
 * or receives. Each message in it also has the node at its other end: the
 * sender or, on the way to the aggregator, the receiver. All its messages are
 * copied and wait for the flush.
 *
 * Packing and unpacking are pure. Bundles are sent by a callback, and unpacked
 * messages are like those of the messenger.
 */
#ifndef GW__PS_BUNDLE_H
#define GW__PS_BUNDLE_H

#include <gradwire/event.h>
#include <wire/messenger/messenger.h>

enum {
    GW__BUNDLE_SMALL = 8192, /* largest total size of a small message's parts */
    GW__BUNDLE_ROOM = 65536  /* largest bundle */
};

/* The other end of a message in an envelope. */
struct gw__bundle_end {
    unsigned node;
    uint64_t incarnation_high, incarnation_low;
};

struct gw__bundle_to {
    uint8_t *data; /* GW__BUNDLE_ROOM bytes; NULL: not allocated yet */
    size_t used;
    unsigned count;
    bool envelope;
    struct gw__message_out first; /* gathered, while it is the only one */
};

struct gw__bundles {
    /* As gw__messenger_send; must call `back` on an error. */
    void (*send)(void *context, const struct gw__message_out *message);
    void *context;
    bool off; /* send every message alone, at once */
    struct gw__bundle_to to[GW__MESSENGER_NODES];
    struct gw_nodes begun;   /* with a message in this turn */
    struct gw_nodes waiting; /* with gathered messages */
    uint64_t saved; /* messages that were sent in another one's bundle */
};

/* As gw__messenger_send. The lent parts of a small message may be returned at
 * once, or with the bundle. */
void gw__bundles_send(struct gw__bundles *bundles,
                      const struct gw__message_out *message);
/* Adds the message to an envelope for letter->node. Lent parts are returned at
 * once. False: it is too large, or out of memory; nothing was changed. */
GW_MUST_CHECK bool gw__bundles_forward(struct gw__bundles *bundles,
                                       const struct gw__message_out *message,
                                       const struct gw__bundle_end *end);
/* Sends an envelope without messages to this node: an aggregator is ready. */
void gw__bundles_greet(struct gw__bundles *bundles, unsigned node);
/* Ends a turn: sends the gathered messages. Between two flushes no peer may be
 * removed or replaced by another incarnation. */
void gw__bundles_flush(struct gw__bundles *bundles);
/* Sends the messages that wait for this node. */
void gw__bundles_flush_node(struct gw__bundles *bundles, unsigned node);
/* Drops the gathered messages and returns their lent parts. */
void gw__bundles_fini(struct gw__bundles *bundles);

bool gw__is_bundle(const struct gw__message_in *message);
bool gw__is_envelope(const struct gw__message_in *message);
/* Counts the messages in a bundle or an envelope. GW_EDATA: malformed. */
GW_MUST_CHECK enum gw_err gw__bundle_check(const struct gw__message_in *message,
                                           unsigned *count,
                                           struct gw_error *why);
/* Extracts the message at *at (0 at first) and advances *at. The message has
 * one reference, and keeps the bundle. Call it at most `count` times on a
 * checked bundle. The caller must verify the sender that an envelope gives.
 * NULL: out of memory; that message is lost. */
struct gw__message_in *gw__bundle_next(struct gw__message_in *bundle,
                                       size_t *at);

#endif
