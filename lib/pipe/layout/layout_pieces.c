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
struct way {
    uint64_t largest; /* multiplications per row */
    uint64_t crossed; /* features sent between virtual stages */
    unsigned last;    /* first operator of the last virtual stage */
    bool possible;
};

/* The line of an add whose source would be in an earlier virtual stage if one
 * began at `begin`; 0: none. A virtual stage only receives the previous
 * operator's output. */
static unsigned parted(const struct gw_network *network, unsigned begin)
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
static struct way extend(const struct gw_network *network,
                         const struct way *fewer, unsigned end)
{
    struct way best = {.possible = false};
    uint64_t work = 0;
    for (unsigned begin = end; begin-- > 1;) {
        const struct gw_operator *first = &network->operators[begin];
        const struct way *before = &fewer[begin];
        work += gw_operator_work(first);
        if (!before->possible || first->kind == GW_OP_SOFTMAX ||
            parted(network, begin))
            continue;
        struct way way = {
            .largest = work > before->largest ? work : before->largest,
            .crossed = before->crossed + first->in,
            .last = begin,
            .possible = true,
        };
        if (!best.possible || way.largest < best.largest ||
            (way.largest == best.largest && way.crossed < best.crossed))
            best = way;
    }
    return best;
}

/* ways[k * (count + 1) + n]: k + 1 virtual stages of the first n operators. */
static void fill_ways(const struct gw_network *network, unsigned pieces,
                      struct way *ways)
{
    unsigned count = network->operator_count;
    uint64_t work = 0;
    for (unsigned n = 1; n <= count; n++) {
        work += gw_operator_work(&network->operators[n - 1]);
        ways[n] = (struct way){.largest = work, .possible = true};
    }
    for (unsigned k = 1; k < pieces; k++)
        for (unsigned n = 1; n <= count; n++)
            ways[k * (count + 1) + n] =
                extend(network, &ways[(k - 1) * (count + 1)], n);
}

static enum gw_err cut_evenly(const struct gw_network *network, unsigned pieces,
                              unsigned *begin, struct gw_error *why)
{
    unsigned count = network->operator_count;
    struct way *ways = calloc(pieces * ((size_t)count + 1), sizeof *ways);
    if (!ways)
        return gw_fail(why, GW_ENOMEM, "%s: out of memory", network->name);
    fill_ways(network, pieces, ways);
    bool possible = ways[(pieces - 1) * (count + 1) + count].possible;
    for (unsigned k = pieces, end = count; possible && k > 0; k--) {
        begin[k - 1] = ways[(k - 1) * (count + 1) + end].last;
        end = begin[k - 1];
    }
    free(ways);
    return possible ? GW_OK
                    : gw_fail(why, GW_EINVAL,
                              "%s: it cannot be cut into %u parts; each add "
                              "must be in the same part as its source",
                              network->name, pieces);
}

static enum gw_err check_cuts(const struct gw_network *network, unsigned pieces,
                              const unsigned *begin, struct gw_error *why)
{
    for (unsigned p = 1; p < pieces; p++) {
        unsigned line = parted(network, begin[p]);
        if (line)
            return gw_fail(
                why, GW_EINVAL,
                "%s: line %u: an add must be in the same stage as its source",
                network->name, line);
    }
    return GW_OK;
}

/* Applies the `stage` lines; returns their number. */
static unsigned cut_as_told(const struct gw_network *network, unsigned pieces,
                            unsigned *begin, unsigned *line)
{
    unsigned cuts = 0;
    for (unsigned i = 0; i < network->operator_count; i++)
        if (network->operators[i].cut) {
            if (++cuts < pieces)
                begin[cuts] = i;
            *line = network->operators[i].line;
        }
    return cuts;
}

enum gw_err gw__cut(const struct gw_network *network, unsigned pieces,
                    unsigned *begin, struct gw_error *why)
{
    unsigned count = network->operator_count, line = 0;
    begin[0] = 0;
    begin[pieces] = count;
    if (pieces <= 1)
        return GW_OK;
    unsigned cuts = cut_as_told(network, pieces, begin, &line);
    if (cuts > 0 && cuts + 1 != pieces)
        return gw_fail(why, GW_EINVAL,
                       "%s: line %u: the network has %u `stage` line%s, but %u "
                       "parts need %u",
                       network->name, line, cuts, cuts == 1 ? "" : "s", pieces,
                       pieces - 1);
    if (cuts > 0)
        return check_cuts(network, pieces, begin, why);
    if (pieces >= count)
        return gw_fail(why, GW_EINVAL,
                       "%s: line %u: %u operators are too few for %u parts "
                       "(softmax stays with the operator before it)",
                       network->name, network->operators[count - 1].line, count,
                       pieces);
    return cut_evenly(network, pieces, begin, why);
}
