/* SPDX-License-Identifier: MIT
 *
 * Broadcast by van de Geijn: the root scatters p parts down a binomial tree,
 * then a ring of all ranks gathers them everywhere.
 *
 *     ceil(log2 p)+p-1 rounds, 2(p-1)/p n bytes from the root
 *
 * For long buffers the cost hardly grows with p. Barnett et al.,
 * "Interprocessor collective communication library", 1994; Thakur,
 * Rabenseifner, Gropp, IJHPCA 19(1), 2005, on broadcast.
 *
 * The textbook's ring also carries parts to ranks that already have them from
 * the scatter. This one omits those: every rank receives each part once, and no
 * rank writes into the root's buffer.
 */
#include "plan/algo/binomial.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_ports(b, 1);
    gw__binomial_scatter(b, args);
    /* Each place first receives the part just before its own, which is p - 1
     * beyond it, and last the one just beyond it. */
    for (unsigned beyond = p - 1; beyond > 0; beyond--) {
        gw_builder_step(b);
        for (unsigned i = 1; i < p; i++)
            if (beyond >= gw__binomial_subtree(p, i))
                gw_builder_add(b, gw__from_root(args, i - 1),
                               gw__from_root(args, i),
                               gw__from_root(args, i + beyond), GW_REPLACE);
    }
}

const struct gw_algo gw__algo_broadcast_scatter_allgather = {
    .name = "scatter_allgather",
    .collective = GW_BROADCAST,
    .summary = "binomial scatter of p parts, then a ring all-gather",
    .formula = "ceil(log2 p)+p-1 rounds, 2(p-1)/p n bytes from the root",
    .source = "van de Geijn: Barnett et al. 1994; Thakur et al. 2005",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_rank,
    .emit = emit,
};
