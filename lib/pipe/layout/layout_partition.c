/* SPDX-License-Identifier: MIT
 *
 * The division of a network into virtual stages. If there are `stage` lines,
 * they decide. Otherwise the maximum number of multiplications in a virtual
 * stage is minimised, by dynamic programming over prefixes:
 *
 *     best(k pieces, first n operators) =
 *         min over m of max(best(k - 1, m), work of operators m .. n-1)
 *
 * Of equally good divisions the one with the fewest features sent between
 * virtual stages is taken, and of those the latest, so that an element-wise
 * operator stays with the next operator. The loss stays with the operator
 * before it; alone it would be a stage without work.
 */
#include "layout_parts.h"

#include <stdlib.h>

/* A division of the first operators. */
struct division {
    uint64_t largest; /* multiplications per row */
    uint64_t crossed; /* features sent between virtual stages */
    unsigned last;    /* first operator of the last virtual stage */
    bool possible;
};

/* The line of an add whose source would be in an earlier virtual stage if one
 * began at `begin`; 0: none. A virtual stage only receives the previous
 * operator's output. */
static unsigned find_separated_add(const struct gw_network *network,
                                   unsigned begin)
{
    for (unsigned i = begin; i < network->operator_count; i++) {
        const struct gw_operator *op = &network->operators[i];
        if (op->kind == GW_OP_ADD && op->source < begin)
            return op->line;
    }
    return 0;
}

/* The best division of the first `end` operators, from the best ones with one
 * virtual stage fewer. It tries the latest division first and keeps the first
 * of equal ones. */
static struct division extend(const struct gw_network *network,
                              const struct division *fewer, unsigned end)
{
    struct division best = {.possible = false};
    uint64_t work = 0;
    for (unsigned begin = end; begin-- > 1;) {
        const struct gw_operator *first = &network->operators[begin];
        const struct division *before = &fewer[begin];
        work += gw_operator_work(first);
        if (!before->possible || first->kind == GW_OP_SOFTMAX ||
            find_separated_add(network, begin))
            continue;
        struct division division = {
            .largest = work > before->largest ? work : before->largest,
            .crossed = before->crossed + first->in,
            .last = begin,
            .possible = true,
        };
        if (!best.possible || division.largest < best.largest ||
            (division.largest == best.largest &&
             division.crossed < best.crossed))
            best = division;
    }
    return best;
}

/* ways[k * (count + 1) + n]: k + 1 virtual stages of the first n operators. */
static void fill_divisions(const struct gw_network *network,
                           unsigned virtual_stages, struct division *divisions)
{
    unsigned count = network->operator_count;
    uint64_t work = 0;
    for (unsigned n = 1; n <= count; n++) {
        work += gw_operator_work(&network->operators[n - 1]);
        divisions[n] = (struct division){.largest = work, .possible = true};
    }
    for (unsigned k = 1; k < virtual_stages; k++)
        for (unsigned n = 1; n <= count; n++)
            divisions[k * (count + 1) + n] =
                extend(network, &divisions[(k - 1) * (count + 1)], n);
}

static enum gw_err partition_evenly(const struct gw_network *network,
                                    unsigned virtual_stages, unsigned *begin,
                                    struct gw_error *why)
{
    unsigned count = network->operator_count;
    struct division *divisions =
        calloc(virtual_stages * ((size_t)count + 1), sizeof *divisions);
    if (!divisions)
        return gw_fail(why, GW_ENOMEM, "%s: out of memory", network->name);
    fill_divisions(network, virtual_stages, divisions);
    bool possible =
        divisions[(virtual_stages - 1) * (count + 1) + count].possible;
    for (unsigned k = virtual_stages, end = count; possible && k > 0; k--) {
        begin[k - 1] = divisions[(k - 1) * (count + 1) + end].last;
        end = begin[k - 1];
    }
    free(divisions);
    return possible ? GW_OK
                    : gw_fail(why, GW_EINVAL,
                              "%s: it cannot be cut into %u parts; each add "
                              "must be in the same part as its source",
                              network->name, virtual_stages);
}

static enum gw_err check_partition(const struct gw_network *network,
                                   unsigned virtual_stages,
                                   const unsigned *begin, struct gw_error *why)
{
    for (unsigned p = 1; p < virtual_stages; p++) {
        unsigned line = find_separated_add(network, begin[p]);
        if (line)
            return gw_fail(
                why, GW_EINVAL,
                "%s: line %u: an add must be in the same stage as its source",
                network->name, line);
    }
    return GW_OK;
}

/* Applies the `stage` lines; returns their number. */
static unsigned apply_stage_lines(const struct gw_network *network,
                                  unsigned virtual_stages, unsigned *begin,
                                  unsigned *line)
{
    unsigned stage_lines = 0;
    for (unsigned i = 0; i < network->operator_count; i++)
        if (network->operators[i].begins_stage) {
            if (++stage_lines < virtual_stages)
                begin[stage_lines] = i;
            *line = network->operators[i].line;
        }
    return stage_lines;
}

enum gw_err gw__network_partition(const struct gw_network *network,
                                  unsigned virtual_stages, unsigned *begin,
                                  struct gw_error *why)
{
    unsigned count = network->operator_count, line = 0;
    begin[0] = 0;
    begin[virtual_stages] = count;
    if (virtual_stages <= 1)
        return GW_OK;
    unsigned stage_lines =
        apply_stage_lines(network, virtual_stages, begin, &line);
    if (stage_lines > 0 && stage_lines + 1 != virtual_stages)
        return gw_fail(why, GW_EINVAL,
                       "%s: line %u: the network has %u `stage` line%s, but %u "
                       "parts need %u",
                       network->name, line, stage_lines,
                       stage_lines == 1 ? "" : "s", virtual_stages,
                       virtual_stages - 1);
    if (stage_lines > 0)
        return check_partition(network, virtual_stages, begin, why);
    if (virtual_stages >= count)
        return gw_fail(why, GW_EINVAL,
                       "%s: line %u: %u operators are too few for %u parts "
                       "(softmax stays with the operator before it)",
                       network->name, network->operators[count - 1].line, count,
                       virtual_stages);
    return partition_evenly(network, virtual_stages, begin, why);
}
