/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ring as one of the worlds of `ringctl sim` (world/common/kind.h).
 */
#include "world/common/kind.h"
#include "world.h"

#include <stdlib.h>

static const struct field fields[] = {
    {"ops", NULL, FIELD_INTEGER, 0, false},
    {"views", NULL, FIELD_INTEGER, 0, false},
    {"forward", NULL, FIELD_INTEGER, 0, false},
    {"exclude", NULL, FIELD_INTEGER, 0, false},
};

static enum gw_err check(const struct world_request *request,
                         struct gw_error *why)
{
    const char *rule = request->without;
    if (request->nodes == 1 || request->nodes > MEMBERS_MOST)
        return gw_fail(why, GW_EINVAL, "a ring has 2 to %d members, not %u",
                       MEMBERS_MOST, request->nodes);
    if (rule && strcmp(rule, world_ring.rules) != 0)
        return gw_fail(why, GW_EINVAL,
                       "a ring cannot do without \"%.40s\"; the rule that can "
                       "be left out is %s",
                       rule, world_ring.rules);
    return GW_OK;
}

static enum gw_err open_ring(const struct world_request *request, void **world,
                             struct gw_error *why)
{
    struct world *w;
    if (check(request, why))
        return why->code;
    *world = w = malloc(sizeof *w);
    if (!w)
        return gw_fail(why, GW_ENOMEM, "a ring");
    world_open(w);
    w->any_epoch = request->without;
    w->asked = (struct world_asked){.members = request->nodes,
                                    .calm = request->calm,
                                    .for_ns = request->for_ns};
    return GW_OK;
}

static void close_ring(void *world)
{
    world_close(world);
    free(world);
}

static void campaign_of(void *world, uint64_t seed, struct gw_sink *sink,
                        struct gw__campaign *campaign)
{
    (void)sink;
    world_campaign(world, seed, campaign);
}

static void measured(void *world, union value *values)
{
    struct world *w = world;
    values[0].integer = (int64_t)w->met.ops;
    values[1].integer = (int64_t)(w->met.admits + w->met.removals);
    values[2].integer = (int64_t)w->met.forwards;
    values[3].integer = (int64_t)w->met.excludes;
    memset(&w->met, 0, sizeof w->met);
}

const struct world_kind world_ring = {
    .name = "ring",
    .summary = "members of an elastic ring, which all-reduce",
    .rules = "epoch-check",
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
    .open = open_ring,
    .close = close_ring,
    .campaign = campaign_of,
    .measured = measured,
};
