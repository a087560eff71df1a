/* SPDX-License-Identifier: MIT
 *
 * Handles each request of the application.
 */
#include "member_parts.h"

#include <string.h>

static void ask_admit(struct gw__member_core *m,
                      const struct gw__member_request *ask)
{
    m->admit_op = ask->admit.from_op;
    m->admit_ring_epoch = ask->admit.ring_epoch;
    m->admit_order = ask->admit.order;
    m->admits = true;
    m->admit_sent = false;
}

static void ask_report(struct gw__member_core *m,
                       const struct gw__member_request *ask)
{
    if (m->stage != GW__STAGE_FLUSHING || ask->flush.epoch != m->flush_epoch ||
        m->has_report)
        return;
    m->report = ask->flush.report;
    m->has_report = true;
}

void gw__member_asked(struct gw__member_core *m, const struct gw__input *input)
{
    const struct gw__member_request *ask = input->data;
    if (input->bytes != sizeof *ask)
        return;
    switch (ask->kind) {
    case GW__ASK_READY:
        m->ready_op = ask->op;
        m->is_ready = true;
        gw__ready_send(m);
        break;
    case GW__ASK_ADMIT:
        ask_admit(m, ask);
        break;
    case GW__ASK_REPORT:
        ask_report(m, ask);
        break;
    case GW__ASK_ADDRESS:
        gw__meet_begin(m, ask->address.ring_epoch, ask->address.blob,
                       ask->address.bytes);
        break;
    case GW__ASK_LEAVE:
        m->leaves = true;
        break;
    case GW__ASK_NEWS:
        m->asks_news = true;
        gw__member_hello(m);
        break;
    case GW__ASK_LOST:
        gw__member_suspicion_lost(m, ask->who);
        break;
    case GW__ASK_RESET:
        gw__member_suspicion_reset(m, ask->who);
        break;
    case GW__ASK_STANDING:
        gw__detector_stand(&m->detector, &ask->standing, m->now_ns);
        break;
    case GW__ASK_COMMAND:
        gw__want_add(m, &ask->own.command, ask->own.tag);
        break;
    }
}
