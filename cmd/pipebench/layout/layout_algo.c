/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench layout --algo: the algorithm of the all-reduces, which may be a
 * plug-in or a plan file. A group of ranks has any size that divides the mesh,
 * so an added algorithm is verified for each of them that it supports.
 */
#include "layout.h"

#include "common/plan/plan_algo.h"

#include <string.h>

enum gw_err layout_algo(const char *word, unsigned ranks, const char **name,
                        struct gw_error *why)
{
    const struct gw_algo *algo;
    *name = NULL;
    if (!word)
        return GW_OK;
    enum gw_err err = plan_algo(GW_ALLREDUCE, word, 0, &algo, why);
    for (unsigned size = 2; size <= ranks && !err; size++) {
        struct gw_algo_args args = {.ranks = size};
        if (ranks % size == 0 && algo->valid(size))
            err = plan_prove(algo, &args, why);
    }
    if (!err)
        *name = algo->name;
    return err;
}

const char *layout_algo_label(const struct gw_layout_call *call)
{
    const struct gw_algo *algo = gw_algo_find(GW_ALLREDUCE, call->algo);
    if (!*call->algo)
        return NULL;
    return algo && strcmp(call->what, gw_collective_name(GW_ALLREDUCE)) == 0
               ? plan_algo_label(algo)
               : call->algo;
}
