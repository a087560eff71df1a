/* SPDX-License-Identifier: MIT
 *
 * MEET: the members of a view exchange the addresses of their ends of its data
 * wire.
 *
 *     MEET  ring epoch | is it a request? | (node, bytes, address) ...
 *
 * It is an all-gather by dissemination (Bruck's, with radix 16): in round r a
 * member sends the addresses of its block, which are those of itself and of the
 * 16^r - 1 ranks before it, to the members 16^r, 2 * 16^r, ... 15 * 16^r ranks
 * after it. So up to 16 members send to each other directly, and n members send
 * 15 log16(n) messages each. A block leaves once, when it is whole.
 *
 * A message may be lost. A member that lacks addresses after a while sends a
 * request to the members whose messages contain them. These answer with the
 * known part of their blocks. So no message needs a confirmation.
 *
 * Within a ring epoch a node is one process and has one address, whoever sends
 * it. An address of a later view than ours is kept, because its sender may be
 * ahead.
 */
#include "member_parts.h"

#include <string.h>

enum {
    RADIX = 16,
    AGAIN_NS = 30000000,
    ENTRY_BYTES = 2 + 2, /* and the address */
};

/* ---- known addresses ---- */

/* Is the view of the exchange still ours? */
static bool is_current_exchange(const struct gw__member_core *m)
{
    return m->address_epoch && m->address_epoch == m->view.ring_epoch;
}

static bool knows(const struct gw__member_core *m, unsigned node)
{
    return node == m->node ||
           (gw__nodes_has(&m->address_nodes, node) &&
            m->addresses[node].ring_epoch == m->address_epoch);
}

static const uint8_t *address_of(const struct gw__member_core *m, unsigned node,
                                 size_t *bytes)
{
    *bytes = node == m->node ? m->address_bytes : m->addresses[node].bytes;
    if (node == m->node)
        return m->address;
    return *bytes <= GW__SHORT_BLOB ? m->short_blobs[node] : m->blobs[node];
}

/* The node that is `distance` ranks before this one in the ring. */
static unsigned node_before(const struct gw__member_core *m, unsigned distance)
{
    unsigned n = m->view.ring_count;
    unsigned rank = (unsigned)gw__view_rank(&m->view, m->node);
    return m->view.ring[(rank + n - distance) % n].node;
}

static unsigned node_after(const struct gw__member_core *m, unsigned distance)
{
    return node_before(m, m->view.ring_count - distance);
}

/* The stride of the round whose messages cover this distance, which is not 0:
 * the highest power of the radix that is not above it. */
static unsigned stride_of(unsigned distance)
{
    unsigned stride = 1;
    while (distance / RADIX >= stride)
        stride *= RADIX;
    return stride;
}

/* ---- sending ---- */

static struct gw__writer begin(const struct gw__member_core *m, bool is_request,
                               uint8_t out[GW__MESSAGE_MAX])
{
    struct gw__writer w = gw__writer_on(out, GW__MESSAGE_MAX);
    gw__put_u8(&w, GW__PROTOCOL_ADDRESS);
    gw__put_u64(&w, m->address_epoch);
    gw__put_u8(&w, is_request);
    return w;
}

static void put_address(const struct gw__member_core *m, struct gw__writer *w,
                        unsigned node)
{
    size_t bytes;
    const uint8_t *address = address_of(m, node, &bytes);
    gw__put_node(w, node);
    gw__put_u16(w, (unsigned)bytes);
    gw__put_bytes(w, address, bytes);
}

/* Sends the known addresses of the first `count` members of the block, in as
 * many messages as they need. */
static void send_block(const struct gw__member_core *m, unsigned to,
                       unsigned count)
{
    uint8_t out[GW__MESSAGE_MAX];
    struct gw__writer w = begin(m, false, out);
    for (unsigned distance = 0; distance < count; distance++) {
        unsigned node = node_before(m, distance);
        if (!knows(m, node))
            continue;
        if (w.used + ENTRY_BYTES + GW__BLOB_MAX > sizeof out) {
            m->act->send(m->act->driver, to, out, w.used);
            w = begin(m, false, out);
        }
        put_address(m, &w, node);
    }
    m->act->send(m->act->driver, to, out, w.used);
}

/* How much of the block does the member need that is `distance` ranks after
 * this one? */
static unsigned block_for(const struct gw__member_core *m, unsigned distance)
{
    unsigned stride = stride_of(distance);
    unsigned left = m->view.ring_count - distance;
    return stride < left ? stride : left;
}

static void send_round(const struct gw__member_core *m, unsigned stride)
{
    unsigned n = m->view.ring_count;
    for (unsigned i = 1; i < RADIX && i * stride < n; i++)
        send_block(m, node_after(m, i * stride), block_for(m, i * stride));
}

static void request_from(const struct gw__member_core *m, unsigned to)
{
    uint8_t out[GW__MESSAGE_MAX];
    struct gw__writer w = begin(m, true, out);
    put_address(m, &w, m->node);
    m->act->send(m->act->driver, to, out, w.used);
}

/* Sends a request to each sender of missing addresses. */
static void request_missing(struct gw__member_core *m)
{
    unsigned requested = 0;
    for (unsigned d = m->address_reach; d < m->view.ring_count; d++) {
        unsigned sender = d - d % stride_of(d);
        if (knows(m, node_before(m, d)) || sender == requested)
            continue;
        request_from(m, node_before(m, sender));
        requested = sender;
    }
}

/* The pause before requests. In a large ring it grows, since all members have
 * much to do there. */
static uint64_t again_ns(const struct gw__member_core *m)
{
    enum { LARGE = 64, DOUBLINGS = 4 };
    unsigned doublings =
        m->address_retries < DOUBLINGS ? m->address_retries : DOUBLINGS;
    return m->view.ring_count > LARGE ? (uint64_t)AGAIN_NS << doublings
                                      : AGAIN_NS;
}

/* ---- the exchange ---- */

/* Sends the blocks that have become whole, and notifies the application when
 * all addresses are known. */
static void continue_exchange(struct gw__member_core *m)
{
    unsigned n = m->view.ring_count;
    while (m->address_reach < n && knows(m, node_before(m, m->address_reach)))
        m->address_reach++;
    for (; m->address_stride < n && m->address_reach >= m->address_stride;
         m->address_stride *= RADIX)
        send_round(m, m->address_stride);
    if (m->address_reach < n || m->has_all_addresses)
        return;
    struct gw__notification notification = {.kind = GW__NOTIFY_ADDRESSES,
                                            .epoch = m->address_epoch,
                                            .node = m->node};
    m->has_all_addresses = true;
    m->address_retry_ns = 0;
    gw__member_notify(m, &notification);
}

void gw__addresses_begin(struct gw__member_core *m, uint64_t ring_epoch,
                         const void *blob, size_t bytes)
{
    if (bytes > GW__BLOB_MAX || ring_epoch != m->view.ring_epoch ||
        gw__view_rank(&m->view, m->node) < 0)
        return; /* another view has come */
    m->address_epoch = ring_epoch;
    m->address_bytes = bytes;
    m->has_all_addresses = false;
    m->address_reach = 0;
    m->address_stride = 1;
    m->address_retries = 0;
    if (bytes)
        memcpy(m->address, blob, bytes);
    m->address_retry_ns = m->now_ns + again_ns(m);
    continue_exchange(m);
}

void gw__addresses_tick(struct gw__member_core *m)
{
    if (!is_current_exchange(m)) {
        m->address_retry_ns = 0;
    } else if (m->address_retry_ns && m->now_ns >= m->address_retry_ns) {
        request_missing(m);
        m->address_retry_ns = m->now_ns + again_ns(m);
        m->address_retries++;
    }
}

static void keep_address(struct gw__member_core *m, uint64_t ring_epoch,
                         unsigned node, const void *address, size_t bytes)
{
    struct gw__peer_address *kept = &m->addresses[node];
    if (node == m->node || (gw__nodes_has(&m->address_nodes, node) &&
                            ring_epoch < kept->ring_epoch))
        return;
    gw__nodes_add(&m->address_nodes, node);
    *kept = (struct gw__peer_address){ring_epoch, bytes};
    memcpy(bytes <= GW__SHORT_BLOB ? m->short_blobs[node] : m->blobs[node],
           address, bytes);
}

/* Reads the addresses of a message; with `m` keeps them, too. */
static void read_addresses(struct gw__reader *r, uint64_t ring_epoch,
                           struct gw__member_core *m)
{
    while (r->left > 0 && !r->bad) {
        unsigned node = gw__get_node(r);
        size_t bytes = gw__get_u16_below(r, GW__BLOB_MAX + 1);
        gw__reader_demand(r, bytes <= r->left);
        if (r->bad)
            return;
        if (m)
            keep_address(m, ring_epoch, node, r->at, bytes);
        r->at += bytes;
        r->left -= bytes;
    }
}

void gw__addresses_message(struct gw__member_core *m,
                           const struct gw__input *input)
{
    struct gw__reader r = gw__reader_on(input->data, input->bytes);
    (void)gw__get_u8(&r);
    uint64_t ring_epoch = gw__get_u64(&r);
    bool is_request = gw__get_bool(&r);
    struct gw__reader checked = r;
    read_addresses(&checked, ring_epoch, NULL);
    if (checked.bad)
        return;
    read_addresses(&r, ring_epoch, m);
    if (!is_current_exchange(m) || ring_epoch != m->address_epoch)
        return;
    continue_exchange(m);
    int rank = gw__view_rank(&m->view, input->from);
    if (!is_request || rank < 0 || input->from == m->node)
        return;
    unsigned n = m->view.ring_count;
    unsigned own = (unsigned)gw__view_rank(&m->view, m->node);
    send_block(m, input->from, block_for(m, ((unsigned)rank + n - own) % n));
}

const void *gw__member_address(const void *state, uint64_t ring_epoch,
                               unsigned node, size_t *bytes)
{
    const struct gw__member_core *m = state;
    *bytes = 0;
    if (!is_current_exchange(m) || ring_epoch != m->address_epoch ||
        gw__view_rank(&m->view, node) < 0 || !knows(m, node))
        return NULL;
    return address_of(m, node, bytes);
}
