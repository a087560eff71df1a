/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An event about parameter servers (crew.h). A recording may contain anything:
 * every number is checked before it is an index.
 */
#include "crew.h"

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
static void bury_server(struct crew *crew, unsigned number, uint64_t now_ns)
{
    crew_server_goes(crew, number, now_ns);
    for (unsigned i = 0; i < crew->slot_count; i++)
        crew->slots[i].roles[number] = GW_PS_NOT_HERE;
}

static void on_member(struct crew *crew, const struct gw_event *e,
                      struct journal *journal)
{
    if (e->value < 0 || e->value > GW_MEMBER_DEAD)
        return;
    const char *state = state_word(e->value);
    bool there = crew_is_there(state);
    unsigned number = e->rank - CREW_SERVER_NODE;
    struct crew_worker *worker = crew_meet_worker(crew, e->rank);
    struct crew_server *server =
        e->rank >= CREW_SERVER_NODE ? crew_meet_server(crew, number) : NULL;
    if (worker) {
        snprintf(worker->state, sizeof worker->state, "%s", state);
        if (there)
            worker->gone_ns = 0;
        else
            crew_worker_goes(crew, e->rank, e->time_ns);
        const struct crew_worker before = *worker;
        worker->in_hand &= there;
        crew_round_unit(crew, &before, worker);
    }
    if (!server)
        return;
    snprintf(server->state, sizeof server->state, "%s", state);
    if (there)
        server->gone_ns = 0;
    else
        bury_server(crew, number, e->time_ns);
    if (crew->here)
        crew_look_for_loss(crew, e->time_ns, journal);
}

/* ---- slots ---- */

static void on_slot(struct crew *crew, const struct gw_event *e,
                    struct journal *journal)
{
    unsigned number = e->rank - CREW_SERVER_NODE;
    if (e->rank < CREW_SERVER_NODE || number >= CREW_SERVERS ||
        e->chunk >= GW_PS_SLOTS_MAX || e->value < 0 || e->value > GW_PS_LEARNER)
        return;
    crew->here = true;
    (void)crew_meet_server(crew, number);
    crew_set_role(crew, e->chunk, number, (enum gw_ps_role)e->value);
    if (e->value != GW_PS_PRIMARY)
        crew_look_for_loss(crew, e->time_ns, journal);
}

/* ---- clocks ---- */

static void on_clock(struct crew *crew, const struct gw_event *e)
{
    struct crew_worker *worker = crew_meet_worker(crew, e->rank);
    if (!worker || e->step == GW_NONE)
        return;
    const struct crew_worker before = *worker;
    bool finished = worker->clocked && e->step > worker->clock;
    crew->here = true;
    worker->clocked = true;
    worker->clock = e->step;
    worker->in_hand = e->op != GW_NONE && e->chunk != GW_NONE;
    worker->epoch = worker->in_hand ? e->epoch : 0;
    worker->batch = worker->in_hand ? e->op : 0;
    worker->part = worker->in_hand ? e->chunk : 0;
    if (worker->in_hand && e->value >= 0)
        crew->seen[e->value < GW_PS_STALENESS_MAX ? e->value
                                                  : GW_PS_STALENESS_MAX]++;
    crew_round_unit(crew, &before, worker);
    if (finished)
        crew_unit_finished(crew, e->rank);
}

void crew_event(struct crew *crew, const struct gw_event *event,
                struct journal *journal)
{
    switch ((enum gw_event_kind)event->kind) {
    case GW_EV_MEMBER:
        on_member(crew, event, journal);
        break;
    case GW_EV_EPOCH:
        crew->epoch = event->epoch;
        break;
    case GW_EV_SLOT:
        on_slot(crew, event, journal);
        break;
    case GW_EV_CLOCK:
        on_clock(crew, event);
        break;
    case GW_EV_REQUEST:
        crew_request_begins(crew, event);
        break;
    case GW_EV_REPLY:
        crew_request_ends(crew, event);
        break;
    default:
        break;
    }
}
