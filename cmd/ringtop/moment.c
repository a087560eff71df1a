/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See moment.h.
 */
#include "moment.h"

#include <inttypes.h>

static bool is_of_op(const struct gw_event *e, uint64_t op)
{
    return e->kind <= GW_EV_WAIT && e->op == op;
}

/* An epoch begins with its view; then the interrupted ops are decided on, and
 * each member reports the copies of chunks with which it continues. */
static bool is_of_epoch(const struct gw_event *e, uint64_t epoch)
{
    return e->epoch == epoch &&
           (e->kind == GW_EV_EPOCH || e->kind == GW_EV_DECISION ||
            e->kind == GW_EV_RECOVERY);
}

static enum gw_err find_time(uint64_t after_ns, const struct player *player,
                             struct events_until *found, struct gw_error *why)
{
    uint64_t begin_ns = player->events[0].time_ns;
    uint64_t last_ns = player->events[player->count - 1].time_ns - begin_ns;
    if (after_ns > last_ns)
        return gw_fail(why, GW_EINVAL,
                       "--at %.6g s: the recording ends after %.6g s",
                       (double)after_ns * 1e-9, (double)last_ns * 1e-9);
    found->end = 0;
    while (found->end < player->count &&
           player->events[found->end].time_ns - begin_ns <= after_ns)
        found->end++;
    return GW_OK;
}

static enum gw_err not_found(const struct moment *moment,
                             const struct player *player, struct gw_error *why)
{
    uint32_t least = GW_NONE, most = 0;
    bool is_op = moment->kind == MOMENT_OP;
    const char *noun = is_op ? "op" : "epoch";
    for (size_t i = 0; i < player->count; i++) {
        const struct gw_event *e = &player->events[i];
        uint32_t number = is_op ? e->op : e->epoch;
        if (is_op ? !is_of_op(e, number) : e->kind != GW_EV_EPOCH)
            continue;
        least = number < least ? number : least;
        most = number > most && number != GW_NONE ? number : most;
    }
    if (least == GW_NONE)
        return gw_fail(why, GW_EINVAL, "the recording has no %ss", noun);
    return gw_fail(why, GW_EINVAL,
                   "--%s %" PRIu64 ": the recording has %" PRIu32
                   " to %" PRIu32,
                   noun, moment->number, least, most);
}

enum gw_err moment_find(const struct moment *moment,
                        const struct player *player, struct events_until *found,
                        struct gw_error *why)
{
    bool any = false;
    *found = (struct events_until){.end = player->count, .op = GW_NONE};
    if (moment->kind == MOMENT_NONE)
        return GW_OK;
    if (moment->kind == MOMENT_TIME)
        return find_time(moment->number, player, found, why);
    for (size_t i = 0; i < player->count; i++) {
        const struct gw_event *e = &player->events[i];
        bool is_op = moment->kind == MOMENT_OP;
        if (!(is_op ? is_of_op : is_of_epoch)(e, moment->number))
            continue;
        if (!any)
            found->first = i;
        any = true;
        found->end = i + 1;
        if (e->op != GW_NONE && (found->op == GW_NONE || e->op > found->op))
            found->op = e->op; /* of several, the newest was interrupted */
    }
    return any ? GW_OK : not_found(moment, player, why);
}
