/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See supervisor_links.h.
 */
#include "supervisor_links.h"

#include <base/link_profile.h>

#include <string.h>

enum { MILLION = 1000000 };

const char links_passed_by[] =
    "with aggregate=1 an aggregator carries messages of workers past the rules "
    "of links";

/* A number from 0 to `most`, if the request names it. */
static enum gw_err get(const json_t *request, const char *name, json_int_t most,
                       json_int_t *value, struct gw_error *why)
{
    const json_t *field = json_object_get(request, name);
    if (!field)
        return GW_OK;
    if (!json_is_integer(field) || json_integer_value(field) < 0 ||
        json_integer_value(field) > most)
        return gw_fail(why, GW_EINVAL,
                       "\"%s\" must be a whole number from 0 to %lld", name,
                       (long long)most);
    *value = json_integer_value(field);
    return GW_OK;
}

enum gw_err link_change(struct gw_link_profile *link, const json_t *request,
                        struct gw_error *why)
{
    json_int_t delay = link->delay_us, jitter = link->jitter_us,
               rate = (json_int_t)link->rate, loss = link->loss_ppm;
    const json_t *down = json_object_get(request, "down");
    if (get(request, "delay_us", UINT32_MAX, &delay, why) ||
        get(request, "jitter_us", UINT32_MAX, &jitter, why) ||
        get(request, "rate", INT64_MAX, &rate, why) ||
        get(request, "loss_ppm", MILLION, &loss, why))
        return GW_EINVAL;
    if (down && !json_is_boolean(down))
        return gw_fail(why, GW_EINVAL, "\"down\" must be true or false");
    link->delay_us = (uint32_t)delay;
    link->jitter_us = (uint32_t)jitter;
    link->rate = (uint64_t)rate;
    link->loss_ppm = (uint32_t)loss;
    link->down = down ? json_is_true(down) : link->down;
    return GW_OK;
}

json_t *link_json(const struct gw_link_profile *link)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:b}", "delay_us",
                     (json_int_t)link->delay_us, "jitter_us",
                     (json_int_t)link->jitter_us, "rate",
                     (json_int_t)link->rate, "loss_ppm",
                     (json_int_t)link->loss_ppm, "down", (int)link->down);
}

void links_cut(struct links *links, const struct gw_nodes *left,
               const struct gw_nodes *right)
{
    for (unsigned a = gw__nodes_next(left, 0); a < GW_RING_NODES;
         a = gw__nodes_next(left, a + 1))
        for (unsigned b = gw__nodes_next(right, 0); b < GW_RING_NODES;
             b = gw__nodes_next(right, b + 1))
            links->profiles[a][b].down = links->profiles[b][a].down = true;
}

unsigned links_heal(struct links *links)
{
    unsigned count = 0;
    for (unsigned a = 0; a < GW_RING_NODES; a++)
        for (unsigned b = 0; b < GW_RING_NODES; b++) {
            count += links->profiles[a][b].down;
            links->profiles[a][b].down = false;
        }
    return count;
}

void links_desired_state(const struct links *links, unsigned node,
                         struct desired_state *desired)
{
    desired->severed = (struct gw_nodes){{0}};
    for (unsigned n = 0; n < GW_RING_NODES; n++) {
        desired->links[n] = links->profiles[n][node];
        if (links->profiles[node][n].down)
            gw__nodes_add(&desired->severed, n);
    }
}

json_t *links_json(const struct links *links)
{
    json_t *list = json_array();
    for (unsigned a = 0; a < GW_RING_NODES; a++)
        for (unsigned b = 0; b < GW_RING_NODES; b++) {
            const struct gw_link_profile *link = &links->profiles[a][b];
            if (gw__link_profile_is_none(link))
                continue;
            json_t *profile = link_json(link);
            json_object_set_new(profile, "from", json_integer(a));
            json_object_set_new(profile, "to", json_integer(b));
            json_array_append_new(list, profile);
        }
    return list;
}
