/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The run as JSON for clients (common/rpc_client.h), from the newest view and
 * the members' last notes; nothing here changes any state. The status of
 * parameter servers is in supervisor_servers.c.
 */
#include "run/until.h"
#include "supervisor_experiment.h"
#include "supervisor_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- one node ---- */

const char *child_state(const struct run *run, const struct child *child)
{
    if (child->awaits)
        return "restarting";
    if (child->pid <= 0)
        return child->left || (is_program(run) && child->finished) ? "left"
                                                                   : "dead";
    if (child->paused)
        return "paused";
    if (child->leaving || child->left)
        return "leaving";
    if (child->role == GW__CONTROLLER)
        return child->has_status ? "alive" : "joining";
    if (child->has_status &&
        (child->status.ring.parked || child->status.server.parked))
        return "parked";
    if (child->ps_members && child->status.diverged)
        return "diverged";
    return child_is_whole(run, child) ? "alive" : "joining";
}

/* ---- trouble ---- */

/* Adds "node 2 is paused", unless its state is normal. */
static size_t add_state(const struct run *run, const struct child *child,
                        char *out, size_t used)
{
    const char *state = child_state(run, child);
    char name[32];
    if (!child->known || used >= SENTENCE_MAX || strcmp(state, "alive") == 0 ||
        strcmp(state, "left") == 0)
        return used;
    const char *file = child->known_in; /* it explains more than a sentence */
    const char *more = *file               ? file
                       : child->pid <= 0   ? child->text
                       : child->ps_members ? child->status.text
                                           : "";
    const char *open = *file ? " (see " : *more ? " (" : "";
    return used + (size_t)snprintf(out + used, SENTENCE_MAX - used,
                                   "%s%s is %s%s%s%s", used ? ", " : "",
                                   child_name(child, name), state, open, more,
                                   *more ? ")" : "");
}

static bool is_waiting(const struct child *child)
{
    const struct gw_ring_status *ring = &child->status.ring;
    return child->pid > 0 && child->has_status && ring->member &&
           ring->waits_for >= 0;
}

/* Only a snapshot restores them. */
static size_t add_lost_slots(const struct run *run, char *out, size_t used)
{
    struct progress_of p;
    run_progress(run, &p);
    if (p.slots_lost == 0 || used >= SENTENCE_MAX)
        return used;
    return used + (size_t)snprintf(out + used, SENTENCE_MAX - used,
                                   "%s%" PRIu64
                                   " slot%s lost: all replicas are dead",
                                   used ? ", " : "", (uint64_t)p.slots_lost,
                                   p.slots_lost == 1 ? " is" : "s are");
}

const char *status_trouble(const struct run *run, char out[SENTENCE_MAX])
{
    size_t used = 0;
    *out = 0;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        used = add_state(run, &run->workers[n], out, used);
    for (unsigned n = 0; n < RUN_SERVERS_MAX; n++)
        used = add_state(run, &run->servers[n], out, used);
    for (unsigned c = 0; c < run->controller_count; c++)
        used = add_state(run, &run->controllers[c], out, used);
    used = add_lost_slots(run, out, used);
    for (unsigned n = 0; n < RUN_RANKS_MAX && used == 0; n++) {
        const struct child *child = &run->workers[n];
        const struct gw_ring_status *ring = &child->status.ring;
        if (is_waiting(child))
            used = (size_t)snprintf(
                out, SENTENCE_MAX,
                "node %u waits for node %d (op %" PRIu64 ", %s)", n,
                ring->waits_for, ring->op, child->status.phase);
    }
    if (used == 0 && run->states_lost > 0)
        snprintf(out, SENTENCE_MAX, STATE_LOST "; it has been restarted");
    return out;
}

/* ---- as JSON ---- */

json_t *real_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* 16 digits. */
static json_t *hex_json(uint64_t digest)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, digest);
    return json_string(text);
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

void put(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

json_t *node_json(const struct run *run, const struct child *child,
                  const char *phase)
{
    const struct node_status *status = &child->status;
    bool there = child->pid > 0, ps_members = child->ps_members;
    bool learns = child->has_status && child->role == GW__WORKER;
    int rank = ps_members ? -1 : gw__view_rank(&run->update.view, child->node);
    json_t *node = json_pack(
        "{s:i, s:s, s:s, s:i, s:i, s:I, s:s?, s:i, s:I, s:o, s:o}", "node",
        (int)child->number, "role", gw__role_name(child->role), "state",
        child_state(run, child), "pid", (int)child->pid, "rank", rank, "op",
        (json_int_t)(ps_members ? status->worker.items : status->ring.op),
        "phase", there ? text_or_null(phase) : NULL, "waits_for",
        !ps_members && there && child->has_status ? status->ring.waits_for : -1,
        "step", (json_int_t)status->step, "loss",
        real_json(learns ? status->loss : (double)NAN), "digest",
        ps_members ? json_null() : hex_json(status->ring.digest));
    put(node, "slow_ns", child->slow_ns);
    put(node, "rejoined", status->rejoined);
    json_object_set_new(
        node, "text", json_string_nocheck(there ? status->text : child->text));
    return node;
}

/* The newest report counts: that of the controller that has applied most. */
int control_leader(const struct run *run)
{
    unsigned leader = GW__NODES_MAX;
    uint64_t most = 0;
    for (unsigned c = 0; c < controllers_all(run); c++) {
        struct gw__controller_status status;
        if (!controller_is_alive(run, c) || !control_status(run, c, &status) ||
            status.leader >= GW__NODES_MAX || status.applied < most)
            continue;
        most = status.applied;
        leader = status.leader;
    }
    if (leader > CONTROLLER_NODE ||
        leader <= CONTROLLER_NODE - RUN_CONTROLLERS_MAX)
        return -1;
    unsigned number = CONTROLLER_NODE - leader;
    return controller_is_alive(run, number) ? (int)number : -1;
}

/* The one in the supervisor has no process of its own. */
static json_t *controller_json(const struct run *run, unsigned number)
{
    const struct child *child = &run->controllers[number];
    bool inside = run->controller_count == 0;
    bool leads = control_leader(run) == (int)number;
    return json_pack(
        "{s:i, s:s, s:s, s:i, s:i, s:I, s:s, s:i, s:I, s:n, s:n, s:s}", "node",
        (int)number, "role", "controller", "state",
        inside ? "alive" : child_state(run, child), "pid",
        inside ? (int)getpid() : (int)child->pid, "rank", -1, "op",
        (json_int_t)0, "phase", leads ? "leads" : "follows", "waits_for", -1,
        "step", (json_int_t)0, "loss", "digest", "text", child->text);
}

/* One object per controller: its last report. */
static json_t *controllers_json(const struct run *run)
{
    json_t *list = json_array();
    for (unsigned c = 0; c < controllers_all(run); c++) {
        struct gw__controller_status s;
        json_t *about = controller_json(run, c);
        bool reply = control_status(run, c, &s);
        int follows = reply && s.leader <= CONTROLLER_NODE &&
                              CONTROLLER_NODE - s.leader < controllers_all(run)
                          ? (int)(CONTROLLER_NODE - s.leader)
                          : -1;
        json_t *item = json_pack(
            "{s:i, s:O, s:O, s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "controller",
            (int)c, "state", json_object_get(about, "state"), "role",
            json_object_get(about, "phase"), "follows", follows, "term",
            (json_int_t)s.term, "last", (json_int_t)s.last, "committed",
            (json_int_t)s.committed, "applied", (json_int_t)s.applied, "hellos",
            (json_int_t)s.hellos, "leases", (json_int_t)s.leases);
        json_array_append_new(list, item);
        json_decref(about);
    }
    return list;
}

static void ring_nodes(const struct run *run, json_t *list)
{
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++) {
        const struct child *child = &run->workers[n];
        if (!child->known)
            continue;
        json_t *node = node_json(run, child, child->status.phase);
        put(node, "data_bytes_read", child->status.data_bytes);
        json_array_append_new(list, node);
    }
}

static json_t *nodes_json(const struct run *run)
{
    json_t *list = json_array();
    if (has_servers(run))
        servers_nodes(run, list);
    else
        ring_nodes(run, list);
    for (unsigned c = 0; c < controllers_all(run); c++)
        json_array_append_new(list, controller_json(run, c));
    return list;
}

static json_t *ring_json(const struct gw__view *view)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < view->ring_count; i++)
        json_array_append_new(list, json_integer(view->ring[i].node));
    return list;
}

static json_t *result_json(const struct run *run, const struct progress_of *p)
{
    const double nan = (double)NAN;
    const struct score none = {nan, nan, nan, nan, .digest = 0};
    const struct score *score = p->evaluates ? &p->evaluates->score : &none;
    bool share = !has_servers(run) || strcmp(score->quality, "accuracy") == 0;
    if (!p->done)
        return json_null();
    json_t *result = json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:b, s:s}", "train_loss",
        real_json(score->train_loss), "train_accuracy",
        real_json(share ? score->train_accuracy : nan), "test_loss",
        real_json(score->test_loss), "test_accuracy",
        real_json(share ? score->test_accuracy : nan), "steps",
        (json_int_t)p->step, "data_epochs", (json_int_t)p->data_epoch, "digest",
        p->evaluates ? hex_json(score->digest) : json_null(), "seconds",
        real_json(p->evaluates ? (double)p->work_ns / 1e9 : nan), "diverged",
        (int)p->diverged, "ended", until_ended(p->diverged, p->until));
    if (has_servers(run))
        servers_result(run, score, result);
    return result;
}

static void put_counts(const struct run *run, const struct progress_of *p,
                       json_t *status)
{
    put(status, "alive", members_alive(run));
    put(status, "epoch", run->update.view.epoch);
    put(status, "step", p->step);
    put(status, "op", p->op);
    put(status, "lost", p->lost);
    put(status, "doubled", p->doubled);
    put(status, "done", p->done);
    put(status, "parked", p->parked);
    put(status, "workers", p->workers);
    put(status, "servers", p->servers);
    put(status, "controllers", controllers_all(run));
    put(status, "controllers_alive", controllers_alive(run));
    put(status, "data_epoch", p->data_epoch);
    put(status, "events_dropped", run->dropped);
    put(status, "pace_ns", run->pace_ns);
    put(status, "recoveries_count", run->recovery_count);
}

/* The plan of undisturbed ops in the present view. */
static void put_algo(struct run *run, json_t *status)
{
    if (run->algos.count == 0)
        return;
    const char *algo =
        ring_algos_name(&run->algos, run->update.view.ring_count);
    json_object_set_new(status, "algo",
                        json_string_nocheck(algo ? algo : "built-in"));
}

/* Adds the part of a ring. */
static void put_ring(struct run *run, json_t *status)
{
    const struct tally *most = &run->most;
    put_algo(run, status);
    json_object_set_new(status, "collective",
                        json_string(gw_collective_name(run->algos.collective)));
    put(status, "wrong", most->wrong);
    put(status, "samples_lost", most->samples_lost);
    put(status, "samples_doubled", most->samples_doubled);
    put(status, "ops_forward", most->forward);
    put(status, "ops_exclude", most->exclude);
    put(status, "chunks_kept", run->chunks.kept);
    put(status, "chunks_redone", run->chunks.redone);
    put(status, "chunks_fresh", run->chunks.fresh);
    ring_status(run, status);
}

json_t *status_json(struct run *run)
{
    struct progress_of p;
    char trouble[200];
    run_progress(run, &p);
    json_t *status = json_pack(
        "{s:s, s:s, s:I, s:o, s:i, s:i, s:s}", "run", run->folder.name, "state",
        progress_state(run, &p), "seed", (json_int_t)run->options.seed, "loss",
        real_json(p.loss), "leader", control_leader(run), "pid", (int)getpid(),
        "wire", run->options.wire ? run->options.wire : "shm");
    put_counts(run, &p, status);
    json_object_set_new(status, "nodes", nodes_json(run));
    json_object_set_new(status, "ring", ring_json(&run->update.view));
    if (has_servers(run))
        servers_status(run, &p, status);
    else
        put_ring(run, status);
    json_object_set_new(status, "result", result_json(run, &p));
    json_object_set_new(status, "links", links_json(&run->links));
    json_object_set_new(status, "controller_list", controllers_json(run));
    json_object_set_new(status, "topology",
                        *run->topology ? json_string(run->topology)
                                       : json_null());
    json_object_set_new(status, "recoveries", recovery_json(run));
    const char *text = control_text(run, trouble);
    if (run->failed.code)
        text = run->failed.text;
    else if (!*text && run->states_lost > 0)
        text = STATE_LOST "; it has been restarted";
    json_object_set_new(status, "text", json_string_nocheck(text));
    events_status(run, status);
    lockstep_status(run, status);
    return status;
}
