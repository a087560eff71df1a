/* SPDX-License-Identifier: MIT
 *
 * Shifted rounds; see shift.h. Blocks go out in ascending order on every link.
 * So each wait of a run is for an earlier (step, block), and a plan of such
 * rounds cannot deadlock, however small the buffers are.
 */
#include "shift.h"

#include <plan/stream.h>

void gw__shift_add(struct gw_builder *b, const struct gw__shift *shift)
{
    unsigned p = shift->ranks;
    for (unsigned r = 0; r < p && !gw__builder_failed(b); r++) {
        unsigned peer = (r + shift->distance) % p;
        unsigned first = (r + shift->first) % p;
        /* The blocks wrap around after `straight` of them; those after the wrap
         * are lower and go first. */
        unsigned straight = (p - first - 1) / shift->stride + 1;
        if (straight > shift->count)
            straight = shift->count;
        struct gw__run run = {.src = r,
                              .dst = peer,
                              .chunk = (first + straight * shift->stride) % p,
                              .stride = shift->stride,
                              .count = shift->count - straight,
                              .action = shift->action};
        gw__builder_run(b, &run);
        run.chunk = first;
        run.count = straight;
        gw__builder_run(b, &run);
    }
}

void gw__shift_gather(struct gw_builder *b, unsigned ranks, unsigned held,
                      unsigned next)
{
    gw_builder_step(b);
    gw__shift_add(b, &(struct gw__shift){
                         .ranks = ranks,
                         .distance = ranks - held,
                         .stride = 1,
                         .count = next - held,
                         .action = GW_REPLACE,
                     });
}
