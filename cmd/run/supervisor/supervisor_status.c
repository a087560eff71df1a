/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The run as others see it: JSON (common/attach.h), and the values of
 * conditions. All of it is put together from the newest view and what the
 * members said last; nothing here changes anything.
 */
#include "run/until.h"
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
        return child->left ? "left" : "dead";
    if (child->paused)
        return "paused";
    if (child->leaving)
        return "leaving";
    if (child->role == GW__CONTROLLER)
        return child->noted ? "alive" : "joining";
    if (child->noted && (child->note.ring.parked || child->note.server.parked))
        return "parked";
    if (child->crew && child->note.diverged)
        return "diverged";
    return child_is_whole(run, child) ? "alive" : "joining";
}

/* Its state is that of the ring: it has not just come back, say. */
static bool is_at_work(const struct run *run, const struct child *child)
{
    return child->noted && child->note.stage == STAGE_MEMBER &&
           child->note.work == run->work.id;
}

/* ---- all of them ---- */

struct sums {
    unsigned parked, unparked, workers;
    unsigned undone, done; /* members with work left, and without */
    uint64_t step, op, data_epoch;
    double loss;
    const struct node_note *judge;    /* the note with a score, if any */
    const struct node_note *finished; /* the note of a member that is done */
    uint64_t work_ns;
};

static void add_member(const struct run *run, const struct child *child,
                       struct sums *sums)
{
    const struct node_note *note = &child->note;
    if (!child_is_member(run, child))
        return;
    if (note->ring.op > sums->op)
        sums->op = note->ring.op;
    if (!is_at_work(run, child)) {
        sums->undone += child->noted && child->note.stage == STAGE_MEMBER;
        return;
    }
    if (note->step >= sums->step) {
        sums->step = note->step;
        sums->loss = note->loss;
        sums->data_epoch = note->data_epoch;
    }
    if (!note->done) {
        sums->undone++;
        return;
    }
    sums->done++;
    sums->finished = note;
    if (!note->scored)
        return;
    if (!sums->judge)
        sums->judge = note;
    if (note->score.ns > sums->work_ns)
        sums->work_ns = note->score.ns;
}

static void add_up(const struct run *run, struct sums *sums)
{
    *sums = (struct sums){.loss = (double)NAN};
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++) {
        const struct child *child = &run->workers[n];
        if (child->pid <= 0 || child->awaits)
            continue;
        sums->workers++;
        sums->parked += child->note.ring.parked;
        sums->unparked +=
            !child->note.ring.parked && child_is_member(run, child);
        add_member(run, child, sums);
    }
}

static bool work_done(const struct run *run, const struct sums *sums)
{
    return run->work.kind != WORK_NONE && sums->done > 0 && sums->undone == 0 &&
           (run->work.kind != WORK_TRAIN || sums->judge);
}

static const char *state_of(const struct run *run, const struct sums *sums)
{
    if (run->ending)
        return "ended";
    if (work_done(run, sums))
        return "done";
    if (sums->parked > 0 && sums->unparked == 0)
        return "parked";
    return run->work.kind == WORK_NONE ? "idle" : "training";
}

const char *status_state(const struct run *run)
{
    struct sums sums;
    if (has_servers(run))
        return servers_state(run);
    add_up(run, &sums);
    return state_of(run, &sums);
}

static uint64_t lost(const struct run *run)
{
    const struct tally *most = &run->most;
    return most->lost + most->samples_lost + most->sums_lost;
}

static uint64_t doubled(const struct run *run)
{
    const struct tally *most = &run->most;
    return most->doubled + most->samples_doubled + most->sums_doubled;
}

void status_values(const struct run *run, struct condition_values *values)
{
    struct sums sums;
    for (unsigned i = 0; i < COND_NAMES; i++)
        values->of[i] = (double)NAN;
    if (has_servers(run)) {
        servers_values(run, values);
        return;
    }
    add_up(run, &sums);
    values->of[COND_data_epoch] = (double)sums.data_epoch;
    values->of[COND_alive] = members_alive(run);
    values->of[COND_epoch] = (double)run->news.view.epoch;
    values->of[COND_step] = (double)sums.step;
    values->of[COND_op] = (double)sums.op;
    values->of[COND_loss] = sums.loss;
    values->of[COND_lost] = (double)lost(run);
    values->of[COND_doubled] = (double)doubled(run);
    values->of[COND_done] = work_done(run, &sums);
    values->of[COND_parked] = sums.parked;
    values->of[COND_workers] = sums.workers;
    values->of[COND_servers] = 0;
    values->of[COND_controllers] = controllers_alive(run);
}

/* Adds "node 2 is paused", unless it is as it should be. */
static size_t add_state(const struct run *run, const struct child *child,
                        char *out, size_t used)
{
    const char *state = child_state(run, child);
    char name[32];
    if (!child->known || used >= SENTENCE_MAX || strcmp(state, "alive") == 0 ||
        strcmp(state, "left") == 0)
        return used;
    const char *file = child->known_in; /* it explains more than a sentence */
    const char *more = *file             ? file
                       : child->pid <= 0 ? child->text
                       : child->crew     ? child->note.text
                                         : "";
    const char *open = *file ? " (see " : *more ? " (" : "";
    return used + (size_t)snprintf(out + used, SENTENCE_MAX - used,
                                   "%s%s is %s%s%s%s", used ? ", " : "",
                                   child_name(child, name), state, open, more,
                                   *more ? ")" : "");
}

static bool waits(const struct child *child)
{
    const struct gw_ring_status *ring = &child->note.ring;
    return child->pid > 0 && child->noted && ring->member &&
           ring->waits_for >= 0;
}

/* Nothing brings them back but a snapshot. */
static size_t add_lost_slots(const struct run *run, char *out, size_t used)
{
    struct progress_of p = {0};
    if (has_servers(run))
        servers_progress(run, &p);
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
        const struct gw_ring_status *ring = &child->note.ring;
        if (waits(child))
            used = (size_t)snprintf(
                out, SENTENCE_MAX,
                "node %u waits for node %d (op %" PRIu64 ", %s)", n,
                ring->waits_for, ring->op, child->note.phase);
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

json_t *hex_json(uint64_t digest)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, digest);
    return json_string(text);
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

static void put(json_t *status, const char *name, uint64_t value)
{
    json_object_set_new(status, name, json_integer((json_int_t)value));
}

static json_t *worker_json(const struct run *run, const struct child *child)
{
    const struct node_note *note = &child->note;
    bool there = child->pid > 0;
    int rank = gw__view_rank(&run->news.view, child->node);
    json_t *node = json_pack(
        "{s:i, s:s, s:s, s:i, s:i, s:I, s:s?, s:i, s:I, s:o, s:o}", "node",
        (int)child->number, "role", "worker", "state", child_state(run, child),
        "pid", (int)child->pid, "rank", rank, "op", (json_int_t)note->ring.op,
        "phase", there ? text_or_null(note->phase) : NULL, "waits_for",
        there && child->noted ? note->ring.waits_for : -1, "step",
        (json_int_t)note->step, "loss",
        real_json(child->noted ? note->loss : (double)NAN), "digest",
        hex_json(note->ring.digest));
    put(node, "slow_ns", child->slow_ns);
    put(node, "rejoined", note->rejoined);
    put(node, "data_bytes_read", note->data_bytes);
    json_object_set_new(node, "text",
                        json_string_nocheck(there ? note->text : child->text));
    return node;
}

/* The newest word counts: that of the one which has applied most. */
int control_leader(const struct run *run)
{
    unsigned leader = GW__NODES_MAX;
    uint64_t most = 0;
    struct gw__controller_status status;
    if (control_status(run, 0, &status) && run->controller_count == 0)
        leader = status.leader;
    for (unsigned c = 0; c < run->controller_count; c++) {
        const struct child *child = &run->controllers[c];
        if (child->pid <= 0 || child->paused || !child->noted ||
            child->note.controller.leader >= GW__NODES_MAX ||
            child->note.controller.applied < most)
            continue;
        most = child->note.controller.applied;
        leader = child->note.controller.leader;
    }
    if (leader > CONTROLLER_NODE ||
        leader <= CONTROLLER_NODE - RUN_CONTROLLERS_MAX)
        return -1;
    unsigned number = CONTROLLER_NODE - leader;
    bool there =
        run->controller_count == 0 ||
        (run->controllers[number].pid > 0 && !run->controllers[number].paused);
    return there ? (int)number : -1;
}

/* The one in the supervisor has no process of its own. */
json_t *controller_json(const struct run *run, unsigned number)
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

/* One object per controller: what it last said of itself. */
static json_t *controllers_json(const struct run *run)
{
    json_t *list = json_array();
    for (unsigned c = 0; c < controllers_all(run); c++) {
        struct gw__controller_status s;
        json_t *about = controller_json(run, c);
        bool said = control_status(run, c, &s);
        int follows = said && s.leader <= CONTROLLER_NODE &&
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

static json_t *nodes_json(const struct run *run)
{
    json_t *list = json_array();
    unsigned controllers = controllers_all(run);
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        if (run->workers[n].known)
            json_array_append_new(list, worker_json(run, &run->workers[n]));
    for (unsigned c = 0; c < controllers; c++)
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

static json_t *result_json(const struct run *run, const struct sums *sums)
{
    const double nan = (double)NAN;
    const struct score none = {nan, nan, nan, nan, .digest = 0};
    const struct score *score = sums->judge ? &sums->judge->score : &none;
    if (!work_done(run, sums))
        return json_null();
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:b, s:s}", "train_loss",
        real_json(score->train_loss), "train_accuracy",
        real_json(score->train_accuracy), "test_loss",
        real_json(score->test_loss), "test_accuracy",
        real_json(score->test_accuracy), "steps", (json_int_t)sums->step,
        "data_epochs", (json_int_t)sums->data_epoch, "digest",
        sums->judge ? hex_json(score->digest) : json_null(), "seconds",
        real_json(sums->judge ? (double)sums->work_ns / 1e9 : (double)NAN),
        "diverged", (int)sums->finished->diverged, "ended",
        until_ended(sums->finished->diverged, sums->finished->until));
}

static void put_counts(const struct run *run, const struct sums *sums,
                       json_t *status)
{
    const struct tally *most = &run->most;
    put(status, "alive", members_alive(run));
    put(status, "epoch", run->news.view.epoch);
    put(status, "step", sums->step);
    put(status, "op", sums->op);
    put(status, "lost", lost(run));
    put(status, "doubled", doubled(run));
    put(status, "done", work_done(run, sums));
    put(status, "parked", sums->parked);
    put(status, "workers", sums->workers);
    put(status, "servers", 0);
    put(status, "controllers", controllers_all(run));
    put(status, "controllers_alive", controllers_alive(run));
    put(status, "data_epoch", sums->data_epoch);
    put(status, "samples_lost", most->samples_lost);
    put(status, "samples_doubled", most->samples_doubled);
    put(status, "ops_forward", most->forward);
    put(status, "ops_exclude", most->exclude);
    put(status, "chunks_kept", run->chunks.kept);
    put(status, "chunks_redone", run->chunks.redone);
    put(status, "chunks_fresh", run->chunks.fresh);
    put(status, "events_dropped", run->dropped);
    put(status, "pace_ns", run->pace_ns);
    put(status, "recoveries_count", run->recovery_count);
}

static json_t *ring_run_json(struct run *run)
{
    struct sums sums;
    add_up(run, &sums);
    json_t *status = json_pack(
        "{s:s, s:s, s:I, s:o, s:i, s:i, s:s}", "run", run->folder.name, "state",
        state_of(run, &sums), "seed", (json_int_t)run->options.seed, "loss",
        real_json(sums.loss), "leader", control_leader(run), "pid",
        (int)getpid(), "wire", run->options.wire ? run->options.wire : "shm");
    put_counts(run, &sums, status);
    json_object_set_new(status, "nodes", nodes_json(run));
    json_object_set_new(status, "ring", ring_json(&run->news.view));
    ring_status(run, status);
    json_object_set_new(status, "result", result_json(run, &sums));
    return status;
}

json_t *status_json(struct run *run)
{
    char trouble[200];
    json_t *status = has_servers(run) ? servers_json(run) : ring_run_json(run);
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
    return status;
}
