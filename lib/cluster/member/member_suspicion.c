/* SPDX-License-Identifier: MIT
 *
 * Decides which members to suspect: members whose end is certain, and silent
 * ones. Suspicions are repeated until the registry's view shows their effect,
 * or until the suspicion ends.
 *
 * The end of a connection is a separate suspicion. In most cases the peer has
 * died: then a look shows that its process has ended, or, on another host, its
 * beats stop. Or it lives and moves to another view (a member that is called
 * away while it connects drops its connections): then NEWS will follow. If none
 * follows for `reset_ns`, only the connection has ended, and it could never
 * move data again. Then the peer is assumed dead.
 */
#include "member_parts.h"

#include <string.h>

enum { REPEAT_NS = 200000000, RECHECK_NS = 10000000 };

static const uint64_t reset_ns = 1000000000;

/* The incarnation that is active under this number, in the ring or among the
 * members of the parameter server; or none. */
static struct gw__id active(const struct gw__member_core *m, unsigned node)
{
    int rank = gw__view_rank(&m->update.view, node);
    if (rank >= 0)
        return m->update.view.ring[rank].incarnation;
    for (unsigned i = 0; i < m->update.ps_member_count; i++)
        if (m->update.ps_members[i].node == node)
            return m->update.ps_members[i].incarnation;
    return (struct gw__id){0};
}

/* Has it become silent, so that its end caused the end of the connection? */
static bool beats_no_more(const struct gw__member_core *m, unsigned node)
{
    const struct gw__detector *d = &m->detector;
    for (unsigned i = 0; i < d->observed_count; i++)
        if (d->observed[i].node == node)
            return gw__phi_now(&d->observed[i].silence.phi, m->now_ns) >= 1;
    return false;
}

static bool is_cut_off(const struct gw__member_core *m, unsigned node,
                       struct gw__id member)
{
    const struct gw__member_suspicion *suspicion = &m->suspicions[node];
    return !gw__id_is_none(member) && gw__id_equal(member, suspicion->reset) &&
           (m->now_ns >= suspicion->reset_ns + reset_ns ||
            (suspicion->hidden && beats_no_more(m, node)));
}

/* The incarnation whose end is certain, or none. */
static struct gw__id ended(const struct gw__member_core *m, unsigned node)
{
    const struct gw__member_suspicion *suspicion = &m->suspicions[node];
    struct gw__id member = active(m, node);
    if ((suspicion->ended && member.low == suspicion->ended) ||
        is_cut_off(m, node, member))
        return member;
    return suspicion->lost;
}

static struct gw__id silent(const struct gw__member_core *m, unsigned node)
{
    struct gw__id member = active(m, node);
    bool there = gw__id_equal(member, m->suspicions[node].silent);
    return there ? member : (struct gw__id){0};
}

static struct gw__id suspected_since(const struct gw__member_core *m,
                                     unsigned node, bool certain)
{
    bool may = m->stage >= GW__STAGE_QUIET || !m->config.ring;
    if (!may || node == m->node)
        return (struct gw__id){0};
    return certain ? ended(m, node) : silent(m, node);
}

/* All others whose end is certain. */
static void add_more(struct gw__member_core *m, struct gw__command *command)
{
    const struct gw_nodes *suspected = &m->suspected_nodes;
    for (unsigned node = gw__nodes_next(suspected, 0);
         node < GW__NODES_MAX &&
         command->suspect.more_count < GW__SUSPECT_MORE_MAX;
         node = gw__nodes_next(suspected, node + 1)) {
        struct gw__id who = suspected_since(m, node, true);
        if (gw__id_is_none(who) || node == command->suspect.suspected.node)
            continue;
        m->suspicions[node].due_ns = m->now_ns + REPEAT_NS;
        command->suspect.more[command->suspect.more_count++] =
            (struct gw__process){node, who};
    }
}

bool gw__member_suspicion_next(struct gw__member_core *m, bool certain,
                               struct gw__command *command)
{
    const struct gw_nodes *suspected = &m->suspected_nodes;
    for (unsigned node = gw__nodes_next(suspected, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(suspected, node + 1)) {
        struct gw__id who = suspected_since(m, node, certain);
        if (gw__id_is_none(who) || m->now_ns < m->suspicions[node].due_ns)
            continue;
        m->suspicions[node].due_ns = m->now_ns + REPEAT_NS;
        command->kind = GW__CMD_SUSPECT;
        command->suspect.suspected = (struct gw__process){node, who};
        command->suspect.certain = certain;
        if (certain)
            add_more(m, command);
        return true;
    }
    return false;
}

/* The next time to look at a node whose connection was reset; 0: none. */
static uint64_t reset_due(const struct gw__member_core *m, unsigned node)
{
    const struct gw__member_suspicion *suspicion = &m->suspicions[node];
    if (gw__id_is_none(suspicion->reset) ||
        !gw__id_equal(active(m, node), suspicion->reset))
        return 0;
    return suspicion->hidden ? m->now_ns + RECHECK_NS
                             : suspicion->reset_ns + reset_ns;
}

uint64_t gw__member_suspicion_due(const struct gw__member_core *m)
{
    uint64_t due = 0;
    const struct gw_nodes *suspected = &m->suspected_nodes;
    for (unsigned node = gw__nodes_next(suspected, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(suspected, node + 1)) {
        uint64_t at = m->suspicions[node].due_ns + 1; /* + 1, because 0 means
                                                     none */
        if (gw__id_is_none(suspected_since(m, node, true)) &&
            gw__id_is_none(suspected_since(m, node, false)))
            at = reset_due(m, node);
        if (at && (due == 0 || at < due))
            due = at;
    }
    return due;
}

void gw__member_suspicion_forget(struct gw__member_core *m)
{
    const struct gw_nodes *suspected = &m->suspected_nodes;
    for (unsigned node = gw__nodes_next(suspected, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(suspected, node + 1))
        m->suspicions[node].silent = m->suspicions[node].reset =
            (struct gw__id){0};
}

/* The entry of a node; it is new if there was none. */
static struct gw__member_suspicion *suspicion_of(struct gw__member_core *m,
                                                 unsigned node)
{
    if (!gw__nodes_has(&m->suspected_nodes, node))
        m->suspicions[node] = (struct gw__member_suspicion){.ended = 0};
    gw__nodes_add(&m->suspected_nodes, node);
    return &m->suspicions[node];
}

void gw__member_suspicion_reset(struct gw__member_core *m,
                                struct gw__process who)
{
    if (who.node >= GW__NODES_MAX)
        return;
    struct gw__member_suspicion *suspicion = suspicion_of(m, who.node);
    suspicion->reset = who.incarnation;
    suspicion->reset_ns = m->now_ns;
    suspicion->hidden = !m->act->inspect;
    if (m->act->inspect)
        m->act->inspect(m->act->driver, who.node, who.incarnation.low);
}

void gw__member_suspicion_sight(struct gw__member_core *m,
                                const struct gw__input *input)
{
    struct gw__sight sight;
    if (input->from >= GW__NODES_MAX || input->bytes != sizeof sight)
        return;
    memcpy(&sight, input->data, sizeof sight);
    if (gw__nodes_has(&m->suspected_nodes, input->from))
        m->suspicions[input->from].hidden = sight.state == GW__SIGHT_NONE;
}

void gw__member_suspicion_ended(struct gw__member_core *m, unsigned node,
                                uint64_t incarnation)
{
    if (node >= GW__NODES_MAX)
        return;
    struct gw__member_suspicion *suspicion = suspicion_of(m, node);
    suspicion->ended = incarnation;
    suspicion->due_ns = m->update.view.ring_count > GW__GATHER_ABOVE
                            ? m->now_ns + GW__GATHER_NS
                            : 0;
}

void gw__member_suspicion_lost(struct gw__member_core *m,
                               struct gw__process who)
{
    if (who.node >= GW__NODES_MAX)
        return;
    suspicion_of(m, who.node)->lost = who.incarnation;
    gw__member_suspicion_ended(m, who.node, who.incarnation.low);
}

/* The end of a process outside the ring is not visible in a view, so the answer
 * is the confirmation. */
void gw__member_suspicion_answered(struct gw__member_core *m, unsigned node)
{
    if (gw__nodes_has(&m->suspected_nodes, node))
        m->suspicions[node].lost = (struct gw__id){0};
}

/* ---- findings of the detector ---- */

static void suspect(struct gw__member_core *m, const struct gw__notice *notice)
{
    struct gw__notification notification = {.kind = GW__NOTIFY_SUSPECT,
                                            .node = notice->node,
                                            .certain = notice->certain,
                                            .silence_ns = notice->silence_ns};
    struct gw__member_suspicion *suspicion = suspicion_of(m, notice->node);
    bool repeated = notice->certain
                        ? suspicion->ended == notice->incarnation.low
                        : gw__id_equal(suspicion->silent, notice->incarnation);
    if (repeated)
        return;
    if (!notice->certain) { /* gw__member_suspicion_ended has a certain end */
        suspicion->silent = notice->incarnation;
        suspicion->due_ns = 0;
    }
    gw__member_notify(m, &notification);
}

void gw__member_suspicion_notice(void *member, const struct gw__notice *notice)
{
    struct gw__member_core *m = member;
    struct gw__notification notification = {.node = notice->node,
                                            .epoch = notice->epoch,
                                            .silence_ns = notice->silence_ns,
                                            .stall = notice->stall};
    switch (notice->kind) {
    case GW__NOTICE_SUSPECT:
        suspect(m, notice);
        return;
    case GW__NOTICE_TRUST:
        if (gw__nodes_has(&m->suspected_nodes, notice->node))
            m->suspicions[notice->node].silent = (struct gw__id){0};
        notification.kind = GW__NOTIFY_TRUST;
        break;
    case GW__NOTICE_STUCK:
        notification.kind = GW__NOTIFY_STUCK;
        break;
    }
    gw__member_notify(m, &notification);
}
