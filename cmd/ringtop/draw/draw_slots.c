/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The servers of each slot: one row per server, one column per slot.
 *
 *          0         1
 *      s0  PPPsssPPPs.ss        P  primary: serves it
 *      s1  sssPPPs.ss.PP        s  secondary in sync
 *      s2  ss.s..lsPP!..        l  learner: is copying it
 *                               !  LOST: no server has it any more
 *
 * In as many bands as there is room for. When the slots do not fit, the arrow
 * keys scroll by one band.
 */
#include "draw.h"

#include <stdio.h>

enum { LABEL = 5 };

struct matrix {
    unsigned order[PS_SERVERS];
    unsigned servers; /* in `order` */
    unsigned slots;
    unsigned width; /* slots per band */
};

static struct matrix matrix_of(const struct picture *p, int width)
{
    struct matrix m = {.slots = p->state->ps.slot_count, .width = 1};
    m.servers = server_order(p, m.order);
    if (width > LABEL + 1)
        m.width = (unsigned)(width - LABEL - 1);
    return m;
}

static unsigned bands_of(const struct matrix *m)
{
    return m->slots ? (m->slots + m->width - 1) / m->width : 1;
}

int draw_slots_height(const struct picture *p, int width)
{
    struct matrix m = matrix_of(p, width);
    return 1 + (int)(bands_of(&m) * (m.servers + 1));
}

/* ---- a band ---- */

static void draw_cell(const struct picture *p, const struct area *area, int x,
                      int y, unsigned slot, unsigned server)
{
    static const struct {
        char glyph;
        enum style style;
    } symbols[] = {[GW_PS_NOT_HERE] = {'.', STYLE_DIM},
                   [GW_PS_PRIMARY] = {'P', STYLE_GOOD},
                   [GW_PS_SECONDARY] = {'s', STYLE_PLAIN},
                   [GW_PS_LEARNER] = {'l', STYLE_CHUNK}};
    const struct ps_members *ps = &p->state->ps;
    unsigned role = ps->slots[slot].roles[server];
    if (ps->slots[slot].lost)
        area_put(area, x, y, STYLE_BAD, '!');
    else if (role == GW_PS_SECONDARY && ps_primary(ps, slot) < 0)
        area_put(area, x, y, STYLE_WARN, 's');
    else
        area_put(area, x, y, symbols[role].style,
                 (uint32_t)symbols[role].glyph);
}

static void draw_ruler(const struct area *area, int y, unsigned first,
                       unsigned end)
{
    enum { EVERY = 10 };
    for (unsigned slot = first; slot < end; slot++)
        if (slot % EVERY == 0)
            area_print(area, LABEL + (int)(slot - first), y, STYLE_DIM, "%u",
                       slot);
}

static int draw_band(const struct picture *p, const struct area *area, int y,
                     const struct matrix *m, unsigned first)
{
    unsigned end = first + m->width < m->slots ? first + m->width : m->slots;
    int rows = area->height - y;
    bool has_ruler = rows > (int)m->servers;
    if (has_ruler)
        draw_ruler(area, y++, first, end);
    unsigned top = list_top(p->view->rank_top, m->servers, area->height - y);
    for (unsigned i = top; i < m->servers && y < area->height; i++, y++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", m->order[i]);
        area_print(area, 0, y, STYLE_STRONG, "%4s", name);
        if (view_finds(p->view, "server", m->order[i], name))
            area_put(area, 0, y, STYLE_STRONG, '>');
        for (unsigned slot = first; slot < end; slot++)
            draw_cell(p, area, LABEL + (int)(slot - first), y, slot,
                      m->order[i]);
    }
    return y;
}

/* ---- the panel ---- */

static void report_state(const struct ps_members *ps, char *out, size_t size)
{
    unsigned lost = ps_lost(ps), unserved = ps_unserved(ps);
    if (lost > 0)
        snprintf(out, size, "%u LOST", lost);
    else if (unserved > 0)
        snprintf(out, size, "%u not served now", unserved);
    else
        snprintf(out, size, "all served");
}

/* In red when slots are lost, which the title reports first. */
static struct area draw_heading(const struct picture *p,
                                const struct area *area, const struct matrix *m,
                                unsigned first)
{
    enum { ROOM_FOR_SIGNS = 60 };
    char state[48], part[48] = "";
    unsigned end = first + m->width;
    report_state(&p->state->ps, state, sizeof state);
    if (first > 0 || end < m->slots)
        snprintf(part, sizeof part, " (%u to %u)", first,
                 (end < m->slots ? end : m->slots) - 1);
    struct area body = draw_title(
        p, area, "%u slots%s: %s%s", m->slots, part, state,
        area->width >= ROOM_FOR_SIGNS ? "; P primary, s in sync, l learner"
                                      : "");
    if (ps_lost(&p->state->ps) > 0)
        area_print(area, 2, 0, STYLE_BAD, " %u slots%s: %s", m->slots, part,
                   state);
    return body;
}

void draw_slots(const struct picture *p, const struct area *area)
{
    struct matrix m = matrix_of(p, area->width);
    if (m.slots == 0 || m.servers == 0) {
        struct area body = draw_title(p, area, "slots");
        area_text(&body, 1, 0, STYLE_DIM, "no slot has been placed yet");
        return;
    }
    bool all =
        draw_slots_height(p, area->width) <= area->height || bands_of(&m) == 1;
    unsigned first =
        all ? 0 : list_top(p->view->chunk_left, m.slots, (int)m.width);
    struct matrix named = m;
    if (all)
        named.width = m.slots;
    struct area body = draw_heading(p, area, &named, first);
    int y = 0;
    for (unsigned band = 0; band < (all ? bands_of(&m) : 1); band++)
        y = draw_band(p, &body, y, &m, first + band * m.width);
}
