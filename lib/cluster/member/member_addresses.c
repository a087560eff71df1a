/* SPDX-License-Identifier: MIT
 *
 * The meeting: the members of a view exchange the addresses of their ends of
 * its data wire.
 *
 *     MEET  ring epoch | does the sender know yours? | incarnation | address
 *
 * A member first sends it to all others, then again to those whose address is
 * missing or that do not know ours; the receiver answers at once. A message for
 * a later view than ours is kept, because its sender may be ahead.
 *
 * Joiners send READY to the members of the newest view, with each HELLO. In a
 * large ring that is to the first few members, one of which mostly admits, and
 * to some others in turn.
 */
#include "member_parts.h"

#include <string.h>

enum {
    AGAIN_NS = 30000000,
    READY_LASTS_NS = 500000000,
    HEAD_BYTES = 1 + 8 + 1 + 16,
    READY_FIRST = 8,
    READY_MOST = 64 /* receivers of a READY */
};

/* Is the view of the meeting still ours? */
static bool is_current_exchange(const struct gw__member_core *m)
{
    return m->address_epoch && m->address_epoch == m->view.ring_epoch;
}

static bool knows(const struct gw__member_core *m,
                  const struct gw__ring_member *peer)
{
    const struct gw__peer_address *address = &m->addresses[peer->node];
    return gw__nodes_has(&m->address_nodes, peer->node) &&
           address->ring_epoch == m->address_epoch &&
           gw__id_equal(address->incarnation, peer->incarnation);
}

static void send_address(const struct gw__member_core *m,
                         const struct gw__ring_member *peer)
{
    uint8_t out[HEAD_BYTES + GW__BLOB_MAX];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    gw__put_u8(&w, GW__PROTOCOL_ADDRESS);
    gw__put_u64(&w, m->address_epoch);
    gw__put_u8(&w, knows(m, peer));
    gw__put_id(&w, m->config.incarnation);
    gw__put_bytes(&w, m->address, m->address_bytes);
    m->act->send(m->act->driver, peer->node, out, w.used);
}

/* Do both have the address of the other? */
static bool is_done(const struct gw__member_core *m,
                    const struct gw__ring_member *peer)
{
    return knows(m, peer) && m->addresses[peer->node].knows_ours;
}

/* The pause before a repetition. In a large ring it grows, since each member
 * sends to all. */
static uint64_t again_ns(const struct gw__member_core *m)
{
    enum { LARGE = 64, DOUBLINGS = 4 };
    unsigned doublings =
        m->address_retries < DOUBLINGS ? m->address_retries : DOUBLINGS;
    return m->view.ring_count > LARGE ? (uint64_t)AGAIN_NS << doublings
                                      : AGAIN_NS;
}

/* Counts the peers whose exchange is not over, and sends them our address. */
static void send_addresses(struct gw__member_core *m)
{
    m->addresses_missing = m->addresses_open = 0;
    for (unsigned i = 0; i < m->view.ring_count; i++) {
        const struct gw__ring_member *peer = &m->view.ring[i];
        if (peer->node == m->node || is_done(m, peer))
            continue;
        m->addresses_missing += !knows(m, peer);
        m->addresses_open++;
        send_address(m, peer);
    }
    m->address_retry_ns = m->now_ns + again_ns(m);
    m->address_retries++;
}

/* Ends the repetitions when all peers are done, and notifies the application
 * when all addresses are known. */
static void check_addresses(struct gw__member_core *m)
{
    if (m->addresses_open == 0)
        m->address_retry_ns = 0;
    if (m->addresses_missing > 0 || m->has_all_addresses)
        return;
    struct gw__notification notification = {.kind = GW__NOTIFY_ADDRESSES,
                                            .epoch = m->address_epoch,
                                            .node = m->node};
    m->has_all_addresses = true;
    gw__member_notify(m, &notification);
}

void gw__addresses_begin(struct gw__member_core *m, uint64_t ring_epoch,
                         const void *blob, size_t bytes)
{
    if (bytes > GW__BLOB_MAX || ring_epoch != m->view.ring_epoch)
        return; /* another view has come */
    m->address_epoch = ring_epoch;
    m->address_bytes = bytes;
    m->has_all_addresses = false;
    m->address_retries = 0;
    if (bytes)
        memcpy(m->address, blob, bytes);
    send_addresses(m);
    check_addresses(m);
}

void gw__addresses_tick(struct gw__member_core *m)
{
    if (!is_current_exchange(m)) {
        m->address_retry_ns = 0;
    } else if (m->address_retry_ns && m->now_ns >= m->address_retry_ns) {
        send_addresses(m);
        check_addresses(m);
    }
}

static void keep_address(struct gw__member_core *m, unsigned node,
                         const struct gw__peer_address *head,
                         struct gw__reader *r)
{
    struct gw__peer_address *address = &m->addresses[node];
    if (!gw__nodes_has(&m->address_nodes, node))
        *address = (struct gw__peer_address){.bytes = 0};
    gw__nodes_add(&m->address_nodes, node);
    bool known = address->ring_epoch == head->ring_epoch &&
                 gw__id_equal(address->incarnation, head->incarnation);
    address->knows_ours = (known && address->knows_ours) || head->knows_ours;
    address->ring_epoch = head->ring_epoch;
    address->incarnation = head->incarnation;
    address->bytes = r->left;
    gw__get_bytes(r,
                  address->bytes <= GW__SHORT_BLOB ? m->short_blobs[node]
                                                   : m->blobs[node],
                  r->left);
}

void gw__addresses_message(struct gw__member_core *m,
                           const struct gw__input *input)
{
    struct gw__peer_address head = {0};
    struct gw__reader r = gw__reader_on(input->data, input->bytes);
    (void)gw__get_u8(&r);
    head.ring_epoch = gw__get_u64(&r);
    head.knows_ours = gw__get_bool(&r);
    head.incarnation = gw__get_id(&r);
    if (r.bad || r.left > GW__BLOB_MAX || input->from >= GW__NODES_MAX ||
        input->from == m->node ||
        (gw__nodes_has(&m->address_nodes, input->from) &&
         head.ring_epoch < m->addresses[input->from].ring_epoch))
        return;
    int rank = gw__view_rank(&m->view, input->from);
    if (rank < 0 || !is_current_exchange(m)) {
        keep_address(m, input->from, &head, &r);
        return;
    }
    const struct gw__ring_member *peer = &m->view.ring[rank];
    bool was_known = knows(m, peer), was_done = is_done(m, peer);
    keep_address(m, input->from, &head, &r);
    m->addresses_missing += was_known - knows(m, peer);
    m->addresses_open += was_done - is_done(m, peer);
    if (head.ring_epoch != m->address_epoch)
        return;
    check_addresses(m);
    if (!head.knows_ours)
        send_address(m, peer);
}

const void *gw__member_address(const void *state, uint64_t ring_epoch,
                               unsigned node, size_t *bytes)
{
    const struct gw__member_core *m = state;
    int rank = gw__view_rank(&m->view, node);
    *bytes = 0;
    if (!is_current_exchange(m) || ring_epoch != m->address_epoch || rank < 0)
        return NULL;
    if (node == m->node) {
        *bytes = m->address_bytes;
        return m->address;
    }
    if (!knows(m, &m->view.ring[rank]))
        return NULL;
    *bytes = m->addresses[node].bytes;
    return *bytes <= GW__SHORT_BLOB ? m->short_blobs[node] : m->blobs[node];
}

/* ---- ready joiners ---- */

void gw__ready_send(struct gw__member_core *m)
{
    uint8_t out[32];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    const struct gw__view *view = &m->update.view;
    bool large = view->ring_count > READY_MOST;
    if (!m->is_ready || m->stage != GW__STAGE_REGISTERED)
        return;
    gw__put_u8(&w, GW__PROTOCOL_READY);
    gw__put_id(&w, m->config.incarnation);
    gw__put_u64(&w, m->ready_op);
    unsigned first = large ? READY_FIRST : view->ring_count;
    for (unsigned i = 0; i < first; i++)
        m->act->send(m->act->driver, view->ring[i].node, out, w.used);
    for (unsigned i = first; large && i < READY_MOST; i++) {
        unsigned rank = m->ready_next++ % view->ring_count;
        m->act->send(m->act->driver, view->ring[rank].node, out, w.used);
    }
}

/* Has this incarnation been ready until now? */
static bool is_still_ready(const struct gw__member_core *m, unsigned node,
                           struct gw__id incarnation)
{
    const struct gw__ready *ready = &m->ready[node];
    return gw__nodes_has(&m->ready_nodes, node) &&
           m->now_ns - ready->received_ns < READY_LASTS_NS &&
           gw__id_equal(ready->incarnation, incarnation);
}

void gw__ready_message(struct gw__member_core *m, const struct gw__input *input)
{
    struct gw__ready ready;
    struct gw__reader r = gw__reader_on(input->data, input->bytes);
    (void)gw__get_u8(&r);
    ready.incarnation = gw__get_id(&r);
    ready.op = gw__get_u64(&r);
    ready.received_ns = m->now_ns;
    if (!gw__reader_done(&r) || input->from >= GW__NODES_MAX)
        return;
    bool same = is_still_ready(m, input->from, ready.incarnation);
    m->ready[input->from] = ready;
    gw__nodes_add(&m->ready_nodes, input->from);
    if (!same)
        gw__ready_check(m);
}

static bool is_ready(const struct gw__member_core *m,
                     const struct gw__process *joiner)
{
    return joiner->node < GW__NODES_MAX &&
           is_still_ready(m, joiner->node, joiner->incarnation);
}

unsigned gw__ready_joiners(const struct gw__member_core *m,
                           struct gw__process *out)
{
    unsigned count = 0;
    for (unsigned i = 0; i < m->update.joiner_count; i++)
        if (is_ready(m, &m->update.joiners[i])) {
            if (out)
                out[count] = m->update.joiners[i];
            count++;
        }
    return count;
}

void gw__ready_check(struct gw__member_core *m)
{
    struct gw__process who[GW__NODES_MAX];
    unsigned count = gw__ready_joiners(m, who);
    struct gw_nodes nodes = {{0}};
    for (unsigned i = 0; i < count; i++)
        gw__nodes_add(&nodes, who[i].node % GW__NODES_MAX);
    if (gw__nodes_equal(nodes, m->ready_notified))
        return;
    struct gw__notification notification = {
        .kind = GW__NOTIFY_READY, .node = m->node, .count = count};
    m->ready_notified = nodes;
    gw__member_notify(m, &notification);
}
