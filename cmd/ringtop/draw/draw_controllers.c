/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The controllers: their leader, votes, and the length of each log.
 *
 *     -- controllers: c1 leads in term 2 ---------------------------------
 *     controller state    role        term vote  applied   last  hellos leases
 *             c0 alive    follows c1     2   c1       12     14     120      0
 */
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIGURE = 7 }; /* the width of a column */

static const struct controller *controller_of(const struct picture *p,
                                              unsigned c)
{
    return &p->state->controllers.list[c];
}

static bool is_alive(const struct picture *p, unsigned c)
{
    return strcmp(controller_of(p, c)->state, "alive") == 0;
}

static void write_name(const struct picture *p, unsigned c, char *out,
                       size_t size)
{
    (void)p;
    table_name('c', c, 10, out, size);
}

static void write_state(const struct picture *p, unsigned c, char *out,
                        size_t size)
{
    snprintf(out, size, "%s", ps_state_name(controller_of(p, c)->state));
}

static enum style state_style(const struct picture *p, unsigned c)
{
    return ps_state_style(controller_of(p, c)->state);
}

static void write_role(const struct picture *p, unsigned c, char *out,
                       size_t size)
{
    const struct controllers *cs = &p->state->controllers;
    int follows = controller_of(p, c)->follows;
    if (cs->leader == (int)c && is_alive(p, c))
        snprintf(out, size, "leads");
    else if (!is_alive(p, c) || follows < 0 || follows == (int)c)
        snprintf(out, size, "-");
    else
        snprintf(out, size, "follows c%d", follows);
}

static enum style role_style(const struct picture *p, unsigned c)
{
    return p->state->controllers.leader == (int)c ? STYLE_STRONG : STYLE_PLAIN;
}

static void write_vote(const struct picture *p, unsigned c, char *out,
                       size_t size)
{
    char vote[24] = "-";
    if (controller_of(p, c)->voted_for >= 0)
        snprintf(vote, sizeof vote, "c%d", controller_of(p, c)->voted_for);
    snprintf(out, size, "%4s", vote);
}

static void write_term(const struct picture *p, unsigned c, char *out,
                       size_t size)
{
    const struct controller *it = controller_of(p, c);
    table_number(it->term > 0, it->term, FIGURE, out, size);
}

static void write_applied(const struct picture *p, unsigned c, char *out,
                          size_t size)
{
    const struct controller *it = controller_of(p, c);
    table_number(it->applied > 0, it->applied, FIGURE, out, size);
}

/* A number that the controller has reported. */
#define WRITE_REPORTED(figure)                                                 \
    static void write_##figure(const struct picture *p, unsigned c, char *out, \
                               size_t size)                                    \
    {                                                                          \
        const struct controller *it = controller_of(p, c);                     \
        table_number(it->reported, it->figure, FIGURE, out, size);             \
    }
WRITE_REPORTED(last)
WRITE_REPORTED(committed)
WRITE_REPORTED(hellos)
WRITE_REPORTED(leases)

static const struct table_column columns[] = {
    {"controller", 10, 0, write_name, NULL},
    {"state", 8, 1, write_state, state_style},
    {"role", 10, 2, write_role, role_style},
    {"   term", FIGURE, 3, write_term, NULL},
    {"vote", 4, 5, write_vote, NULL},
    {"applied", FIGURE, 4, write_applied, NULL},
    {"   last", FIGURE, 7, write_last, NULL},
    {" commit", FIGURE, 6, write_committed, NULL},
    {" hellos", FIGURE, 8, write_hellos, NULL},
    {" leases", FIGURE, 9, write_leases, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Above the event log, which has the votes and ends. */
void draw_controllers(const struct picture *p, const struct area *area)
{
    const struct controllers *cs = &p->state->controllers;
    unsigned order[CONTROLLERS_SHOWN], count = 0;
    for (unsigned c = 0; c < cs->count; c++)
        order[count++] = c;
    struct area body =
        cs->leader >= 0
            ? draw_title(p, area, "controllers: c%d leads in term %" PRIu64,
                         cs->leader, cs->term)
            : draw_title(p, area, "controllers: no leader is known");
    int rows = 1 + (count ? (int)count : 1);
    rows = rows < body.height ? rows : body.height;
    struct area top = area_part(&body, 0, 0, body.width, rows);
    struct area rest =
        area_part(&body, 0, rows, body.width, body.height - rows);
    struct table table = table_fit(columns, COLUMNS, area->width - 1);
    table_list(&table, p, &top, order, count, "controller");
    if (rest.height > 1)
        draw_events(p, &rest);
}
