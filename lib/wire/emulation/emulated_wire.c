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
 * A change does not wake the inner wire, so `wait` ends every `poll_ns` while a
 * slice is held. Like the inner wires it reports each slice once, so a caller
 * that does not want the slice does not spin.
 */
#include "link_profiles.h"

#include <stdlib.h>

static const uint64_t poll_ns = 2 * 1000000U;

enum head { NONE, HELD, NOTIFIED, SHOWN };

struct emulated_link {
    unsigned node;
    enum head head;
    struct gw__due before, after; /* the link before and after the head */
    uint64_t sent_ns, due_ns;     /* of the head */
    uint64_t changes;             /* of the profiles that due_ns is based on */
};

struct emulated_wire {
    struct gw__wire wire;
    struct gw__wire_ops ops; /* with the inner wire's name and slice size */
    struct gw__wire *wrapped;
    struct gw__link_profiles *profiles;
    unsigned held; /* links whose head is HELD */
    struct emulated_link links[];
};

static struct emulated_wire *emulated_wire_of(struct gw__wire *wire)
{
    return (struct emulated_wire *)wire;
}

static void reflect(struct emulated_wire *emulated)
{
    emulated->wire.aborted_by_peer = emulated->wrapped->aborted_by_peer;
    emulated->wire.read_raced = emulated->wrapped->read_raced;
}

static enum gw_err emulated_connect(struct gw__wire *wire,
                                    const struct gw__address *table,
                                    uint64_t deadline_ns, struct gw_error *why)
{
    struct gw__wire *wrapped = emulated_wire_of(wire)->wrapped;
    wrapped->interrupt = wire->interrupt;
    return wrapped->ops->connect(wrapped, table, deadline_ns, why);
}

/* Always stamped: the sender does not know the receiver's profiles. */
static enum gw_err emulated_send(struct gw__wire *wire, unsigned peer,
                                 const struct gw__header *header,
                                 const void *data, bool copy)
{
    struct emulated_wire *emulated = emulated_wire_of(wire);
    struct gw__wire *wrapped = emulated->wrapped;
    struct gw__header stamped;
    if (header->sent_ns == 0) {
        stamped = *header;
        stamped.sent_ns = gw_now_ns();
        header = &stamped;
    }
    enum gw_err err = wrapped->ops->send(wrapped, peer, header, data, copy);
    reflect(emulated);
    return err;
}

static uint64_t emulated_sends_done(struct gw__wire *wire, unsigned peer)
{
    struct gw__wire *wrapped = emulated_wire_of(wire)->wrapped;
    return wrapped->ops->sends_done(wrapped, peer);
}

static void move_to(struct emulated_wire *emulated, struct emulated_link *link,
                    enum head head)
{
    if (link->head == HELD)
        emulated->held--;
    if (head == HELD)
        emulated->held++;
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
static void set_arrival(struct emulated_wire *emulated,
                        struct emulated_link *link,
                        const struct gw__header *header)
{
    uint64_t changes = gw__link_profiles_changes(emulated->profiles);
    if (link->head == NONE)
        link->sent_ns = when_sent(header);
    else if (link->changes == changes)
        return;
    link->changes = changes;
    link->after = link->before;
    link->due_ns = gw__link_profiles_due(
        emulated->profiles, link->node, &link->after, link->sent_ns,
        header->bytes, false, header->slice == 0);
}

/* Slices held up by a cut go on when the link is up again, not before. */
static bool is_through(struct emulated_wire *emulated,
                       struct emulated_link *link,
                       const struct gw__header *header)
{
    set_arrival(emulated, link, header);
    uint64_t now = gw_now_ns();
    if (gw__link_profiles_down(emulated->profiles, link->node)) {
        link->before.last_ns = now;
        return false;
    }
    if (now < link->due_ns)
        return false;
    link->before = link->after;
    return true;
}

static enum gw_err emulated_peek(struct gw__wire *wire, unsigned peer,
                                 struct gw__slice_view *view)
{
    struct emulated_wire *emulated = emulated_wire_of(wire);
    struct emulated_link *link = &emulated->links[peer];
    enum gw_err err =
        emulated->wrapped->ops->peek(emulated->wrapped, peer, view);
    reflect(emulated);
    if (err) {
        move_to(emulated, link, NONE);
        return err;
    }
    if (link->head == SHOWN)
        return GW_OK;
    bool shown = gw__link_profiles_quiet(emulated->profiles) ||
                 is_through(emulated, link, view->header);
    move_to(emulated, link, shown ? SHOWN : HELD);
    return shown ? GW_OK : GW_PENDING;
}

static void emulated_release(struct gw__wire *wire, unsigned peer)
{
    struct emulated_wire *emulated = emulated_wire_of(wire);
    emulated->wrapped->ops->release(emulated->wrapped, peer);
    move_to(emulated, &emulated->links[peer], NONE);
    reflect(emulated);
}

/* How long the head is still held under the current profiles. */
static uint64_t left_ns(const struct emulated_wire *emulated,
                        const struct emulated_link *link, uint64_t now)
{
    if (gw__link_profiles_changes(emulated->profiles) != link->changes)
        return 0;
    if (gw__link_profiles_down(emulated->profiles, link->node))
        return UINT64_MAX;
    return link->due_ns > now ? link->due_ns - now : 0;
}

/* How much of `ns` to sleep; 0: a held slice may be due. */
static uint64_t nap_ns(struct emulated_wire *emulated, uint64_t ns)
{
    if (emulated->held == 0)
        return ns;
    uint64_t now = gw_now_ns();
    for (unsigned r = 0; r < emulated->wire.size; r++) {
        struct emulated_link *link = &emulated->links[r];
        if (link->head != HELD)
            continue;
        uint64_t left = left_ns(emulated, link, now);
        if (left == 0)
            move_to(emulated, link, NOTIFIED);
        ns = left < ns ? left : ns;
    }
    return ns < poll_ns ? ns : poll_ns;
}

static void emulated_wait(struct gw__wire *wire, uint64_t ns)
{
    struct emulated_wire *emulated = emulated_wire_of(wire);
    emulated->wrapped->interrupt = wire->interrupt;
    emulated->wrapped->ops->wait(emulated->wrapped, nap_ns(emulated, ns));
    reflect(emulated);
}

static enum gw_err emulated_check(struct gw__wire *wire, struct gw_error *why)
{
    struct emulated_wire *emulated = emulated_wire_of(wire);
    enum gw_err err = emulated->wrapped->ops->check(emulated->wrapped, why);
    reflect(emulated);
    return err;
}

static void emulated_abort(struct gw__wire *wire, const struct gw_error *error)
{
    struct gw__wire *wrapped = emulated_wire_of(wire)->wrapped;
    wrapped->ops->abort(wrapped, error);
}

static void emulated_close(struct gw__wire *wire)
{
    struct emulated_wire *emulated = emulated_wire_of(wire);
    emulated->wrapped->linger_ns = wire->linger_ns;
    emulated->wrapped->interrupt = wire->interrupt;
    gw__wire_close(&emulated->wrapped);
    free(emulated);
}

static bool emulated_lost(struct gw__wire *wire, unsigned peer)
{
    struct gw__wire *wrapped = emulated_wire_of(wire)->wrapped;
    return wrapped->ops->lost(wrapped, peer);
}

static struct gw__windows *no_windows(struct gw__wire *wire)
{
    (void)wire;
    return NULL;
}

static const struct gw__wire_ops emulated_wire_ops = {
    .connect = emulated_connect,
    .send = emulated_send,
    .sends_done = emulated_sends_done,
    .peek = emulated_peek,
    .release = emulated_release,
    .wait = emulated_wait,
    .check = emulated_check,
    .abort = emulated_abort,
    .close = emulated_close,
    .windows = no_windows,
    .lost = emulated_lost,
};

static enum gw_err check_nodes(const unsigned *nodes, unsigned size,
                               struct gw_error *why)
{
    for (unsigned r = 0; r < size; r++)
        if (nodes[r] >= GW__LINK_PROFILE_NODES)
            return gw_fail(why, GW_EINVAL,
                           "link rules: rank %u is node %u, but nodes are "
                           "numbered below %d",
                           r, nodes[r], GW__LINK_PROFILE_NODES);
    return GW_OK;
}

static struct emulated_wire *wrap(struct gw__wire *wrapped,
                                  struct gw__link_profiles *profiles,
                                  const unsigned *nodes)
{
    unsigned size = wrapped->size;
    struct emulated_wire *emulated =
        calloc(1, sizeof *emulated + size * sizeof *emulated->links);
    if (!emulated)
        return NULL;
    emulated->wire = *wrapped;
    emulated->wire.ops = &emulated->ops;
    emulated->ops = emulated_wire_ops;
    emulated->ops.name = wrapped->ops->name;
    emulated->ops.slice_bytes = wrapped->ops->slice_bytes;
    emulated->wrapped = wrapped;
    emulated->profiles = profiles;
    for (unsigned r = 0; r < size; r++)
        emulated->links[r].node = nodes[r];
    return emulated;
}

enum gw_err gw__wire_emulated(struct gw__wire **wrapped,
                              struct gw__link_profiles *profiles,
                              const unsigned *nodes, struct gw__wire **wire,
                              struct gw_error *why)
{
    *wire = NULL;
    enum gw_err err = check_nodes(nodes, (*wrapped)->size, why);
    struct emulated_wire *emulated =
        err ? NULL : wrap(*wrapped, profiles, nodes);
    if (!emulated) {
        gw__wire_close(wrapped);
        return err ? err : gw_fail(why, GW_ENOMEM, "link rules");
    }
    *wrapped = NULL;
    *wire = &emulated->wire;
    return GW_OK;
}
