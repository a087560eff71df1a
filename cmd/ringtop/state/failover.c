/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The course of failures (failover.h), from their events. Several members may
 * fail at once: a view, a decision and a recovery belong to all failovers that
 * have not reached that stage yet.
 */
#include "failover.h"

#include <gradwire/ring.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *stage_name(enum stage stage)
{
    static const char *const names[STAGES] = {"noticed", "confirmed", "view",
                                              "decided", "resumed"};
    return names[stage];
}

const char *failovers_name(const struct failovers *fs, uint32_t who,
                           char out[24])
{
    enum { SERVERS_FROM = 32, LAST = GW_RING_CONTROLLER };
    enum { CONTROLLERS_FROM = LAST - 7 };
    if (!fs->ps || who > LAST)
        snprintf(out, 24, "%s %" PRIu32, fs->nodes ? "node" : "rank", who);
    else if (who < SERVERS_FROM)
        snprintf(out, 24, "worker %" PRIu32, who);
    else if (who < CONTROLLERS_FROM)
        snprintf(out, 24, "server %" PRIu32, who - SERVERS_FROM);
    else
        snprintf(out, 24, "controller %" PRIu32, LAST - who);
    return out;
}

uint64_t failover_begin_ns(const struct failover *f)
{
    unsigned stage = 0;
    while (stage < STAGES - 1 && !f->reached[stage])
        stage++;
    return f->time_ns[stage];
}

static const char *evidence_text(const struct gw_event *event)
{
    static const char *const texts[] = {
        [GW_BY_EXIT] = "its process ended",
        [GW_BY_RESET] = "its connection was reset",
        [GW_BY_SILENCE] = "no heartbeat",
        [GW_BY_STALL] = "it makes no progress",
    };
    if (event->kind == GW_EV_LOST)
        return "peer lost";
    return event->value >= 0 && event->value <= GW_BY_STALL
               ? texts[event->value]
               : "no reason given";
}

static void reach(struct failover *f, enum stage stage, uint64_t time_ns)
{
    if (!f->reached[stage])
        f->time_ns[stage] = time_ns;
    f->reached[stage] = true;
}

static bool is_over(const struct failover *f)
{
    return f->reached[RESUMED];
}

/* The open failover of the member, a new one if there is none. */
static struct failover *failover_of(struct failovers *fs, uint32_t who)
{
    for (unsigned i = 0; i < fs->count; i++)
        if (fs->list[i].who == who && !is_over(&fs->list[i]))
            return &fs->list[i];
    if (fs->count == FAILOVERS_KEPT)
        memmove(&fs->list[0], &fs->list[1], --fs->count * sizeof *fs->list);
    struct failover *f = &fs->list[fs->count++];
    *f = (struct failover){
        .who = who, .noticed_by = GW_NONE, .op = GW_NONE, .fate = -1};
    return f;
}

static void noticed(struct failovers *fs, const struct gw_event *event,
                    struct event_log *log)
{
    if (event->peer == GW_NONE)
        return;
    if (event->peer != event->rank) {
        struct failover *f = failover_of(fs, event->peer);
        if (f->noticed_by == GW_NONE)
            f->noticed_by = event->rank;
        reach(f, NOTICED, event->time_ns);
    }
    char who[24] = "the supervisor", whom[24];
    if (event->rank != GW_NONE)
        failovers_name(fs, event->rank, who);
    failovers_name(fs, event->peer, whom);
    enum weight weight = event->kind == GW_EV_LOST ? WEIGHT_BAD : WEIGHT_WARN;
    if (event->peer == event->rank)
        event_log_write(log, event->time_ns, weight, "%s: %s", who,
                        evidence_text(event))
            ->failover = true;
    else
        event_log_write(log, event->time_ns, weight, "%s suspects %s: %s", who,
                        whom, evidence_text(event))
            ->failover = true;
}

void failovers_clear_suspect(struct failovers *fs, uint32_t who)
{
    for (unsigned i = fs->count; i-- > 0;) {
        struct failover *f = &fs->list[i];
        if (f->who != who || f->reached[DECLARED_DEAD])
            continue;
        fs->count--;
        memmove(f, f + 1, (fs->count - i) * sizeof *f);
    }
}

static void member(struct failovers *fs, const struct gw_event *event,
                   struct event_log *log)
{
    static const char *const texts[] = {
        [GW_MEMBER_JOINING] = "joins",
        [GW_MEMBER_ALIVE] = "is a member",
        [GW_MEMBER_PARKED] = "is parked",
        [GW_MEMBER_LEFT] = "has left",
        [GW_MEMBER_DEAD] = "is declared dead",
    };
    if (event->rank == GW_NONE || event->value < 0 ||
        event->value > GW_MEMBER_DEAD)
        return;
    bool dead = event->value == GW_MEMBER_DEAD;
    if (dead)
        reach(failover_of(fs, event->rank), DECLARED_DEAD, event->time_ns);
    else
        failovers_clear_suspect(fs, event->rank);
    enum weight weight = dead                               ? WEIGHT_BAD
                         : event->value == GW_MEMBER_PARKED ? WEIGHT_WARN
                                                            : WEIGHT_INFO;
    char who[24];
    event_log_write(log, event->time_ns, weight, "%s %s",
                    failovers_name(fs, event->rank, who), texts[event->value])
        ->failover = true;
}

static void view(struct failovers *fs, const struct gw_event *event,
                 struct event_log *log)
{
    char text[96];
    for (unsigned i = 0; i < fs->count; i++) {
        struct failover *f = &fs->list[i];
        if (is_over(f) || !f->reached[DECLARED_DEAD])
            continue;
        reach(f, VIEWED, event->time_ns);
        f->epoch = event->epoch;
        f->members = event->value;
        f->done = 0;
    }
    gw_event_text(event, text, sizeof text);
    event_log_write(log, event->time_ns, WEIGHT_INFO, "%s", text)->failover =
        true;
}

/* Is it the interrupted op, as far as is known? The newest one is. */
static bool interrupts(struct failover *f, uint32_t op)
{
    if (op == GW_NONE || (f->op != GW_NONE && op < f->op))
        return false;
    if (f->op != op)
        f->recovered = (struct recovered){.kept = 0};
    f->op = op;
    return true;
}

static void decided(struct failovers *fs, const struct gw_event *event,
                    struct event_log *log)
{
    bool fresh = false;
    for (unsigned i = 0; i < fs->count; i++) {
        struct failover *f = &fs->list[i];
        if (is_over(f) || !interrupts(f, event->op))
            continue;
        reach(f, DECIDED, event->time_ns);
        f->fate = event->value;
        fresh = true;
    }
    if (fresh)
        event_log_write(
            log, event->time_ns, WEIGHT_INFO,
            event->value == 0
                ? "op %" PRIu32 ": forward, with the dead member's data"
                : "op %" PRIu32 ": exclude, without the dead member's data",
            event->op)
            ->failover = true;
}

static void count_copy(struct recovered *r, const struct gw_event *event)
{
    uint32_t chunk = event->chunk < CHUNKS_MAX ? event->chunk : CHUNKS_MAX - 1;
    uint64_t bit = (uint64_t)1 << chunk % 64;
    r->kept += event->value == 0;
    r->redone += event->value != 0;
    r->chunks[chunk / 64] |= bit;
    if (event->value == 0)
        r->kept_chunks[chunk / 64] |= bit;
}

const char *failover_counts(const struct failover *f, char out[64])
{
    const struct recovered *r = &f->recovered;
    int all = 0, kept = 0;
    for (unsigned i = 0; i < CHUNKS_MAX / 64; i++) {
        all += __builtin_popcountll(r->chunks[i]);
        kept += __builtin_popcountll(r->kept_chunks[i]);
    }
    snprintf(out, 64, "chunks %d kept, %d redone (copies %u and %u)", kept,
             all - kept, r->kept, r->redone);
    return out;
}

static void recovery(struct failovers *fs, const struct gw_event *event)
{
    for (unsigned i = 0; i < fs->count; i++) {
        struct failover *f = &fs->list[i];
        if (is_over(f) || !interrupts(f, event->op))
            continue;
        count_copy(&f->recovered, event);
    }
}

void failovers_declared_dead(struct failovers *fs, uint32_t who,
                             uint64_t time_ns)
{
    for (unsigned i = 0; i < fs->count; i++)
        if (fs->list[i].who == who && !is_over(&fs->list[i]))
            reach(&fs->list[i], DECLARED_DEAD, time_ns);
}

void failovers_resume(struct failovers *fs, uint32_t who, uint64_t time_ns,
                      struct event_log *log)
{
    for (unsigned i = 0; i < fs->count; i++) {
        struct failover *f = &fs->list[i];
        char took[16], name[24];
        if (f->who != who || is_over(f) || !f->reached[DECLARED_DEAD])
            continue;
        reach(f, RESUMED, time_ns);
        uint64_t begin_ns = failover_begin_ns(f);
        format_ns(time_ns > begin_ns ? time_ns - begin_ns : 0, took);
        event_log_write(log, time_ns, WEIGHT_GOOD, "without %s after %s",
                        failovers_name(fs, who, name), took)
            ->failover = true;
    }
}

/* Does this end of an op end the failover? */
static bool resumes(struct failover *f, const struct gw_event *event)
{
    if (is_over(f) || !f->reached[VIEWED] || event->epoch < f->epoch ||
        event->value != 0)
        return false;
    if (f->op == GW_NONE || event->op > f->op)
        return true;
    f->done += event->op == f->op;
    return f->done >= f->members;
}

static void resumed(struct failovers *fs, const struct gw_event *event,
                    struct event_log *log)
{
    for (unsigned i = 0; i < fs->count; i++) {
        struct failover *f = &fs->list[i];
        if (!resumes(f, event))
            continue;
        char took[16], name[24], counts[64];
        reach(f, RESUMED, event->time_ns);
        uint64_t begin_ns = failover_begin_ns(f);
        format_ns(event->time_ns > begin_ns ? event->time_ns - begin_ns : 0,
                  took);
        event_log_write(
            log, event->time_ns, WEIGHT_GOOD, "without %s after %s: %s",
            failovers_name(fs, f->who, name), took, failover_counts(f, counts))
            ->failover = true;
    }
}

void failovers_event(struct failovers *fs, const struct gw_event *event,
                     struct event_log *log)
{
    switch ((enum gw_event_kind)event->kind) {
    case GW_EV_LOST:
    case GW_EV_FAILURE:
        noticed(fs, event, log);
        break;
    case GW_EV_MEMBER:
        member(fs, event, log);
        break;
    case GW_EV_EPOCH:
        view(fs, event, log);
        break;
    case GW_EV_DECISION:
        decided(fs, event, log);
        break;
    case GW_EV_RECOVERY:
        recovery(fs, event);
        break;
    case GW_EV_OP_END:
        resumed(fs, event, log);
        break;
    default:
        break;
    }
}
