/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The algorithms of an elastic ring: "--algo eight.xml,four.plan", and their
 * collective. On the way from the command to the members the list has one word
 * per line, and files and plug-ins have their full paths, since the processes
 * may have other working directories.
 *
 * Ops run in one of two ways, which follows from the collective and the list:
 *
 *   by chunk   all-reduces by gw_ring_allreduce: after a death the chunks that
 *              the survivors hold are kept
 *   whole      any collective by gw_ring_run: after a death it is repeated. Also
 *              all-reduces, if a given plan has no recovery by chunk
 *              (ring/plans/chosen_plans.h)
 */
#ifndef RING_ALGOS_H
#define RING_ALGOS_H

#include <ring/plans/chosen_plans.h>

enum { RING_ALGOS_MAX = 8, RING_ALGOS_BYTES = 4096 };

/* For help and completion: names of the library's algorithms. */
#define RING_ALGOS_WORDS                                                       \
    "ring|recursive_doubling|rabenseifner|double_tree|circulant|swing|"        \
    "hierarchical|partitioned|one_shot|reduce_broadcast"
#define RING_COLLECTIVE_WORDS                                                  \
    "allreduce|allgather|reduce_scatter|alltoall|broadcast|reduce|gather|"     \
    "scatter|scan|exscan|barrier"

struct ring_algos {
    const struct gw_algo *algos[RING_ALGOS_MAX]; /* kept by cmd/common/plan */
    unsigned count;
    enum gw_collective collective;
    bool whole;
    struct gw__chosen_plans
        chosen; /* of ring_algos_name; until the process ends */
};

/* From the words of --algo to the list: splits at commas (a file may have one
 * in its name) and finds the full paths. GW_EINVAL: too many or too long;
 * GW_ESYS: a missing file. */
GW_MUST_CHECK enum gw_err ring_algos_list(const char *words, char *list,
                                          size_t room, struct gw_error *why);
/* From the word of --collective; NULL: all-reduce. GW_EINVAL: unknown, or not
 * possible in an elastic ring. */
GW_MUST_CHECK enum gw_err ring_algos_collective(const char *word,
                                                enum gw_collective *collective,
                                                struct gw_error *why);
/* Reads the list; "" or NULL has none. Errors as plan_algo
 * (common/plan/plan_algo.h). */
GW_MUST_CHECK enum gw_err ring_algos_open(const char *list,
                                          enum gw_collective collective,
                                          struct ring_algos *algos,
                                          struct gw_error *why);
/* Can a ring of so many members begin with them? 0: any number. Errors as
 * gw__chosen_plan_make: a plan that no elastic ring can run, or none for so many
 * members. */
GW_MUST_CHECK enum gw_err ring_algos_check(const struct ring_algos *algos,
                                           unsigned members,
                                           struct gw_error *why);

/* GW_EINVAL, GW_ENOTSUP, with the reason: ops run whole, which `user`, such as
 * training, cannot use. */
GW_MUST_CHECK enum gw_err
ring_algos_check_by_chunk(const struct ring_algos *algos, const char *user,
                          struct gw_error *why);

/* The name of the algorithm that so many members use, by the rule that they
 * use themselves; NULL: the built-in plan. */
const char *ring_algos_name(struct ring_algos *algos, unsigned members);

#endif
