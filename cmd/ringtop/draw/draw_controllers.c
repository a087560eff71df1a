/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The controllers: who leads, who follows and voted for whom, how far each log
 * is.
 *
 *     -- controllers: c1 leads in term 2 ---------------------------------
 *     controller state    role        term vote  applied   last  hellos leases
 *             c0 alive    follows c1     2   c1       12     14     120      0
 */
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    char name[16];
    (void)p;
    snprintf(name, sizeof name, "c%u", c);
    snprintf(out, size, "%10s", name);
}

static void write_state(const struct picture *p, unsigned c, char *out,
                        size_t size)
{
    snprintf(out, size, "%s", crew_state_name(controller_of(p, c)->state));
}

static enum style state_style(const struct picture *p, unsigned c)
{
    return crew_state_style(controller_of(p, c)->state);
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

static void write_figure(bool known, uint64_t figure, char *out, size_t size)
{
    if (known)
        snprintf(out, size, "%7" PRIu64, figure);
    else
        snprintf(out, size, "%7s", "-");
}

static void write_term(const struct picture *p, unsigned c, char *out,
                       size_t size)
{
    write_figure(controller_of(p, c)->term > 0, controller_of(p, c)->term, out,
                 size);
}

static void write_applied(const struct picture *p, unsigned c, char *out,
                          size_t size)
{
    write_figure(controller_of(p, c)->applied > 0, controller_of(p, c)->applied,
                 out, size);
}

static void write_last(const struct picture *p, unsigned c, char *out,
                       size_t size)
{
    write_figure(controller_of(p, c)->told, controller_of(p, c)->last, out,
                 size);
}

static void write_committed(const struct picture *p, unsigned c, char *out,
                            size_t size)
{
    write_figure(controller_of(p, c)->told, controller_of(p, c)->committed, out,
                 size);
}

static void write_hellos(const struct picture *p, unsigned c, char *out,
                         size_t size)
{
    write_figure(controller_of(p, c)->told, controller_of(p, c)->hellos, out,
                 size);
}

static void write_leases(const struct picture *p, unsigned c, char *out,
                         size_t size)
{
    write_figure(controller_of(p, c)->told, controller_of(p, c)->leases, out,
                 size);
}

static const struct table_column columns[] = {
    {"controller", 10, 0, write_name, NULL},
    {"state", 8, 1, write_state, state_style},
    {"role", 10, 2, write_role, role_style},
    {"   term", 7, 3, write_term, NULL},
    {"vote", 4, 5, write_vote, NULL},
    {"applied", 7, 4, write_applied, NULL},
    {"   last", 7, 7, write_last, NULL},
    {" commit", 7, 6, write_committed, NULL},
    {" hellos", 7, 8, write_hellos, NULL},
    {" leases", 7, 9, write_leases, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Above the story, which tells of votes and ends. */
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
    table_list(&table, p, &top, order, count, "controllers");
    if (count == 0)
        area_text(&top, 1, 1, STYLE_DIM, "no controller has reported anything");
    if (rest.height > 1)
        draw_events(p, &rest);
}
