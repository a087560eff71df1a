/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An event about parameter servers (ps_members.h). A recording may contain
 * anything: every number is checked before it is an index.
 */
#include "ps_members.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- members ---- */

static const char *state_word(int64_t membership)
{
    static const char *const words[] = {
        [GW_MEMBER_JOINING] = "joining", [GW_MEMBER_ALIVE] = "alive",
        [GW_MEMBER_PARKED] = "parked",   [GW_MEMBER_LEFT] = "left",
        [GW_MEMBER_DEAD] = "dead",
    };
    return words[membership];
}

/* It loses all its slots, whatever is reported about each slot, and when. */
static void bury_server(struct ps_members *ps, unsigned number, uint64_t now_ns)
{
    ps_server_goes(ps, number, now_ns);
    for (unsigned i = 0; i < ps->slot_count; i++)
        ps->slots[i].roles[number] = GW_PS_NOT_HERE;
}

static void on_member(struct ps_members *ps, const struct gw_event *e,
                      struct event_log *log)
{
    if (e->value < 0 || e->value > GW_MEMBER_DEAD)
        return;
    const char *state = state_word(e->value);
    bool there = ps_is_there(state);
    unsigned number = e->rank - PS_SERVER_NODE;
    struct ps_worker_state *worker = ps_worker_of(ps, e->rank);
    struct ps_server *server =
        e->rank >= PS_SERVER_NODE ? ps_server_of(ps, number) : NULL;
    if (worker) {
        snprintf(worker->state, sizeof worker->state, "%s", state);
        if (there)
            worker->gone_ns = 0;
        else
            ps_worker_goes(ps, e->rank, e->time_ns);
        const struct ps_worker_state before = *worker;
        worker->in_hand &= there;
        ps_round_work_item(ps, &before, worker);
    }
    if (!server)
        return;
    snprintf(server->state, sizeof server->state, "%s", state);
    if (there)
        server->gone_ns = 0;
    else
        bury_server(ps, number, e->time_ns);
    if (ps->here)
        ps_find_lost_slots(ps, e->time_ns, log);
}

/* ---- slots ---- */

static void on_slot(struct ps_members *ps, const struct gw_event *e,
                    struct event_log *log)
{
    unsigned number = e->rank - PS_SERVER_NODE;
    if (e->rank < PS_SERVER_NODE || number >= PS_SERVERS ||
        e->chunk >= GW_PS_SLOTS_MAX || e->value < 0 || e->value > GW_PS_LEARNER)
        return;
    ps->here = true;
    (void)ps_server_of(ps, number);
    ps_set_role(ps, e->chunk, number, (enum gw_ps_role)e->value);
    if (e->value != GW_PS_PRIMARY)
        ps_find_lost_slots(ps, e->time_ns, log);
}

/* ---- clocks ---- */

static void on_clock(struct ps_members *ps, const struct gw_event *e)
{
    struct ps_worker_state *worker = ps_worker_of(ps, e->rank);
    if (!worker || e->step == GW_NONE)
        return;
    const struct ps_worker_state before = *worker;
    bool finished = worker->clocked && e->step > worker->clock;
    ps->here = true;
    worker->clocked = true;
    worker->clock = e->step;
    worker->in_hand = e->op != GW_NONE && e->chunk != GW_NONE;
    worker->epoch = worker->in_hand ? e->epoch : 0;
    worker->batch = worker->in_hand ? e->op : 0;
    worker->part = worker->in_hand ? e->chunk : 0;
    if (worker->in_hand && e->value >= 0)
        ps->seen[e->value < GW_PS_STALENESS_MAX ? e->value
                                                : GW_PS_STALENESS_MAX]++;
    ps_round_work_item(ps, &before, worker);
    if (finished)
        ps_work_item_finished(ps, e->rank);
}

void ps_event(struct ps_members *ps, const struct gw_event *event,
              struct event_log *log)
{
    switch ((enum gw_event_kind)event->kind) {
    case GW_EV_MEMBER:
        on_member(ps, event, log);
        break;
    case GW_EV_EPOCH:
        ps->epoch = event->epoch;
        break;
    case GW_EV_SLOT:
        on_slot(ps, event, log);
        break;
    case GW_EV_CLOCK:
        on_clock(ps, event);
        break;
    case GW_EV_REQUEST:
        ps_request_begins(ps, event);
        break;
    case GW_EV_REPLY:
        ps_request_ends(ps, event);
        break;
    default:
        break;
    }
}
