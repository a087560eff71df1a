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

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { TRIES = 256 }; /* per receive: a flood of drops must not hold us */

/* While messages are held back, another thread may change the link profiles. */
static const uint64_t look_ns = 20 * 1000000U;

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
                             struct gw__messenger **post, struct gw_error *why)
{
    if (config->node >= GW__MESSENGER_NODES)
        return gw_fail(why, GW_EINVAL, "node %u: nodes are numbered below %d",
                       config->node, GW__MESSENGER_NODES);
    if (strcmp(config->wire, "shm") == 0)
        return gw__messenger_shm_open(config, post, why);
    if (strcmp(config->wire, "ipc") == 0 || strcmp(config->wire, "tcp") == 0)
        return gw__messenger_zmq_open(config, post, why);
    return gw_fail(why, GW_EINVAL,
                   "unknown wire \"%.40s\"; use shm, ipc or tcp", config->wire);
}

enum gw_err gw__messenger_open(const struct gw__messenger_config *config,
                               struct gw__messenger **opened,
                               struct gw_error *why)
{
    *opened = NULL;
    struct gw__messenger *post = NULL;
    enum gw_err err = open_wire(config, &post, why);
    if (!post)
        return gw_wrap(why, err, "messenger");
    post->node = config->node;
    post->incarnation_high = config->incarnation_high;
    post->incarnation_low = config->incarnation_low;
    post->token = config->token;
    post->rules = config->rules;
    post->copy_always = config->copy_always;
    gw__messenger_spin_init(&post->spin);
    *opened = post;
    return GW_OK;
}

void gw__messenger_close(struct gw__messenger **opened)
{
    struct gw__messenger *post = *opened;
    if (!post)
        return;
    *opened = NULL;
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++)
        gw__messenger_held_forget(post, node);
    gw__messenger_spin_fini(&post->spin);
    post->ops->close(post);
}

const struct gw__address *
gw__messenger_address(const struct gw__messenger *post)
{
    return &post->address;
}

const struct gw__messenger_counts *
gw__messenger_counts(const struct gw__messenger *post)
{
    return &post->counts;
}

/* ---- known peers ---- */

bool gw__messenger_knows(const struct gw__messenger *post, unsigned node,
                         uint64_t incarnation_high, uint64_t incarnation_low)
{
    if (node >= GW__MESSENGER_NODES)
        return false;
    const struct gw__messenger_peer *peer = &post->peers[node];
    return peer->known && peer->incarnation_high == incarnation_high &&
           peer->incarnation_low == incarnation_low;
}

enum gw_err gw__messenger_know(struct gw__messenger *post, unsigned node,
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
    if (node == post->node)
        return GW_OK;
    struct gw__messenger_peer *peer = &post->peers[node];
    uint64_t hash = gw_hash(address->blob, address->bytes, 0);
    if (gw__messenger_knows(post, node, incarnation_high, incarnation_low) &&
        peer->address_hash == hash)
        return GW_OK;
    gw__messenger_forget(post, node);
    peer->incarnation_high = incarnation_high;
    peer->incarnation_low = incarnation_low;
    peer->address_hash = hash;
    enum gw_err err = post->ops->know(post, node, address, why);
    if (err)
        return gw_wrap(why, err, "messenger: node %u", node);
    peer->known = true;
    return GW_OK;
}

void gw__messenger_forget(struct gw__messenger *post, unsigned node)
{
    if (node >= GW__MESSENGER_NODES || !post->peers[node].known)
        return;
    post->peers[node].known = false;
    gw__messenger_held_forget(post, node);
    post->ops->forget(post, node);
}

/* ---- sending ---- */

size_t gw__message_out_bytes(const struct gw__message_out *letter)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < letter->part_count; i++)
        bytes += letter->parts[i].bytes;
    return bytes;
}

/* A message needs at least one part. */
static bool is_letter(const struct gw__messenger *post,
                      const struct gw__message_out *letter)
{
    return letter->node < GW__MESSENGER_NODES && letter->part_count > 0 &&
           letter->part_count <= GW__MESSENGER_PARTS &&
           (letter->node == post->node || post->peers[letter->node].known);
}

enum gw_err gw__messenger_send(struct gw__messenger *post,
                               const struct gw__message_out *letter)
{
    size_t lent_bytes = 0;
    if (!is_letter(post, letter))
        return GW_EUNREACH;
    enum gw_err err = letter->node == post->node
                          ? gw__messenger_held_own(post, letter)
                          : post->ops->send(post, letter, &lent_bytes);
    if (err)
        return err;
    post->counts.sent++;
    post->counts.bytes_sent += gw__message_out_bytes(letter);
    post->counts.lent_bytes += lent_bytes;
    return GW_OK;
}

/* ---- receiving ---- */

/* Takes no more messages than can be held. */
static struct gw__messenger_message *next_message(struct gw__messenger *post,
                                                  bool held)
{
    if (held)
        return gw__messenger_held_take(post);
    if (post->held.count >= GW__MESSENGER_HELD_MAX)
        return NULL;
    return post->ops->take(post);
}

enum gw_err gw__messenger_receive(struct gw__messenger *post,
                                  struct gw__message_in **parcel)
{
    bool held = post->held_first;
    *parcel = NULL;
    post->held_first = !held;
    post->ops->tend(post);
    gw__messenger_held_heed(post);
    for (unsigned nothing = 0, i = 0; nothing < 2 && i < TRIES; i++) {
        struct gw__messenger_message *taken = next_message(post, held);
        if (taken && (held || gw__messenger_held_admit(post, taken))) {
            post->counts.received++;
            post->counts.bytes_received += taken->bytes;
            *parcel = &taken->parcel;
            return GW_OK;
        }
        held ^= !taken;
        nothing = taken ? 0 : nothing + 1;
    }
    return GW_PENDING;
}

/* ---- waiting ---- */

void gw__messenger_wait(struct gw__messenger *post, uint64_t deadline_ns)
{
    uint64_t due_ns = gw__messenger_held_due(post), now_ns = gw_now_ns();
    bool moved = post->ops->tend(post);
    if (due_ns != UINT64_MAX && deadline_ns > now_ns + look_ns)
        deadline_ns = now_ns + look_ns;
    if (deadline_ns > due_ns)
        deadline_ns = due_ns;
    while (!moved && !atomic_load(&post->woken) && !post->ops->ready(post) &&
           gw_now_ns() < deadline_ns) {
        if (!gw__messenger_spin(post, deadline_ns))
            post->ops->sleep(post, deadline_ns);
        moved = post->ops->tend(post);
    }
    atomic_exchange(&post->woken, false);
}

void gw__messenger_wake(struct gw__messenger *post)
{
    atomic_store(&post->woken, true);
    post->ops->rouse(post);
}
