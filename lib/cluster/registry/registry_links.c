/* SPDX-License-Identifier: MIT
 *
 * Link profiles; see registry.h.
 */
#include "registry_parts.h"

#include <string.h>

struct gw_link_profile *gw__registry_link(struct gw__registry *r, unsigned from,
                                          unsigned to)
{
    if (!gw__nodes_has(&r->linked, from))
        memset(r->links[from], 0, sizeof r->links[from]);
    gw__nodes_add(&r->linked, from);
    return &r->links[from][to];
}

static void merge(struct gw_link_profile *profile, unsigned fields,
                  const struct gw_link_profile *with)
{
    if (fields & GW__LINK_CLEAR)
        *profile = (struct gw_link_profile){0};
    if (fields & GW__LINK_DELAY)
        profile->delay_us = with->delay_us;
    if (fields & GW__LINK_JITTER)
        profile->jitter_us = with->jitter_us;
    if (fields & GW__LINK_RATE)
        profile->rate = with->rate;
    if (fields & GW__LINK_LOSS)
        profile->loss_ppm = with->loss_ppm;
    if (fields & GW__LINK_DOWN)
        profile->down = with->down;
}

enum gw_err gw__apply_link(struct gw__registry *r, const struct gw__command *c,
                           struct gw__answer *answer)
{
    unsigned from = c->link.from, to = c->link.to;
    if (!gw__registry_member(r, from, answer) ||
        !gw__registry_member(r, to, answer))
        return answer->code;
    if (from == to)
        return gw__refuse(answer, GW_EINVAL,
                          "a link needs two different nodes; both are node %u",
                          from);
    struct gw_link_profile *profile = gw__registry_link(r, from, to);
    merge(profile, c->link.fields, &c->link.profile);
    answer->profile = *profile;
    return gw__append_text(
        answer,
        "link %u>%u: delay %u us, jitter %u us, rate %llu, loss %u ppm, %s",
        from, to, profile->delay_us, profile->jitter_us,
        (unsigned long long)profile->rate, profile->loss_ppm,
        profile->down ? "down" : "up");
}

static unsigned cut_links(struct gw__registry *r, const struct gw_nodes *from,
                          const struct gw_nodes *to)
{
    unsigned cut = 0;
    for (unsigned i = gw__nodes_next(from, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(from, i + 1))
        for (unsigned j = gw__nodes_next(to, 0); j < GW__NODES_MAX;
             j = gw__nodes_next(to, j + 1)) {
            struct gw_link_profile *profile = gw__registry_link(r, i, j);
            cut += !profile->down;
            profile->down = true;
        }
    return cut;
}

enum gw_err gw__apply_cut(struct gw__registry *r, const struct gw__command *c,
                          struct gw__answer *answer)
{
    const struct gw_nodes *left = &c->cut.left, *right = &c->cut.right;
    struct gw_nodes both = gw__nodes_or(*left, *right);
    struct gw_nodes twice = gw__nodes_and(*left, *right);
    if (!gw__nodes_is_empty(twice))
        return gw__refuse(answer, GW_EINVAL, "node %u is on both sides",
                          gw__nodes_next(&twice, 0));
    if (gw__nodes_is_empty(*left) || gw__nodes_is_empty(*right))
        return gw__refuse(answer, GW_EINVAL, "a cut needs nodes on both sides");
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        if (gw__nodes_has(&both, i) && !gw__registry_member(r, i, answer))
            return answer->code;
    unsigned cut = cut_links(r, left, right) + cut_links(r, right, left);
    return gw__append_text(answer, "links taken down: %u", cut);
}

enum gw_err gw__apply_heal(struct gw__registry *r, const struct gw__command *c,
                           struct gw__answer *answer)
{
    unsigned healed = 0;
    (void)c;
    for (unsigned i = gw__nodes_next(&r->linked, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&r->linked, i + 1))
        for (unsigned j = 0; j < GW__NODES_MAX; j++) {
            healed += r->links[i][j].down;
            r->links[i][j].down = false;
        }
    return gw__append_text(answer, "links taken up: %u", healed);
}
