/* SPDX-License-Identifier: MIT
 *
 * Handles HELLOs and sends updates to members. A change that concerns members
 * is sent as NEWS at once, and again to a member whose HELLO shows an older
 * state. The survivors' reports are sent after a flush has decided. During a
 * flush the leader answers every HELLO, so that waiting members know that a
 * leader exists. In a large run, changes that can wait, such as new joiners,
 * are collected for some milliseconds: otherwise n processes that start would
 * cause n updates for each of them. And only the leader sends updates at once;
 * the other controllers answer HELLOs.
 */
#include "service_parts.h"

#include <string.h>

/* After this time without HELLO a process gets no NEWS unless it asks. */
#define FORGET_NS 3000000000ULL

/* The body for this process: as changes, if it should have the former state or
 * this one. */
static const struct gw__update_body *body_for(const struct gw__service *s,
                                              const struct contact *contact,
                                              struct gw__update_body *none)
{
    if (contact->sent_index == 0 || contact->sent_index < s->former_index)
        return &s->body;
    if (contact->sent_index != s->changed_index)
        return &s->changes;
    gw__membership_update_changes(&s->body, &s->body, none);
    return none;
}

/* Has the registry changed for members since the last look, which a large run
 * delays? Then *now is its body. */
static bool is_ahead(const struct gw__service *s,
                     const struct gw__membership_update *update,
                     struct gw__update_body *now)
{
    if (s->registry.index == s->checked_index)
        return false;
    gw__membership_update_whole(update, now);
    return now->bytes != s->body.bytes ||
           memcmp(now->data, s->body.data, now->bytes) != 0;
}

static void send_update(struct gw__service *s,
                        struct gw__membership_update *update, unsigned node)
{
    uint8_t out[GW__MESSAGE_MAX];
    struct gw__update_body other;
    struct contact *contact = &s->contacts[node];
    const struct gw__update_body *body = &other;
    bool ahead = is_ahead(s, update, &other);
    if (!ahead)
        body = body_for(s, contact, &other);
    contact->sent_index = ahead ? 0 : s->changed_index;
    update->state = s->registry.members[node].state;
    update->incarnation = s->registry.members[node].incarnation;
    size_t bytes = gw__membership_update_encode(update, body, out, sizeof out);
    s->act->send(s->act->driver, node, out, bytes);
}

/* Sends the reports of `nodes` in a completed flush to all of `to`. */
static void send_reports(struct gw__service *s, const struct gw_nodes *to,
                         struct gw_nodes nodes)
{
    const struct gw__flush *flush = &s->registry.flush;
    uint8_t out[GW__MESSAGE_MAX];
    while (!gw__nodes_is_empty(*to) && !gw__nodes_is_empty(nodes)) {
        size_t bytes = gw__reported_encode(flush->since_epoch, flush->reports,
                                           &nodes, out, sizeof out);
        for (unsigned node = gw__nodes_next(to, 0); node < GW__NODES_MAX;
             node = gw__nodes_next(to, node + 1))
            s->act->send(s->act->driver, node, out, bytes);
    }
}

/* ---- HELLO ---- */

/* The leader grants a lease to an active server that has sent HELLO. */
static void send_lease(struct gw__service *s, unsigned node,
                       const struct gw__hello *hello)
{
    uint8_t out[64];
    const struct gw__lease lease = {.incarnation = hello->incarnation,
                                    .sent_ns = hello->sent_ns,
                                    .index = s->registry.index,
                                    .lease_ns = GW__LEASE_NS};
    if (!gw__lease_may_grant(s, node, hello->incarnation))
        return;
    s->contacts[node].leased_ns = s->now_ns;
    s->leases++;
    size_t bytes = gw__lease_encode(&lease, out, sizeof out);
    s->act->send(s->act->driver, node, out, bytes);
}

static bool in_ring(const struct gw__service *s, unsigned node,
                    struct gw__id incarnation)
{
    const struct gw__view *view = &s->registry.view;
    int rank = gw__view_rank(view, node);
    return rank >= 0 && gw__id_equal(view->ring[rank].incarnation, incarnation);
}

/* Which body does the process have? One that reports no update, or could not
 * apply the changes that it got, gets a whole one. */
static uint64_t body_of(const struct gw__service *s, uint64_t index)
{
    if (index >= s->changed_index)
        return s->changed_index;
    return index >= s->former_index ? s->former_index : 0;
}

void gw__service_hello(struct gw__service *s, const struct gw__input *input)
{
    const struct gw__flush *flush = &s->registry.flush;
    struct gw__hello hello;
    struct gw__membership_update update;
    struct gw_error why;
    unsigned node = input->from;
    if (gw__hello_decode(input->data, input->bytes, &hello, &why) ||
        hello.incarnation.low != input->incarnation)
        return;
    gw__nodes_add(&s->contacted, node);
    s->contacts[node].incarnation = hello.incarnation;
    s->contacts[node].hello_ns = s->now_ns;
    s->contacts[node].sent_index = body_of(s, hello.index);
    s->hellos++;
    gw__service_beat(s, node, hello.incarnation);
    send_lease(s, node, &hello);
    if (hello.index < s->changed_index ||
        (flush->open && gw__service_leads(s))) {
        gw__membership_update_make(&s->registry, node, gw__service_leads(s),
                                   &update);
        send_update(s, &update, node);
    } else if (!flush->open && in_ring(s, node, hello.incarnation)) {
        const struct gw_nodes to = gw__nodes_only(node);
        send_reports(s, &to, gw__nodes_minus(flush->reported, hello.reports));
    }
}

/* ---- changes ---- */

bool gw__service_is_waited_for(const struct gw__member *m)
{
    return (m->state == GW__ACTIVE || m->state == GW__JOINING) &&
           gw__role_is_ps_members(m->role);
}

static bool wants_update(const struct gw__service *s, unsigned node)
{
    const struct contact *contact = &s->contacts[node];
    if (node == s->self.node)
        return false;
    return gw__service_is_waited_for(&s->registry.members[node]) ||
           (!gw__id_is_none(contact->incarnation) &&
            s->now_ns - contact->hello_ns < FORGET_NS);
}

static void push_update(struct gw__service *s,
                        struct gw__membership_update *update, bool decided)
{
    const struct gw_nodes nodes = gw__nodes_or(s->registry.known, s->contacted);
    struct gw_nodes survivors = {{0}};
    for (unsigned node = gw__nodes_next(&nodes, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&nodes, node + 1)) {
        if (!wants_update(s, node))
            continue;
        send_update(s, update, node);
        if (decided && gw__view_rank(&s->registry.view, node) >= 0)
            gw__nodes_add(&survivors, node);
    }
    send_reports(s, &survivors, s->registry.flush.reported);
}

/* True: a flush has ended since the last look. */
static bool track_flush(struct gw__service *s)
{
    const struct gw__flush *flush = &s->registry.flush;
    bool other = flush->since_epoch != s->flush_epoch;
    bool decided = !flush->open && (s->flushing || other);
    if (flush->open && (!s->flushing || other))
        s->flush_ns = s->now_ns;
    s->flushing = flush->open;
    s->flush_epoch = flush->since_epoch;
    return decided;
}

/* Is the run so large that updates are saved? */
static bool is_large(const struct gw__service *s)
{
    enum { SMALL = 64 };
    return gw__nodes_count(s->registry.known) > SMALL;
}

/* The pause after updates. */
static uint64_t pause_ns(const struct gw__service *s)
{
    enum { PROCESS_NS = 100000 };
    return is_large(s)
               ? gw__nodes_count(s->registry.known) * (uint64_t)PROCESS_NS
               : 0;
}

/* Is there no change of the active members or of a flush? */
static bool may_wait(const struct gw__service *s)
{
    const struct gw__registry *r = &s->registry;
    return s->now_ns < s->push_ns && r->view.epoch == s->pushed_epoch &&
           r->flush.open == s->flushing &&
           r->flush.since_epoch == s->flush_epoch;
}

static void keep_bodies(struct gw__service *s,
                        const struct gw__membership_update *update)
{
    s->former_index = s->changed_index;
    s->changed_index = s->registry.index;
    gw__update_body_copy(&s->former_body, &s->body);
    gw__membership_update_whole(update, &s->body);
    gw__membership_update_changes(&s->former_body, &s->body, &s->changes);
}

void gw__service_push_changes(struct gw__service *s)
{
    if (s->registry.index == s->checked_index || may_wait(s))
        return;
    s->checked_index = s->registry.index;
    uint64_t mark = gw__membership_update_mark(&s->registry);
    if (mark == s->mark)
        return;
    s->mark = mark;
    struct gw__membership_update update;
    gw__membership_update_make(&s->registry, s->self.node, gw__service_leads(s),
                               &update);
    keep_bodies(s, &update);
    gw__service_observe(s);
    bool decided = track_flush(s);
    if (gw__service_leads(s) || !is_large(s))
        push_update(s, &update, decided);
    s->pushed_epoch = s->registry.view.epoch;
    s->push_ns = s->now_ns + pause_ns(s);
}
