/* SPDX-License-Identifier: MIT
 *
 * The control thread's side of a node: puts all notifications of the membership
 * state machine into the mailbox for the data thread.
 */
#include "node_parts.h"

#include <string.h>

void gw__node_notify(struct gw__node *node, unsigned changes)
{
    atomic_fetch_or(&node->fresh, changes);
    if (atomic_load(&node->has_messenger))
        gw__messenger_wake(node->messenger);
}

/* ---- answers ---- */

static void put_answer(struct gw__mailbox *box, unsigned tag,
                       const struct gw__answer *answer)
{
    if (box->answer_count == GW__NODE_ANSWERS) { /* answers are not collected */
        box->answer_count--;
        memmove(box->answers, box->answers + 1,
                box->answer_count * sizeof *box->answers);
    }
    box->answers[box->answer_count++] =
        (struct gw__node_answer){.tag = tag, .answer = *answer};
}

static void on_answer(struct gw__node *node,
                      const struct gw__notification *notification)
{
    for (unsigned i = 0; i < GW__NODE_PENDING_MAX; i++) {
        struct gw__node_pending *pending = &node->box.pending[i];
        if (pending->serial != notification->tag)
            continue;
        pending->serial = 0;
        if (pending->tag == GW__NODE_FORGET)
            return;
        put_answer(&node->box, pending->tag, &notification->answer);
        gw__node_notify(node, GW__NODE_ANSWER);
        return;
    }
}

/* ---- notifications ---- */

void gw__node_on_notification(void *context,
                              const struct gw__notification *notification)
{
    struct gw__node *node = context;
    switch (notification->kind) {
    case GW__NOTIFY_UPDATE:
        gw__node_notify(node, GW__NODE_UPDATE);
        break;
    case GW__NOTIFY_ANSWERED:
        gw__node_notify(node, GW__NODE_UPDATE_DONE);
        break;
    case GW__NOTIFY_LEASE:
        gw__node_notify(node, GW__NODE_LEASE);
        break;
    case GW__NOTIFY_ANSWER:
        on_answer(node, notification);
        break;
    case GW__NOTIFY_PARKED:
    case GW__NOTIFY_UNPARKED:
        gw__node_notify(node, GW__NODE_PARKED);
        break;
    case GW__NOTIFY_GONE:
        gw__node_notify(node, GW__NODE_GONE);
        break;
    default: /* only used by the ring */
        break;
    }
}

uint64_t gw__node_on_turn(void *context)
{
    const uint64_t again_ns = 20000000;
    struct gw__node *node = context;
    gw__session_lock(&node->session);
    gw__node_connect(node, gw_now_ns());
    gw__session_unlock(&node->session);
    return again_ns;
}

void gw__node_on_message(void *context, unsigned from,
                         struct gw__id incarnation, const void *data,
                         size_t bytes)
{
    struct gw__node *node = context;
    gw__session_lock(&node->session);
    gw__node_connected(node, from, incarnation, data, bytes);
    gw__session_unlock(&node->session);
}
