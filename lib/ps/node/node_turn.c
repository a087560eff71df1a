/* SPDX-License-Identifier: MIT
 *
 * The data thread's side of a node: copies the mailbox, and adds and removes
 * the messenger's peers.
 */
#include "node_parts.h"

#include <string.h>

/* ---- the mailbox ---- */

static void copy_changes(struct gw__node *node, unsigned changes)
{
    const struct gw__session *session = &node->session;
    if (changes & GW__NODE_UPDATE)
        gw__membership_update_copy(&node->update, &session->update);
    if (changes & (GW__NODE_UPDATE | GW__NODE_REACH))
        memcpy(node->known, node->box.known, sizeof node->box.known);
    node->lease_ns = session->lease_ns;
    node->gone = session->gone;
    node->parked = session->parked;
    memcpy(node->gone_text, session->gone_text, sizeof node->gone_text);
    memcpy(node->parked_text, session->parked_text, sizeof node->parked_text);
}

/* ---- the messenger ---- */

static void forget_those_gone(struct gw__node *node,
                              const struct gw__id wanted[GW__MESSENGER_NODES])
{
    for (unsigned i = 0; i < GW__MESSENGER_NODES; i++)
        if (!gw__id_is_none(node->reaches[i]) &&
            !gw__id_equal(node->reaches[i], wanted[i])) {
            gw__messenger_forget(node->messenger, i);
            node->reaches[i] = (struct gw__id){0};
        }
}

/* A peer that cannot be reached has most likely ended, and a membership update
 * will follow. But out of memory is not reported elsewhere, so it ends this
 * node. */
static void reach(struct gw__node *node, unsigned peer, struct gw__id who)
{
    struct gw_error why;
    if (gw__id_equal(node->reaches[peer], who) ||
        !gw__id_equal(node->known[peer].incarnation, who))
        return;
    enum gw_err err =
        gw__messenger_know(node->messenger, peer, who.high, who.low,
                           &node->known[peer].address, &why);
    if (err == GW_ENOMEM)
        gw_fail(&node->starved, err, "node %u: reaching node %u: %s",
                node->number, peer, why.text);
    if (err)
        return;
    node->reaches[peer] = who;
    gw__nodes_add(&node->reached, peer);
}

static void connect_peers(struct gw__node *node)
{
    const struct gw__membership_update *update = &node->update;
    struct gw__id wanted[GW__MESSENGER_NODES] = {{0}};
    for (unsigned i = 0; i < update->ps_member_count; i++)
        if (gw__node_exchanges_with(node, &update->ps_members[i]))
            wanted[update->ps_members[i].node] =
                update->ps_members[i].incarnation;
    forget_those_gone(node, wanted);
    for (unsigned i = 0; i < GW__MESSENGER_NODES; i++)
        if (!gw__id_is_none(wanted[i]))
            reach(node, i, wanted[i]);
}

unsigned gw__node_turn(struct gw__node *node)
{
    if (atomic_load_explicit(&node->fresh, memory_order_relaxed) == 0)
        return 0;
    gw__session_lock(&node->session);
    unsigned changes = atomic_exchange(&node->fresh, 0);
    copy_changes(node, changes);
    gw__session_unlock(&node->session);
    node->reached = (struct gw_nodes){{0}};
    if (changes & GW__NODE_UPDATE)
        gw__node_learn_hosts(node);
    if (changes & (GW__NODE_UPDATE | GW__NODE_REACH))
        connect_peers(node);
    changes &= ~(unsigned)GW__NODE_REACH;
    if (node->starved.code)
        changes |= GW__NODE_GONE;
    return changes | (gw__nodes_is_empty(node->reached) ? 0 : GW__NODE_REACH);
}

/* ---- commands ---- */

static struct gw__node_pending *find_free(struct gw__mailbox *box, unsigned tag,
                                          uint64_t hash, bool *is_pending)
{
    struct gw__node_pending *found = NULL;
    *is_pending = false;
    for (unsigned i = 0; i < GW__NODE_PENDING_MAX; i++) {
        struct gw__node_pending *pending = &box->pending[i];
        if (pending->serial == 0)
            found = pending;
        else if (tag == GW__NODE_FORGET && pending->tag == tag &&
                 pending->hash == hash)
            *is_pending = true;
    }
    return found;
}

/* GW_OK with *serial 0: an equal command is waiting already. */
static enum gw_err add_pending(struct gw__node *node, unsigned tag,
                               uint64_t hash, unsigned *serial)
{
    struct gw__mailbox *box = &node->box;
    bool already;
    *serial = 0;
    gw__session_lock(&node->session);
    struct gw__node_pending *pending = find_free(box, tag, hash, &already);
    if (pending && !already) {
        *serial = ++box->serial;
        *pending = (struct gw__node_pending){
            .serial = *serial, .tag = tag, .hash = hash};
    }
    bool gone = node->session.gone;
    gw__session_unlock(&node->session);
    if (gone)
        return GW_ECLOSED;
    return pending || already ? GW_OK : GW_ENOMEM;
}

enum gw_err gw__node_command(struct gw__node *node,
                             const struct gw__command *command, unsigned tag)
{
    uint8_t bytes[GW__COMMAND_BYTES_MAX];
    struct gw__command mine = *command;
    unsigned serial;
    if (mine.who.node == GW__NODE_ANY)
        mine.who =
            (struct gw__process){node->number, node->session.incarnation};
    size_t size = gw__command_encode(&mine, bytes, sizeof bytes);
    if (size == 0)
        return GW_EINVAL;
    enum gw_err err = add_pending(node, tag, gw_hash(bytes, size, 0), &serial);
    if (err || serial == 0)
        return err;
    return gw__session_command(&node->session, &mine, serial);
}

enum gw_err gw__node_request_update(struct gw__node *node)
{
    static const struct gw__member_request update = {.kind =
                                                         GW__REQUEST_UPDATE};
    return gw__session_request(&node->session, &update);
}

bool gw__node_answer(struct gw__node *node, unsigned *tag,
                     struct gw__answer *answer)
{
    struct gw__mailbox *box = &node->box;
    gw__session_lock(&node->session);
    bool any = box->answer_count > 0;
    if (any) {
        *tag = box->answers[0].tag;
        *answer = box->answers[0].answer;
        box->answer_count--;
        memmove(box->answers, box->answers + 1,
                box->answer_count * sizeof *box->answers);
    }
    gw__session_unlock(&node->session);
    return any;
}

/* ---- accessors ---- */

unsigned gw__node_number(const struct gw__node *node)
{
    return node->number;
}

struct gw__id gw__node_incarnation(const struct gw__node *node)
{
    return node->session.incarnation;
}

struct gw__messenger *gw__node_messenger(struct gw__node *node)
{
    return node->messenger;
}

void gw__node_wake(struct gw__node *node)
{
    gw__messenger_wake(node->messenger);
}

const struct gw__membership_update *gw__node_update(const struct gw__node *node)
{
    return &node->update;
}

uint64_t gw__node_lease(const struct gw__node *node)
{
    return node->lease_ns;
}

enum gw_err gw__node_gone(const struct gw__node *node, struct gw_error *why)
{
    if (node->starved.code)
        return gw_fail(why, node->starved.code, "%s", node->starved.text);
    return node->gone ? gw_fail(why, GW_ECLOSED, "node %u: %s", node->number,
                                node->gone_text)
                      : GW_OK;
}

bool gw__node_parked(const struct gw__node *node, const char **text)
{
    if (text)
        *text = node->parked_text;
    return node->parked;
}

struct gw_nodes gw__node_reached(const struct gw__node *node)
{
    return node->reached;
}

bool gw__node_reaches(const struct gw__node *node, unsigned peer)
{
    return peer == node->number ||
           (peer < GW__MESSENGER_NODES && !gw__id_is_none(node->reaches[peer]));
}
