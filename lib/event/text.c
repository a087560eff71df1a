/* SPDX-License-Identifier: MIT
 *
 * An event as a sentence. Pure.
 */
#include <gradwire/event.h>
#include <gradwire/nodes.h>

#include <inttypes.h>
#include <stdio.h>

static const char *word(const char *const *words, size_t count, int64_t value)
{
    return value >= 0 && (size_t)value < count ? words[value] : "?";
}
#define WORD(words, value) word(words, sizeof words / sizeof *words, value)

static const char *evidence(int64_t value)
{
    static const char *const words[] = {"its process has ended",
                                        "its connection was reset",
                                        "it is silent", "it makes no progress"};
    return WORD(words, value);
}

static const char *membership(int64_t value)
{
    static const char *const words[] = {"joins", "is a member", "is parked",
                                        "has left", "is dead"};
    return WORD(words, value);
}

static void moved(const struct gw_event *e, const char *how, char *out,
                  size_t room)
{
    char size[16];
    gw_format_bytes(e->bytes, size);
    snprintf(out, room,
             "node %" PRIu32 " %s %" PRIu32 ": chunk %" PRIu32 " of op %" PRIu32
             ", %s",
             e->rank, how, e->peer, e->chunk, e->op, size);
}

static void of_op(const struct gw_event *e, char *out, size_t room)
{
    if (e->kind == GW_EV_OP_BEGIN)
        snprintf(out, room, "node %" PRIu32 " begins op %" PRIu32, e->rank,
                 e->op);
    else if (e->value == 0)
        snprintf(out, room, "node %" PRIu32 " ends op %" PRIu32, e->rank,
                 e->op);
    else
        snprintf(out, room, "node %" PRIu32 " ends op %" PRIu32 ": %s", e->rank,
                 e->op, gw_err_text((enum gw_err)e->value));
}

static void of_recovery(const struct gw_event *e, char *out, size_t room)
{
    if (e->kind == GW_EV_DECISION)
        snprintf(out, room, "op %" PRIu32 ": %s", e->op,
                 e->value == 0 ? "forward (the lost contribution is included)"
                               : "exclude (completed without the lost member)");
    else
        snprintf(out, room,
                 "op %" PRIu32 ": chunk %" PRIu32 " at node %" PRIu32 " is %s",
                 e->op, e->chunk, e->rank, e->value == 0 ? "kept" : "redone");
}

static void of_view(const struct gw_event *e, char *out, size_t room)
{
    char plan[40] = "";
    if (e->chunk == 0)
        snprintf(plan, sizeof plan, ", built-in plan");
    else if (e->chunk != GW_NONE)
        snprintf(plan, sizeof plan, ", given plan, %" PRIu32 " chunk%s",
                 e->chunk, e->chunk == 1 ? "" : "s");
    snprintf(out, room, "epoch %" PRIu32 ": %" PRId64 " members%s", e->epoch,
             e->value, plan);
}

static void of_servers(const struct gw_event *e, char *out, size_t room)
{
    static const char *const roles[] = {"no longer has", "is the primary of",
                                        "is in sync with", "learns"};
    static const char *const accesses[] = {"pulls from", "pushes to",
                                           "pushes to and pulls from"};
    if (e->kind == GW_EV_REQUEST)
        snprintf(out, room,
                 "node %" PRIu32 " %s %" PRIu32 ": slot %" PRIu32
                 ", message %" PRIu32,
                 e->rank, WORD(accesses, e->value), e->peer, e->chunk, e->op);
    else if (e->kind == GW_EV_REPLY)
        snprintf(out, room,
                 "node %" PRIu32 " received the reply of %" PRIu32
                 " to message %" PRIu32 "%s%s",
                 e->rank, e->peer, e->op, e->value ? ": " : "",
                 e->value ? gw_err_text((enum gw_err)e->value) : "");
    else if (e->kind == GW_EV_SLOT)
        snprintf(out, room, "node %" PRIu32 " %s slot %" PRIu32, e->rank,
                 WORD(roles, e->value), e->chunk);
    else if (e->op == GW_NONE)
        snprintf(out, room, "node %" PRIu32 " is at clock %" PRIu32, e->rank,
                 e->step);
    else
        snprintf(out, room,
                 "node %" PRIu32 " is at clock %" PRIu32 ": data epoch %" PRIu32
                 ", batch %" PRIu32 ", part %" PRIu32 ", staleness %" PRId64,
                 e->rank, e->step, e->epoch, e->op, e->chunk, e->value);
}

static void of_pipeline(const struct gw_event *e, char *out, size_t room)
{
    static const char letters[] = {'F', 'B', 'I',
                                   'W'}; /* by enum gw_pass_kind */
    bool known = e->value >= 0 && e->value < (int64_t)sizeof letters;
    char letter = known ? letters[e->value] : '?';
    int used;
    if (e->kind == GW_EV_STAGE) {
        snprintf(
            out, room,
            "node %" PRIu32 " is stage %" PRIu32 " of %" PRIu32 ": %" PRIu32
            " micro-batches, chunks %" PRIu32 ", predicted step time %.3f ms",
            e->rank, e->peer, e->step, e->op, e->chunk, (double)e->value / 1e6);
        return;
    }
    used = snprintf(out, room,
                    "node %" PRIu32 " %s %c%" PRIu32 ", chunk %" PRIu32
                    ", step %" PRIu32,
                    e->rank, e->kind == GW_EV_PASS_BEGIN ? "begins" : "ends",
                    letter, e->op, e->chunk, e->step);
    if (used < 0 || (size_t)used >= room)
        return;
    out += used;
    room -= (size_t)used;
    if (e->kind == GW_EV_PASS_END)
        snprintf(out, room, ", holds %" PRIu64, e->bytes);
    else if (e->peer != GW_NONE)
        snprintf(out, room, ", waited for stage %" PRIu32, e->peer);
}

/* 1 for 318. */
static unsigned controller(uint32_t node)
{
    return GW_NODES_MAX - 1 - node;
}

static void of_controllers(const struct gw_event *e, char *out, size_t room)
{
    unsigned c = controller(e->rank);
    if (e->kind == GW_EV_LEADER)
        snprintf(out, room, "controller %u leads in term %" PRId64, c,
                 e->value);
    else if (e->kind == GW_EV_VOTE)
        snprintf(out, room,
                 "controller %u votes for controller %u in term %" PRId64, c,
                 controller(e->peer), e->value);
    else if (e->kind == GW_EV_COMMIT)
        snprintf(out, room, "controller %u applies entry %" PRId64, c,
                 e->value);
    else if (e->kind == GW_EV_LEASE && e->value)
        snprintf(out, room, "node %" PRIu32 " has a lease", e->peer);
    else if (e->kind == GW_EV_LEASE)
        snprintf(out, room, "node %" PRIu32 " no longer has a lease", e->peer);
    else if (e->peer == GW_NONE)
        snprintf(out, room, "slot %" PRIu32 " has no primary", e->chunk);
    else
        snprintf(out, room,
                 "slot %" PRIu32 " has the primary %" PRIu32
                 " in term %" PRId64,
                 e->chunk, e->peer, e->value);
}

void gw_event_text(const struct gw_event *e, char *out, size_t room)
{
    switch (e->kind) {
    case GW_EV_OP_BEGIN:
    case GW_EV_OP_END:
        of_op(e, out, room);
        return;
    case GW_EV_SEND:
        moved(e, "sends to", out, room);
        return;
    case GW_EV_APPLY:
        moved(e, e->value % 4 == 1 ? "adds from" : "receives from", out, room);
        return;
    case GW_EV_WAIT:
        snprintf(out, room,
                 "node %" PRIu32 " waits for %" PRIu32 " for %.1f ms", e->rank,
                 e->peer, (double)e->value / 1e6);
        return;
    case GW_EV_LOST:
        snprintf(out, room, "node %" PRIu32 " has lost %" PRIu32, e->rank,
                 e->peer);
        return;
    case GW_EV_STEP:
        snprintf(out, room, "step %" PRId64, e->value);
        return;
    case GW_EV_LOSS:
        snprintf(out, room, "loss %.6g", (double)e->value / 1e9);
        return;
    case GW_EV_FAILURE:
        if (e->rank == GW_NONE)
            snprintf(out, room, "the supervisor suspects %" PRIu32 ": %s",
                     e->peer, evidence(e->value));
        else
            snprintf(out, room, "node %" PRIu32 " suspects %" PRIu32 ": %s",
                     e->rank, e->peer, evidence(e->value));
        return;
    case GW_EV_MEMBER:
        snprintf(out, room, "node %" PRIu32 " %s", e->rank,
                 membership(e->value));
        return;
    case GW_EV_EPOCH:
        of_view(e, out, room);
        return;
    case GW_EV_DECISION:
    case GW_EV_RECOVERY:
        of_recovery(e, out, room);
        return;
    case GW_EV_SLOT:
    case GW_EV_CLOCK:
    case GW_EV_REQUEST:
    case GW_EV_REPLY:
        of_servers(e, out, room);
        return;
    case GW_EV_STAGE:
    case GW_EV_PASS_BEGIN:
    case GW_EV_PASS_END:
        of_pipeline(e, out, room);
        return;
    case GW_EV_LEADER:
    case GW_EV_VOTE:
    case GW_EV_COMMIT:
    case GW_EV_LEASE:
    case GW_EV_ROUTE:
        of_controllers(e, out, room);
        return;
    }
    snprintf(out, room, "event %" PRIu32, e->kind);
}

bool gw_event_is_change(const struct gw_event *event)
{
    switch (event->kind) {
    case GW_EV_FAILURE:
    case GW_EV_MEMBER:
    case GW_EV_EPOCH:
    case GW_EV_DECISION:
    case GW_EV_LOST:
    case GW_EV_LEADER:
    case GW_EV_VOTE:
        return true;
    }
    return false;
}
