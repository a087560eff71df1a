/* SPDX-License-Identifier: MIT
 *
 * The messenger without its transports: opening by name, known peers, and the
 * paths of a message.
 *
 *     send:     message -> own node?  -> copy -> held
 *                       -> transport (which may queue it for room)
 *     receive:  transport -> profile (lost, link down) -> due now? -> user
 *                                         held <--------- no        ^
 *                                           `---- when it is due ---'
 *
 * Held messages and the transport take turns, so that neither starves the
 * other.
 */
#include "messenger_parts.h"

#include "wire/seal.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { TRIES = 256 }; /* per receive: a flood of drops must not hold us */

/* While messages are held back, another thread may change the link profiles. */
static const uint64_t poll_ns = 20 * 1000000U;

/* ---- what the transports share ---- */

bool gw__messenger_has_ended(const struct gw__process_watch_id *process)
{
    struct gw__process_watch process_watch;
    bool ended =
        gw__process_watch_init(&process_watch, 1, NULL) == GW_OK &&
        gw__process_watch_add(&process_watch, 0, process, NULL) == GW_OK &&
        gw__process_watch_poll(&process_watch) >= 0;
    gw__process_watch_fini(&process_watch);
    return ended;
}

/* Each received message is a block of malloc. glibc maps and unmaps blocks
 * above a threshold of 32 MiB at most, and unmaps its threads' heaps when they
 * are empty. Every message would then cost page faults, which take longer than
 * the copy (2.7 GB/s instead of 7.5). So no block is mapped separately, and
 * heaps are kept: they grow by more than a thread's heap (64 MiB) can need.
 * This holds for the whole process, which keeps as much memory as it has ever
 * needed. */
static void keep_large_blocks(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 128 << 20);
}

void gw__messenger_keep_blocks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, keep_large_blocks);
}

/* ---- opening and closing ---- */

enum gw_err gw__messenger_nonce(uint64_t *nonce, struct gw_error *why)
{
    do
        if (getrandom(nonce, sizeof *nonce, 0) != sizeof *nonce)
            return gw_fail_errno(why, "getrandom");
    while (*nonce == 0);
    return GW_OK;
}

static enum gw_err open_wire(const struct gw__messenger_config *config,
                             struct gw__messenger **messenger,
                             struct gw_error *why)
{
    if (config->node >= GW__MESSENGER_NODES)
        return gw_fail(why, GW_EINVAL, "node %u: nodes are numbered below %d",
                       config->node, GW__MESSENGER_NODES);
    if (strcmp(config->wire, "shm") == 0)
        return gw__messenger_shm_open(config, messenger, why);
    if (strcmp(config->wire, "ipc") == 0 || strcmp(config->wire, "tcp") == 0)
        return config->security.key_file && !gw__seal_is_built()
                   ? gw__messenger_zmq_open(config, messenger, why)
                   : gw__messenger_socket_open(config, messenger, why);
    if (strcmp(config->wire, "zmq") == 0)
        return gw__messenger_zmq_open(config, messenger, why);
    return gw_fail(why, GW_EINVAL,
                   "unknown wire \"%.40s\"; use shm, ipc, tcp or zmq",
                   config->wire);
}

enum gw_err gw__messenger_open(const struct gw__messenger_config *config,
                               struct gw__messenger **opened,
                               struct gw_error *why)
{
    *opened = NULL;
    struct gw__messenger *messenger = NULL;
    enum gw_err err = open_wire(config, &messenger, why);
    if (!messenger)
        return gw_wrap(why, err, "messenger");
    messenger->node = config->node;
    messenger->incarnation_high = config->incarnation_high;
    messenger->incarnation_low = config->incarnation_low;
    messenger->token = config->security.token;
    messenger->profiles = config->profiles;
    messenger->copy_always = config->copy_always;
    gw__messenger_spin_init(&messenger->spin);
    *opened = messenger;
    return GW_OK;
}

void gw__messenger_close(struct gw__messenger **opened)
{
    struct gw__messenger *messenger = *opened;
    if (!messenger)
        return;
    *opened = NULL;
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++)
        gw__messenger_held_forget(messenger, node);
    messenger->ops->close(messenger);
}

const struct gw__address *
gw__messenger_address(const struct gw__messenger *messenger)
{
    return &messenger->address;
}

const struct gw__messenger_counts *
gw__messenger_counts(const struct gw__messenger *messenger)
{
    return &messenger->counts;
}

/* ---- known peers ---- */

bool gw__messenger_knows(const struct gw__messenger *messenger, unsigned node,
                         uint64_t incarnation_high, uint64_t incarnation_low)
{
    if (node >= GW__MESSENGER_NODES)
        return false;
    const struct gw__messenger_peer *peer = &messenger->peers[node];
    return peer->known && peer->incarnation_high == incarnation_high &&
           peer->incarnation_low == incarnation_low;
}

enum gw_err gw__messenger_know(struct gw__messenger *messenger, unsigned node,
                               uint64_t incarnation_high,
                               uint64_t incarnation_low,
                               const struct gw__address *address,
                               struct gw_error *why)
{
    if (node >= GW__MESSENGER_NODES)
        return gw_fail(why, GW_EDATA,
                       "messenger: node %u: nodes are numbered below %d", node,
                       GW__MESSENGER_NODES);
    if (address->bytes > GW__ADDRESS_MAX)
        return gw_fail(why, GW_EDATA,
                       "messenger: node %u: an address cannot have %zu bytes",
                       node, address->bytes);
    if (node == messenger->node)
        return GW_OK;
    struct gw__messenger_peer *peer = &messenger->peers[node];
    uint64_t hash = gw_hash(address->blob, address->bytes, 0);
    if (gw__messenger_knows(messenger, node, incarnation_high,
                            incarnation_low) &&
        peer->address_hash == hash)
        return GW_OK;
    gw__messenger_forget(messenger, node);
    peer->incarnation_high = incarnation_high;
    peer->incarnation_low = incarnation_low;
    peer->address_hash = hash;
    enum gw_err err = messenger->ops->know(messenger, node, address, why);
    if (err)
        return gw_wrap(why, err, "messenger: node %u", node);
    peer->known = true;
    return GW_OK;
}

void gw__messenger_forget(struct gw__messenger *messenger, unsigned node)
{
    if (node >= GW__MESSENGER_NODES || !messenger->peers[node].known)
        return;
    messenger->peers[node].known = false;
    gw__messenger_held_forget(messenger, node);
    messenger->ops->forget(messenger, node);
}

/* ---- sending ---- */

size_t gw__message_out_bytes(const struct gw__message_out *message)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < message->part_count; i++)
        bytes += message->parts[i].bytes;
    return bytes;
}

/* A message needs at least one part. */
static bool is_message(const struct gw__messenger *messenger,
                       const struct gw__message_out *message)
{
    return message->node < GW__MESSENGER_NODES && message->part_count > 0 &&
           message->part_count <= GW__MESSENGER_PARTS &&
           (message->node == messenger->node ||
            messenger->peers[message->node].known);
}

enum gw_err gw__messenger_send(struct gw__messenger *messenger,
                               const struct gw__message_out *message)
{
    size_t borrowed_bytes = 0;
    if (!is_message(messenger, message))
        return GW_EUNREACH;
    enum gw_err err =
        message->node == messenger->node
            ? gw__messenger_held_own(messenger, message)
            : messenger->ops->send(messenger, message, &borrowed_bytes);
    if (err)
        return err;
    messenger->counts.sent++;
    messenger->counts.bytes_sent += gw__message_out_bytes(message);
    messenger->counts.borrowed_bytes += borrowed_bytes;
    return GW_OK;
}

/* ---- receiving ---- */

/* Takes no more messages than can be held. */
static struct gw__messenger_message *
next_message(struct gw__messenger *messenger, bool held)
{
    if (held)
        return gw__messenger_held_pop(messenger);
    if (messenger->held.count >= GW__MESSENGER_HELD_MAX)
        return NULL;
    return messenger->ops->pop(messenger);
}

enum gw_err gw__messenger_receive(struct gw__messenger *messenger,
                                  struct gw__message_in **message)
{
    bool held = messenger->held_first;
    *message = NULL;
    messenger->held_first = !held;
    messenger->ops->tend(messenger);
    gw__messenger_held_heed(messenger);
    for (unsigned nothing = 0, i = 0; nothing < 2 && i < TRIES; i++) {
        struct gw__messenger_message *popped = next_message(messenger, held);
        if (popped && (held || gw__messenger_held_admit(messenger, popped))) {
            messenger->counts.received++;
            messenger->counts.bytes_received += popped->bytes;
            *message = &popped->in;
            return GW_OK;
        }
        held ^= !popped;
        nothing = popped ? 0 : nothing + 1;
    }
    return GW_PENDING;
}

/* ---- waiting ---- */

void gw__messenger_wait(struct gw__messenger *messenger, uint64_t deadline_ns)
{
    uint64_t due_ns = gw__messenger_held_due(messenger), now_ns = gw_now_ns();
    bool moved = messenger->ops->tend(messenger);
    if (due_ns != UINT64_MAX && deadline_ns > now_ns + poll_ns)
        deadline_ns = now_ns + poll_ns;
    if (deadline_ns > due_ns)
        deadline_ns = due_ns;
    while (!moved && !atomic_load(&messenger->woken) &&
           !messenger->ops->ready(messenger) && gw_now_ns() < deadline_ns) {
        if (!gw__messenger_spin(messenger, deadline_ns))
            messenger->ops->sleep(messenger, deadline_ns);
        moved = messenger->ops->tend(messenger);
    }
    atomic_exchange(&messenger->woken, false);
}

void gw__messenger_wake(struct gw__messenger *messenger)
{
    atomic_store(&messenger->woken, true);
    messenger->ops->rouse(messenger);
}
