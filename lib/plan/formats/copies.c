/* SPDX-License-Identifier: MIT
 *
 * What each rank holds; see copies.h. A send gets the first level after its
 * value is there, and after the sends of earlier times on its link.
 */
#include "copies.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *held_at(const struct gw__copies *c, unsigned rank,
                         unsigned chunk)
{
    return &c->held[rank * (size_t)c->flow.shape.chunks + chunk];
}

enum gw_err gw__copies_init(struct gw__copies *c, const struct gw_plan *shape,
                            struct gw_error *why)
{
    *c = (struct gw__copies){.held = NULL};
    enum gw_err err = gw__flow_init(&c->flow, shape, why);
    if (err)
        return err;
    size_t cells = shape->ranks * (size_t)shape->chunks;
    size_t links = (size_t)shape->ranks * shape->ranks;
    c->held = malloc(cells * sizeof *c->held);
    c->links = calloc(links, sizeof *c->links);
    c->times = calloc(links, sizeof *c->times);
    if (!c->held || !c->links || !c->times)
        return gw_fail(why, GW_ENOMEM, "a schedule of %u ranks", shape->ranks);
    memcpy(c->held, c->flow.inputs, cells * sizeof *c->held);
    return GW_OK;
}

void gw__copies_fini(struct gw__copies *c)
{
    gw__flow_fini(&c->flow);
    free(c->held);
    free(c->links);
    free(c->times);
    *c = (struct gw__copies){.held = NULL};
}

bool gw__copies_holds(const struct gw__copies *c, unsigned rank, unsigned chunk)
{
    return *held_at(c, rank, chunk) != GW__NO_VALUE;
}

uint32_t gw__copies_value(const struct gw__copies *c, unsigned rank,
                          unsigned chunk)
{
    return *held_at(c, rank, chunk);
}

static uint32_t next_level(struct gw__copies *c, uint32_t value, unsigned dst,
                           uint32_t time)
{
    size_t link =
        c->flow.values[value].rank * (size_t)c->flow.shape.ranks + dst;
    uint32_t level = c->flow.values[value].level + 1;
    uint32_t least = c->links[link] + (time > c->times[link]);
    level = least > level ? least : level;
    c->links[link] = level;
    c->times[link] = time;
    return level;
}

enum gw_err gw__copies_send(struct gw__copies *c, uint32_t value, unsigned dst,
                            uint32_t time, struct gw_error *why)
{
    uint32_t *there = held_at(c, dst, c->flow.values[value].chunk);
    uint32_t level = next_level(c, value, dst, time);
    bool adds = c->flow.words > 0 && *there != GW__NO_VALUE &&
                gw__flow_shared(&c->flow, value, *there) < 0;
    if (!adds)
        return gw__flow_move(&c->flow, value, dst, 0, level, there, why);
    uint32_t own = c->flow.values[*there].level + 1;
    level = own > level ? own : level;
    return gw__flow_add(&c->flow, *there, value, 0, level, there, why);
}

bool gw__copies_missing(struct gw__copies *c, unsigned *rank, unsigned *chunk)
{
    const struct gw_plan *shape = &c->flow.shape;
    for (*rank = 0; *rank < shape->ranks; ++*rank)
        for (*chunk = 0; *chunk < shape->chunks; ++*chunk) {
            uint32_t value = *held_at(c, *rank, *chunk);
            if (gw_plan_wants(shape, *rank, *chunk) &&
                (value == GW__NO_VALUE ||
                 gw__flow_lacking(&c->flow, value) >= 0))
                return true;
        }
    return false;
}

enum gw_err gw__copies_plan(struct gw__copies *c, const char *algo,
                            struct gw_plan **plan, struct gw_error *why)
{
    const struct gw_plan *shape = &c->flow.shape;
    for (unsigned rank = 0; rank < shape->ranks; rank++)
        for (unsigned chunk = 0; chunk < shape->chunks; chunk++)
            if (gw_plan_wants(shape, rank, chunk))
                gw__flow_output(&c->flow, *held_at(c, rank, chunk));
    return gw__flow_plan(&c->flow, algo, plan, why);
}
