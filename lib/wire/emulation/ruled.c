/* SPDX-License-Identifier: MIT
 *
 * An emulated wire: it applies link profiles to an inner wire that has none.
 *
 * The sender stamps each slice with the time. The receiver looks at the head of
 * each link of the inner wire and shows it only when it is due:
 *
 *              not due                   wait: it is time
 *   NONE ---------------------> HELD ------------------------> TOLD
 *    |  ^                        |  ^         not yet           |
 *    |  |                        |  +---------------------------+
 *    |  | release                | due                          | due
 *    |  |                        v                              |
 *    +--+--------------------> SHOWN <--------------------------+
 *         due, or no profiles
 *
 * A slice stays shown, whatever the profiles become. For a held slice the due
 * time is computed again when they change, from the state of the link before
 * it. The slices after it have not been examined yet. Each has its own time
 * stamp, so delays overlap.
 *
 * A change does not wake the inner wire, so `wait` ends every `look_ns` while a
 * slice is held. Like the inner wires it reports each slice once, so a caller
 * that does not want the slice does not spin.
 */
#include "rules.h"

#include <stdlib.h>

static const uint64_t look_ns = 2 * 1000000U;

enum head { NONE, HELD, TOLD, SHOWN };

struct ruled_link {
    unsigned node;
    enum head head;
    struct gw__due before, after; /* the link before and after the head */
    uint64_t sent_ns, due_ns;     /* of the head */
    uint64_t changes;             /* of the profiles that due_ns is based on */
};

struct ruled {
    struct gw__wire wire;
    struct gw__wire_ops ops; /* with the inner wire's name and slice size */
    struct gw__wire *inner;
    struct gw__rules *rules;
    unsigned held; /* links whose head is HELD */
    struct ruled_link links[];
};

static struct ruled *ruled_of(struct gw__wire *wire)
{
    return (struct ruled *)wire;
}

static void reflect(struct ruled *ruled)
{
    ruled->wire.told = ruled->inner->told;
    ruled->wire.spoiled = ruled->inner->spoiled;
}

static enum gw_err ruled_connect(struct gw__wire *wire,
                                 const struct gw__address *table,
                                 uint64_t deadline_ns, struct gw_error *why)
{
    struct gw__wire *inner = ruled_of(wire)->inner;
    inner->interrupt = wire->interrupt;
    return inner->ops->connect(inner, table, deadline_ns, why);
}

/* Always stamped: the sender does not know the receiver's profiles. */
static enum gw_err ruled_send(struct gw__wire *wire, unsigned peer,
                              const struct gw__header *header, const void *data,
                              bool copy)
{
    struct ruled *ruled = ruled_of(wire);
    struct gw__wire *inner = ruled->inner;
    struct gw__header stamped;
    if (header->sent_ns == 0) {
        stamped = *header;
        stamped.sent_ns = gw_now_ns();
        header = &stamped;
    }
    enum gw_err err = inner->ops->send(inner, peer, header, data, copy);
    reflect(ruled);
    return err;
}

static uint64_t ruled_sends_done(struct gw__wire *wire, unsigned peer)
{
    struct gw__wire *inner = ruled_of(wire)->inner;
    return inner->ops->sends_done(inner, peer);
}

static void move_to(struct ruled *ruled, struct ruled_link *link,
                    enum head head)
{
    if (link->head == HELD)
        ruled->held--;
    if (head == HELD)
        ruled->held++;
    link->head = head;
}

/* A time stamp in the future is of another clock. */
static uint64_t when_sent(const struct gw__header *header)
{
    uint64_t now = gw_now_ns();
    return header->sent_ns && header->sent_ns < now ? header->sent_ns : now;
}

/* Computes the due time of the head, once and after each change of the
 * profiles. */
static void set_arrival(struct ruled *ruled, struct ruled_link *link,
                        const struct gw__header *header)
{
    uint64_t changes = gw__rules_changes(ruled->rules);
    if (link->head == NONE)
        link->sent_ns = when_sent(header);
    else if (link->changes == changes)
        return;
    link->changes = changes;
    link->after = link->before;
    link->due_ns =
        gw__rules_due(ruled->rules, link->node, &link->after, link->sent_ns,
                      header->bytes, false, header->slice == 0);
}

/* Slices held up by a cut go on when the link is up again, not before. */
static bool is_through(struct ruled *ruled, struct ruled_link *link,
                       const struct gw__header *header)
{
    set_arrival(ruled, link, header);
    uint64_t now = gw_now_ns();
    if (gw__rules_down(ruled->rules, link->node)) {
        link->before.last_ns = now;
        return false;
    }
    if (now < link->due_ns)
        return false;
    link->before = link->after;
    return true;
}

static enum gw_err ruled_peek(struct gw__wire *wire, unsigned peer,
                              struct gw__slice_view *view)
{
    struct ruled *ruled = ruled_of(wire);
    struct ruled_link *link = &ruled->links[peer];
    enum gw_err err = ruled->inner->ops->peek(ruled->inner, peer, view);
    reflect(ruled);
    if (err) {
        move_to(ruled, link, NONE);
        return err;
    }
    if (link->head == SHOWN)
        return GW_OK;
    bool shown =
        gw__rules_quiet(ruled->rules) || is_through(ruled, link, view->header);
    move_to(ruled, link, shown ? SHOWN : HELD);
    return shown ? GW_OK : GW_PENDING;
}

static void ruled_release(struct gw__wire *wire, unsigned peer)
{
    struct ruled *ruled = ruled_of(wire);
    ruled->inner->ops->release(ruled->inner, peer);
    move_to(ruled, &ruled->links[peer], NONE);
    reflect(ruled);
}

/* How long the head is still held under the current profiles. */
static uint64_t left_ns(const struct ruled *ruled,
                        const struct ruled_link *link, uint64_t now)
{
    if (gw__rules_changes(ruled->rules) != link->changes)
        return 0;
    if (gw__rules_down(ruled->rules, link->node))
        return UINT64_MAX;
    return link->due_ns > now ? link->due_ns - now : 0;
}

/* How much of `ns` to sleep; 0: a held slice may be due. */
static uint64_t nap_ns(struct ruled *ruled, uint64_t ns)
{
    if (ruled->held == 0)
        return ns;
    uint64_t now = gw_now_ns();
    for (unsigned r = 0; r < ruled->wire.size; r++) {
        struct ruled_link *link = &ruled->links[r];
        if (link->head != HELD)
            continue;
        uint64_t left = left_ns(ruled, link, now);
        if (left == 0)
            move_to(ruled, link, TOLD);
        ns = left < ns ? left : ns;
    }
    return ns < look_ns ? ns : look_ns;
}

static void ruled_wait(struct gw__wire *wire, uint64_t ns)
{
    struct ruled *ruled = ruled_of(wire);
    ruled->inner->interrupt = wire->interrupt;
    ruled->inner->ops->wait(ruled->inner, nap_ns(ruled, ns));
    reflect(ruled);
}

static enum gw_err ruled_check(struct gw__wire *wire, struct gw_error *why)
{
    struct ruled *ruled = ruled_of(wire);
    enum gw_err err = ruled->inner->ops->check(ruled->inner, why);
    reflect(ruled);
    return err;
}

static void ruled_abort(struct gw__wire *wire, const struct gw_error *error)
{
    struct gw__wire *inner = ruled_of(wire)->inner;
    inner->ops->abort(inner, error);
}

static void ruled_close(struct gw__wire *wire)
{
    struct ruled *ruled = ruled_of(wire);
    ruled->inner->hasty = wire->hasty;
    gw__wire_close(&ruled->inner);
    free(ruled);
}

static bool ruled_lost(struct gw__wire *wire, unsigned peer)
{
    struct gw__wire *inner = ruled_of(wire)->inner;
    return inner->ops->lost(inner, peer);
}

static struct gw__windows *no_windows(struct gw__wire *wire)
{
    (void)wire;
    return NULL;
}

static const struct gw__wire_ops ruled_ops = {
    .connect = ruled_connect,
    .send = ruled_send,
    .sends_done = ruled_sends_done,
    .peek = ruled_peek,
    .release = ruled_release,
    .wait = ruled_wait,
    .check = ruled_check,
    .abort = ruled_abort,
    .close = ruled_close,
    .windows = no_windows,
    .lost = ruled_lost,
};

static enum gw_err check_nodes(const unsigned *nodes, unsigned size,
                               struct gw_error *why)
{
    for (unsigned r = 0; r < size; r++)
        if (nodes[r] >= GW__RULE_NODES)
            return gw_fail(why, GW_EINVAL,
                           "link rules: rank %u is node %u, but nodes are "
                           "numbered below %d",
                           r, nodes[r], GW__RULE_NODES);
    return GW_OK;
}

static struct ruled *wrap(struct gw__wire *inner, struct gw__rules *rules,
                          const unsigned *nodes)
{
    unsigned size = inner->size;
    struct ruled *ruled =
        calloc(1, sizeof *ruled + size * sizeof *ruled->links);
    if (!ruled)
        return NULL;
    ruled->wire = *inner;
    ruled->wire.ops = &ruled->ops;
    ruled->ops = ruled_ops;
    ruled->ops.name = inner->ops->name;
    ruled->ops.slice_bytes = inner->ops->slice_bytes;
    ruled->inner = inner;
    ruled->rules = rules;
    for (unsigned r = 0; r < size; r++)
        ruled->links[r].node = nodes[r];
    return ruled;
}

enum gw_err gw__wire_ruled(struct gw__wire **inner, struct gw__rules *rules,
                           const unsigned *nodes, struct gw__wire **wire,
                           struct gw_error *why)
{
    *wire = NULL;
    enum gw_err err = check_nodes(nodes, (*inner)->size, why);
    struct ruled *ruled = err ? NULL : wrap(*inner, rules, nodes);
    if (!ruled) {
        gw__wire_close(inner);
        return err ? err : gw_fail(why, GW_ENOMEM, "link rules");
    }
    *inner = NULL;
    *wire = &ruled->wire;
    return GW_OK;
}
