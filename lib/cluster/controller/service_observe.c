/* SPDX-License-Identifier: MIT
 *
 * The controllers as a second observer of every member: members that do not
 * send HELLO for too long, and members whose end is certain. Every replica
 * listens; the leader suspects. HELLOs come every 100 ms, in a ring of more than
 * 200 members every 0.5 ms per member. So with the threshold below a silence of
 * some five of these intervals leads to a suspicion. The two neighbours in
 * the ring need half of that. The observer's own health counts as in the
 * detector.
 */
#include "service_parts.h"

#include <string.h>

static const double threshold = 8;

static struct gw__phi_config phi_config(const struct gw__service *s)
{
    uint64_t hello_ns = gw__hello_ns(s->registry.view.ring_count);
    return (struct gw__phi_config){.expected_ns = hello_ns,
                                   .deviation_ns = hello_ns / 2,
                                   .pause_ns = hello_ns * 3 / 2};
}

static void observe_member(struct gw__service *s, unsigned node)
{
    const struct gw__member *m = &s->registry.members[node];
    struct gw__member_observation *w = &s->observed[node];
    const struct contact *contact = &s->contacts[node];
    const struct gw__phi_config config = phi_config(s);
    w->silence.phi.config = config; /* the ring may have another size */
    if (gw__id_equal(w->incarnation, m->incarnation))
        return;
    bool known = gw__id_equal(contact->incarnation, m->incarnation);
    *w = (struct gw__member_observation){.incarnation = m->incarnation};
    gw__silence_begin(&w->silence, &config,
                      s->now_ns + (known ? 0 : GW__FIRST_HELLO_NS));
}

void gw__service_observe(struct gw__service *s)
{
    for (unsigned node = gw__nodes_next(&s->registry.known, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&s->registry.known, node + 1)) {
        const struct gw__member *m = &s->registry.members[node];
        if (m->state == GW__ACTIVE && gw__service_is_waited_for(m))
            observe_member(s, node);
        else
            s->observed[node].incarnation = (struct gw__id){0};
    }
}

void gw__service_beat(struct gw__service *s, unsigned node,
                      struct gw__id incarnation)
{
    struct gw__member_observation *w = &s->observed[node];
    const struct gw__phi_config config = phi_config(s);
    if (!gw__id_equal(w->incarnation, incarnation))
        return;
    if (w->silence.phi.beat_ns == 0)
        gw__silence_begin(&w->silence, &config, s->now_ns);
    gw__silence_end(&w->silence, s->now_ns);
    w->suspected_ns = 0;
}

void gw__service_health(struct gw__service *s, uint64_t late_ns)
{
    s->late_ns = 0;
    if (!gw__health_late(&s->health, late_ns, phi_config(s).deviation_ns))
        return;
    s->late_ns = late_ns;
    for (unsigned node = gw__nodes_next(&s->registry.known, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&s->registry.known, node + 1))
        gw__silence_shift(&s->observed[node].silence, late_ns, s->now_ns);
    s->flush_ns += late_ns;
}

/* ---- accusing ---- */

static bool is_silent(const struct gw__service *s,
                      const struct gw__member_observation *w)
{
    return !gw__id_is_none(w->incarnation) &&
           gw__silence_is_long(&w->silence, threshold,
                               gw__health_factor(&s->health), s->now_ns);
}

static bool member_has_ended(const struct gw__service *s, unsigned node)
{
    const struct gw__member *m = &s->registry.members[node];
    return s->ended[node] && m->state == GW__ACTIVE &&
           m->incarnation.low == s->ended[node];
}

static bool joiner_waits(const struct gw__service *s)
{
    for (unsigned node = gw__nodes_next(&s->registry.known, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&s->registry.known, node + 1)) {
        const struct gw__member *m = &s->registry.members[node];
        const struct contact *contact = &s->contacts[node];
        if (m->state == GW__JOINING &&
            gw__id_equal(contact->incarnation, m->incarnation) &&
            s->now_ns - contact->hello_ns < GW__DESERTED_NS)
            return true;
    }
    return false;
}

/* The last member of the ring, which no suspicion removes, is gone as far as
 * can be known. */
static bool is_deserted(const struct gw__service *s, unsigned node)
{
    const struct gw__view *view = &s->registry.view;
    const struct gw__member_observation *w = &s->observed[node];
    return view->ring_count == 1 && view->ring[0].node == node &&
           gw__id_equal(w->incarnation, view->ring[0].incarnation) &&
           gw__phi_silence(&w->silence.phi, s->now_ns) >= GW__DESERTED_NS &&
           joiner_waits(s);
}

/* Does the leader hear another server that has the slot? */
static bool is_elsewhere(const struct gw__service *s,
                         const struct gw__slot_route *slot, unsigned node)
{
    for (unsigned i = 0; i < slot->count; i++) {
        const struct gw__member_observation *w = &s->observed[slot->replica[i]];
        if (slot->replica[i] != node && !gw__id_is_none(w->incarnation) &&
            !is_silent(s, w))
            return true;
    }
    return false;
}

static bool has(const struct gw__slot_route *slot, unsigned node)
{
    for (unsigned i = 0; i < slot->count; i++)
        if (slot->replica[i] == node)
            return true;
    return false;
}

/* A server that only the controllers have lost. All others hear it and would
 * never second the leader. But it cannot serve without the leader's lease, and
 * its slots would wait until the network recovers. It is removed if other
 * servers, which get leases, have its slots. A leader that hears none of them
 * is cut off itself. */
static bool is_partitioned(const struct gw__service *s, unsigned node)
{
    const struct gw__routes *routes = &s->registry.routes;
    const struct gw__member_observation *w = &s->observed[node];
    if (s->registry.members[node].role != GW__SERVER ||
        gw__id_is_none(w->incarnation) ||
        gw__phi_silence(&w->silence.phi, s->now_ns) < GW__PARTITIONED_NS)
        return false;
    for (unsigned i = 0; i < routes->slot_count; i++)
        if (has(&routes->slots[i], node) &&
            !is_elsewhere(s, &routes->slots[i], node))
            return false;
    return true;
}

/* Has the leader proposed this recently? */
static bool is_proposed(const struct gw__service *s, unsigned node,
                        bool certain, bool alone)
{
    const struct gw__member_observation *w = &s->observed[node];
    return w->suspected_ns && w->certain == certain && w->alone == alone &&
           s->now_ns - w->suspected_ns < GW__SERVICE_RETRY_NS;
}

static void mark_proposed(struct gw__service *s, unsigned node, bool certain,
                          bool alone)
{
    struct gw__member_observation *w = &s->observed[node];
    w->suspected_ns = s->now_ns;
    w->certain = certain;
    w->alone = alone;
}

static struct gw__process member_at(const struct gw__service *s, unsigned node)
{
    return (struct gw__process){node, s->registry.members[node].incarnation};
}

static void suspect(struct gw__service *s, unsigned node, bool alone)
{
    struct gw__command command = {
        .kind = GW__CMD_SUSPECT,
        .who = {s->self.node, s->self.incarnation},
        .suspect = {.suspected = member_at(s, node), .alone = alone}};
    if (is_proposed(s, node, false, alone) || gw__lease_protects(s, &command))
        return;
    mark_proposed(s, node, false, alone);
    gw__service_propose(s, &command);
}

static bool is_gone(const struct gw__service *s, unsigned node)
{
    return node != s->self.node &&
           (member_has_ended(s, node) || is_deserted(s, node));
}

/* All members that have ended, together. */
static void suspect_gone(struct gw__service *s)
{
    const struct gw_nodes *known = &s->registry.known;
    struct gw__process gone[1 + GW__SUSPECT_MORE_MAX];
    struct gw__command command;
    unsigned count = 0;
    for (unsigned node = gw__nodes_next(known, 0);
         node < GW__NODES_MAX && count <= GW__SUSPECT_MORE_MAX;
         node = gw__nodes_next(known, node + 1)) {
        if (!is_gone(s, node) || is_proposed(s, node, true, false))
            continue;
        mark_proposed(s, node, true, false);
        gone[count++] = member_at(s, node);
    }
    if (count == 0)
        return;
    gw__command_clear(&command);
    command.kind = GW__CMD_SUSPECT;
    command.who = (struct gw__process){s->self.node, s->self.incarnation};
    command.suspect.suspected = gone[0];
    command.suspect.certain = true;
    command.suspect.more_count = count - 1;
    memcpy(command.suspect.more, gone + 1, (count - 1) * sizeof *gone);
    gw__service_propose(s, &command);
}

/* May this controller suspect members? */
static bool is_established_leader(const struct gw__service *s)
{
    const struct gw__member *self = &s->registry.members[s->self.node];
    return gw__service_leads(s) && self->state == GW__ACTIVE &&
           gw__id_equal(self->incarnation, s->self.incarnation);
}

static void confirm_if_silent(struct gw__service *s, unsigned node)
{
    if (is_silent(s, &s->observed[node]))
        suspect(s, node, is_partitioned(s, node));
}

/* If a process can be looked at, the look decides. */
void gw__service_suspect(struct gw__service *s)
{
    const struct gw_nodes *known = &s->registry.known;
    if (is_established_leader(s))
        suspect_gone(s);
    for (unsigned node = gw__nodes_next(known, 0);
         node < GW__NODES_MAX && is_established_leader(s);
         node = gw__nodes_next(known, node + 1)) {
        const struct gw__member_observation *w = &s->observed[node];
        bool is_observed = !gw__id_is_none(w->incarnation);
        if (is_gone(s, node))
            continue;
        if (is_observed && s->act->inspect &&
            gw__silence_needs_inspection(&w->silence, s->now_ns))
            s->act->inspect(s->act->driver, node, w->incarnation.low);
        else
            confirm_if_silent(s, node);
    }
}

void gw__service_sight(struct gw__service *s, const struct gw__input *input)
{
    struct gw__sight sight;
    if (input->from >= GW__NODES_MAX || input->bytes != sizeof sight)
        return;
    struct gw__member_observation *w = &s->observed[input->from];
    if (gw__id_is_none(w->incarnation) ||
        w->incarnation.low != input->incarnation)
        return;
    memcpy(&sight, input->data, sizeof sight);
    gw__silence_sight(&w->silence, &sight, s->late_ns, s->now_ns);
    if (is_established_leader(s))
        confirm_if_silent(s, input->from);
}
