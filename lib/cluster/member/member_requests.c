/* SPDX-License-Identifier: MIT
 *
 * Handles each request of the application.
 */
#include "member_parts.h"

#include <string.h>

static void request_admit(struct gw__member_core *m,
                          const struct gw__member_request *request)
{
    m->admit_op = request->admit.from_op;
    m->admit_ring_epoch = request->admit.ring_epoch;
    m->admit_order = request->admit.order;
    m->admits = true;
    m->admit_sent = false;
}

static void request_report(struct gw__member_core *m,
                           const struct gw__member_request *request)
{
    if (m->stage != GW__STAGE_FLUSHING ||
        request->flush.epoch != m->flush_epoch || m->has_report)
        return;
    m->report = request->flush.report;
    m->has_report = true;
}

void gw__member_requested(struct gw__member_core *m,
                          const struct gw__input *input)
{
    const struct gw__member_request *request = input->data;
    if (input->bytes != sizeof *request)
        return;
    switch (request->kind) {
    case GW__REQUEST_READY:
        m->ready_op = request->op;
        m->is_ready = true;
        gw__ready_send(m);
        break;
    case GW__REQUEST_ADMIT:
        request_admit(m, request);
        break;
    case GW__REQUEST_REPORT:
        request_report(m, request);
        break;
    case GW__REQUEST_ADDRESS:
        gw__addresses_begin(m, request->address.ring_epoch,
                            request->address.blob, request->address.bytes);
        break;
    case GW__REQUEST_LEAVE:
        m->leaves = true;
        break;
    case GW__REQUEST_UPDATE:
        m->requests_update = true;
        gw__member_hello(m);
        break;
    case GW__REQUEST_LOST:
        gw__member_suspicion_lost(m, request->who);
        break;
    case GW__REQUEST_RESET:
        gw__member_suspicion_reset(m, request->who);
        break;
    case GW__REQUEST_PROGRESS:
        gw__detector_set_progress(&m->detector, &request->progress, m->now_ns);
        break;
    case GW__REQUEST_COMMAND:
        gw__want_add(m, &request->own.command, request->own.tag);
        break;
    }
}
