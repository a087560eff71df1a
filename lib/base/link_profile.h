/* SPDX-License-Identifier: MIT
 *
 * Comparisons of link profiles (gradwire/base.h).
 */
#ifndef GW__LINK_PROFILE_H
#define GW__LINK_PROFILE_H

#include <gradwire/base.h>

static inline bool gw__link_profile_equal(const struct gw_link_profile *a,
                                          const struct gw_link_profile *b)
{
    return a->delay_us == b->delay_us && a->jitter_us == b->jitter_us &&
           a->rate == b->rate && a->loss_ppm == b->loss_ppm &&
           a->down == b->down;
}

/* The profile of a link without emulation. */
static inline bool gw__link_profile_is_none(const struct gw_link_profile *p)
{
    return gw__link_profile_equal(p, &(struct gw_link_profile){0});
}

#endif
