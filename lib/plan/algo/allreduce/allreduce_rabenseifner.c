/* SPDX-License-Identifier: MIT
 *
 * All-reduce after Rabenseifner: a reduce-scatter by recursive halving, then an
 * all-gather by recursive doubling, on the largest 2^k <= p ranks; the others
 * are folded (butterfly.h). The vector is cut into 2^k chunks.
 *
 *     p = 2^k:    2 log2 p rounds, 2(p-1)/p n bytes per rank
 *     any other:  2 floor(log2 p) + 2 rounds; a keeper with a partner sends n
 *                 bytes more, the partner n in all
 *
 * Optimal in bytes for a power of two; otherwise circulant beats it. The paper
 * halves between near ranks first and folds with a first halving of its own;
 * here the halving goes from far to near, so that the chunks of a message are
 * adjacent, and the fold adds whole vectors. The number of rounds is the same.
 */
#include "plan/algo/butterfly.h"
#include "plan/algo/shape.h"

static unsigned chunks(const struct gw_algo_args *args)
{
    return gw__rank_fold_of(args->ranks).keepers;
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__rank_fold fold = gw__rank_fold_of(args->ranks);
    struct gw__rank_fold one_each = gw__rank_fold_of(fold.keepers);
    gw_builder_ports(b, 1);
    gw__rank_fold_in(b, &fold, fold.keepers);
    gw__butterfly_reduce_scatter(b, &fold, &one_each);
    gw__butterfly_allgather(b, &fold, &one_each);
    gw__rank_fold_out(b, &fold, fold.keepers);
}

const struct gw_algo gw__algo_allreduce_rabenseifner = {
    .name = "rabenseifner",
    .collective = GW_ALLREDUCE,
    .summary = "recursive halving, then recursive doubling",
    .formula =
        "2 log2 p rounds, 2(p-1)/p n bytes per rank"
        " (p not 2^k: as for the next smaller 2^k, plus 2 rounds and n bytes)",
    .source = "Rabenseifner 2004 (ICCS, LNCS 3036)",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = chunks,
};
