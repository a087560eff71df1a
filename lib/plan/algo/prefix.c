/* SPDX-License-Identifier: MIT
 *
 * See prefix.h. Transfers of a step read the values from before the step, so a
 * rank may receive and send in one.
 */
#include "prefix.h"

void gw__prefix_shift(struct gw_builder *b, unsigned ranks, unsigned chunks)
{
    gw_builder_step(b);
    for (unsigned r = 1; r < ranks; r++)
        for (unsigned chunk = 0; chunk < chunks; chunk++)
            gw_builder_add(b, r - 1, r, chunk, GW_REPLACE);
}

void gw__prefix_chain(struct gw_builder *b, unsigned first, unsigned ranks,
                      unsigned segments)
{
    unsigned p = ranks > first ? ranks - first : 0;
    for (unsigned t = 0; t + 2 < segments + p; t++) {
        gw_builder_step(b);
        for (unsigned i = 0; i + 1 < p && i <= t; i++)
            if (t - i < segments)
                gw_builder_add(b, first + i, first + i + 1, t - i, GW_ADD);
    }
}

void gw__prefix_hillis_steele(struct gw_builder *b, unsigned first,
                              unsigned ranks)
{
    for (unsigned distance = 1; first + distance < ranks; distance *= 2) {
        gw_builder_step(b);
        for (unsigned r = first; r + distance < ranks; r++)
            gw_builder_add(b, r, r + distance, 0, GW_ADD);
    }
}

void gw__prefix_recursive_doubling(struct gw_builder *b, unsigned first,
                                   unsigned ranks)
{
    for (unsigned half = 1; first + half < ranks; half *= 2) {
        gw_builder_step(b);
        for (unsigned r = first + half; r < ranks; r++) {
            unsigned place = r - first, begin = place / half * half;
            if (place & half)
                gw_builder_add(b, first + begin - 1, r, 0, GW_ADD);
        }
    }
}
