/* SPDX-License-Identifier: MIT
 *
 * Clock requests. A command is appended to the log of the clock's slot, and
 * answered when it is applied. A NEXT or BARRIER that must wait is kept here; a
 * repetition replaces the worker's earlier request.
 *
 * The server itself appends commands, too: the current workers (from the newest
 * membership update), the round commits to forget, and the choices of a
 * straggler policy.
 */
#include "server_parts.h"

#include <stdlib.h>

enum { PRUNE_AT = 256 };

static void refuse_pending(struct gw__request *request, const char *text)
{
    struct gw_error why;
    gw_fail(&why, GW_PENDING, "%s", text);
    gw__request_refuse(request, false, &why);
}

static struct gw__slot *slot_of(struct gw__server *server, unsigned group)
{
    return &server->slots[gw__clock_slot(group, server->routes.slot_count)];
}

static void done(struct gw__request *request, const struct gw_ps_work *work)
{
    struct gw__server *server = request->server;
    gw__reply(
        server, request->message, request->head,
        &(struct gw__reply_parts){
            .done = 1, .values = work, .value_bytes = work ? sizeof *work : 0});
    gw__request_free(request);
}

/* Looks up the result of a NEXT or BARRIER. GW_PENDING: it must wait.
 * GW_EINVAL: the clock has not applied it yet. */
static enum gw_err query_work(const struct gw__request *request,
                              struct gw_ps_work *work)
{
    const struct gw__clock_command *command = request->command;
    const struct gw__clock *clock =
        slot_of(request->server, request->head->group)
            ->clocks[request->head->group];
    if (command->kind == GW__CLOCK_NEXT)
        return gw__clock_granted(clock, command->who, command->number, work);
    return gw__clock_barrier(clock, command->number);
}

static enum gw_err try_answer(struct gw__request *request)
{
    struct gw_ps_work work = {.done = false};
    enum gw_err err = query_work(request, &work);
    if (!err)
        done(request, request->command->kind == GW__CLOCK_NEXT ? &work : NULL);
    return err;
}

static bool can_wait(const struct gw__clock_command *command)
{
    return command->kind == GW__CLOCK_NEXT ||
           command->kind == GW__CLOCK_BARRIER;
}

/* ---- waiting ---- */

static bool is_same(const struct gw__request *a, const struct gw__request *b)
{
    return a->message->from == b->message->from &&
           a->message->incarnation_low == b->message->incarnation_low &&
           a->head->group == b->head->group &&
           a->command->kind == b->command->kind &&
           (a->command->kind == GW__CLOCK_NEXT ||
            a->command->number == b->command->number);
}

static void hold_request(struct gw__request *request)
{
    struct gw__server *server = request->server;
    struct gw__request *next;
    for (struct gw__request *r = server->clocks.first; r; r = next) {
        next = r->next;
        if (!is_same(r, request))
            continue;
        gw__waiting_remove(&server->clocks, r);
        gw__request_free(r);
    }
    if (server->clocks.count < GW__WAITING_MAX)
        gw__waiting_add(&server->clocks, request);
    else
        refuse_pending(request, "too many requests wait for the clock");
}

void gw__clocks_answer_ready(struct gw__server *server, uint64_t now_ns,
                             unsigned group)
{
    struct gw__slot *slot = slot_of(server, group);
    struct gw__request *next;
    for (struct gw__request *r = server->clocks.first; r; r = next) {
        next = r->next;
        if (r->head->group != group)
            continue;
        struct gw_ps_work work = {.done = false};
        enum gw_err err =
            gw__slot_serves(slot, now_ns) ? query_work(r, &work) : GW_ECLOSED;
        if (err == GW_PENDING)
            continue;
        gw__waiting_remove(&server->clocks, r);
        if (err)
            refuse_pending(r, "this server does not serve the clock now");
        else
            done(r, r->command->kind == GW__CLOCK_NEXT ? &work : NULL);
    }
}

/* ---- the log ---- */

void gw__clock_logged(struct gw__request *request)
{
    struct gw__server *server = request->server;
    if (!request->done) {
        refuse_pending(request, "this server does not serve the clock now");
        return;
    }
    struct gw_error why = server->clock_why;
    if (why.code) {
        gw__request_refuse(request, false, &why);
        return;
    }
    if (!can_wait(request->command)) {
        done(request, NULL);
        return;
    }
    enum gw_err err = try_answer(request);
    if (err == GW_PENDING)
        hold_request(request);
    else if (err)
        refuse_pending(request, "the clock does not know the request");
}

static enum gw_err append_command(struct gw__slot *slot, uint64_t now_ns,
                                  unsigned group,
                                  const struct gw__clock_command *command,
                                  struct gw__wait *wait)
{
    uint8_t data[GW__CLOCK_COMMAND_MAX];
    size_t bytes = gw__clock_encode(command, data, sizeof data);
    struct gw__entry *same =
        wait ? gw__slot_find_command(slot, group, data, bytes) : NULL;
    if (same)
        return gw__join_waits(same, wait) ? GW_OK : GW_PENDING;
    struct gw__entry entry = {.kind = GW__ENTRY_CLOCK,
                              .group = (uint8_t)group,
                              .data = data,
                              .bytes = bytes,
                              .waits = wait};
    return bytes ? gw__slot_append(slot, now_ns, &entry) : GW_EINVAL;
}

static enum gw_err read_command(struct gw__request *request,
                                struct gw_error *why)
{
    const struct gw__message_in *message = request->message;
    struct gw__clock_command *command = calloc(1, sizeof *command);
    request->command = command;
    if (!command)
        return gw_fail(why, GW_ENOMEM, "no memory for a clock command");
    if (message->part_count < 2)
        return gw_fail(why, GW_EDATA, "malformed clock command");
    enum gw_err err = gw__clock_decode(message->parts[1].data,
                                       message->parts[1].bytes, command, why);
    if (err)
        return err;
    if (command->kind == GW__CLOCK_WORKERS || command->kind == GW__CLOCK_PRUNE)
        return gw_fail(why, GW_EINVAL, "a worker cannot send this command");
    command->who.node = message->from;
    command->who.incarnation = message->incarnation_low;
    return GW_OK;
}

/* A worker that is not a member yet asks again. A former member gets the reason
 * from the controllers. */
static bool is_known(const struct gw__server *server,
                     const struct gw__message_in *message)
{
    return message->from < GW_PS_NODES &&
           server->ps_members[message->from].here &&
           server->ps_members[message->from].incarnation ==
               message->incarnation_low;
}

/* The membership update with this worker may be newer than the log. A NEXT must
 * not precede the WORKERS command that contains its worker. */
static bool is_too_early(const struct gw__slot *slot,
                         const struct gw__request *request)
{
    return request->command->kind == GW__CLOCK_NEXT &&
           !gw__clock_has(slot->clocks[request->head->group],
                          request->command->who);
}

static void answer_or_log(struct gw__request *request, uint64_t now_ns,
                          struct gw__slot *slot)
{
    if (can_wait(request->command)) {
        enum gw_err err = try_answer(request);
        if (err == GW_PENDING && request->command->kind == GW__CLOCK_NEXT)
            hold_request(request);
        if (!err ||
            (err == GW_PENDING && request->command->kind == GW__CLOCK_NEXT))
            return;
    }
    request->waits[0] = (struct gw__wait){.request = request, .segment = 0};
    request->pending = 1;
    if (append_command(slot, now_ns, request->head->group, request->command,
                       &request->waits[0]))
        gw__request_finish_segment(request, now_ns, 0, false);
}

void gw__serve_clock(struct gw__server *server, uint64_t now_ns,
                     struct gw__message_in *message,
                     const struct gw__ps_head *head)
{
    struct gw_error why = {.code = GW_OK};
    struct gw__request *request =
        gw__request_new(server, now_ns, message, head, NULL);
    if (!request)
        return;
    if (head->group >= GW_PS_GROUPS_MAX) {
        gw_fail(&why, GW_EINVAL, "group %u does not exist", head->group);
        gw__request_refuse(request, false, &why);
        return;
    }
    if (read_command(request, &why)) {
        gw__request_refuse(request, false, &why);
        return;
    }
    if (server->routes.slot_count == 0 || !is_known(server, message)) {
        refuse_pending(request, "the worker is not known here yet");
        return;
    }
    struct gw__slot *slot = slot_of(server, head->group);
    if (!gw__slot_serves(slot, now_ns) || !gw__slot_is_caught_up(slot) ||
        !slot->clocks[head->group]) {
        refuse_pending(request, "this server does not serve the clock now");
        return;
    }
    gw__clock_tick(slot, now_ns, head->group);
    if (is_too_early(slot, request))
        refuse_pending(request, "the worker is not known here yet");
    else
        answer_or_log(request, now_ns, slot);
}

/* ---- commands of the server itself ---- */

static void append_workers(struct gw__slot *slot, uint64_t now_ns,
                           unsigned group)
{
    const struct gw__server *server = slot->server;
    if (slot->workers_appended[group] > slot->applied ||
        gw__clock_knows(slot->clocks[group], server->workers,
                        server->worker_count))
        return;
    struct gw__clock_command command = {.kind = GW__CLOCK_WORKERS,
                                        .count = server->worker_count};
    for (unsigned i = 0; i < server->worker_count; i++)
        command.alive[i] = server->workers[i];
    if (!append_command(slot, now_ns, group, &command, NULL))
        slot->workers_appended[group] = slot->last;
}

static void prune(struct gw__slot *slot, uint64_t now_ns, unsigned group)
{
    uint64_t behind = gw__round_commits_behind_all(slot->server, group);
    if (behind < slot->prune_appended[group] + PRUNE_AT)
        return;
    struct gw__clock_command command = {.kind = GW__CLOCK_PRUNE,
                                        .number = behind};
    if (!append_command(slot, now_ns, group, &command, NULL))
        slot->prune_appended[group] = behind;
}

/* May this server append commands for this clock? */
static bool leads_clock(const struct gw__slot *slot, unsigned group)
{
    return slot->role == GW_PS_PRIMARY && !slot->frozen && !slot->fenced &&
           slot->clocks[group] && gw__slot_is_caught_up(slot);
}

/* The policy's choice is a command in the log, so all replicas apply it at the
 * same position. Only the primary knows when a round ended; a new primary
 * starts its observation from zero. */
void gw__clocks_request_policy(struct gw__server *server, uint64_t now_ns,
                               unsigned group)
{
    struct gw__slot *slot = slot_of(server, group);
    struct gw__straggler_monitor *monitor = &server->straggler_monitors[group];
    struct gw__clock_command command = {.kind = GW__CLOCK_MODE};
    struct gw_error why;
    if (!server->config.straggler)
        return;
    if (!leads_clock(slot, group)) {
        *monitor = (struct gw__straggler_monitor){.rounds = 0};
        return;
    }
    if (!gw__straggler_observe(monitor, slot->clocks[group], now_ns))
        return;
    enum gw_err err =
        gw__straggler_request(monitor, slot->clocks[group],
                              server->config.straggler, &command.mode, &why);
    if (err == GW_EINVAL)
        gw__server_trouble(server, "%s", why.text);
    else if (!err && append_command(slot, now_ns, group, &command, NULL))
        gw__server_trouble(server, "the log has no room for the new mode");
}

void gw__clock_tick(struct gw__slot *slot, uint64_t now_ns, unsigned group)
{
    if (!leads_clock(slot, group))
        return;
    append_workers(slot, now_ns, group);
    prune(slot, now_ns, group);
}
