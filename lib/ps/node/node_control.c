/* SPDX-License-Identifier: MIT
 *
 * The control thread's side of a node: what the member machine tells goes into
 * the mailbox, and the mesh learns where the crew listens.
 */
#include "node_parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void gw__node_tell(struct gw__node *node, unsigned changes)
{
    atomic_fetch_or(&node->fresh, changes);
    pthread_cond_broadcast(&node->changed);
    if (atomic_load(&node->has_post))
        gw__post_wake(node->post);
}

/* ---- news ---- */

/* All of them: whom the detector beats to is its own choice. */
static void know_crew(struct gw__node *node, const struct gw__news *news)
{
    for (unsigned i = 0; i < news->crew_count; i++) {
        const struct gw__crew_member *member = &news->crew[i];
        char *known = node->endpoints[member->node];
        if (strcmp(known, member->endpoint) == 0)
            continue;
        snprintf(known, GW__ENDPOINT_MAX, "%s", member->endpoint);
        (void)gw__driver_know(node->driver, member->node, known);
    }
}

static void told_news(struct gw__node *node)
{
    const struct gw__news *news =
        gw__member_news(gw__driver_state(node->driver));
    know_crew(node, news);
    node->box.news = *news;
    gw__node_tell(node, GW__NODE_NEWS);
}

/* ---- answers ---- */

static void put_answer(struct gw__mailbox *box, unsigned tag,
                       const struct gw__answer *answer)
{
    if (box->answer_count == GW__NODE_ANSWERS) { /* nobody takes them */
        box->answer_count--;
        memmove(box->answers, box->answers + 1,
                box->answer_count * sizeof *box->answers);
    }
    box->answers[box->answer_count++] =
        (struct gw__node_answer){.tag = tag, .answer = *answer};
}

static void told_answer(struct gw__node *node, const struct gw__told *told)
{
    for (unsigned i = 0; i < GW__NODE_ASKED; i++) {
        struct gw__node_asked *asked = &node->box.asked[i];
        if (asked->serial != told->tag)
            continue;
        asked->serial = 0;
        if (asked->tag == GW__NODE_FORGET)
            return;
        put_answer(&node->box, asked->tag, &told->answer);
        gw__node_tell(node, GW__NODE_ANSWER);
        return;
    }
}

/* ---- all of it ---- */

static void take(struct gw__node *node, const struct gw__told *told)
{
    struct gw__mailbox *box = &node->box;
    switch (told->kind) {
    case GW__TOLD_REGISTERED:
        box->registered = true;
        box->number = told->node;
        pthread_cond_broadcast(&node->changed);
        break;
    case GW__TOLD_NEWS:
        told_news(node);
        break;
    case GW__TOLD_HEARD:
        gw__node_tell(node, GW__NODE_HEARD);
        break;
    case GW__TOLD_LEASE:
        box->lease_ns = gw__member_lease(gw__driver_state(node->driver));
        gw__node_tell(node, GW__NODE_LEASE);
        break;
    case GW__TOLD_ANSWER:
        told_answer(node, told);
        break;
    case GW__TOLD_PARKED:
    case GW__TOLD_UNPARKED:
        box->parked = told->kind == GW__TOLD_PARKED;
        snprintf(box->parked_text, sizeof box->parked_text, "%s", told->text);
        gw__node_tell(node, GW__NODE_PARKED);
        break;
    case GW__TOLD_GONE:
        box->gone = true;
        snprintf(box->gone_text, sizeof box->gone_text, "%s", told->text);
        gw__node_tell(node, GW__NODE_GONE);
        break;
    default: /* the ring's */
        break;
    }
}

void gw__node_on_tell(void *context, const void *data, size_t bytes)
{
    struct gw__node *node = context;
    struct gw__told told;
    assert(bytes == sizeof told);
    memcpy(&told, data, sizeof told);
    pthread_mutex_lock(&node->lock);
    take(node, &told);
    pthread_mutex_unlock(&node->lock);
}

void gw__node_on_turn(void *context)
{
    struct gw__node *node = context;
    pthread_mutex_lock(&node->lock);
    gw__node_meet(node, gw_now_ns());
    pthread_mutex_unlock(&node->lock);
}

void gw__node_on_message(void *context, unsigned from,
                         struct gw__id incarnation, const void *data,
                         size_t bytes)
{
    struct gw__node *node = context;
    pthread_mutex_lock(&node->lock);
    gw__node_met(node, from, incarnation, data, bytes);
    pthread_mutex_unlock(&node->lock);
}
