/* SPDX-License-Identifier: MIT
 *
 * Control messages between the processes of a run: small datagrams, addressed
 * by node number. ZeroMQ carries them (ipc or tcp, CURVE with a key file), so a
 * message arrives whole or not at all. It may be lost when a peer is absent,
 * slow or cut off: protocols repeat important messages. Nothing blocks.
 *
 * Each process binds one ROUTER at its endpoint and keeps one DEALER for each
 * node that it sends to. The DEALER is made on the first send, and again when
 * the node's endpoint or incarnation changes. Every message begins with
 *
 *     magic version | from, to | token | incarnation (128 bits) | sent_ns |
 *     process | bytes ...
 *
 * `process` identifies the sender's process on its host (process_watch.h), so
 * that a receiver can examine a process that has been silent for long.
 *
 * Messages that are malformed, of another run (`token`) or for another node are
 * dropped and counted. Only processes of the same user may connect to abstract
 * ipc endpoints.
 *
 * A channel in `bulk` is for a few processes that send much data and must know
 * at once which peers are away, such as the controllers' log. Its messages may
 * be longer, and a message that cannot leave now is not queued but reported as
 * lost.
 *
 * Link profiles (rules.h) apply to arriving messages. One thread at a time.
 */
#ifndef GW__CONTROL_CHANNEL_H
#define GW__CONTROL_CHANNEL_H

#include "wire/emulation/link_profiles.h"

#include "wire/process_watch.h"
#include <wire/security.h>

enum {
    GW__CONTROL_CHANNEL_NODES = GW__NODES_MAX,
    GW__CONTROL_CHANNEL_BYTES_MAX = 131072,
    GW__CONTROL_CHANNEL_BULK_MAX = (4 << 20) + 65536, /* in bulk */
    GW__CONTROL_CHANNEL_ENDPOINT_MAX = 120
};

struct gw__control_channel_config {
    unsigned node;
    uint64_t incarnation_high, incarnation_low;
    /* Endpoint to listen at: "ipc://@name", "tcp://host:port", "tcp://host:*".
     */
    const char *endpoint;
    struct gw__security security;
    bool bulk;                          /* see above */
    struct gw__link_profiles *profiles; /* not owned; NULL: none */
};

struct gw__control_channel_message {
    unsigned from;
    uint64_t incarnation_high, incarnation_low;
    const void *data; /* until the next receive */
    size_t bytes;
};

struct gw__control_channel;

/* GW_EUNREACH: cannot listen there. GW_EINVAL: an endpoint that is not allowed,
 * or a bad key file. GW_ESYS: too few open files are allowed (the soft limit is
 * raised if possible), or another system error. */
GW_MUST_CHECK enum gw_err
gw__control_channel_open(const struct gw__control_channel_config *config,
                         struct gw__control_channel **channel,
                         struct gw_error *why);
/* Does not wait for peers; messages just sent have up to 100 ms to leave. */
void gw__control_channel_close(struct gw__control_channel **channel);
/* The endpoint where it listens, with the actual port. */
const char *
gw__control_channel_endpoint(const struct gw__control_channel *channel);

/* GW_EINVAL with a message: peers could not use this endpoint. */
GW_MUST_CHECK enum gw_err
gw__control_channel_check_endpoint(const char *endpoint, struct gw_error *why);
/* The same for an endpoint to listen at: the port may be "*", and `allowed`
 * must be true for one that is open to the network. */
GW_MUST_CHECK enum gw_err
gw__control_channel_check_listen(const char *endpoint, bool allowed,
                                 struct gw_error *why);
/* Sets the endpoint of `node`. A change makes a new connection: at once in
 * bulk, else on the next send. "" removes the endpoint. GW_EINVAL: invalid node
 * or endpoint. GW_ESYS: no open files for it. */
GW_MUST_CHECK enum gw_err
gw__control_channel_know(struct gw__control_channel *channel, unsigned node,
                         const char *endpoint, struct gw_error *why);
/* GW_OK, even if the message will be lost. GW_EUNREACH: the endpoint is not
 * known or, in bulk, the peer is not connected or does not read. GW_EINVAL: too
 * long. A message to the own node is returned by `receive`. */
enum gw_err gw__control_channel_send(struct gw__control_channel *channel,
                                     unsigned node, const void *data,
                                     size_t bytes);
/* GW_OK with the next message that is due, or GW_PENDING. */
GW_MUST_CHECK enum gw_err
gw__control_channel_receive(struct gw__control_channel *channel,
                            struct gw__control_channel_message *message);
/* Sleeps until there may be a message, `extra_fd` (or -1) is readable, or
 * gw_now_ns() is `deadline_ns`. */
void gw__control_channel_wait(struct gw__control_channel *channel, int extra_fd,
                              uint64_t deadline_ns);
/* For a caller that sleeps elsewhere, without link profiles: the descriptor
 * becomes readable when there may be messages, but only once. So before each
 * sleep gw__control_channel_has_some must have returned false. */
int gw__control_channel_fd(const struct gw__control_channel *channel);
bool gw__control_channel_has_some(const struct gw__control_channel *channel);

/* The process that has sent as this incarnation of the node; NULL: none of the
 * last two. */
const struct gw__process_watch_id *
gw__control_channel_process(const struct gw__control_channel *channel,
                            unsigned node, uint64_t incarnation_low);

struct gw__control_channel_counts {
    uint64_t sent, received, dropped_by_profile, refused, overflowed;
};
const struct gw__control_channel_counts *
gw__control_channel_counts(const struct gw__control_channel *channel);

#endif
