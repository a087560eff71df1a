/* SPDX-License-Identifier: MIT
 *
 * A snapshot in three steps: give the directory to all servers, append a marker
 * to the clock's round commits, and ask all servers until each one reports a
 * complete snapshot. A server that leaves meanwhile is no longer asked: the new
 * owner of its slots has applied the marker, too.
 */
#include "client_parts.h"

#include <string.h>
#include <sys/random.h>

static const uint64_t first_pause_ns = 2000000, longest_pause_ns = 50000000;
static const uint64_t longest_ns = 120000000000;

struct snapshot {
    struct gw_ps *ps;
    uint64_t mark, deadline_ns;
    const char *directory;
    struct gw_nodes open; /* servers with no answer yet */
};

static struct gw_nodes servers(const struct gw_ps *ps)
{
    const struct gw__membership_update *update = gw__node_update(ps->node);
    struct gw_nodes found = {{0}};
    for (unsigned i = 0; i < update->ps_member_count; i++)
        if (update->ps_members[i].role == GW__SERVER)
            gw__nodes_add(&found, update->ps_members[i].node);
    return found;
}

static enum gw_err still(struct snapshot *s, struct gw_error *why)
{
    enum gw_err err = gw__ps_alive(s->ps, why);
    s->open = gw__nodes_and(s->open, servers(s->ps));
    if (err || gw__nodes_is_empty(s->open))
        return err;
    if (gw_now_ns() < s->deadline_ns)
        return GW_OK;
    return gw_fail(why, GW_ETIMEOUT, "waits for server %u to write",
                   gw__nodes_next(&s->open, 0));
}

/* Asks one server. The answer is GW_PENDING if that server leaves meanwhile. */
static enum gw_err request_snapshot(struct snapshot *s, unsigned server,
                                    enum gw_err *answer, struct gw_error *why)
{
    struct gw_ps *ps = s->ps;
    uint64_t request;
    *answer = GW_PENDING;
    enum gw_err err = gw__worker_save(ps->worker, gw_now_ns(), server, s->mark,
                                      s->directory, answer, &request, why);
    if (err == GW_PENDING)
        return gw_fail(why, GW_ENOMEM,
                       "too many requests are in flight; call gw_ps_wait");
    while (!err) {
        gw__ps_turn(ps);
        err = gw__worker_result(ps->worker, request, why);
        if (err != GW_PENDING)
            return err ? gw_wrap(why, err, "server %u", server) : GW_OK;
        err = still(s, why);
        if (!gw__nodes_has(&s->open, server))
            break;
        if (!err)
            gw__ps_sleep(ps, s->deadline_ns);
    }
    (void)!gw__worker_detach(ps->worker, request);
    return err;
}

/* Asks all servers until each answers `wanted` or GW_OK. */
static enum gw_err request_all(struct snapshot *s, enum gw_err wanted,
                               struct gw_error *why)
{
    uint64_t pause_ns = first_pause_ns;
    s->open = servers(s->ps);
    for (;;) {
        for (unsigned server = gw__nodes_next(&s->open, 0);
             server < GW__NODES_MAX;
             server = gw__nodes_next(&s->open, server + 1)) {
            enum gw_err answer, err = request_snapshot(s, server, &answer, why);
            if (err)
                return err;
            if (answer == wanted || answer == GW_OK)
                gw__nodes_remove(&s->open, server);
        }
        enum gw_err err = still(s, why);
        if (err || gw__nodes_is_empty(s->open))
            return err;
        uint64_t until_ns = gw_now_ns() + pause_ns;
        while (gw_now_ns() < until_ns) {
            gw__ps_sleep(s->ps, until_ns);
            gw__ps_turn(s->ps);
        }
        if (2 * pause_ns <= longest_pause_ns)
            pause_ns *= 2;
    }
}

/* The group in which this worker works; without one the first group. */
static unsigned marked_group(const struct gw_ps *ps)
{
    for (unsigned group = 0; group < GW_PS_GROUPS_MAX; group++)
        if (ps->groups[group].in_work_item || ps->groups[group].finished)
            return group;
    return 0;
}

static enum gw_err take_snapshot(struct snapshot *s, struct gw_error *why)
{
    struct gw__clock_command mark = {.kind = GW__CLOCK_MARK};
    while (s->mark == 0)
        if (getrandom(&s->mark, sizeof s->mark, 0) != sizeof s->mark)
            return gw_fail_errno(why, "getrandom");
    enum gw_err err = request_all(s, GW_PENDING, why);
    mark.number = s->mark;
    if (!err)
        err = gw__ps_clock(s->ps, marked_group(s->ps), &mark, NULL, why);
    return err ? err : request_all(s, GW_OK, why);
}

enum gw_err gw_ps_snapshot(struct gw_ps *ps, const char *directory,
                           struct gw_error *why)
{
    struct snapshot s = {
        .ps = ps, .deadline_ns = gw__ps_deadline(ps), .directory = directory};
    if (s.deadline_ns == UINT64_MAX)
        s.deadline_ns = gw_now_ns() + longest_ns;
    gw__ps_turn(ps);
    enum gw_err err = take_snapshot(&s, why);
    return err ? gw_wrap(why, err, "ps: snapshot into %s", directory) : GW_OK;
}
