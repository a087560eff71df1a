/* SPDX-License-Identifier: MIT
 *
 * Attempts: the receiver of a partition's slots, and the time of the next try.
 *
 *     begin --> send --> answered: end
 *                ^  |
 *                |  +--> no answer: after `pause`, which doubles; at once if
 *                |       the node has become reachable or slots have moved
 *                +------ refused: at once if there are newer routes, otherwise
 *                        a little later
 *
 * Each send uses the current routes. The id of an attempt changes whenever its
 * contents change, so that a late reply to an earlier message is ignored.
 */
#include "worker_parts.h"

#include "base/log.h"

#include <stdlib.h>

static const uint64_t refused_ns = 1000000;
enum { RESEND_GROWTH = 10 };

struct gw__attempt *gw__attempt_find(struct gw__worker *worker, uint64_t id)
{
    struct gw__partition *partition =
        &worker->partitions[id % GW__PARTITION_MAX];
    for (struct gw__attempt *f = partition->attempts; f; f = f->next)
        if (f->id == id)
            return f;
    return NULL;
}

bool gw__attempt_is_whole(const struct gw__attempt *attempt)
{
    const struct gw__key_range *range = attempt->partition->range;
    return range && attempt->segments == gw__range_whole(range);
}

/* The id combines the partition's index and a serial number, and is unique. */
static void renumber(struct gw__worker *worker, struct gw__attempt *attempt)
{
    struct gw__partition *partition = attempt->partition;
    uint64_t place = (uint64_t)(partition - worker->partitions);
    attempt->id = ++partition->serial * GW__PARTITION_MAX + place;
}

static struct gw__attempt *new_attempt(struct gw__worker *worker,
                                       struct gw__partition *partition,
                                       uint64_t segments)
{
    struct gw__attempt *attempt = worker->free_attempts;
    if (attempt)
        worker->free_attempts = attempt->next;
    else
        attempt = malloc(sizeof *attempt);
    if (!attempt)
        return NULL;
    *attempt = (struct gw__attempt){.next = partition->attempts,
                                    .partition = partition,
                                    .segments = segments,
                                    .node = GW__NO_NODE,
                                    .pause_ns = worker->config.resend_ns};
    partition->attempts = attempt;
    return attempt;
}

enum gw_err gw__attempt_begin(struct gw__worker *worker,
                              struct gw__partition *partition, uint64_t now_ns)
{
    struct gw__attempt *attempt =
        new_attempt(worker, partition, partition->todo);
    if (!attempt)
        return GW_ENOMEM;
    attempt->sent_ns = now_ns;
    return GW_OK;
}

void gw__attempt_end(struct gw__worker *worker, struct gw__attempt *attempt)
{
    struct gw__attempt **at = &attempt->partition->attempts;
    while (*at != attempt)
        at = &(*at)->next;
    *at = attempt->next;
    attempt->next = worker->free_attempts;
    worker->free_attempts = attempt;
}

/* ---- sending ---- */

static unsigned primary_of(const struct gw__worker *worker,
                           const struct gw__partition *partition,
                           unsigned segment)
{
    return worker->routes.slots[gw__partition_slot(partition, segment)].primary;
}

/* The segments of the attempt with the same primary as the first one. */
static uint64_t same_primary(const struct gw__worker *worker,
                             const struct gw__attempt *attempt)
{
    const struct gw__partition *partition = attempt->partition;
    unsigned first = (unsigned)__builtin_ctzll(attempt->segments);
    unsigned node = primary_of(worker, partition, first);
    uint64_t same = (uint64_t)1 << first;
    for (uint64_t rest = attempt->segments ^ same; rest; rest &= rest - 1) {
        unsigned segment = (unsigned)__builtin_ctzll(rest);
        if (primary_of(worker, partition, segment) == node)
            same |= (uint64_t)1 << segment;
    }
    return same;
}

static unsigned receiver(const struct gw__worker *worker,
                         const struct gw__attempt *attempt)
{
    unsigned server = attempt->partition->request->server;
    unsigned first = (unsigned)__builtin_ctzll(attempt->segments);
    return server != GW__NO_NODE
               ? server
               : primary_of(worker, attempt->partition, first);
}

/* Sends to one node. */
static void send_attempt(struct gw__worker *worker, struct gw__attempt *attempt,
                         uint64_t now_ns)
{
    unsigned node = receiver(worker, attempt);
    if (node != attempt->node || attempt->id == 0) {
        renumber(worker, attempt);
        attempt->node = node;
        attempt->sent_ns = now_ns;
        attempt->pause_ns = worker->config.resend_ns;
        attempt->refused_ns = 0;
    }
    attempt->due_ns = now_ns + attempt->pause_ns;
    if (node != GW__NO_NODE && gw__message_out_send(worker, attempt))
        attempt->due_ns = now_ns + refused_ns; /* out of memory */
}

void gw__attempt_send(struct gw__worker *worker, struct gw__attempt *attempt,
                      uint64_t now_ns)
{
    uint64_t same;
    while ((same = same_primary(worker, attempt)) != attempt->segments) {
        struct gw__attempt *other =
            new_attempt(worker, attempt->partition, same);
        if (!other) {
            attempt->due_ns = now_ns + refused_ns;
            return;
        }
        attempt->segments &= ~same;
        attempt->id = 0;
        send_attempt(worker, other, now_ns);
    }
    send_attempt(worker, attempt, now_ns);
}

void gw__attempt_refused(struct gw__worker *worker, struct gw__attempt *attempt,
                         uint64_t now_ns)
{
    uint64_t pause_ns =
        attempt->refused_ns ? 2 * attempt->refused_ns : refused_ns;
    if (pause_ns > worker->config.resend_ns)
        pause_ns = worker->config.resend_ns;
    attempt->refused_ns = pause_ns;
    attempt->due_ns = now_ns + pause_ns;
    attempt->id = 0; /* it was answered, and may carry less now */
}

/* ---- timers ---- */

static void tick(struct gw__worker *worker, struct gw__attempt *attempt,
                 uint64_t now_ns)
{
    uint64_t most_ns = RESEND_GROWTH * worker->config.resend_ns;
    if (attempt->id) {
        attempt->pause_ns *= 2;
        if (attempt->pause_ns > most_ns)
            attempt->pause_ns = most_ns;
    }
    worker->counts.retries += attempt->node != GW__NO_NODE;
    gw__attempt_send(worker, attempt, now_ns);
}

void gw__worker_tick(struct gw__worker *worker, uint64_t now_ns)
{
    struct gw__partition *partition;
    for (unsigned at = 0; (partition = gw__partition_next(worker, &at));)
        for (struct gw__attempt *f = partition->attempts, *next; f; f = next) {
            next = f->next;
            if (f->due_ns <= now_ns)
                tick(worker, f, now_ns);
        }
    gw__worker_pump(worker, now_ns);
}

uint64_t gw__worker_due(const struct gw__worker *worker)
{
    uint64_t due_ns = UINT64_MAX;
    bool any = false;
    for (unsigned word = 0; word < GW__PARTITION_MAX / 64; word++)
        for (uint64_t rest = worker->busy[word]; rest; rest &= rest - 1) {
            unsigned i = word * 64 + (unsigned)__builtin_ctzll(rest);
            const struct gw__attempt *f = worker->partitions[i].attempts;
            any = true;
            for (; f; f = f->next)
                due_ns = f->due_ns < due_ns ? f->due_ns : due_ns;
        }
    /* A request waits because memory was short; try again at once. */
    return worker->first && !any ? 1 : due_ns;
}

/* ---- routes ---- */

struct slot_set {
    uint64_t words[GW_PS_SLOTS_MAX / 64];
};

/* Finds the slots whose primary has changed. False: none. */
static bool find_moved(const struct gw__routes *a, const struct gw__routes *b,
                       struct slot_set *moved)
{
    bool any = false;
    *moved = (struct slot_set){{0}};
    for (unsigned slot = 0; slot < b->slot_count; slot++) {
        if (slot < a->slot_count &&
            a->slots[slot].primary == b->slots[slot].primary)
            continue;
        moved->words[slot / 64] |= (uint64_t)1 << slot % 64;
        any = true;
    }
    return any;
}

static bool has_moved(const struct gw__attempt *attempt,
                      const struct slot_set *moved)
{
    for (uint64_t rest = attempt->segments; rest; rest &= rest - 1) {
        unsigned slot = gw__partition_slot(attempt->partition,
                                           (unsigned)__builtin_ctzll(rest));
        if (moved->words[slot / 64] >> slot % 64 & 1)
            return true;
    }
    return false;
}

/* Requests with a slot of `moved`, or to a node of `nodes`. */
static void send_again(struct gw__worker *worker, uint64_t now_ns,
                       const struct slot_set *moved,
                       const struct gw_nodes *nodes)
{
    struct gw__partition *partition;
    for (unsigned at = 0; (partition = gw__partition_next(worker, &at));)
        for (struct gw__attempt *f = partition->attempts, *next; f; f = next) {
            next = f->next;
            bool back = gw_nodes_has(nodes, f->node);
            if (!back && !has_moved(f, moved))
                continue;
            gw__log_info("ps", "a request to node %u is repeated: %s", f->node,
                         back ? "it is reachable again" : "its slots moved");
            gw__attempt_send(worker, f, now_ns);
        }
}

void gw__worker_routes(struct gw__worker *worker, uint64_t now_ns,
                       const struct gw__routes *routes)
{
    struct slot_set moved;
    if (routes->version <= worker->routes.version)
        return;
    bool any = find_moved(&worker->routes, routes, &moved);
    gw__routes_copy(&worker->routes, routes);
    if (!any)
        return;
    worker->placement++;
    send_again(worker, now_ns, &moved, &(struct gw_nodes){{0}});
    gw__worker_pump(worker, now_ns);
}

const struct gw__routes *gw__worker_get_routes(const struct gw__worker *worker)
{
    return &worker->routes;
}

void gw__worker_reached(struct gw__worker *worker, uint64_t now_ns,
                        const struct gw_nodes *nodes)
{
    send_again(worker, now_ns, &(struct slot_set){{0}}, nodes);
}
