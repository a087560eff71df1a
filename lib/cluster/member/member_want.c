/* SPDX-License-Identifier: MIT
 *
 * Chooses the next request of a member to the controllers, most urgent first:
 *
 *     register, report, suspect for certain, leave, admit, suspect, and the
 *     application's own commands
 *
 * The client gets the next one when it is idle, so a request that becomes
 * obsolete while it waits is never sent.
 */
#include "member_parts.h"

#include "base/failpoint.h"

#include <stdio.h>
#include <string.h>

enum {
    TAG_REGISTER = 1,
    TAG_REPORT,
    TAG_ADMIT,
    TAG_LEAVE,
    TAG_WANT,
    TAG_SUSPECT = 64, /* plus the node, the last of the tags */
    RETRY_NS = 100000000
};

static bool want_register(const struct gw__member_core *m,
                          struct gw__command *c)
{
    if (m->stage != GW__STAGE_REGISTERING || m->now_ns < m->register_ns)
        return false;
    c->kind = GW__CMD_REGISTER;
    c->who.node = m->config.node;
    c->join.role = m->config.role;
    c->join.ring = m->config.ring;
    memcpy(c->join.endpoint, m->config.endpoint, sizeof c->join.endpoint);
    return true;
}

static bool want_report(struct gw__member_core *m, struct gw__command *c)
{
    if (m->stage != GW__STAGE_FLUSHING || !m->has_report || m->reported)
        return false;
    c->kind = GW__CMD_REPORT;
    c->flush.epoch = m->report_epoch = m->flush_epoch;
    c->flush.report = m->report;
    return true;
}

static bool want_leave(const struct gw__member_core *m, struct gw__command *c)
{
    c->kind = GW__CMD_LEAVE;
    return m->leaves && !m->left;
}

/* Admits all ready joiners for which there is room, from our current op on.
 * Valid only in the ring that this member knows. */
static bool want_admit(const struct gw__member_core *m, struct gw__command *c)
{
    if (!m->admits || m->admit_sent)
        return false;
    c->kind = GW__CMD_ADMIT;
    c->who = (struct gw__process){0};
    c->admit.from_op = m->admit_op;
    c->admit.ring_epoch = m->admit_ring_epoch;
    c->admit.order = m->admit_order;
    c->admit.count = gw__ready_joiners(m, c->admit.joiners);
    unsigned most = m->config.most, there = m->update.view.ring_count;
    unsigned room = there < most ? most - there : 0;
    if (most && c->admit.count > room)
        c->admit.count = room;
    return true;
}

/* Fills in the next request and returns its tag; 0: none. */
static unsigned next_of(struct gw__member_core *m, struct gw__command *c)
{
    c->who = gw__member_self(m);
    if (want_register(m, c))
        return TAG_REGISTER;
    if (m->stage == GW__STAGE_REGISTERING)
        return 0;
    if (want_report(m, c))
        return TAG_REPORT;
    if (gw__member_suspicion_next(m, true, c))
        return TAG_SUSPECT + c->suspect.suspected.node;
    if (want_leave(m, c))
        return TAG_LEAVE;
    if (want_admit(m, c)) {
        m->admit_sent = true;
        return TAG_ADMIT;
    }
    if (gw__member_suspicion_next(m, false, c))
        return TAG_SUSPECT + c->suspect.suspected.node;
    if (m->want_count == 0)
        return 0;
    *c = m->wants[0];
    return TAG_WANT;
}

/* A quick test, since it runs after each input and the result is mostly
 * false. */
static bool wants(const struct gw__member_core *m)
{
    return m->stage == GW__STAGE_REGISTERING ||
           m->stage == GW__STAGE_FLUSHING ||
           !gw__nodes_is_empty(m->suspected_nodes) || m->leaves || m->admits ||
           m->want_count > 0;
}

void gw__want_next(struct gw__member_core *m)
{
    struct gw__command command;
    if (m->client.count > 0 || !wants(m))
        return;
    gw__command_clear(&command);
    unsigned tag = next_of(m, &command);
    if (tag)
        (void)gw__client_submit(&m->client, &command, tag, m->now_ns, m->act);
    if (tag == TAG_REPORT)
        gw__failpoint(GW__AT_RING_REPORTED);
    if (tag == TAG_ADMIT)
        gw__failpoint(GW__AT_ADMIT_PROPOSED);
}

uint64_t gw__want_due(const struct gw__member_core *m)
{
    if (m->stage == GW__STAGE_REGISTERING)
        return m->register_ns;
    return gw__member_suspicion_due(m);
}

void gw__want_add(struct gw__member_core *m, const struct gw__command *command,
                  unsigned tag)
{
    struct gw__notification notification = {.kind = GW__NOTIFY_ANSWER,
                                            .tag = tag};
    if (m->want_count < GW__WANTS_MAX) {
        m->want_tags[m->want_count] = tag;
        m->wants[m->want_count++] = *command;
        return;
    }
    notification.answer.code = GW_ENOMEM;
    snprintf(notification.answer.text, sizeof notification.answer.text,
             "%d commands wait for an answer already", GW__WANTS_MAX);
    gw__member_notify(m, &notification);
}

/* ---- answers ---- */

static void reported(struct gw__member_core *m, const struct gw__answer *answer)
{
    m->reported =
        m->report_epoch == m->flush_epoch && answer->code != GW_PENDING;
    if (m->reported)
        gw__failpoint(GW__AT_RING_RECORDED);
}

static void registered(struct gw__member_core *m,
                       const struct gw__answer *answer)
{
    m->register_ns = m->now_ns + RETRY_NS;
    if (answer->code == GW_OK)
        gw__member_registered(m, answer->node);
}

static void admitted(struct gw__member_core *m, const struct gw__answer *answer)
{
    struct gw__notification notification = {.kind = GW__NOTIFY_REFUSED,
                                            .node = m->node};
    if (!m->admits || !m->admit_sent || answer->code == GW_OK)
        return; /* of an abandoned request; or the view will show it */
    m->admits = false;
    snprintf(notification.text, sizeof notification.text, "%s", answer->text);
    gw__member_notify(m, &notification);
}

static void command_ended(struct gw__member_core *m,
                          const struct gw__answer *answer)
{
    struct gw__notification notification = {.kind = GW__NOTIFY_ANSWER,
                                            .node = m->node,
                                            .tag = m->want_tags[0],
                                            .answer = *answer};
    m->want_count--;
    memmove(m->wants, m->wants + 1, m->want_count * sizeof *m->wants);
    memmove(m->want_tags, m->want_tags + 1,
            m->want_count * sizeof *m->want_tags);
    gw__member_notify(m, &notification);
}

/* Starts again under another client id with the same requests, after the
 * registry has forgotten this client because of a long silence. */
static void begin_anew(struct gw__member_core *m)
{
    struct gw__client_config config = m->client.config;
    config.id.high = gw_hash(&config.id, sizeof config.id, m->seed);
    config.id.low++;
    gw__client_init(&m->client, &config);
    m->admit_sent = false;
}

void gw__want_answered(struct gw__member_core *m, unsigned tag,
                       const struct gw__answer *answer)
{
    if (answer->code == GW_ECLOSED)
        begin_anew(m);
    else if (tag == TAG_REGISTER)
        registered(m, answer);
    else if (tag == TAG_REPORT)
        reported(m, answer);
    else if (tag == TAG_ADMIT)
        admitted(m, answer);
    else if (tag == TAG_LEAVE)
        m->left = m->leaves = false;
    else if (tag == TAG_WANT)
        command_ended(m, answer);
    else if (tag >= TAG_SUSPECT && tag < TAG_SUSPECT + GW__NODES_MAX)
        gw__member_suspicion_answered(m, tag - TAG_SUSPECT);
}
