/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the status of a run of parameter servers (common/attach.h) into the
 * view's state. It comes from another process, perhaps of another version: a
 * missing or invalid member leaves the state unchanged.
 */
#include "crew.h"

#include "common/text/json_get.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double MOST = 1e18;

static uint64_t count_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    double about = json_number_value(value);
    if (!(about > 0 && about < MOST))
        return 0;
    return json_is_integer(value) ? (uint64_t)json_integer_value(value)
                                  : (uint64_t)about;
}

/* Of a node or slot; GW_NONE when it has none. */
static unsigned json_node(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    return number >= 0 && number < GW_NONE ? (unsigned)number : GW_NONE;
}

/* ---- nodes ---- */

/* Does the process exist? */
static bool take_state(char state[CREW_WORD], const json_t *node)
{
    snprintf(state, CREW_WORD, "%s", text_of(node, "state", "alive"));
    return crew_is_there(state);
}

static void take_server(struct crew *crew, const json_t *node, uint64_t now_ns)
{
    unsigned number = json_node(node, "node");
    struct crew_server *s = crew_meet_server(crew, number);
    if (!s)
        return;
    uint64_t pushes = count_of(node, "pushes");
    /* The counter starts again when the server has come back. */
    if (s->told && pushes > s->pushes)
        rates_spread(&crew->pushes, number, crew->told_ns, now_ns,
                     pushes - s->pushes);
    if (take_state(s->state, node))
        s->gone_ns = 0;
    else
        crew_server_goes(crew, number, now_ns);
    s->told = true;
    s->pushes = pushes;
    s->lease = integer_of(node, "lease", 0) != 0;
    s->parked = strcmp(text_of(node, "phase", ""), "parked") == 0;
    s->rows = count_of(node, "rows");
    s->bytes = count_of(node, "bytes");
    s->takeovers = count_of(node, "takeovers");
}

static void take_worker(struct crew *crew, const json_t *node, uint64_t now_ns)
{
    unsigned number = json_node(node, "node");
    struct crew_worker *w = crew_meet_worker(crew, number);
    if (!w)
        return;
    const struct crew_worker before = *w;
    if (take_state(w->state, node))
        w->gone_ns = 0;
    else
        crew_worker_goes(crew, number, now_ns);
    snprintf(w->phase, sizeof w->phase, "%s", text_of(node, "phase", ""));
    if (w->clocked && count_of(node, "clock") > w->clock)
        crew_unit_finished(crew, number);
    w->clocked = json_is_number(json_object_get(node, "clock"));
    w->clock = count_of(node, "clock");
    w->epoch = count_of(node, "data_epoch");
    w->batch = count_of(node, "batch");
    w->part = (unsigned)count_of(node, "part");
    w->parts = (unsigned)count_of(node, "parts");
    w->in_hand = crew_is_there(w->state) && w->parts > 0 &&
                 strcmp(w->phase, "idle") != 0;
    w->waited = real_of(node, "waited_share");
    w->units_per_second = real_of(node, "units_per_second");
    crew_round_unit(crew, &before, w);
}

static void take_nodes(struct crew *crew, const json_t *status, uint64_t now_ns)
{
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        const char *role = text_of(node, "role", "");
        if (strcmp(role, "server") == 0)
            take_server(crew, node, now_ns);
        if (strcmp(role, "worker") == 0)
            take_worker(crew, node, now_ns);
    }
}

/* ---- slots ---- */

static void take_role(unsigned char roles[CREW_SERVERS], const json_t *server,
                      enum gw_ps_role role)
{
    json_int_t number =
        json_is_integer(server) ? json_integer_value(server) : CREW_SERVERS;
    if (number >= 0 && number < CREW_SERVERS)
        roles[number] = (unsigned char)role;
}

static void take_slot(struct crew *crew, const json_t *slot)
{
    unsigned char roles[CREW_SERVERS] = {GW_PS_NOT_HERE};
    unsigned number = json_node(slot, "slot");
    size_t i;
    json_t *server;
    bool serves = integer_of(slot, "serves", 1) != 0;
    take_role(roles, json_object_get(slot, "learner"), GW_PS_LEARNER);
    json_array_foreach(json_object_get(slot, "in_sync"), i, server)
    {
        take_role(roles, server, GW_PS_SECONDARY);
    }
    take_role(roles, json_object_get(slot, "primary"),
              serves ? GW_PS_PRIMARY : GW_PS_SECONDARY);
    for (unsigned s = 0; s < CREW_SERVERS; s++)
        crew_set_role(crew, number, s, (enum gw_ps_role)roles[s]);
    if (number < GW_PS_SLOTS_MAX) {
        crew->slots[number].rows = count_of(slot, "rows");
        crew->slots[number].learner_rows = count_of(slot, "learner_rows");
    }
    /* Only the term of a lost slot is reported. */
    if (number < GW_PS_SLOTS_MAX && count_of(slot, "term") > 0)
        crew->slots[number].placed = true;
}

static void take_slots(struct crew *crew, const json_t *status)
{
    size_t i;
    json_t *slot;
    json_array_foreach(json_object_get(status, "slots"), i, slot)
    {
        take_slot(crew, slot);
    }
}

/* ---- the clock ---- */

static void take_clock(struct crew *crew, const json_t *clocks)
{
    struct crew_clock *c = &crew->clock;
    size_t i;
    json_t *count;
    if (!json_is_object(clocks))
        return;
    *c = (struct crew_clock){
        .told = true,
        .epoch = count_of(clocks, "data_epoch"),
        .epochs = count_of(clocks, "data_epochs"),
        .batch = count_of(clocks, "batch"),
        .batches = count_of(clocks, "batches"),
        .closed = count_of(clocks, "closed"),
        .units = count_of(clocks, "units"),
        .expected = count_of(clocks, "expected"),
        .dropped = count_of(clocks, "dropped"),
        .redone = count_of(clocks, "redone"),
        .done = integer_of(clocks, "done", 0) != 0,
    };
    snprintf(c->mode, sizeof c->mode, "%s", text_of(clocks, "mode", ""));
    json_array_foreach(json_object_get(clocks, "staleness"), i, count)
    {
        json_int_t units = json_integer_value(count);
        if (i <= GW_PS_STALENESS_MAX && units > 0)
            c->staleness[i] = (uint64_t)units;
    }
}

/* ---- recoveries ---- */

static void take_recovery(struct crew *crew, const json_t *recovery)
{
    struct crew_recovery *r = &crew->recoveries[crew->recovery_count++];
    size_t i, used = 0;
    json_t *name;
    *r = (struct crew_recovery){
        .epoch = count_of(recovery, "epoch"),
        .detected_ms = real_of(recovery, "detected_ms"),
        .decided_ms = real_of(recovery, "decided_ms"),
        .resumed_ms = real_of(recovery, "resumed_ms"),
    };
    snprintf(r->how, sizeof r->how, "%s", text_of(recovery, "how", ""));
    json_array_foreach(json_object_get(recovery, "names"), i, name)
    {
        const char *text = json_string_value(name);
        if (text && used < sizeof r->names)
            used += (size_t)snprintf(r->names + used, sizeof r->names - used,
                                     "%s%s", i ? ", " : "", text);
    }
}

/* The newest of them; the status has the oldest first. */
static void take_recoveries(struct crew *crew, const json_t *status)
{
    const json_t *list = json_object_get(status, "recoveries");
    size_t count = json_array_size(list);
    size_t first = count > CREW_RECOVERIES ? count - CREW_RECOVERIES : 0;
    crew->recovery_count = 0;
    for (size_t i = first; i < count; i++)
        take_recovery(crew, json_array_get(list, i));
}

void crew_status(struct crew *crew, const json_t *status, uint64_t now_ns,
                 struct journal *journal)
{
    if (!json_is_array(json_object_get(status, "slots")))
        return;
    crew->here = true;
    rates_time(&crew->pushes, now_ns);
    snprintf(crew->model, sizeof crew->model, "%s",
             text_of(status, "model", ""));
    crew->loss = real_of(status, "loss");
    take_nodes(crew, status, now_ns); /* first: needs the old epoch */
    crew->epoch = count_of(status, "epoch");
    take_slots(crew, status);
    crew_look_for_loss(crew, now_ns, journal);
    take_clock(crew, json_object_get(status, "clocks"));
    take_recoveries(crew, status);
    crew->told_ns = now_ns;
}
