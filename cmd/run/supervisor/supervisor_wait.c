/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Answers that come later: when a condition holds, when a change has taken
 * effect, when there is a leader for the request, or when its time is over,
 * with the reason. They are checked whenever the run changes, so no client
 * polls.
 */
#include "supervisor_verbs.h"

#include <string.h>

#define CHANGE_NS UINT64_C(2000000000)
#define GONE_NS   UINT64_C(10000000000) /* a leave finishes its op first */
#define LEADER_NS UINT64_C(5000000000)  /* an election takes less than one */

/* ---- remembering ---- */

static void free_later(struct later *later)
{
    condition_destroy(&later->condition);
    json_decref(later->request);
    later->request = NULL;
}

static void add_later(const struct request *request, struct later *later)
{
    struct run *run = request->run;
    if (run->later_count < LATER_MAX) {
        run->later[run->later_count++] = *later;
        later_answer_due(run);
        return;
    }
    free_later(later);
    refuse(request, GW_ENOMEM,
           "%d requests are waiting already, which is the maximum; try again "
           "later",
           LATER_MAX);
}

void later_wait(const struct request *request, struct condition *condition,
                const char *text, uint64_t timeout_ns)
{
    uint64_t now = gw_now_ns();
    struct later later = {
        .kind = LATER_WAIT,
        .requester = request->requester,
        .began_ns = now,
        .deadline_ns = timeout_ns == 0 || timeout_ns > UINT64_MAX - now
                           ? UINT64_MAX
                           : now + timeout_ns,
        .condition = condition,
    };
    snprintf(later.text, sizeof later.text, "%s", text);
    add_later(request, &later);
}

void later_lead(const struct request *request)
{
    uint64_t now = gw_now_ns(), timeout_ns = request_timeout_ns(request);
    struct later later = {.kind = LATER_LEADS,
                          .requester = request->requester,
                          .began_ns = now,
                          .deadline_ns = now + LEADER_NS,
                          .request = json_deep_copy(request->json)};
    if (timeout_ns > 0 && timeout_ns < LEADER_NS)
        later.deadline_ns = now + timeout_ns;
    snprintf(later.text, sizeof later.text, "%s", request->verb);
    add_later(request, &later);
}

/* Without a majority of controllers the view cannot change. */
static uint64_t change_ns(const struct run *run, enum later_kind kind)
{
    bool may_go = 2 * controllers_alive(run) > controllers_all(run);
    return kind == LATER_GONE && may_go ? GONE_NS : CHANGE_NS;
}

void later_change(const struct request *request, enum later_kind kind,
                  struct child *child, const char *done)
{
    uint64_t now = gw_now_ns(), timeout_ns = request_timeout_ns(request);
    uint64_t most_ns = change_ns(request->run, kind);
    bool hurries = timeout_ns > 0 && timeout_ns < most_ns;
    struct later later = {.kind = kind,
                          .requester = request->requester,
                          .began_ns = now,
                          .deadline_ns = now + (hurries ? timeout_ns : most_ns),
                          .child = child};
    snprintf(later.text, sizeof later.text, "%s", done);
    add_later(request, &later);
}

void later_directive(const struct request *request, uint64_t id)
{
    uint64_t now = gw_now_ns(), timeout_ns = request_timeout_ns(request);
    struct later later = {.kind = LATER_DIRECTIVE,
                          .requester = request->requester,
                          .began_ns = now,
                          .deadline_ns =
                              timeout_ns ? now + timeout_ns : UINT64_MAX,
                          .directive = id};
    add_later(request, &later);
}

void later_order(const struct request *request)
{
    uint64_t now = gw_now_ns();
    struct later later = {.kind = LATER_ORDER,
                          .requester = request->requester,
                          .began_ns = now,
                          .deadline_ns = now + CHANGE_NS};
    add_later(request, &later);
}

/* ---- reasons ---- */

const char *ring_text(const struct run *run, char out[SENTENCE_MAX])
{
    const struct gw__view *view = &run->update.view;
    size_t room = SENTENCE_MAX;
    if (has_servers(run)) {
        unsigned servers = ps_members_alive(run, GW__SERVER),
                 workers = ps_members_alive(run, GW__WORKER);
        snprintf(out, room, "epoch %llu, %u server%s, %u worker%s",
                 (unsigned long long)view->epoch, servers,
                 servers == 1 ? "" : "s", workers, workers == 1 ? "" : "s");
        return out;
    }
    uint16_t ring[GW__NODES_MAX];
    for (unsigned i = 0; i < view->ring_count; i++)
        ring[i] = (uint16_t)view->ring[i].node;
    size_t used = (size_t)snprintf(out, room, "epoch %llu, ring",
                                   (unsigned long long)view->epoch);
    gw__node_list_text(ring, view->ring_count, out + used, room - used);
    return out;
}

/* Why there is no new view. */
static void explain_epoch(const struct run *run, char *out, size_t room)
{
    unsigned count = controllers_all(run);
    unsigned left = controllers_alive(run);
    char trouble[SENTENCE_MAX];
    if (2 * left <= count)
        snprintf(out, room,
                 "no new epoch yet: %u of %u controllers %s left, %s parked",
                 left, count, left == 1 ? "is" : "are",
                 has_servers(run) ? "the servers are" : "the ring is");
    else if (run->update.flushing)
        snprintf(out, room, "epoch %llu is being decided",
                 (unsigned long long)run->update.view.epoch);
    else if (*status_trouble(run, trouble))
        snprintf(out, room, "no new epoch yet: %.300s", trouble);
    else
        snprintf(out, room, "no new epoch yet");
}

static void explain_change(const struct run *run, const struct child *child,
                           char *out, size_t room)
{
    char name[32];
    child_name(child, name);
    if (child->pid > 0 && child->status.text[0] && child->leaving)
        snprintf(out, room, "not complete: %s", child->status.text);
    else if (child->pid > 0 && !child->awaits && child->ps_members)
        snprintf(out, room, "the node has not ended yet");
    else if (child->pid > 0 && !child->awaits)
        snprintf(out, room, "the node has not ended yet: it is in op %llu",
                 (unsigned long long)child->status.ring.op);
    else
        explain_epoch(run, out, room);
}

/* ---- checking ---- */

static bool check_wait(struct run *run, const struct later *later, bool late)
{
    struct condition_values values;
    char explained[SENTENCE_MAX], trouble[SENTENCE_MAX];
    status_values(run, &values);
    bool holds = condition_holds(later->condition, &values);
    if (!holds && !late)
        return false;
    condition_explain(later->condition, &values, explained, sizeof explained);
    if (holds) {
        serve_answer(run, &later->requester, GW_OK, NULL, "%s", explained);
        return true;
    }
    status_trouble(run, trouble);
    serve_answer(run, &later->requester, GW_ETIMEOUT, NULL,
                 "after %.3g s not %s: %s%s%s",
                 (double)(gw_now_ns() - later->began_ns) / 1e9, later->text,
                 explained, *trouble ? "; " : "", trouble);
    return true;
}

static bool is_done(const struct run *run, const struct later *later)
{
    const struct child *child = later->child;
    if (later->kind == LATER_BACK)
        return !child->awaits;
    return child->pid <= 0 && !child_is_member(run, child);
}

static void answer_controller(struct run *run, const struct later *later)
{
    unsigned alive = controllers_alive(run);
    serve_answer(run, &later->requester, GW_OK, NULL,
                 "%s: %u of %u controllers %s alive, epoch %llu", later->text,
                 alive, run->controller_count, alive == 1 ? "is" : "are",
                 (unsigned long long)run->update.view.epoch);
}

static void answer_late(struct run *run, const struct later *later)
{
    const struct child *child = later->child;
    char name[32], text[SENTENCE_MAX];
    explain_change(run, child, text, sizeof text);
    if (child->leaving)
        serve_answer(run, &later->requester, GW_OK, NULL,
                     "%s was asked to leave; %s", child_name(child, name),
                     text);
    else
        serve_answer(run, &later->requester, GW_OK, NULL, "%s; %s", later->text,
                     text);
}

static bool check_change(struct run *run, const struct later *later, bool late)
{
    const struct child *child = later->child;
    char text[SENTENCE_MAX];
    bool done = is_done(run, later);
    if (!done && !late)
        return false;
    if (done && later->kind == LATER_BACK && child->pid <= 0)
        serve_answer(run, &later->requester, GW_ESYS, NULL, "%s", child->text);
    else if (done && child->role == GW__CONTROLLER)
        answer_controller(run, later);
    else if (done)
        serve_answer(run, &later->requester, GW_OK, NULL, "%s: %s", later->text,
                     ring_text(run, text));
    else
        answer_late(run, later);
    return true;
}

static void answer_directive(struct run *run, const struct later *later)
{
    const struct directive *directive = &run->directive;
    unsigned long long epoch = run->update.view.epoch;
    char mode[24];
    if (directive->code)
        serve_answer(run, &later->requester, directive->code, NULL, "%s",
                     directive->text);
    else if (directive->order.kind == DIRECTIVE_MODE)
        serve_answer(
            run, &later->requester, GW_OK, NULL,
            "the mode is %s from the next work item on, epoch %llu",
            gw_ps_mode_print(&directive->order.mode, mode, sizeof mode), epoch);
    else
        serve_answer(run, &later->requester, GW_OK, NULL,
                     "snapshot written to %.300s, epoch %llu",
                     directive->order.directory, epoch);
}

static bool check_directive(struct run *run, const struct later *later,
                            bool late)
{
    bool ended = run->directive.ended >= later->directive;
    if (ended)
        answer_directive(run, later);
    else if (late)
        serve_answer(run, &later->requester, GW_ETIMEOUT, NULL, "%s",
                     run->scribe ? "not complete: the worker in charge is busy"
                                 : "not complete: no worker can do it");
    return ended || late;
}

/* Once there is a leader, serve_waiting handles it. */
static bool check_leader(struct run *run, const struct later *later, bool late)
{
    if (!late || control_leader(run) >= 0)
        return false;
    serve_answer(run, &later->requester, GW_ETIMEOUT, NULL,
                 "%.40s: no controller leads after %.3g s; %u of %u are "
                 "alive, but none has been elected",
                 later->text, (double)(gw_now_ns() - later->began_ns) / 1e9,
                 controllers_alive(run), controllers_all(run));
    return true;
}

static bool check_later(struct run *run, const struct later *later, bool late)
{
    switch (later->kind) {
    case LATER_WAIT:
        return check_wait(run, later, late);
    case LATER_LEADS:
        return check_leader(run, later, late);
    case LATER_DIRECTIVE:
        return check_directive(run, later, late);
    case LATER_ORDER:
        if (late || ring_is_ordered(run))
            ring_answer_order(run, &later->requester);
        return late || ring_is_ordered(run);
    case LATER_GONE:
    case LATER_BACK:
        break;
    }
    return check_change(run, later, late);
}

/* The request that has waited longest for a leader, if there is one now. It may
 * be stored again when it is served, so it is removed first. */
static bool serve_waiting(struct run *run)
{
    unsigned i = 0;
    while (i < run->later_count && run->later[i].kind != LATER_LEADS)
        i++;
    if (i == run->later_count || control_leader(run) < 0)
        return false;
    struct later later = run->later[i];
    run->later_count--;
    memmove(run->later + i, run->later + i + 1,
            (run->later_count - i) * sizeof *run->later);
    serve_request(run, &later.requester, later.request);
    free_later(&later);
    return true;
}

void later_answer_due(struct run *run)
{
    uint64_t now = gw_now_ns();
    unsigned kept = 0, count = run->later_count;
    for (unsigned i = 0; i < count; i++) {
        struct later *later = &run->later[i];
        if (check_later(run, later, now >= later->deadline_ns))
            free_later(later);
        else
            run->later[kept++] = *later;
    }
    run->later_count = kept;
    while (serve_waiting(run))
        ;
}

uint64_t later_due(const struct run *run)
{
    uint64_t due = UINT64_MAX;
    for (unsigned i = 0; i < run->later_count; i++)
        if (run->later[i].deadline_ns < due)
            due = run->later[i].deadline_ns;
    return due;
}

void later_end(struct run *run)
{
    for (unsigned i = 0; i < run->later_count; i++) {
        struct later *later = &run->later[i];
        serve_answer(run, &later->requester, GW_ECLOSED, NULL,
                     "run %s has ended", run->folder.name);
        free_later(later);
    }
    run->later_count = 0;
}
