/* SPDX-License-Identifier: MIT
 *
 * Links, shared max-min fair: nobody can get more without somebody getting less
 * who has no more than he. Found by filling up (Bertsekas, Gallager: Data
 * Networks, 6.5.2): the link whose room, divided among its flows, is least
 * settles these flows; their rates are taken from the other links on their
 * ways; and so on with what is left.
 *
 * A flow that begins or ends touches its links. What it changes ends where
 * flows and links hang together, so only these are dealt anew: a ring that
 * shares nothing costs one flow a message. What happens at the same time is
 * dealt once.
 */
#include "traffic.h"

#include <assert.h>
#include <math.h>

/* Shares so near to each other are one: roundings must not make rounds. */
static const double NEAR = 1 + 1e-9;

static void touch(struct gw__traffic *f, uint32_t link)
{
    if (f->links[link].touched)
        return;
    f->links[link].touched = true;
    f->touched[f->touched_count++] = link;
}

void gw__share_join(struct gw__traffic *f, uint32_t number)
{
    struct gw__traffic_stream *flow = &f->flows[number];
    flow->under_way = true;
    flow->rate = 0;
    flow->since_ps = f->now_ps;
    for (uint32_t i = flow->way; i < flow->way + flow->way_count; i++) {
        struct gw__way_link *item = &f->ways[i];
        struct gw__pipe_link *link = &f->links[item->link];
        if (link->rate == 0)
            continue;
        item->before = UINT32_MAX;
        item->after = link->first;
        if (link->first != UINT32_MAX)
            f->ways[link->first].before = i;
        link->first = i;
        link->count++;
        touch(f, item->link);
    }
}

void gw__share_leave(struct gw__traffic *f, uint32_t number)
{
    struct gw__traffic_stream *flow = &f->flows[number];
    assert(flow->under_way);
    flow->under_way = false;
    for (uint32_t i = flow->way; i < flow->way + flow->way_count; i++) {
        struct gw__way_link *item = &f->ways[i];
        struct gw__pipe_link *link = &f->links[item->link];
        if (link->rate == 0)
            continue;
        if (item->before == UINT32_MAX)
            link->first = item->after;
        else
            f->ways[item->before].after = item->after;
        if (item->after != UINT32_MAX)
            f->ways[item->after].before = item->before;
        link->count--;
        touch(f, item->link);
    }
}

/* ---- who hangs together ---- */

static void meet_link(struct gw__traffic *f, uint32_t number)
{
    struct gw__pipe_link *link = &f->links[number];
    if (link->mark == f->round || link->rate == 0)
        return;
    link->mark = f->round;
    link->room = link->rate;
    link->open = link->count;
    f->near_links[f->near_link_count++] = number;
}

static void meet_flow(struct gw__traffic *f, uint32_t number)
{
    struct gw__traffic_stream *flow = &f->flows[number];
    if (flow->mark == f->round)
        return;
    flow->mark = f->round;
    flow->settled = false;
    f->near_flows[f->near_flow_count++] = number;
    for (uint32_t i = 0; i < flow->way_count; i++)
        meet_link(f, f->ways[flow->way + i].link);
}

/* Fills near_links and near_flows with all that hangs together with a link. */
static void gather(struct gw__traffic *f, uint32_t link)
{
    f->near_link_count = f->near_flow_count = 0;
    meet_link(f, link);
    for (uint32_t i = 0; i < f->near_link_count; i++)
        for (uint32_t item = f->links[f->near_links[i]].first;
             item != UINT32_MAX; item = f->ways[item].after)
            meet_flow(f, f->ways[item].flow);
}

/* ---- filling up ---- */

/* When the rate stays, so does the time at which it will have left. */
static void set_rate(struct gw__traffic *f, uint32_t number, double rate)
{
    struct gw__traffic_stream *flow = &f->flows[number];
    if (rate == flow->rate)
        return;
    flow->left -= flow->rate * (double)(f->now_ps - flow->since_ps);
    flow->left = flow->left > 0 ? flow->left : 0;
    flow->since_ps = f->now_ps;
    flow->rate = rate;
    double takes = flow->left / rate;
    uint64_t takes_ps =
        takes < (double)GW__PS_MAX ? (uint64_t)llround(takes) : GW__PS_MAX;
    gw__heap_put(&f->heap, number, f->now_ps + takes_ps);
}

static void settle_flow(struct gw__traffic *f, uint32_t number, double rate)
{
    struct gw__traffic_stream *flow = &f->flows[number];
    if (flow->settled)
        return;
    flow->settled = true;
    set_rate(f, number, rate);
    for (uint32_t i = 0; i < flow->way_count; i++) {
        struct gw__pipe_link *link = &f->links[f->ways[flow->way + i].link];
        link->room -= rate;
        link->open--;
    }
}

/* Drops links whose flows all have a rate; the least share of the others. */
static double least_share(struct gw__traffic *f)
{
    uint32_t kept = 0;
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < f->near_link_count; i++) {
        const struct gw__pipe_link *link = &f->links[f->near_links[i]];
        if (link->open == 0)
            continue;
        f->near_links[kept++] = f->near_links[i];
        double share = link->room / link->open;
        least = share < least ? share : least;
    }
    f->near_link_count = kept;
    return least;
}

static void fill_up(struct gw__traffic *f)
{
    double least;
    while ((least = least_share(f)) < HUGE_VAL)
        for (uint32_t i = 0; i < f->near_link_count; i++) {
            const struct gw__pipe_link *link = &f->links[f->near_links[i]];
            if (link->open == 0 || link->room / link->open > least * NEAR)
                continue;
            for (uint32_t item = link->first; item != UINT32_MAX;
                 item = f->ways[item].after)
                settle_flow(f, f->ways[item].flow, least);
        }
}

void gw__share_deal(struct gw__traffic *f)
{
    if (f->touched_count == 0)
        return;
    f->round++;
    for (uint32_t i = 0; i < f->touched_count; i++) {
        uint32_t link = f->touched[i];
        f->links[link].touched = false;
        if (f->links[link].mark == f->round)
            continue;
        gather(f, link);
        fill_up(f);
    }
    f->touched_count = 0;
}
