/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the status of a run of parameter servers (common/rpc_client.h) into the
 * view's state. It comes from another process, perhaps of another version: a
 * missing or invalid member leaves the state unchanged.
 */
#include "ps_members.h"

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
static bool apply_state(char state[PS_WORD], const json_t *node)
{
    snprintf(state, PS_WORD, "%s", text_of(node, "state", "alive"));
    return ps_is_there(state);
}

static void apply_server(struct ps_members *ps, const json_t *node,
                         uint64_t now_ns)
{
    unsigned number = json_node(node, "node");
    struct ps_server *s = ps_server_of(ps, number);
    if (!s)
        return;
    uint64_t pushes = count_of(node, "pushes");
    /* The counter starts again when the server has come back. */
    if (s->reported && pushes > s->pushes)
        rates_spread(&ps->pushes, number, ps->reported_ns, now_ns,
                     pushes - s->pushes);
    if (apply_state(s->state, node))
        s->gone_ns = 0;
    else
        ps_server_goes(ps, number, now_ns);
    s->reported = true;
    s->pushes = pushes;
    s->lease = integer_of(node, "lease", 0) != 0;
    s->parked = strcmp(text_of(node, "phase", ""), "parked") == 0;
    s->rows = count_of(node, "rows");
    s->bytes = count_of(node, "bytes");
    s->takeovers = count_of(node, "takeovers");
}

static void apply_worker(struct ps_members *ps, const json_t *node,
                         uint64_t now_ns)
{
    unsigned number = json_node(node, "node");
    struct ps_worker_state *w = ps_worker_of(ps, number);
    if (!w)
        return;
    const struct ps_worker_state before = *w;
    if (apply_state(w->state, node))
        w->gone_ns = 0;
    else
        ps_worker_goes(ps, number, now_ns);
    snprintf(w->phase, sizeof w->phase, "%s", text_of(node, "phase", ""));
    if (w->clocked && count_of(node, "clock") > w->clock)
        ps_work_item_finished(ps, number);
    w->clocked = json_is_number(json_object_get(node, "clock"));
    w->clock = count_of(node, "clock");
    w->epoch = count_of(node, "data_epoch");
    w->batch = count_of(node, "batch");
    w->part = (unsigned)count_of(node, "part");
    w->parts = (unsigned)count_of(node, "parts");
    w->in_hand =
        ps_is_there(w->state) && w->parts > 0 && strcmp(w->phase, "idle") != 0;
    w->waited = real_of(node, "waited_share");
    w->work_items_per_second = real_of(node, "items_per_second");
    ps_round_work_item(ps, &before, w);
}

static void apply_nodes(struct ps_members *ps, const json_t *status,
                        uint64_t now_ns)
{
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        const char *role = text_of(node, "role", "");
        if (strcmp(role, "server") == 0)
            apply_server(ps, node, now_ns);
        if (strcmp(role, "worker") == 0)
            apply_worker(ps, node, now_ns);
    }
}

/* ---- slots ---- */

static void apply_role(unsigned char roles[PS_SERVERS], const json_t *server,
                       enum gw_ps_role role)
{
    json_int_t number =
        json_is_integer(server) ? json_integer_value(server) : PS_SERVERS;
    if (number >= 0 && number < PS_SERVERS)
        roles[number] = (unsigned char)role;
}

static void apply_slot(struct ps_members *ps, const json_t *slot)
{
    unsigned char roles[PS_SERVERS] = {GW_PS_NOT_HERE};
    unsigned number = json_node(slot, "slot");
    size_t i;
    json_t *server;
    bool serves = integer_of(slot, "serves", 1) != 0;
    apply_role(roles, json_object_get(slot, "learner"), GW_PS_LEARNER);
    json_array_foreach(json_object_get(slot, "in_sync"), i, server)
    {
        apply_role(roles, server, GW_PS_SECONDARY);
    }
    apply_role(roles, json_object_get(slot, "primary"),
               serves ? GW_PS_PRIMARY : GW_PS_SECONDARY);
    for (unsigned s = 0; s < PS_SERVERS; s++)
        ps_set_role(ps, number, s, (enum gw_ps_role)roles[s]);
    if (number < GW_PS_SLOTS_MAX) {
        ps->slots[number].rows = count_of(slot, "rows");
        ps->slots[number].learner_rows = count_of(slot, "learner_rows");
    }
    /* Only the term of a lost slot is reported. */
    if (number < GW_PS_SLOTS_MAX && count_of(slot, "term") > 0)
        ps->slots[number].was_assigned = true;
}

static void apply_slots(struct ps_members *ps, const json_t *status)
{
    size_t i;
    json_t *slot;
    json_array_foreach(json_object_get(status, "slots"), i, slot)
    {
        apply_slot(ps, slot);
    }
}

/* ---- the clock ---- */

static void apply_clock(struct ps_members *ps, const json_t *clocks)
{
    struct ps_clock *c = &ps->clock;
    size_t i;
    json_t *count;
    if (!json_is_object(clocks))
        return;
    *c = (struct ps_clock){
        .reported = true,
        .epoch = count_of(clocks, "data_epoch"),
        .epochs = count_of(clocks, "data_epochs"),
        .batch = count_of(clocks, "batch"),
        .batches = count_of(clocks, "batches"),
        .closed = count_of(clocks, "closed"),
        .work_items = count_of(clocks, "items"),
        .expected = count_of(clocks, "expected"),
        .dropped = count_of(clocks, "dropped"),
        .redone = count_of(clocks, "redone"),
        .done = integer_of(clocks, "done", 0) != 0,
    };
    snprintf(c->mode, sizeof c->mode, "%s", text_of(clocks, "mode", ""));
    json_array_foreach(json_object_get(clocks, "staleness"), i, count)
    {
        json_int_t items = json_integer_value(count);
        if (i <= GW_PS_STALENESS_MAX && items > 0)
            c->staleness[i] = (uint64_t)items;
    }
}

/* ---- recoveries ---- */

static void apply_recovery(struct ps_members *ps, const json_t *recovery)
{
    struct ps_recovery *r = &ps->recoveries[ps->recovery_count++];
    size_t i, used = 0;
    json_t *name;
    *r = (struct ps_recovery){
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
static void apply_recoveries(struct ps_members *ps, const json_t *status)
{
    const json_t *list = json_object_get(status, "recoveries");
    size_t count = json_array_size(list);
    size_t first = count > PS_RECOVERIES ? count - PS_RECOVERIES : 0;
    ps->recovery_count = 0;
    for (size_t i = first; i < count; i++)
        apply_recovery(ps, json_array_get(list, i));
}

void ps_status(struct ps_members *ps, const json_t *status, uint64_t now_ns,
               struct event_log *log)
{
    if (!json_is_array(json_object_get(status, "slots")))
        return;
    ps->here = true;
    rates_time(&ps->pushes, now_ns);
    snprintf(ps->model, sizeof ps->model, "%s", text_of(status, "model", ""));
    ps->loss = real_of(status, "loss");
    apply_nodes(ps, status, now_ns); /* first: needs the old epoch */
    ps->epoch = count_of(status, "epoch");
    apply_slots(ps, status);
    ps_find_lost_slots(ps, now_ns, log);
    apply_clock(ps, json_object_get(status, "clocks"));
    apply_recoveries(ps, status);
    ps->reported_ns = now_ns;
}
