/* SPDX-License-Identifier: MIT
 *
 * Pushes and pulls.
 *
 * Values are lent to the messenger where that is safe: shared memory that peers
 * can map (shm), or any memory (ZeroMQ, which reads it while it sends). They
 * are lent only if the call cannot return before the request has ended.
 */
#include "client_parts.h"

#include <wire/memory.h>

/* The group whose clock the table obeys. GW_EINVAL: unknown table. */
static enum gw_err group_of(const struct gw_ps *ps, unsigned table,
                            const struct gw__ps_group **group,
                            struct gw_error *why)
{
    const struct gw__routes *routes = gw__worker_get_routes(ps->worker);
    if (table >= routes->table_count)
        return gw_fail(why, GW_EINVAL,
                       "table %u does not exist; there are %u tables", table,
                       routes->table_count);
    *group = &ps->groups[routes->tables[table].group % GW_PS_GROUPS_MAX];
    return GW_OK;
}

static bool may_lend(const struct gw_ps *ps,
                     const struct gw__request_args *args, bool blocks)
{
    struct gw__region region;
    const struct gw__routes *routes = gw__worker_get_routes(ps->worker);
    size_t bytes =
        args->count * sizeof(float) * routes->tables[args->table].width;
    if (!args->values || bytes < GW__LONE_ROW_BYTES || ps->no_lend ||
        (blocks && ps->timeout_ns != UINT64_MAX))
        return false;
    return !ps->shm || gw__region_find(args->values, bytes, &region);
}

/* True if all requests have ended, and only gw_ps_wait can free one. */
static bool is_idle(const struct gw_ps *ps)
{
    return gw__worker_due(ps->worker) == UINT64_MAX;
}

enum gw_err gw__ps_begin(struct gw_ps *ps, const struct gw__request_args *args,
                         uint64_t *request, struct gw_error *why)
{
    uint64_t deadline_ns = gw__ps_deadline(ps);
    for (;;) {
        enum gw_err err =
            gw__worker_push_pull(ps->worker, gw_now_ns(), args, request, why);
        gw__bundles_flush(&ps->bundles);
        if (err != GW_PENDING)
            return err;
        if (is_idle(ps))
            return gw_fail(
                why, GW_ENOMEM,
                "%d completed requests are not collected; call gw_ps_wait",
                GW__REQUESTS_MAX);
        err = gw__ps_alive(ps, why);
        if (err)
            return err;
        if (gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "%d requests are in flight; call gw_ps_wait",
                           GW__REQUESTS_MAX);
        gw__ps_sleep(ps, deadline_ns);
        gw__ps_turn(ps);
    }
}

/* Fetches the current routes from the leader. Project Adam asks before each
 * access; cached routes avoid this cost. */
static enum gw_err request_routes(struct gw_ps *ps, struct gw_error *why)
{
    uint64_t began_ns = gw_now_ns(), deadline_ns = gw__ps_deadline(ps);
    ps->is_awaiting_routes = true;
    enum gw_err err = gw__node_request_update(ps->node);
    if (err)
        return gw_fail(why, err, "cannot send a request to the controllers");
    while (ps->is_awaiting_routes) {
        gw__ps_turn(ps);
        err = gw__ps_alive(ps, why);
        if (err)
            return err;
        if (gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "no controller leads, so the routes are unknown");
        if (ps->is_awaiting_routes)
            gw__ps_sleep(ps, deadline_ns);
    }
    ps->routes_requested++;
    ps->routes_ns += gw_now_ns() - began_ns;
    return GW_OK;
}

/* Begins the access; a push passes through the filters. */
static enum gw_err begin_request(struct gw_ps *ps,
                                 struct gw__request_args *args, bool blocks,
                                 uint64_t *request, struct gw_error *why)
{
    const struct gw__ps_group *group = NULL;
    enum gw_err err = gw__ps_alive(ps, why);
    if (!err && ps->ask_routes)
        err = request_routes(ps, why);
    if (err)
        return err;
    gw__ps_turn(ps);
    err = group_of(ps, args->table, &group, why);
    if (err || !group)
        return err;
    args->clock = group->in_work_item ? group->clock : GW__NO_CLOCK;
    args->closed = group->closed;
    args->lend = may_lend(ps, args, blocks);
    if (args->values && gw__ps_filters(ps, args->table))
        return gw__ps_push(ps, args, request, why);
    return gw__ps_begin(ps, args, request, why);
}

static enum gw_err end_request(struct gw_ps *ps, uint64_t request,
                               struct gw_error *why)
{
    enum gw_err err = request ? gw__ps_finish(ps, request, why) : GW_OK;
    gw__ps_passed(ps, request);
    return err;
}

static enum gw_err check_args(const struct gw__request_args *args,
                              struct gw_error *why)
{
    if (args->count > 0 && (!args->keys || (!args->values && !args->out)))
        return gw_fail(why, GW_EINVAL,
                       "the pointer to %zu keys or values is NULL",
                       args->count);
    return GW_OK;
}

static enum gw_err push_pull(struct gw_ps *ps, struct gw__request_args args,
                             struct gw_ps_handle *handle, const char *what,
                             struct gw_error *why)
{
    uint64_t request = 0;
    if (handle)
        handle->id = 0;
    enum gw_err err = check_args(&args, why);
    if (!err)
        err = begin_request(ps, &args, !handle, &request, why);
    if (!err && handle)
        handle->id = request;
    else if (!err)
        err = end_request(ps, request, why);
    return err ? gw_wrap(why, err, "ps: %s", what) : GW_OK;
}

enum gw_err gw_ps_push(struct gw_ps *ps, unsigned table, const uint64_t *keys,
                       size_t count, const float *values,
                       struct gw_ps_handle *handle, struct gw_error *why)
{
    static const float none;
    const struct gw__request_args push = {.table = table,
                                          .keys = keys,
                                          .count = count,
                                          .values = count ? values : &none};
    return push_pull(ps, push, handle, "push", why);
}

enum gw_err gw_ps_pull(struct gw_ps *ps, unsigned table, const uint64_t *keys,
                       size_t count, float *values, struct gw_ps_handle *handle,
                       struct gw_error *why)
{
    const struct gw__request_args pull = {
        .table = table, .keys = keys, .count = count, .out = values};
    return push_pull(ps, pull, handle, "pull", why);
}

/* With filters, the push and the pull may have different keys. */
enum gw_err gw_ps_push_pull(struct gw_ps *ps, unsigned table,
                            const uint64_t *keys, size_t count,
                            const float *values, float *out,
                            struct gw_ps_handle *handle, struct gw_error *why)
{
    const struct gw__request_args both = {.table = table,
                                          .keys = keys,
                                          .count = count,
                                          .values = values,
                                          .out = out};
    if (!gw__ps_filters(ps, table))
        return push_pull(ps, both, handle, "push and pull", why);
    enum gw_err err = gw_ps_push(ps, table, keys, count, values, NULL, why);
    return err ? err : gw_ps_pull(ps, table, keys, count, out, handle, why);
}

enum gw_err gw_ps_wait(struct gw_ps *ps, struct gw_ps_handle *handle,
                       struct gw_error *why)
{
    bool ended;
    if (handle->id == 0)
        return GW_OK;
    enum gw_err err =
        gw__ps_await(ps, handle->id, gw__ps_deadline(ps), &ended, why);
    if (ended) {
        gw__ps_passed(ps, handle->id);
        handle->id = 0;
    }
    return err ? gw_wrap(why, err, "ps: wait") : GW_OK;
}
