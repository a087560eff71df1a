/* SPDX-License-Identifier: MIT
 *
 * Your part of PageRank (pagerank.h). This version is right, but sends far too
 * much: after the all-reduce every rank has the sums of all pages, and uses
 * only those of its own block.
 */
#include "pagerank.h"

#include <string.h>

enum gw_err combine(struct share *s, uint64_t *contributed, uint64_t *got)
{
    const struct gw_call call = {.collective = GW_ALLREDUCE,
                                 .in = GW_IN_PLACE,
                                 .out = contributed,
                                 .count = s->pages,
                                 .type = GW_U64,
                                 .op = GW_SUM,
                                 .algo = "ring"};
    enum gw_err err = gw_run(s->comm, &call);
    memcpy(got, contributed + (size_t)s->rank * s->block,
           s->block * sizeof *got);
    return err;
}

enum gw_err prepare_sparse(struct share *s)
{
    (void)s; /* the linked pages of other ranks are unknown */
    return GW_OK;
}

enum gw_err combine_sparse(struct share *s, uint64_t *contributed,
                           uint64_t *got)
{
    return combine(s, contributed, got);
}
