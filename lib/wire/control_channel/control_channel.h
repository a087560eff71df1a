/* SPDX-License-Identifier: MIT
 *
 * Control messages between the processes of a run: small, datagram-like, to a
 * node by its number. ZeroMQ carries them (ipc or tcp, CURVE with a key file),
 * so a message arrives whole or not at all; it may be lost when a peer is not
 * there, slow or cut off: protocols repeat what matters. Nothing blocks.
 *
 * Each process binds one ROUTER at its endpoint and keeps one DEALER for each
 * node that it sends to, made on the first send and anew when the node has
 * another endpoint or incarnation. Every message begins with
 *
 *     magic version | from, to | token | incarnation (128 bits) | sent_ns |
 *     process | bytes ...
 *
 * The process is where on the host the sender runs (watch.h), so that who has
 * not heard from it for long can look at it.
 *
 * What is malformed, of another run (`token`) or for another node is dropped
 * and counted. To abstract ipc endpoints only processes of the same user may
 * connect.
 *
 * A mesh in `bulk` is for few processes that say much and want to know at once
 * who is away, as the controllers' log does: its messages may be longer, and
 * what cannot leave now is not kept but said to be lost.
 *
 * Link rules (rules.h) apply to what comes in. One thread at a time.
 */
#ifndef GW__CONTROL_CHANNEL_H
#define GW__CONTROL_CHANNEL_H

#include "wire/emulation/rules.h"
#include "wire/process_watch.h"

enum {
    GW__CONTROL_CHANNEL_NODES = 64,
    GW__CONTROL_CHANNEL_BYTES_MAX = 65536,
    GW__CONTROL_CHANNEL_BULK_MAX = (4 << 20) + 65536, /* in bulk */
    GW__CONTROL_CHANNEL_ENDPOINT_MAX = 120
};

struct gw__control_channel_config {
    unsigned node;
    uint64_t incarnation_high, incarnation_low;
    /* Where to listen: "ipc://@name", "tcp://host:port", "tcp://host:*". */
    const char *endpoint;
    uint64_t token;          /* of the run: same for all its processes */
    const char *key_file;    /* NULL: none */
    bool insecure;           /* tcp outside loopback without a key */
    bool bulk;               /* see above */
    struct gw__rules *rules; /* not owned; NULL: none */
};

struct gw__control_channel_message {
    unsigned from;
    uint64_t incarnation_high, incarnation_low;
    const void *data; /* until the next receive */
    size_t bytes;
};

struct gw__control_channel;

/* GW_EUNREACH: cannot listen there. GW_EINVAL: not a place where one should, a
 * bad key file. GW_ESYS: not enough open files are allowed (for which the soft
 * limit is raised), or something else that the system refuses. */
GW_MUST_CHECK enum gw_err
gw__control_channel_open(const struct gw__control_channel_config *config,
                         struct gw__control_channel **mesh,
                         struct gw_error *why);
/* Waits for nobody; what was sent just before gets up to 100 ms to leave. */
void gw__control_channel_close(struct gw__control_channel **mesh);
/* Where it listens, with the port that it got. */
const char *
gw__control_channel_endpoint(const struct gw__control_channel *mesh);

/* GW_EINVAL with a sentence: no endpoint that peers could be told. */
GW_MUST_CHECK enum gw_err
gw__control_channel_check_endpoint(const char *endpoint, struct gw_error *why);
/* The same of where to listen: the port may be "*", and one that is open to the
 * network must be `allowed`. */
GW_MUST_CHECK enum gw_err
gw__control_channel_check_listen(const char *endpoint, bool allowed,
                                 struct gw_error *why);
/* Where `node` listens; a change makes a new connection (in bulk at once, else
 * when something is sent). "" forgets it.
 * GW_EINVAL: no such node or endpoint. GW_ESYS: no open files for it. */
GW_MUST_CHECK enum gw_err
gw__control_channel_know(struct gw__control_channel *mesh, unsigned node,
                         const char *endpoint, struct gw_error *why);
/* GW_OK also when it will be lost; GW_EUNREACH: no endpoint is known, or, in
 * bulk, it is not connected or does not read; GW_EINVAL: too long. A message to
 * the own node comes back by `receive`. */
enum gw_err gw__control_channel_send(struct gw__control_channel *mesh,
                                     unsigned node, const void *data,
                                     size_t bytes);
/* GW_OK with the next message that is due, or GW_PENDING. */
GW_MUST_CHECK enum gw_err
gw__control_channel_receive(struct gw__control_channel *mesh,
                            struct gw__control_channel_message *message);
/* Sleeps until there may be something to receive, `extra_fd` (or -1) is
 * readable, or gw_now_ns() is `deadline_ns`. */
void gw__control_channel_wait(struct gw__control_channel *mesh, int extra_fd,
                              uint64_t deadline_ns);
/* For who sleeps elsewhere, without rules: the descriptor turns readable when
 * there may be news, and says so once; before each sleep the other must have
 * been false. */
int gw__control_channel_fd(const struct gw__control_channel *mesh);
bool gw__control_channel_has_some(const struct gw__control_channel *mesh);

/* Which process has spoken as this incarnation of the node; NULL: none, of
 * late. */
const struct gw__process_watch_id *
gw__control_channel_process(const struct gw__control_channel *mesh,
                            unsigned node, uint64_t incarnation_low);

struct gw__control_channel_counts {
    uint64_t sent, received, dropped_by_rule, refused, overflowed;
};
const struct gw__control_channel_counts *
gw__control_channel_counts(const struct gw__control_channel *mesh);

#endif
