/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of parameter servers: the number of slots in each role, the stored
 * data, and the recent rate of pushes.
 *
 *     server state    P/s/l    keys   size   pushes  /s    rate       lease
 *         s0 alive    22/42/0  1203    57K    10234   812  ▂▃▅▅▆▆▅▃   yes
 */
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct ps_server *server_of(const struct picture *p, unsigned s)
{
    return &p->state->ps.servers[s];
}

enum style ps_state_style(const char *state)
{
    return strcmp(state, "alive") == 0  ? STYLE_GOOD
           : strcmp(state, "dead") == 0 ? STYLE_BAD
           : strcmp(state, "left") == 0 ? STYLE_DIM
                                        : STYLE_WARN;
}

uint64_t ps_state_weight(enum style style)
{
    return style == STYLE_BAD    ? 3
           : style == STYLE_WARN ? 2
           : style == STYLE_GOOD ? 1
                                 : 0;
}

/* "dead" is in capitals. */
const char *ps_state_name(const char *state)
{
    return strcmp(state, "dead") == 0 ? "DEAD" : state;
}

/* ---- columns ---- */

static void write_server(const struct picture *p, unsigned s, char *out,
                         size_t size)
{
    (void)p;
    table_name('s', s, 6, out, size);
}

static void write_state(const struct picture *p, unsigned s, char *out,
                        size_t size)
{
    const struct ps_server *server = server_of(p, s);
    bool parked = server->parked && ps_is_there(server->state);
    snprintf(out, size, "%s", parked ? "parked" : ps_state_name(server->state));
}

static enum style state_style(const struct picture *p, unsigned s)
{
    const struct ps_server *server = server_of(p, s);
    enum style style = ps_state_style(server->state);
    return server->parked && style == STYLE_GOOD ? STYLE_WARN : style;
}

static void write_slots(const struct picture *p, unsigned s, char *out,
                        size_t size)
{
    const struct ps_members *ps = &p->state->ps;
    snprintf(out, size, "%u/%u/%u", ps_count(ps, s, GW_PS_PRIMARY),
             ps_count(ps, s, GW_PS_SECONDARY), ps_count(ps, s, GW_PS_LEARNER));
}

static void write_keys(const struct picture *p, unsigned s, char *out,
                       size_t size)
{
    const struct ps_server *server = server_of(p, s);
    table_number(server->reported, server->rows, 8, out, size);
}

static void write_pushes(const struct picture *p, unsigned s, char *out,
                         size_t size)
{
    const struct ps_server *server = server_of(p, s);
    table_number(server->reported, server->pushes, 8, out, size);
}

static void write_takeovers(const struct picture *p, unsigned s, char *out,
                            size_t size)
{
    const struct ps_server *server = server_of(p, s);
    table_number(server->reported, server->takeovers, 8, out, size);
}

static void write_bytes(const struct picture *p, unsigned s, char *out,
                        size_t size)
{
    char text[16] = "-";
    if (server_of(p, s)->reported)
        gw_format_bytes(server_of(p, s)->bytes, text);
    snprintf(out, size, "%6s", text);
}

static void write_pace(const struct picture *p, unsigned s, char *out,
                       size_t size)
{
    const struct rates *pushes = &p->state->ps.pushes;
    double pace = rates_of(pushes, s, p->state->now_ns);
    table_real(server_of(p, s)->reported ? pace : (double)NAN, 0, 7, out, size);
}

static void write_rate(const struct picture *p, unsigned s, char *out,
                       size_t size)
{
    const struct rates *rates = &p->state->ps.pushes;
    draw_sparkline(p, rates, PS_SERVERS, s, out, size);
}

static void write_lease(const struct picture *p, unsigned s, char *out,
                        size_t size)
{
    const struct ps_server *server = server_of(p, s);
    bool there = server->reported && ps_is_there(server->state);
    snprintf(out, size, "%s", !there ? "-" : server->lease ? "yes" : "NO");
}

static enum style lease_style(const struct picture *p, unsigned s)
{
    return server_of(p, s)->lease ? STYLE_PLAIN : STYLE_WARN;
}

static const struct table_column columns[] = {
    {"server", 6, 0, write_server, NULL},
    {"state", 8, 1, write_state, state_style},
    {"P/s/l", 8, 2, write_slots, NULL},
    {"    keys", 8, 3, write_keys, NULL},
    {"  size", 6, 8, write_bytes, NULL},
    {"  pushes", 8, 6, write_pushes, NULL},
    {" push/s", 7, 5, write_pace, NULL},
    {"rate", RATE_BUCKETS, 7, write_rate, NULL},
    {"lease", 5, 4, write_lease, lease_style},
    {"   taken", 8, 9, write_takeovers, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- the table ---- */

static uint64_t weight_of(const struct picture *p, unsigned s)
{
    const struct ps_server *server = server_of(p, s);
    switch (p->view->sort) {
    case SORT_STATE:
        return ps_state_weight(state_style(p, s));
    case SORT_OP:
        return server->rows;
    case SORT_WAIT:
        return !server->lease;
    case SORT_SENT:
        return (uint64_t)rates_of(&p->state->ps.pushes, s, p->state->now_ns);
    default:
        return 0;
    }
}

unsigned server_order(const struct picture *p, unsigned order[PS_SERVERS])
{
    const struct ps_members *ps = &p->state->ps;
    unsigned count = 0;
    for (unsigned s = 0; s < ps->server_count; s++)
        if (ps->servers[s].known &&
            !ps_gone(ps->servers[s].gone_ns, p->state->now_ns))
            order[count++] = s;
    return count;
}

int draw_servers_height(const struct picture *p)
{
    unsigned order[PS_SERVERS];
    unsigned count = server_order(p, order);
    return 1 + (count ? (int)count : 1);
}

void draw_servers(const struct picture *p, const struct area *area)
{
    unsigned order[PS_SERVERS];
    unsigned count = server_order(p, order);
    table_sort(p, order, count, weight_of);
    struct table table = table_fit(columns, COLUMNS, area->width - 1);
    table_list(&table, p, area, order, count, "server");
}
