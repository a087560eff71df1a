/* SPDX-License-Identifier: MIT
 *
 * Link profiles; see registry.h.
 */
#include "registry_parts.h"

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
    struct gw_link_profile *profile = &r->links[from][to];
    merge(profile, c->link.fields, &c->link.profile);
    answer->profile = *profile;
    return gw__append_text(
        answer,
        "link %u>%u: delay %u us, jitter %u us, rate %llu, loss %u ppm, %s",
        from, to, profile->delay_us, profile->jitter_us,
        (unsigned long long)profile->rate, profile->loss_ppm,
        profile->down ? "down" : "up");
}

enum gw_err gw__apply_cut(struct gw__registry *r, const struct gw__command *c,
                          struct gw__answer *answer)
{
    uint64_t left = c->cut.left, right = c->cut.right, both = left | right;
    if (left & right)
        return gw__refuse(answer, GW_EINVAL, "node %d is on both sides",
                          __builtin_ctzll(left & right));
    if (left == 0 || right == 0)
        return gw__refuse(answer, GW_EINVAL, "a cut needs nodes on both sides");
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        if (both >> i & 1 && !gw__registry_member(r, i, answer))
            return answer->code;
    unsigned cut = 0;
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        for (unsigned j = 0; j < GW__NODES_MAX; j++) {
            bool across = (left >> i & 1 && right >> j & 1) ||
                          (right >> i & 1 && left >> j & 1);
            cut += across && !r->links[i][j].down;
            r->links[i][j].down = r->links[i][j].down || across;
        }
    return gw__append_text(answer, "links taken down: %u", cut);
}

enum gw_err gw__apply_heal(struct gw__registry *r, const struct gw__command *c,
                           struct gw__answer *answer)
{
    unsigned healed = 0;
    (void)c;
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        for (unsigned j = 0; j < GW__NODES_MAX; j++) {
            healed += r->links[i][j].down;
            r->links[i][j].down = false;
        }
    return gw__append_text(answer, "links taken up: %u", healed);
}
