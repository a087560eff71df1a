/* SPDX-License-Identifier: MIT
 *
 * Writes a plan as a graph for Graphviz: a column of points per rank, a row per
 * step, and an arrow per transfer from the row before its step to the row of its
 * step.
 */
#include "plan/index.h"
#include "write.h"

enum gw_err gw__dot_write(const struct gw__export *e, struct gw_error *why)
{
    const struct gw_plan *plan = e->plan;
    FILE *file = e->file;
    (void)why;
    fprintf(file,
            "digraph plan {\n"
            "  label=\"%s of %u ranks\"\n  rankdir=TB\n  ranksep=0.8\n"
            "  node [shape=point]\n  edge [fontsize=9]\n",
            gw_collective_name(plan->collective), plan->ranks);
    for (unsigned rank = 0; rank < plan->ranks; rank++) {
        fprintf(file, "  r%us0 [shape=plaintext, label=\"rank %u\"];\n", rank,
                rank);
        for (unsigned step = 1; step <= plan->steps; step++)
            fprintf(file,
                    "  r%us%u -> r%us%u [style=dotted, arrowhead=none];\n",
                    rank, step - 1, rank, step);
    }
    for (unsigned step = 0; step < plan->steps; step++)
        for (size_t t = plan->step_begin[step]; t < plan->step_begin[step + 1];
             t++) {
            const struct gw_transfer *x = &plan->transfers[t];
            fprintf(file, "  r%us%u -> r%us%u [label=\"c%u %c\"];\n", x->src,
                    step, x->dst, step + 1, x->chunk,
                    gw__action_sign(x->action));
        }
    fputs("}\n", file);
    return GW_OK;
}
