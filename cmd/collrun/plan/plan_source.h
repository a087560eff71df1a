/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The source of a command's plan: "OP --algo NAME -n RANKS" or "FILE.plan".
 * plan, verify, price and run share these options and their parser, so that
 * they mean the same everywhere.
 */
#ifndef PLAN_SOURCE_H
#define PLAN_SOURCE_H

#include "common/command.h"
#include "plan_list.h"

struct plan_source {
    /* A name, a plug-in or a file; for some commands, a list of them
     * (plan_list.h). NULL: not given. */
    const char *algo;
    unsigned ranks; /* 0: PLAN_RANKS_DEFAULT, or the file's number */
    unsigned root, segments, group;
};

/* All algorithms' names, for completion; a test compares it with the list. */
#define PLAN_ALGO_WORDS                                                        \
    "binomial|bruck|chain|circulant|direct|dissemination|double_tree|"         \
    "gather_broadcast|hierarchical|hillis_steele|linear|main_replica|"         \
    "neighbor|one_shot|pairwise|partitioned|pat|rabenseifner|recursive_"       \
    "doubling|"                                                                \
    "recursive_halving|reduce_broadcast|reduce_scatter_root|ring|"             \
    "scatter_allgather|swing"

/* clang-format off */
/* Entries of a command's option table, for a static `struct plan_source`. */
#define PLAN_SOURCE_OPTIONS(source)                                            \
    {"algo", 'a', OPTION_TEXT, &(source).algo, "NAME",                         \
     "Algorithm of OP (see collrun list OP), a plug-in, or a FILE.plan.",      \
     PLAN_ALGO_WORDS},                                                         \
    {"ranks", 'n', OPTION_COUNT, &(source).ranks, "N",                         \
     "Ranks. Default: 4, or the number in FILE.", NULL},                       \
    {"root", 'r', OPTION_UNSIGNED, &(source).root, "RANK",                     \
     "Root rank of broadcast, reduce, gather and scatter. Default: 0.", NULL}, \
    {"segments", 0, OPTION_COUNT, &(source).segments, "K",                     \
     "Segments of a pipelined algorithm. Default: chosen by the algorithm.",   \
     NULL},                                                                    \
    {"group", 0, OPTION_COUNT, &(source).group, "G",                           \
     "Ranks per rack, for hierarchical. Default: chosen by the algorithm.",    \
     NULL}
/* clang-format on */

/* Reads a first operand. A collective may be written with or without dashes
 * ("all-reduce"). *is_file is true for "FILE.plan" (any word with a dot or a
 * slash, or a file that exists) and false for OP, which sets *collective.
 * GW_EINVAL with a suggestion when it is neither. */
GW_MUST_CHECK enum gw_err plan_operand(const char *operand, bool *is_file,
                                       enum gw_collective *collective,
                                       struct gw_error *why);

/* The given number of ranks, or that of a file in `algo`, or the default. */
unsigned plan_ranks(const struct plan_source *source);

/* Makes or loads the plan. The caller destroys it. GW_EINVAL: OP without algo
 * (the sentence lists those for this number of ranks), or options that a file
 * cannot take; GW_EDATA or GW_EPLAN: the file does not parse. */
GW_MUST_CHECK enum gw_err plan_get(const char *operand,
                                   const struct plan_source *source,
                                   struct gw_plan **plan, struct gw_error *why);

/* The algorithms that `source` lists, for so many ranks; as plan_list. GW_EINVAL
 * also: the root is not a rank. */
GW_MUST_CHECK enum gw_err plan_source_list(const struct plan_source *source,
                                           enum gw_collective collective,
                                           unsigned ranks,
                                           struct plan_list *list,
                                           struct gw_error *why);

/* The prediction of the library's choice, which may have measured costs, or for
 * an added algorithm that of the cost model; -1: out of memory. */
double plan_predict_us(const char *wire, const struct gw_algo *algo,
                       unsigned ranks, size_t count, size_t elem_bytes);

/* Elements of a block (the `count` of gw_call and gw_plan_price) for a message
 * of `bytes`: the size of a rank's whole buffer, as in nccl-tests; for the
 * collectives of blocks it is shared among the ranks. Rounds down, but not to
 * nothing: 0 only when bytes is 0. */
size_t plan_count(enum gw_collective collective, unsigned ranks, uint64_t bytes,
                  size_t elem_bytes);
/* The bytes of a rank's whole buffer of `count` elements per block. */
uint64_t plan_bytes(enum gw_collective collective, unsigned ranks, size_t count,
                    size_t elem_bytes);

/* The bound of a topology (gw_optimum_find) for a buffer of `bytes`; NaN: it
 * cannot be computed, for instance for too many ranks. */
double plan_optimum_us(const struct gw_topology *topology,
                       enum gw_collective collective, unsigned ranks,
                       unsigned root, uint64_t bytes);

#endif
