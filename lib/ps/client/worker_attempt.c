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
    struct gw__partition *errand = &worker->errands[id % GW__PARTITION_MAX];
    for (struct gw__attempt *f = errand->flights; f; f = f->next)
        if (f->id == id)
            return f;
    return NULL;
}

bool gw__attempt_is_whole(const struct gw__attempt *flight)
{
    const struct gw__piece *piece = flight->errand->piece;
    return piece && flight->slots == piece->slots;
}

/* The id combines the partition's index and a serial number, and is unique. */
static void renumber(struct gw__worker *worker, struct gw__attempt *flight)
{
    struct gw__partition *errand = flight->errand;
    uint64_t place = (uint64_t)(errand - worker->errands);
    flight->id = ++errand->serial * GW__PARTITION_MAX + place;
}

static struct gw__attempt *new_flight(struct gw__worker *worker,
                                      struct gw__partition *errand,
                                      uint64_t slots)
{
    struct gw__attempt *flight = worker->free_flights;
    if (flight)
        worker->free_flights = flight->next;
    else
        flight = malloc(sizeof *flight);
    if (!flight)
        return NULL;
    *flight = (struct gw__attempt){.next = errand->flights,
                                   .errand = errand,
                                   .slots = slots,
                                   .node = GW__NO_NODE,
                                   .pause_ns = worker->config.resend_ns};
    errand->flights = flight;
    return flight;
}

enum gw_err gw__attempt_begin(struct gw__worker *worker,
                              struct gw__partition *errand, uint64_t now_ns)
{
    struct gw__attempt *flight = new_flight(worker, errand, errand->todo);
    if (!flight)
        return GW_ENOMEM;
    flight->sent_ns = now_ns;
    return GW_OK;
}

void gw__attempt_end(struct gw__worker *worker, struct gw__attempt *flight)
{
    struct gw__attempt **at = &flight->errand->flights;
    while (*at != flight)
        at = &(*at)->next;
    *at = flight->next;
    flight->next = worker->free_flights;
    worker->free_flights = flight;
}

/* ---- sending ---- */

/* The subset of `slots` with the same primary as the first one. */
static uint64_t same_primary(const struct gw__worker *worker, uint64_t slots)
{
    const struct gw__slot_route *routes = worker->routes.slots;
    unsigned node = routes[__builtin_ctzll(slots)].primary;
    uint64_t same = 0;
    for (uint64_t rest = slots; rest; rest &= rest - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(rest);
        if (routes[slot].primary == node)
            same |= (uint64_t)1 << slot;
    }
    return same;
}

static unsigned receiver(const struct gw__worker *worker,
                         const struct gw__attempt *flight)
{
    unsigned server = flight->errand->request->server;
    unsigned slot = (unsigned)__builtin_ctzll(flight->slots);
    return server != GW__NO_NODE ? server : worker->routes.slots[slot].primary;
}

/* Sends to one node. */
static void send_attempt(struct gw__worker *worker, struct gw__attempt *flight,
                         uint64_t now_ns)
{
    unsigned node = receiver(worker, flight);
    if (node != flight->node || flight->id == 0) {
        renumber(worker, flight);
        flight->node = node;
        flight->sent_ns = now_ns;
        flight->pause_ns = worker->config.resend_ns;
        flight->refused_ns = 0;
    }
    flight->due_ns = now_ns + flight->pause_ns;
    if (node != GW__NO_NODE && gw__message_out_send(worker, flight))
        flight->due_ns = now_ns + refused_ns; /* out of memory */
}

void gw__attempt_send(struct gw__worker *worker, struct gw__attempt *flight,
                      uint64_t now_ns)
{
    uint64_t same;
    while ((same = same_primary(worker, flight->slots)) != flight->slots) {
        struct gw__attempt *other = new_flight(worker, flight->errand, same);
        if (!other) {
            flight->due_ns = now_ns + refused_ns;
            return;
        }
        flight->slots &= ~same;
        flight->id = 0;
        send_attempt(worker, other, now_ns);
    }
    send_attempt(worker, flight, now_ns);
}

void gw__attempt_refused(struct gw__worker *worker, struct gw__attempt *flight,
                         uint64_t now_ns)
{
    uint64_t pause_ns =
        flight->refused_ns ? 2 * flight->refused_ns : refused_ns;
    if (pause_ns > worker->config.resend_ns)
        pause_ns = worker->config.resend_ns;
    flight->refused_ns = pause_ns;
    flight->due_ns = now_ns + pause_ns;
    flight->id = 0; /* it was answered, and may carry less now */
}

/* ---- timers ---- */

static void tick(struct gw__worker *worker, struct gw__attempt *flight,
                 uint64_t now_ns)
{
    uint64_t most_ns = RESEND_GROWTH * worker->config.resend_ns;
    if (flight->id) {
        flight->pause_ns *= 2;
        if (flight->pause_ns > most_ns)
            flight->pause_ns = most_ns;
    }
    worker->counts.retries += flight->node != GW__NO_NODE;
    gw__attempt_send(worker, flight, now_ns);
}

void gw__worker_tick(struct gw__worker *worker, uint64_t now_ns)
{
    struct gw__partition *errand;
    for (unsigned at = 0; (errand = gw__partition_next(worker, &at));)
        for (struct gw__attempt *f = errand->flights, *next; f; f = next) {
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
            const struct gw__attempt *f = worker->errands[i].flights;
            any = true;
            for (; f; f = f->next)
                due_ns = f->due_ns < due_ns ? f->due_ns : due_ns;
        }
    /* A request waits because memory was short; try again at once. */
    return worker->first && !any ? 1 : due_ns;
}

/* ---- routes ---- */

/* The slots whose primary has changed. */
static uint64_t moved_slots(const struct gw__routes *a,
                            const struct gw__routes *b)
{
    uint64_t moved = 0;
    for (unsigned slot = 0; slot < b->slot_count; slot++)
        if (slot >= a->slot_count ||
            a->slots[slot].primary != b->slots[slot].primary)
            moved |= (uint64_t)1 << slot;
    return moved;
}

static void send_again(struct gw__worker *worker, uint64_t now_ns,
                       uint64_t slots, uint64_t nodes)
{
    struct gw__partition *errand;
    for (unsigned at = 0; (errand = gw__partition_next(worker, &at));)
        for (struct gw__attempt *f = errand->flights, *next; f; f = next) {
            next = f->next;
            bool reached = f->node < GW__NODES_MAX && nodes >> f->node & 1;
            if (!(f->slots & slots) && !reached)
                continue;
            gw__log_info("ps", "a request to node %u is repeated: %s", f->node,
                         reached ? "it is reachable again" : "its slots moved");
            gw__attempt_send(worker, f, now_ns);
        }
}

void gw__worker_routes(struct gw__worker *worker, uint64_t now_ns,
                       const struct gw__routes *routes)
{
    if (routes->version <= worker->routes.version)
        return;
    uint64_t moved = moved_slots(&worker->routes, routes);
    worker->routes = *routes;
    if (!moved)
        return;
    worker->placement++;
    send_again(worker, now_ns, moved, 0);
    gw__worker_pump(worker, now_ns);
}

const struct gw__routes *gw__worker_get_routes(const struct gw__worker *worker)
{
    return &worker->routes;
}

void gw__worker_reached(struct gw__worker *worker, uint64_t now_ns,
                        uint64_t nodes)
{
    send_again(worker, now_ns, 0, nodes);
}
