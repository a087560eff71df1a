/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run of parameter servers as JSON: see common/rpc_client.h.
 */
#include "supervisor_parts.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- nodes as JSON ---- */

static void put_text(json_t *object, const char *name, const char *text)
{
    json_object_set_new(object, name,
                        *text ? json_string_nocheck(text) : json_null());
}

static void put_counts(json_t *node, const struct gw_ps_counts *c)
{
    put(node, "pushes", c->pushes);
    put(node, "pulls", c->pulls);
    put(node, "push_keys", c->push_keys);
    put(node, "pull_keys", c->pull_keys);
    put(node, "bytes_sent", c->bytes_sent);
    put(node, "bytes_received", c->bytes_received);
    put(node, "bytes_in_place", c->bytes_in_place);
    put(node, "bytes_gathered", c->bytes_gathered);
    put(node, "messages_sent", c->messages_sent);
    put(node, "messages_saved", c->messages_saved);
    put(node, "aggregator_sent", c->aggregator_sent);
    put(node, "aggregator_saved", c->aggregator_saved);
    put(node, "envelopes_refused", c->envelopes_refused);
    put(node, "retries", c->retries);
    put(node, "refusals", c->refusals);
    put(node, "key_lists_sent", c->key_lists_sent);
    put(node, "key_lists_cached", c->key_lists_cached);
    put(node, "rows_held_back", c->rows_held_back);
    put(node, "waited_ns", c->waited_ns);
    put(node, "routes_requested", c->routes_requested);
    put(node, "routes_ns", c->routes_ns);
}

const struct gw_ps_worker_status *servers_clock_of(const struct run *run,
                                                   unsigned node)
{
    for (unsigned i = 0; i < run->clock.worker_count; i++)
        if (run->clock.workers[i].node == node)
            return &run->clock.workers[i];
    return NULL;
}

static double items_per_second(const struct child *child)
{
    return child->pid > 0
               ? rate_per_second(&child->item_rate, child->status.worker.items,
                                 gw_now_ns())
               : 0;
}

static json_t *worker_json(const struct run *run, const struct child *child)
{
    const struct worker_status *w = &child->status.worker;
    const struct gw_ps_worker_status *at = servers_clock_of(run, child->node);
    json_t *node = node_json(run, child, child->status.phase);
    put(node, "number", child->node);
    double waited = w->worked_ns
                        ? (double)w->counts.waited_ns / (double)w->worked_ns
                        : (double)NAN;
    json_object_set_new(node, "clock",
                        at ? json_integer((json_int_t)at->clock) : json_null());
    put(node, "nans", at ? at->nans : 0);
    put(node, "data_epoch", w->work_item.epoch);
    put(node, "batch", w->work_item.batch);
    put(node, "part", w->work_item.part);
    put(node, "parts", w->work_item.parts);
    put(node, "closed", w->work_item.closed);
    put(node, "staleness", w->work_item.staleness);
    put(node, "items", w->items);
    json_object_set_new(node, "items_per_second",
                        json_real(items_per_second(child)));
    put(node, "item_keys", w->item_keys);
    put(node, "data_bytes_read", w->data_bytes);
    put(node, "model_keys", w->model_keys);
    json_object_set_new(node, "waited_share", real_json(waited));
    put_counts(node, &w->counts);
    return node;
}

static json_t *server_json(const struct run *run, const struct child *child)
{
    const struct gw_ps_server_status *s = &child->status.server;
    uint64_t roles[GW_PS_LEARNER + 1] = {0}, rows = 0, bytes = 0;
    unsigned slots =
        child->pid > 0 ? s->slot_count : 0; /* dead servers hold none */
    for (unsigned i = 0; i < slots && i < RUN_SLOTS_MAX; i++) {
        roles[s->slots[i].role]++;
        rows += s->slots[i].rows;
        bytes += s->slots[i].bytes;
    }
    json_t *node = node_json(run, child,
                             s->parked  ? "parked"
                             : s->lease ? "serve"
                                        : "wait");
    put(node, "number", child->node);
    put(node, "primaries", roles[GW_PS_PRIMARY]);
    put(node, "secondaries", roles[GW_PS_SECONDARY]);
    put(node, "learners", roles[GW_PS_LEARNER]);
    put(node, "rows", rows);
    put(node, "bytes", bytes);
    put(node, "pushes", s->pushes);
    put(node, "pulls", s->pulls);
    put(node, "push_keys", s->push_keys);
    put(node, "pull_keys", s->pull_keys);
    put(node, "duplicates", s->duplicates);
    put(node, "refused", s->refused);
    put(node, "fenced", s->fenced);
    put(node, "nans", s->nans);
    put(node, "dropped", s->dropped);
    put(node, "staged", s->staged);
    put(node, "messages_sent", s->messages_sent);
    put(node, "messages_saved", s->messages_saved);
    put(node, "envelopes_refused", s->envelopes_refused);
    put(node, "takeovers", s->takeovers);
    put(node, "moved", s->moved);
    json_object_set_new(node, "bytes_per_second",
                        json_real(gw__slot_load_of(
                            &run->load, &run->update.routes, child->node)));
    json_object_set_new(node, "freeze_ms",
                        json_real((double)s->freeze_ns_max / 1e6));
    json_object_set_new(node, "lease", json_boolean(s->lease));
    return node;
}

void servers_nodes(const struct run *run, json_t *list)
{
    for (unsigned n = 0; n < RUN_SERVERS_MAX; n++)
        if (run->servers[n].known)
            json_array_append_new(list, server_json(run, &run->servers[n]));
    for (unsigned n = 0; n < RUN_WORKERS_MAX; n++)
        if (run->workers[n].known)
            json_array_append_new(list, worker_json(run, &run->workers[n]));
}

/* ---- slots, the clock, the curve ---- */

/* Servers' numbers for people; null: none. */
static json_t *server_number(unsigned node)
{
    return node >= SERVER_NODE && node < SERVER_NODE + RUN_SERVERS_MAX
               ? json_integer((json_int_t)(node - SERVER_NODE))
               : json_null();
}

static json_t *slot_json(const struct run *run, unsigned number)
{
    const struct gw__slot_route *slot = &run->update.routes.slots[number];
    json_t *sync = json_array();
    for (unsigned i = 0; i < slot->count; i++)
        json_array_append_new(sync, server_number(slot->replica[i]));
    json_t *json = json_pack(
        "{s:i, s:o, s:o, s:o, s:o, s:o, s:I}", "slot", (int)number, "primary",
        server_number(slot->primary), "in_sync", sync, "learner",
        server_number(slot->learner), "leaver", server_number(slot->leaver),
        "successor", server_number(slot->successor), "term",
        (json_int_t)slot->term);
    unsigned server = (unsigned)slot->primary - SERVER_NODE;
    bool reported = server < RUN_SERVERS_MAX &&
                    number < run->servers[server].status.server.slot_count;
    const struct gw_ps_slot_status none = {0};
    const struct gw_ps_slot_status *s =
        reported ? &run->servers[server].status.server.slots[number] : &none;
    put(json, "rows", s->rows);
    put(json, "bytes", s->bytes);
    put(json, "last", s->last);
    put(json, "committed", s->committed);
    put(json, "keys", s->keys);
    json_object_set_new(json, "keys_per_second",
                        json_real(run->load.rate[number].keys));
    json_object_set_new(json, "bytes_per_second",
                        json_real(run->load.rate[number].bytes));
    unsigned learner = (unsigned)slot->learner - SERVER_NODE;
    if (learner < RUN_SERVERS_MAX)
        put(json, "learner_rows",
            run->servers[learner].status.server.slots[number].rows);
    json_object_set_new(json, "serves",
                        json_boolean(ps_members_serves_slot(run, number)));
    return json;
}

static json_t *slots_json(const struct run *run)
{
    json_t *list = json_array();
    for (unsigned s = 0; s < run->update.routes.slot_count; s++)
        json_array_append_new(list, slot_json(run, s));
    return list;
}

static json_t *clock_json(const struct run *run, const struct progress_of *p)
{
    const struct gw_ps_clock_status *clock = &run->clock;
    unsigned most = 0;
    char mode[24];
    json_t *staleness = json_array();
    for (unsigned i = 0; i <= GW_PS_STALENESS_MAX; i++)
        most = clock->staleness[i] ? i : most;
    for (unsigned i = 0; i <= most; i++)
        json_array_append_new(staleness,
                              json_integer((json_int_t)clock->staleness[i]));
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:o, s:b}",
        "mode", gw_ps_mode_print(&clock->mode, mode, sizeof mode), "data_epoch",
        (json_int_t)clock->epoch, "batch", (json_int_t)clock->batch, "batches",
        (json_int_t)clock->plan.batches, "parts", (int)clock->parts,
        "data_epochs", (json_int_t)clock->plan.epochs, "rounds",
        (json_int_t)p->rounds, "closed", (json_int_t)clock->closed, "items",
        (json_int_t)clock->work_items, "expected", (json_int_t)p->expected,
        "skipped", (json_int_t)clock->skipped, "parts_dropped",
        (json_int_t)clock->parts_dropped, "dropped", (json_int_t)clock->dropped,
        "redone", (json_int_t)clock->redone, "staleness", staleness, "done",
        (int)clock->done);
}

/* The parts of an agent's loss: means over steps. */
static void put_agent(json_t *point, const struct gw_sample_sums *sums)
{
    double steps = (double)sums->right;
    json_object_set_new(point, "policy_loss",
                        real_json(sums->policy_loss / steps));
    json_object_set_new(point, "value_loss",
                        real_json(sums->value_loss / steps));
    json_object_set_new(point, "entropy", real_json(sums->entropy / steps));
}

static json_t *point_json(const struct run *run, unsigned epoch)
{
    const struct epoch_sums *sums = &run->curve[epoch];
    double samples = (double)sums->sums.samples;
    json_t *point = json_pack("{s:i, s:I, s:I, s:I, s:o, s:f}", "data_epoch",
                              (int)epoch, "items", (json_int_t)sums->items,
                              "samples", (json_int_t)sums->sums.samples,
                              "right", (json_int_t)sums->sums.right, "loss",
                              real_json(sums->sums.loss / samples), "seconds",
                              (double)(sums->ended_ns - run->work_ns) / 1e9);
    put(point, "row_writes", sums->sums.row_writes);
    put(point, "row_writes_lost", sums->sums.row_writes_lost);
    if (strcmp(run->work.model, gw_task_name(GW_TASK_CARTPOLE)) == 0)
        put_agent(point, &sums->sums);
    return point;
}

/* One point per data epoch that was trained on. */
static json_t *curve_json(const struct run *run)
{
    json_t *list = json_array();
    for (unsigned e = 0; e < run->curve_count; e++)
        if (run->curve[e].items > 0)
            json_array_append_new(list, point_json(run, e));
    return list;
}

/* ---- the whole status ---- */

void servers_result(const struct run *run, const struct score *score,
                    json_t *result)
{
    json_object_set_new(result, "train_quality",
                        real_json(score->train_accuracy));
    json_object_set_new(result, "test_quality",
                        real_json(score->test_accuracy));
    put_text(result, "quality", score->quality);
    if (run->directive.code && run->directive.last == run->directive.ended)
        put_text(result, "unsaved", run->directive.text);
}

static double total_items_per_second(const struct run *run)
{
    double sum = 0;
    for (unsigned n = 0; n < RUN_WORKERS_MAX; n++)
        sum += items_per_second(&run->workers[n]);
    return sum;
}

void servers_status(const struct run *run, const struct progress_of *p,
                    json_t *status)
{
    json_object_set_new(status, "clock", real_json(p->clock));
    put(status, "slots_lost", p->slots_lost);
    json_object_set_new(status, "items_per_second",
                        json_real(total_items_per_second(run)));
    put(status, "replicas", p->replicas);
    put(status, "replicas_wanted", run->update.routes.replicas);
    json_object_set_new(status, "placement", json_string(run->policy.name));
    json_object_set_new(status, "uneven", real_json(servers_uneven(run)));
    put_text(status, "model", run->work.model);
    json_object_set_new(status, "slots", slots_json(run));
    json_object_set_new(status, "clocks", clock_json(run, p));
    json_object_set_new(status, "curve", curve_json(run));
}
