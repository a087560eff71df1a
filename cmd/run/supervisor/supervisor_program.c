/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Members that are a user's program (ring/supervised/supervised.h): their orders, and
 * their status as that of any node. The program finishes by leaving the ring
 * and ending with status 0; the run is done when all have.
 */
#include "run/node/node_events.h"
#include "supervisor_parts.h"

#include <signal.h>
#include <string.h>

bool is_program(const struct run *run)
{
    return run->work.kind == WORK_PROGRAM;
}

static uint64_t wanted_events(const struct run *run)
{
    uint64_t kinds = 0;
    for (uint32_t kind = 0; kind < GW_EVENT_KINDS; kind++)
        if (event_level_of(kind) <= events_level(run))
            kinds |= (uint64_t)1 << kind;
    return kinds;
}

static void write_identity(const struct run *run, const struct child *child,
                           struct gw__supervised_orders *out)
{
    snprintf(out->version, sizeof out->version, "%s", GW_VERSION);
    snprintf(out->wire, sizeof out->wire, "%s",
             run->options.wire ? run->options.wire : "shm");
    out->token = run->token;
    out->process = child->process;
    out->node = child->node;
    child_channel_endpoint_of(run->token, child->node, out->endpoint);
    out->controller_count = controllers_all(run);
    for (unsigned c = 0; c < out->controller_count; c++) {
        out->controllers[c] = CONTROLLER_NODE - c;
        child_channel_endpoint_of(run->token, CONTROLLER_NODE - c,
                                  out->controller_endpoints[c]);
    }
}

bool program_send_orders(struct run *run, struct child *child,
                         const struct desired_state *desired)
{
    static struct gw__supervised_orders orders; /* large */
    if (!is_program(run) || child->role != GW__WORKER)
        return false;
    memset(&orders, 0, sizeof orders);
    write_identity(run, child, &orders);
    orders.events = wanted_events(run);
    orders.pace_ns = desired->pace_ns;
    orders.slow_ns = desired->slow_ns;
    orders.clock_rate = desired->clock_rate;
    memcpy(orders.links, desired->links, sizeof orders.links);
    orders.order_count = desired->order.count;
    for (unsigned i = 0; i < desired->order.count; i++)
        orders.order[i] = desired->order.nodes[i];
    child->late =
        child_channel_send(child->fd, CHILD_CHANNEL_PROGRAM_ORDERS, &orders,
                           sizeof orders, false) == GW_PENDING;
    return true;
}

void program_node_status(const struct run *run,
                         const struct gw__supervised_status *in,
                         struct node_status *out)
{
    *out = (struct node_status){
        .stage = in->stage == GW__SUPERVISED_LEFT     ? STAGE_LEFT
                 : in->stage == GW__SUPERVISED_MEMBER ? STAGE_MEMBER
                                                      : STAGE_JOINING,
        .ring = in->ring,
        .work = run->work.id,
        .done = in->progress.done,
        .step = in->progress.step,
        .data_epoch = in->progress.data_epoch,
        .loss = in->progress.loss,
        .samples_lost = in->progress.samples_lost,
        .samples_doubled = in->progress.samples_doubled,
        .rejoined = in->joins > 0 ? in->joins - 1 : 0,
        .events_dropped = in->events_dropped};
    memcpy(out->phase, in->phase, sizeof out->phase);
    memcpy(out->text, in->ring.text[0] ? in->ring.text : in->text,
           sizeof out->text);
}

void program_ended(struct run *run, const struct child *ended)
{
    if (!is_program(run) || !ended->finished || !ended->status.done)
        return;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++) {
        const struct child *child = &run->workers[n];
        if (child->pid > 0 && !child_is_member(run, child) && !child->left)
            kill(child->pid, SIGTERM);
    }
}

bool program_is_complete(const struct run *run)
{
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        if (is_program(run) && run->workers[n].status.done)
            return true;
    return false;
}

/* Members that have ended count as well: the newest step is that of the run. */
void program_progress(const struct run *run, struct progress_of *p)
{
    unsigned finished = 0;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++) {
        const struct child *child = &run->workers[n];
        const struct node_status *status = &child->status;
        finished += child->pid <= 0 && child->finished;
        if (child->has_status && status->step > p->step) {
            p->step = status->step;
            p->loss = status->loss;
            p->data_epoch = status->data_epoch;
        }
    }
    p->done = p->done || (p->workers == 0 && finished > 0);
}
