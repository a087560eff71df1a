/* SPDX-License-Identifier: MIT
 *
 * The thread of an aggregator; see aggregator.h.
 */
#include "aggregator.h"

#include "base/thread.h"
#include "gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_MESSAGES = 64 };
static const uint64_t idle_ns = 20000000, leave_ns = 1000000000;

struct gw__aggregator {
    struct gw__node_config config;
    char endpoint[GW__ENDPOINT_MAX];
    struct gw__node *node; /* used by the thread only */
    struct gw__gather gather;
    bool ready; /* it reaches all servers */
    pthread_t thread;
    _Atomic bool stop, politely, ended;
    _Atomic uint64_t forwarded, messages, refused;
};

static void send_now(void *context, const struct gw__message_out *message)
{
    struct gw__aggregator *a = context;
    (void)gw__messenger_send(gw__node_messenger(a->node),
                             message); /* no part is lent */
}

/* ---- forwarding ---- */

static void pass_on(struct gw__aggregator *a, uint64_t now_ns,
                    const struct gw__message_in *in,
                    const struct gw__message_in *forwarded)
{
    const struct gw__bundle_end by = {in->from, in->incarnation_high,
                                      in->incarnation_low};
    struct gw__message_out out = {.node = forwarded->from,
                                  .part_count = forwarded->part_count};
    memcpy(out.parts, forwarded->parts, sizeof out.parts);
    bool worker = gw__node_member(a->node, by.node)->role == GW__WORKER;
    bool accepted = worker
                        ? gw__gather_for_server(&a->gather, now_ns, &out, &by)
                        : gw__gather_for_worker(&a->gather, &out, &by);
    a->refused += !accepted;
}

static void open_message(struct gw__aggregator *a, uint64_t now_ns,
                         struct gw__message_in *message)
{
    size_t at = 0;
    unsigned count = 0;
    a->refused += !gw__is_envelope(message) ||
                  gw__bundle_check(message, &count, NULL) != GW_OK;
    bool greeting = count == 0 && gw__is_envelope(message);
    if (greeting && a->ready &&
        gw__nodes_has(&a->gather.ps_members, message->from))
        gw__bundles_greet(&a->gather.workers, message->from);
    for (unsigned i = 0; i < count && gw__is_envelope(message); i++) {
        struct gw__message_in *forwarded = gw__bundle_next(message, &at);
        if (forwarded && gw__node_trusts(a->node, message, forwarded))
            pass_on(a, now_ns, message, forwarded);
        else
            a->refused++;
        gw__message_in_release(forwarded);
    }
    gw__message_in_release(message);
}

/* ---- members ---- */

/* Collects the workers of the host, and greets them when all servers are
 * reachable. The greeting lets them use this aggregator. A worker that does not
 * know this member yet refuses it, and sends a greeting later: see
 * open_message. */
static void check_ps_members(struct gw__aggregator *a)
{
    const struct gw__membership_update *update = gw__node_update(a->node);
    a->ready = true;
    a->gather.ps_members = (struct gw_nodes){{0}};
    for (unsigned i = 0; i < update->ps_member_count; i++) {
        const struct gw__ps_member *member = &update->ps_members[i];
        bool reached = gw__node_reaches(a->node, member->node);
        if (member->role == GW__WORKER && reached)
            gw__nodes_add(&a->gather.ps_members, member->node);
        a->ready = a->ready && (reached || member->role != GW__SERVER);
    }
    const struct gw_nodes *workers = &a->gather.ps_members;
    for (unsigned node = gw__nodes_next(workers, 0);
         a->ready && node < GW__NODES_MAX;
         node = gw__nodes_next(workers, node + 1))
        gw__bundles_greet(&a->gather.workers, node);
}

/* False: it is not a member any more. */
static bool turn(struct gw__aggregator *a)
{
    struct gw__messenger *messenger = gw__node_messenger(a->node);
    struct gw__message_in *message;
    unsigned changes = gw__node_turn(a->node), received = 0;
    uint64_t now_ns = gw_now_ns();
    if (changes & GW__NODE_GONE)
        return false;
    if (changes & (GW__NODE_UPDATE | GW__NODE_REACH))
        check_ps_members(a);
    while (received < TURN_MESSAGES &&
           gw__messenger_receive(messenger, &message) == GW_OK) {
        open_message(a, now_ns, message);
        received++;
    }
    now_ns = gw_now_ns();
    gw__gather_flush(&a->gather, now_ns);
    a->forwarded = a->gather.forwarded;
    a->messages = a->gather.forwarded - a->gather.servers.saved;
    uint64_t due_ns = gw__gather_due(&a->gather), idle = now_ns + idle_ns;
    if (received == 0)
        gw__messenger_wait(messenger, due_ns < idle ? due_ns : idle);
    return true;
}

static void *live(void *context)
{
    struct gw__aggregator *a = context;
    struct gw_error why;
    if (gw__node_open(&a->config, &a->node, &why) == GW_OK) {
        while (!a->stop && turn(a))
            ;
        gw__gather_flush(&a->gather, UINT64_MAX);
        if (a->politely)
            (void)!gw__node_leave(a->node, gw_now_ns() + leave_ns, &why);
    }
    gw__node_close(&a->node);
    gw__gather_fini(&a->gather);
    a->ended = true;
    return NULL;
}

/* ---- start and stop ---- */

/* An endpoint on the worker's host: its address with any port, or a similar
 * name. */
static bool name_endpoint(struct gw__aggregator *a, const char *like)
{
    bool tcp = strncmp(like, "tcp://", 6) == 0;
    const char *port = strrchr(like, ':');
    size_t kept = tcp && port ? (size_t)(port - like) : strlen(like);
    int length = snprintf(a->endpoint, sizeof a->endpoint, "%.*s%s", (int)kept,
                          like, tcp ? ":*" : "-aggregator");
    return length > 0 && (size_t)length < sizeof a->endpoint;
}

enum gw_err gw__aggregator_start(const struct gw__node_config *like,
                                 unsigned number, uint64_t window_ns,
                                 struct gw__aggregator **aggregator,
                                 struct gw_error *why)
{
    struct gw__aggregator *a = calloc(1, sizeof *a);
    *aggregator = NULL;
    if (!a)
        return gw_fail(why, GW_ENOMEM, "aggregator");
    a->config = *like;
    a->config.node = number;
    a->config.role = GW__AGGREGATOR;
    a->config.endpoint = a->endpoint;
    a->config.interrupt = &a->stop;
    gw__gather_init(&a->gather, window_ns, send_now, a);
    enum gw_err err =
        name_endpoint(a, like->endpoint)
            ? gw__thread_start(&a->thread, live, a, "the aggregator", why)
            : gw_fail(why, GW_EINVAL, "%.80s is too long", like->endpoint);
    if (err)
        free(a);
    else
        *aggregator = a;
    return err;
}

bool gw__aggregator_ended(const struct gw__aggregator *a)
{
    return a->ended;
}

void gw__aggregator_stop(struct gw__aggregator **aggregator, bool politely)
{
    struct gw__aggregator *a = *aggregator;
    *aggregator = NULL;
    if (!a)
        return;
    a->politely = politely;
    a->stop = true;
    pthread_join(a->thread, NULL);
    free(a);
}

void gw__aggregator_get_counts(const struct gw__aggregator *a,
                               struct gw__aggregator_counts *counts)
{
    *counts =
        (struct gw__aggregator_counts){a->forwarded, a->messages, a->refused};
}
