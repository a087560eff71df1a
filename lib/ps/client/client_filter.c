/* SPDX-License-Identifier: MIT
 *
 * Pushes through the filters (filter.h). Tables with the updater `assign` are
 * not filtered: there a value replaces the previous one, so a remainder must
 * not be added to a later push.
 *
 * A remainder belongs to no item. It is sent with the next push of its key or,
 * when the client closes, outside of items.
 */
#include "client_parts.h"

#include "ps/store/update.h"

#include <stdlib.h>

static const struct gw_ps_table_config *config_of(const struct gw_ps *ps,
                                                  unsigned table)
{
    const struct gw__routes *routes = gw__worker_get_routes(ps->worker);
    return table < routes->table_count ? &routes->tables[table] : NULL;
}

bool gw__ps_filters(const struct gw_ps *ps, unsigned table)
{
    const struct gw_ps_table_config *config = config_of(ps, table);
    return config && config->updater != GW_PS_ASSIGN &&
           (ps->top_share > 0 || ps->significant > 0);
}

/* ---- filtered pushes ---- */

static struct gw__passed *new_passed(size_t count, uint32_t width)
{
    struct gw__passed *passed = calloc(1, sizeof *passed);
    if (!passed)
        return NULL;
    passed->keys = malloc((count + 1) * sizeof *passed->keys);
    passed->values = malloc((count + 1) * width * sizeof *passed->values);
    if (passed->keys && passed->values)
        return passed;
    free(passed->keys);
    free(passed->values);
    free(passed);
    return NULL;
}

static void free_passed(struct gw__passed *passed)
{
    free(passed->keys);
    free(passed->values);
    free(passed);
}

void gw__ps_passed(struct gw_ps *ps, uint64_t request)
{
    for (struct gw__passed **at = &ps->passed; *at; at = &(*at)->next)
        if ((*at)->request == request) {
            struct gw__passed *passed = *at;
            *at = passed->next;
            free_passed(passed);
            return;
        }
}

/* Begins the filtered push. */
static enum gw_err pass_on(struct gw_ps *ps, struct gw__passed *passed,
                           const struct gw__request_args *like,
                           uint64_t *request, struct gw_error *why)
{
    const struct gw__request_args args = {.table = like->table,
                                          .keys = passed->keys,
                                          .count = passed->count,
                                          .values = passed->values,
                                          .clock = like->clock,
                                          .closed = like->closed};
    enum gw_err err = gw__ps_begin(ps, &args, request, why);
    if (err) {
        gw__filter_return(ps->filters[like->table], passed->keys, passed->count,
                          passed->values);
        free_passed(passed);
        return err;
    }
    passed->request = *request;
    passed->next = ps->passed;
    ps->passed = passed;
    return GW_OK;
}

/* ---- a push ---- */

/* Refused values must not enter the filter. Values that are not finite go to
 * the worker, which refuses and counts them. */
static enum gw_err check_values(struct gw_ps *ps,
                                const struct gw_ps_table_config *config,
                                const struct gw__request_args *args,
                                uint64_t *request, struct gw_error *why)
{
    size_t count = args->count * config->width;
    if (gw__first_bad(args->values, count) < count)
        return gw__ps_begin(ps, args, request, why);
    for (size_t i = 0; config->dense && i < args->count; i++)
        if (args->keys[i] >= config->dense)
            return gw_fail(why, GW_EINVAL, "table %s has no key %llu",
                           config->name, (unsigned long long)args->keys[i]);
    return GW_OK;
}

static enum gw_err filter_of(struct gw_ps *ps, unsigned table,
                             struct gw__filter **filter, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (!ps->filters[table])
        err = gw__filter_new(config_of(ps, table)->width, ps->top_share,
                             ps->significant, &ps->filters[table], why);
    *filter = ps->filters[table];
    return err;
}

enum gw_err gw__ps_push(struct gw_ps *ps, const struct gw__request_args *args,
                        uint64_t *request, struct gw_error *why)
{
    const struct gw_ps_table_config *config = config_of(ps, args->table);
    struct gw__filter *filter;
    *request = 0;
    if (args->count == 0)
        return gw__ps_flush(ps, args->table, why);
    enum gw_err err = check_values(ps, config, args, request, why);
    if (!err)
        err = filter_of(ps, args->table, &filter, why);
    if (err)
        return err;
    struct gw__passed *passed = new_passed(args->count, config->width);
    if (!passed)
        return gw_fail(why, GW_ENOMEM, "%zu keys", args->count);
    err = gw__filter_pass(filter, args->keys, args->count, args->values,
                          passed->keys, passed->values, &passed->count, why);
    if (err || passed->count == 0) {
        free_passed(passed);
        ps->rows_held_back += err ? 0 : args->count;
        return err;
    }
    ps->rows_held_back += args->count - passed->count;
    return pass_on(ps, passed, args, request, why);
}

enum gw_err gw__ps_flush(struct gw_ps *ps, unsigned table, struct gw_error *why)
{
    struct gw__filter *filter = ps->filters[table];
    const struct gw__request_args like = {.table = table,
                                          .clock = GW__NO_CLOCK};
    size_t count = filter ? gw__filter_rows(filter) : 0;
    uint64_t request;
    if (count == 0)
        return GW_OK;
    enum gw_err err = gw__ps_alive(ps, why);
    if (err)
        return err;
    struct gw__passed *passed = new_passed(count, config_of(ps, table)->width);
    if (!passed)
        return gw_fail(why, GW_ENOMEM, "%zu keys", count);
    passed->count = count;
    gw__filter_drain(filter, passed->keys, passed->values);
    err = pass_on(ps, passed, &like, &request, why);
    if (err)
        return err;
    err = gw__ps_finish(ps, request, why);
    gw__ps_passed(ps, request);
    return err;
}
