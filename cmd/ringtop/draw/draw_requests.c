/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The requests between workers and servers: the newest batch as a row of parts,
 * pushes and pulls as arrows, the oldest first, and replicas that copy a slot.
 *
 *     -- batch 11 of data epoch 1: 1 of 4 parts done ----------------------
 *      #p a.     . free  a assigned  p pushed  # done
 *     -- requests: 2 under way, an answer takes 1.2 ms ---------------------
 *      w0 ----------o-----> s1   push, slot 5, 0.8 ms
 *      w1 <--o------------- s0   pull, slot 9, 0.2 ms
 *     -- replicas: 1 slot is being copied ----------------------------------
 *      slot 5: s2 has 120 of 400 rows
 */
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ARROW = 20 };

/* ---- the round ---- */

static unsigned count_parts(const struct ps_members *ps, enum ps_part what)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ps->round.parts; i++)
        count += ps_part_of(ps, i) == what;
    return count;
}

/* ", closes with 3" of kofn:3. */
static void print_quorum(const struct ps_members *ps, char *out, size_t size)
{
    unsigned k = 0;
    *out = 0;
    if (sscanf(ps->clock.mode, "kofn:%u", &k) == 1)
        snprintf(out, size, ", closes with %u", k);
}

static struct area draw_round(const struct picture *p, const struct area *area)
{
    static const char signs[] = {'.', 'a', 'p', '#'};
    static const enum style styles[] = {STYLE_DIM, STYLE_PLAIN, STYLE_WARN,
                                        STYLE_GOOD};
    const struct ps_members *ps = &p->state->ps;
    const struct ps_round *r = &ps->round;
    char quorum[32];
    struct area body = *area;
    print_quorum(ps, quorum, sizeof quorum);
    if (r->known)
        body = draw_title(p, area,
                          "batch %" PRIu64 " of data epoch %" PRIu64
                          ": %u of %u parts done%s",
                          r->batch, r->epoch, count_parts(ps, PART_DONE),
                          r->parts, quorum);
    else
        body = draw_title(p, area, "no work item granted yet");
    int x = 1;
    for (unsigned i = 0; i < r->parts && x < body.width; i++, x++) {
        enum ps_part part = ps_part_of(ps, i);
        area_put(&body, x, 0, styles[part], (uint32_t)signs[part]);
    }
    if (r->known)
        area_text(&body, x + 2, 0, STYLE_DIM,
                  ". free  a assigned  p pushed  # done");
    return area_part(&body, 0, 1, body.width, body.height - 1);
}

/* ---- requests ---- */

static unsigned sort_requests(const struct ps_members *ps,
                              const struct ps_request *order[PS_REQUESTS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < PS_REQUESTS; i++) {
        const struct ps_request *r = &ps->requests[i];
        unsigned at = count;
        if (!r->used)
            continue;
        for (; at > 0 && order[at - 1]->since_ns > r->since_ns; at--)
            order[at] = order[at - 1];
        order[at] = r;
        count++;
    }
    return count;
}

/* Its estimated place: there and back in the usual time. */
static int request_column(const struct picture *p, const struct ps_request *r)
{
    double age_ns = (double)(p->state->now_ns - r->since_ns);
    double share =
        p->state->ps.answer_ns > 0 ? age_ns / p->state->ps.answer_ns : 0;
    return share >= 1 ? ARROW - 2 : 1 + (int)(share * (ARROW - 3));
}

static void draw_request(const struct picture *p, const struct area *area,
                         int y, const struct ps_request *r)
{
    static const char *const kinds[] = {"pull", "push", "push and pull"};
    enum { FROM = 5 };
    bool pull = r->kind == 0;
    int at = request_column(p, r);
    area_print(area, 1, y, STYLE_PLAIN, "%3s", "");
    area_print(area, 1, y, STYLE_PLAIN, "w%u", r->worker);
    for (int i = 0; i < ARROW; i++)
        area_put(area, FROM + i, y, STYLE_DIM, glyph(p->glyphs->across));
    area_put(area, FROM + (pull ? 0 : ARROW - 1), y, STYLE_DIM,
             pull ? '<' : '>');
    area_put(area, FROM + (pull ? ARROW - 1 - at : at), y, STYLE_CHUNK, 'o');
    area_print(area, FROM + ARROW + 1, y, STYLE_PLAIN,
               "s%-2u %s, slot %" PRIu32 ", %.1f ms", r->server, kinds[r->kind],
               r->slot, (double)(p->state->now_ns - r->since_ns) / 1e6);
}

static struct area draw_arrows(const struct picture *p, const struct area *area,
                               int rows)
{
    const struct ps_members *ps = &p->state->ps;
    const struct ps_request *order[PS_REQUESTS];
    unsigned count = sort_requests(ps, order);
    struct area body =
        draw_title(p, area, "requests: %u in flight, %.1f ms per answer", count,
                   ps->answer_ns / 1e6);
    unsigned shown = count < (unsigned)rows ? count : (unsigned)rows;
    for (unsigned i = 0; i < shown; i++)
        draw_request(p, &body, (int)i, order[i]);
    return area_part(&body, 0, (int)shown, body.width,
                     body.height - (int)shown);
}

/* ---- replicas ---- */

static int learner_of(const struct ps_members *ps, unsigned slot)
{
    for (unsigned s = 0; s < ps->server_count; s++)
        if (ps->slots[slot].roles[s] == GW_PS_LEARNER)
            return (int)s;
    return -1;
}

static void draw_copies(const struct picture *p, const struct area *area)
{
    const struct ps_members *ps = &p->state->ps;
    int y = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < ps->slot_count; i++)
        count += learner_of(ps, i) >= 0;
    struct area body =
        draw_title(p, area, "replicas: %u slot%s being copied, %u not served",
                   count, count == 1 ? " is" : "s are", ps_unserved(ps));
    for (unsigned i = 0; i < ps->slot_count && y < body.height; i++) {
        const struct ps_slot *slot = &ps->slots[i];
        int server = learner_of(ps, i);
        if (server >= 0 && slot->rows > 0)
            area_print(&body, 1, y++, STYLE_WARN,
                       "slot %u: s%d has %" PRIu64 " of %" PRIu64 " rows", i,
                       server, slot->learner_rows, slot->rows);
        else if (server >= 0)
            area_print(&body, 1, y++, STYLE_WARN, "slot %u: s%d copies it", i,
                       server);
    }
}

/* The arrows get the room that the others leave, and at least two rows. */
void draw_requests(const struct picture *p, const struct area *area)
{
    enum { ROUND = 2, TITLES = 2, COPIES = 4, LEAST = 2 };
    int rows = area->height - ROUND - TITLES - COPIES;
    struct area rest = draw_round(p, area);
    rest = draw_arrows(p, &rest, rows > LEAST ? rows : LEAST);
    if (rest.height > 0)
        draw_copies(p, &rest);
}
