/* SPDX-License-Identifier: MIT
 *
 * Tables: a name and a configuration, which the registry stores with the
 * routes. A table exists for this worker as soon as its routes contain it. A
 * server that does not know the table yet refuses, and the request is sent
 * again.
 */
#include "client_parts.h"

#include <string.h>

enum { TAG_TABLE = 1 };

static int find_table(const struct gw_ps *ps, const char *name)
{
    const struct gw__routes *routes = gw__worker_get_routes(ps->worker);
    for (unsigned i = 0; i < routes->table_count; i++)
        if (strcmp(routes->tables[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Waits for the controllers' answer. */
static enum gw_err await_answer(struct gw_ps *ps, uint64_t deadline_ns,
                                struct gw__answer *answer, struct gw_error *why)
{
    unsigned tag;
    for (;;) {
        gw__ps_turn(ps);
        while (gw__node_answer(ps->node, &tag, answer))
            if (tag == TAG_TABLE)
                return GW_OK;
        enum gw_err err = gw__ps_alive(ps, why);
        if (err)
            return err;
        if (gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT, "no controller has answered");
        gw__ps_sleep(ps, deadline_ns);
    }
}

/* Waits for routes that contain the table. */
static enum gw_err await_routes(struct gw_ps *ps, unsigned table,
                                uint64_t deadline_ns, struct gw_error *why)
{
    while (table >= gw__worker_get_routes(ps->worker)->table_count) {
        enum gw_err err = gw__ps_alive(ps, why);
        if (err)
            return err;
        if (gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "no membership update arrived for the new table %u",
                           table);
        gw__ps_sleep(ps, deadline_ns);
        gw__ps_turn(ps);
    }
    return GW_OK;
}

static enum gw_err make_table(struct gw_ps *ps,
                              const struct gw_ps_table_config *config,
                              unsigned *table, struct gw_error *why)
{
    struct gw__command command = {.kind = GW__CMD_TABLE, .table = *config};
    struct gw__answer answer;
    uint64_t deadline_ns = gw__ps_deadline(ps);
    enum gw_err err = gw__ps_alive(ps, why);
    if (err)
        return err;
    err = gw__node_command(ps->node, &command, TAG_TABLE);
    if (err)
        return gw_fail(why, err, "%s",
                       err == GW_EINVAL
                           ? "the description of the table is invalid"
                           : gw_err_text(err));
    err = await_answer(ps, deadline_ns, &answer, why);
    if (err)
        return err;
    if (answer.code)
        return gw_fail(why, answer.code, "%s", answer.text);
    *table = answer.table;
    return await_routes(ps, answer.table, deadline_ns, why);
}

enum gw_err gw_ps_table(struct gw_ps *ps,
                        const struct gw_ps_table_config *config,
                        unsigned *table, struct gw_error *why)
{
    /* The controllers would not read it, and not answer. */
    enum gw_err err = gw__route_check_table(config, why);
    if (err)
        return gw_wrap(why, err, "ps");
    err = make_table(ps, config, table, why);
    return err ? gw_wrap(why, err, "ps: table %s", config->name) : GW_OK;
}

enum gw_err gw_ps_find(struct gw_ps *ps, const char *name, unsigned *table,
                       struct gw_ps_table_config *config, struct gw_error *why)
{
    gw__ps_turn(ps);
    enum gw_err err = gw__ps_alive(ps, why);
    if (err)
        return gw_wrap(why, err, "ps: table %.40s", name);
    int found = find_table(ps, name);
    if (found < 0)
        return gw_fail(why, GW_EINVAL, "ps: table %.40s does not exist", name);
    *table = (unsigned)found;
    *config = gw__worker_get_routes(ps->worker)->tables[found];
    return GW_OK;
}
